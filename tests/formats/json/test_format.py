"""The reader at work: what it sorts where, what it makes columns of, and what it declines."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from penstock.contracts import Shape, Shapes
from penstock.formats.json import JsonFormat
from penstock.formats.json import format as json_format
from penstock.messages import Messages, Sorted
from penstock.schema import columns
from penstock.values.fit import fit
from penstock.values.plain import Refusal
from tests.formats.json.oracle import run

A = {"type": "string", "x": "long"}


def shapes(evolve: str = "add", **more: Any) -> Shapes:
    return Shapes({"a": Shape(columns(A), evolve)}, **({"field": "type"} | more))


def sort(given: Shapes, *values: bytes, types: list[str] | None = None, format: JsonFormat | None = None) -> Sorted:
    return (format or JsonFormat()).reader(given).sort(run(values), types)


def codes(found: Sorted) -> list[str]:
    return [reject.code for reject in found.rejects]


def run_of(*values: bytes) -> Messages:
    return run(values)


# --- what is each message? -----------------------------------------------------------------------


def test_every_message_is_in_its_place() -> None:
    values = [
        b'{"type":"a","x":1}',
        b'{"type":"new"}',
        b"{",
        b'{"type":"a","y":1}',
        b'{"type":"spam"}',
        b'{"type":"a"}',
    ]
    found = sort(shapes(allow="^(a|new)$"), *values)
    assert {name: at.tolist() for name, at in found.clean.items()} == {"a": [0, 5]}
    assert {name: at.tolist() for name, at in found.waiting.items()} == {"new": [1], "a": [3]}
    assert found.filtered.tolist() == [4]
    assert [(reject.at, reject.code) for reject in found.rejects] == [(2, "json.malformed")]


def test_row_that_only_the_reference_path_can_make_is_made_at_once() -> None:
    found = sort(shapes("rescue"), b'{"type":"a","x":"7","b c":1}')
    assert [(row.at, row.values) for row in found.rows["a"]] == [
        (0, {"type": "a", "x": None, "_rescued": '{"x":"7","b c":1}'})
    ]


def test_message_over_the_limit_is_refused_without_being_read() -> None:
    found = sort(shapes(), b'{"type":"a","x":1}', b'{"type":"a","x":10}', format=JsonFormat(max_bytes=18))
    assert found.clean["a"].tolist() == [0]
    assert codes(found) == ["json.too-large"]


@pytest.mark.parametrize("count", [10, 500, 30_000])
def test_messages_keep_their_order_whatever_their_number(count: int) -> None:
    values = [b'{"type":"%s","x":%d}' % (b"ab"[at % 2 : at % 2 + 1], at) for at in range(count)]
    found = sort(shapes(), *values)
    assert found.clean["a"].tolist() == list(range(0, count, 2))
    assert found.waiting["b"].tolist() == list(range(1, count, 2))


@pytest.mark.parametrize(
    "hidden",
    [b'"\xff"', b'"\xed\xa0\x80"', b"[" * 100 + b"]" * 100, b'{"a":' * 100 + b"1" + b"}" * 100],
    ids=["not UTF-8", "a surrogate", "arrays", "objects"],
)
@pytest.mark.parametrize("name", ["loose", "spam", "new"])
def test_what_decoding_skips_is_looked_at_too(hidden: bytes, name: str) -> None:
    """Unwanted types, types without a table and types that ignore fields: bad is bad, also after many good ones."""
    given = Shapes({"loose": Shape(columns(A), "ignore")}, "type", "^(loose|new)$")
    value = b'{"type":"%s","z":%%s}' % name.encode()
    found = sort(given, *[value % b"1"] * 100, value % hidden)
    assert [(reject.at, reject.stage) for reject in found.rejects] == [(100, "parse")]


def test_type_that_is_no_longer_allowed_is_filtered_although_it_has_a_table() -> None:
    found = sort(shapes(allow="^b$"), b'{"type":"a","x":1}')
    assert found.filtered.tolist() == [0]


def test_unwanted_type_that_is_known_before_is_filtered_whatever_it_holds() -> None:
    found = sort(shapes(field=None, allow="^a$"), b"{", b"", b'{"x":1,"type":"a"}', types=["spam", "spam", "a"])
    assert found.filtered.tolist() == [0, 1]
    assert found.clean["a"].tolist() == [2]


def test_refused_type_is_rejected_with_its_reason_unless_the_message_has_one_of_its_own() -> None:
    given = shapes(refused={"bad": ("type.limit", "there is no room")})
    found = sort(given, b'{"type":"bad","x":1}', b'{"type":"bad","b c":1}')
    assert [(reject.stage, reject.code, reject.type) for reject in found.rejects] == [
        ("identify", "type.limit", "bad"),
        ("fit", "column.name", "bad"),
    ]


def test_types_beyond_the_room_are_rejected() -> None:
    found = sort(shapes(room=1), *[b'{"type":"%s"}' % name for name in (b"one", b"two", b"one", b"a")])
    assert found.waiting["one"].tolist() == [0, 2]
    assert codes(found) == ["type.limit"]


def test_type_with_an_endless_name_is_rejected() -> None:
    found = sort(shapes(), b'{"type":"%s"}' % (b"t" * 1_001), b'{"type":"%s"}' % (b"t" * 1_000))
    assert codes(found) == ["type.name"]
    assert len(found.waiting) == 1


def test_equal_keys_are_rejected_where_that_was_asked_for() -> None:
    found = sort(
        shapes(), b'{"type":"a","x":1,"x":1}', b'{"type":"a","x":1}', format=JsonFormat(duplicate_keys="reject")
    )
    assert codes(found) == ["json.duplicate-key"]
    assert [row.at for row in found.rows["a"]] == [1]


def test_few_bad_messages_do_not_slow_the_others_down() -> None:
    values = [b'{"type":"a","x":%d}' % at if at % 100 else b'{"type":"a","x":NaN}' for at in range(10_000)]
    found = sort(shapes(), *values)
    assert len(found.clean["a"]) == 9_900
    assert len(found.rejects) == 100
    assert not found.rows


def test_nothing_is_sorted_into_nothing() -> None:
    found = sort(shapes())
    assert [*found.clean, *found.rows, *found.waiting, *found.rejects, *found.filtered] == []


# --- rows ----------------------------------------------------------------------------------------


def test_columns_hold_the_values_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_format, "PARSE_ROWS", 3)
    values = [b'{"x":%d,"type":"a"}' % at for at in range(10)] + [b'{"type":\n"a"}']
    found = JsonFormat().reader(shapes()).columns("a", run_of(*values)).rows
    assert found is not None
    assert found.to_pylist() == [{"type": "a", "x": at} for at in [*range(10), None]]


def test_columns_are_declined_if_there_are_more_documents_than_messages() -> None:
    assert JsonFormat().reader(shapes()).columns("a", run_of(b'{"x":1}{"x":2}')).rows is None


@pytest.mark.parametrize("value", [b"{", b'{"x":"x"}', b"[]", b"\xff"])
def test_columns_are_declined_if_the_columnar_parser_dislikes_anything(value: bytes) -> None:
    assert JsonFormat().reader(shapes()).columns("a", run_of(b'{"x":1}', value)).rows is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("timestamp", '"?"'),
        ("array<timestamp>", '[null,"?"]'),
        ("struct<y: array<struct<z: timestamp>>>", '{"y":[{"z":"?"},{},null]}'),
    ],
)
def test_columns_are_declined_if_a_moment_lies_outside_of_all_years(kind: str, value: str) -> None:
    reader = JsonFormat().reader(Shapes({"a": Shape(columns({"x": kind}))}))
    last = f'{{"x":{value.replace("?", "9999-12-31T23:59:59.999999Z")}}}'.encode()
    beyond = f'{{"x":{value.replace("?", "9999-12-31T23:59:59-00:01")}}}'.encode()
    assert reader.columns("a", run_of(last, b"{}", b'{"x":null}')).rows is not None
    assert reader.columns("a", run_of(last, beyond)).rows is None
    with pytest.raises(Refusal) as refused:
        fit(reader.plain(run_of(last, beyond), 1), Shape(columns({"x": kind})))
    assert refused.value.code == "value.misfit"


def test_escaped_characters_of_every_plane_are_the_same_on_both_paths() -> None:
    letters = [chr(plane * 0x10000 + 0x123) for plane in range(17)]
    values = [json.dumps({"type": letter}).encode() for letter in letters]
    given = Shapes({"a": Shape(columns(A))})
    reader = JsonFormat().reader(given)
    found = reader.sort(run(values), ["a"] * len(values))
    columnar = reader.columns("a", run_of(*(values[at] for at in found.clean["a"]))).rows
    assert columnar is not None
    by_place = dict(zip(found.clean["a"].tolist(), columnar.column("type").to_pylist(), strict=True))
    by_place |= {row.at: row.values["type"] for row in found.rows["a"]}
    assert [by_place[at] for at in range(17)] == letters


def test_times_are_the_same_moments_in_columns() -> None:
    reader = JsonFormat().reader(Shapes({"a": Shape(columns({"x": "timestamp"}))}))
    found = reader.columns(
        "a", run_of(b'{"x":"1969-12-31T23:59:59.9999999Z"}', b'{"x":"2024-01-01t00:00:00.5+0530"}')
    ).rows
    assert found is not None
    assert [row["x"].astimezone(UTC) for row in found.to_pylist()] == [
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2023, 12, 31, 18, 30, 0, 500000, tzinfo=UTC),
    ]


# --- as it is declared ---------------------------------------------------------------------------


def test_limits_are_declared_with_units_and_checked() -> None:
    assert JsonFormat.model_validate({"max_bytes": "1MiB"}).max_bytes == 2**20
    for wrong in ({"max_bytes": 0}, {"duplicate_keys": "first"}, {"max_byte": 1}):
        with pytest.raises(ValidationError):
            JsonFormat.model_validate(wrong)
