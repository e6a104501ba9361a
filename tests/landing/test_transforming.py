"""Messages that are changed on the way: whatever comes, columns and the reference path say the same of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.contracts import Shape, Shapes
from penstock.formats.json import JsonFormat
from penstock.formats.json import format as json_format
from penstock.landing import transforming
from penstock.landing.about import about
from penstock.landing.changes import ByRules
from penstock.landing.inferring import Inferring
from penstock.landing.input_shapes import MAX_LESSONS
from penstock.landing.transforming import Transforming
from penstock.merging import in_order, settled
from penstock.messages import Details, Messages, Sorted
from penstock.schema import columns
from penstock.transforms.reference import apply
from penstock.transforms.rules import Rules, rules
from tests.formats.json.generated import Traffic, bounded, traffic
from tests.formats.json.oracle import Fate, expected, reject_fate, row_fate
from tests.formats.json.texts import chance

RANDOMS = st.randoms(use_true_random=True)
TARGETS = ["a", "b", "c", "id", "type", "kind", "meta.kafka.offset", "a.b", "new"]
SOURCES = [
    *("a", "b", "c", "id", "type", "kind", "a.b", "a[0]", "b[-1].c", '"é"', "`null`", "`7`", "'text'", '`{"x": [1]}`'),
    *("kafka.offset", "kafka.partition", "kafka.topic", "kafka.timestamp", "kafka.timestamp_type"),
    *("substr(a, `0`, `3`)", "to_number(b)", "to_string(c)", "length(a)", "join('-', a)", "contains(a, 'a')"),
    *("a == b", "id > `3`", "epoch_seconds_to_iso8601(id)", "epoch_millis_to_micro(id)", "keys(@)", "[a, b]", "a || b"),
]


@pytest.fixture(autouse=True, scope="module")
def _learn_soon() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_format, "FIRST_LOOK", 4)
        patch.setattr(transforming, "FIRST_LOOK", 4)
        yield


def _messages(values: Sequence[bytes]) -> Messages:
    stamps = [None if at % 7 == 3 else 1_700_000_000_000 + at for at in range(len(values))]

    def details(at: int) -> Details:
        return Details(None, (), stamps[at], -1 if stamps[at] is None else 0)

    return Messages("topic", "3", np.arange(len(values)) + 10, pa.array(values, pa.binary()), details)


def _rules(r: Random) -> Rules:
    found = {r.choice(TARGETS): r.choice(SOURCES) for _ in range(r.randint(0, 4))}
    return rules(found, r.choice(["remove", "keep"]))


class _Fates:
    """What became of each message, which must be in exactly one place."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes, self.each = shapes, dict[int, Fate]()

    def put(self, at: int, fate: Fate) -> None:
        assert at not in self.each, f"message {at} is in two places"
        self.each[at] = fate

    def put_all(self, told: Sorted, places: Sequence[int]) -> None:
        for name, rows in told.rows.items():
            for row in rows:
                self.put(places[row.at], row_fate(name, row.values, self.shapes))
        for name, waiting in told.waiting.items():
            for at in waiting.tolist():
                self.put(places[at], Fate("waiting", name))
        for reject in told.rejects:
            self.put(places[reject.at], reject_fate(reject))


def found(reading: Transforming, messages: Messages, types: Sequence[str] | None, shapes: Shapes) -> list[Fate]:
    """What a reading says of each message."""
    fates, told = _Fates(shapes), reading.sort(messages, types)
    fates.put_all(told, range(len(messages)))
    for at in told.filtered.tolist():
        fates.put(at, Fate("filtered"))
    for name, places in told.clean.items():
        half = len(places) // 2  # two runs, as of two slices
        runs = [messages.only(places[:half]), messages.only(places[half:])] if half else [messages.only(places)]
        made = reading.columns(name, runs)
        if made.rows is not None:
            for at, row in zip(places[~made.declined].tolist(), made.rows.to_pylist(), strict=True):
                fates.put(at, Fate("row", name, repr([row])))
        left = places[made.declined]
        fates.put_all(reading.rows(name, messages.only(left)), left.tolist())
    assert sorted(fates.each) == list(range(len(messages))), "a message is nowhere"
    return [fates.each[at] for at in range(len(messages))]


def agree(it: Traffic, change: Rules) -> None:
    messages = _messages(it.values)
    types: Sequence[str | None] = it.types or [None] * len(it.values)
    wanted = [
        expected(v, t, it.shapes, change=lambda m, at=at: apply(change, m, about(messages, at)))  # type: ignore[misc]
        for at, (v, t) in enumerate(zip(it.values, types, strict=True))
    ]
    reading = Transforming(JsonFormat(), it.shapes, ByRules(change))
    for again in range(2):  # what was learned must not change the answer
        for at, fate in enumerate(found(reading, messages, it.types, it.shapes)):
            assert fate == wanted[at], f"\n{it.values[at]!r}\nof type {types[at]}, time {again}\n{it.shapes}\n{change}"


def _coercing(it: Traffic, r: Random) -> Traffic:
    types = {name: replace(shape, coerce=chance(r, 2)) for name, shape in it.shapes.types.items()}
    return replace(it, shapes=replace(it.shapes, types=types))


@bounded(200)
@given(RANDOMS)
def test_fast_path_agrees_with_the_reference_path(random: Random) -> None:
    agree(_coercing(traffic(random), random), _rules(random))


@bounded(10)
@given(RANDOMS)
def test_it_does_so_for_many_messages_of_few_shapes(random: Random) -> None:
    agree(_coercing(traffic(random, count=400), random), _rules(random))


SCHEMA = columns({"ts": "string", "n": "long", "date": "string", "book": "struct<bid: double>", "px": "double"})
CHANGE = rules({"date": "substr(ts, `0`, `10`)", "px": "book.bid", "n": "to_number(n)"})


def _event(number: int) -> bytes:
    return b'{"ts": "2026-11-16T00:00:%02dZ", "n": "%d", "book": {"bid": %d.5}}' % (number % 60, number, number)


def test_everyday_messages_take_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = _messages([_event(number) for number in range(1_000)])
    reading = Transforming(JsonFormat(), Shapes({"t": Shape(SCHEMA)}), ByRules(CHANGE))
    slow = Mock(wraps=reading._settle)
    monkeypatch.setattr(reading, "_settle", slow)

    told = reading.sort(messages, ["t"] * 1_000)
    made = reading.columns("t", [messages.only(told.clean["t"])])

    assert slow.call_count <= 4
    assert not made.declined.any()
    assert made.rows is not None
    assert made.rows.slice(0, 1).to_pylist() == [
        {"ts": "2026-11-16T00:00:04Z", "n": 4, "date": "2026-11-16", "book": {"bid": 4.5}, "px": 4.5}
    ]


def test_a_kind_that_changes_late_harms_no_message_that_was_sorted_before() -> None:
    big = 2**60 + 1  # a double would round it
    values = [b'{"n": %d}' % (big + number) for number in range(50)] + [b'{"n": 1.5}'] * 50
    messages = _messages(values)
    shapes = Shapes({"t": Shape(columns({"n": "json"}))})
    reading = Transforming(JsonFormat(), shapes, ByRules(rules({"kept": "`null`"})))

    fates = found(reading, messages, ["t"] * 100, shapes)

    assert fates == [Fate("row", "t", repr([{"n": value.decode()[6:-1]}])) for value in values]


@bounded(100)
@given(RANDOMS)
def test_columns_of_new_types_are_those_of_their_changed_messages(random: Random) -> None:
    it, change = traffic(random), _rules(random)
    messages = _messages(it.values)
    whole, _ = Inferring(JsonFormat(), Shapes({}), ByRules(change))._one_by_one("t", messages, range(len(messages)))

    seen = Transforming(JsonFormat(), Shapes({}), ByRules(change)).infer("t", messages)

    assert settled(seen) == in_order(settled(whole))


def test_messages_of_which_nothing_is_left_are_told_apart() -> None:
    messages = _messages([b'{"a": %d}' % number for number in range(100)])
    shapes = Shapes({"t": Shape(columns({"b": "long"}))})

    fates = found(Transforming(JsonFormat(), shapes, ByRules(rules({"a": "`null`"}))), messages, ["t"] * 100, shapes)

    assert fates == [Fate("row", "t", repr([{"b": None}]))] * 100


@pytest.mark.parametrize(
    ("odd", "every"),
    [
        ({"n": {"not": "a number"}}, 100),  # it does not fit
        ({"unused": "text"}, 100),  # nobody looks at it
        ({"unused": {}}, 1),
        ({"unused": {"a": None}}, 1),
        ({"key with a space": 1}, 1),
        ({"unused": [[]]}, 1),
    ],
)
def test_odd_messages_go_alone(odd: dict[str, object], every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [json.loads(_event(number)) | {"unused": 1} for number in range(2_000)]
    values = [json.dumps(event | odd if at % every == 0 else event).encode() for at, event in enumerate(events)]
    messages = _messages(values)
    reading = Transforming(JsonFormat(), Shapes({"t": Shape(SCHEMA, "ignore")}), ByRules(CHANGE))
    slow = Mock(wraps=reading._settle)
    monkeypatch.setattr(reading, "_settle", slow)

    told = reading.sort(messages, ["t"] * len(messages))
    made = reading.columns("t", [messages.only(told.clean["t"])])

    assert slow.call_count <= 20 + 2_000 // (every if every > 1 else 2_000)
    assert not made.declined.any()


def test_a_type_that_is_another_from_now_on_is_fast_again(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [b'{"n": 1, "x": 1}'] * 200 + [b'{"n": 2, "x": "text"}'] * 4_000
    messages = _messages(values)
    reading = Transforming(
        JsonFormat(), Shapes({"t": Shape(columns({"n": "long"}), "ignore")}), ByRules(rules({"y": "n"}))
    )
    reading.sort(messages.cut(0, 1_000), ["t"] * 1_000)
    slow = Mock(wraps=reading._settle)
    monkeypatch.setattr(reading, "_settle", slow)

    reading.sort(messages.cut(1_000, 4_200), ["t"] * 3_200)

    assert slow.call_count <= 4


def test_a_type_whose_messages_all_have_keys_of_their_own_is_not_learned_for_ever() -> None:
    messages = _messages([b'{"id": 1, "k%d": 1}' % number for number in range(3_000)])
    reading = Transforming(
        JsonFormat(), Shapes({"t": Shape(columns({"id": "long"}), "ignore")}), ByRules(rules({"y": "id"}))
    )

    reading.sort(messages, ["t"] * 3_000)

    assert len(reading._input.schema("t").fields) <= MAX_LESSONS + 1


def test_a_zero_keeps_its_sign_in_a_text_also_if_it_was_compressed() -> None:
    values = [gzip.compress(b'{"a": -0}' if number % 2 else b'{"a": 0}') for number in range(200)]
    messages = _messages(values)
    shapes = Shapes({"t": Shape(columns({"a": "string"}), coerce=True)})

    fates = found(Transforming(JsonFormat(gzip=True), shapes, ByRules(rules({}))), messages, ["t"] * 200, shapes)

    assert fates == [Fate("row", "t", repr([{"a": "-0" if number % 2 else "0"}])) for number in range(200)]
