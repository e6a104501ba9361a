"""What every format must keep, run over all of them: every message in one place, two ways to the same rows."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.arrow import arrow_schema
from penstock.contracts import Format, Reader, Shape, Shapes
from penstock.formats.avro import AvroFormat
from penstock.formats.dynamodb import DynamodbFormat
from penstock.formats.json import JsonFormat
from penstock.formats.mixed import MixedFormat
from penstock.merging import extended
from penstock.messages import Details, Messages, Sorted
from penstock.schema import Struct, columns, written
from penstock.values.fit import fit
from penstock.values.plain import Refusal
from tests.contracts.writers import container, item


@dataclass(frozen=True)
class Written:
    """A format, how messages are written in it, and bytes that mean nothing in it."""

    format: Format
    write: Callable[[Mapping[str, Any]], bytes]
    broken: Sequence[bytes]
    is_columnar: bool  # does it make columns of ordinary messages, or decline?


def _json(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode()


NO_JSON = [b"", b"{", b"[1]", b"null", b"\xff\xfe", b'{"type":"order"} {}']

FORMATS = {
    "json": Written(JsonFormat(), _json, NO_JSON, True),
    "avro": Written(AvroFormat(), container, [b"", b"{}", b"Obj\x01", container({"n": 1})[:-9]], True),
    "dynamodb": Written(DynamodbFormat(rows="items"), item, [*NO_JSON, b'{"n": 1}', b'{"n": {"N": "x"}}'], False),
    "mixed": Written(MixedFormat(header="kind", formats={"json": JsonFormat()}, default="json"), _json, NO_JSON, True),
}

COLUMNS = {"type": "string", "n": "long", "who": "struct<name: string, age: long>", "tags": "array<string>"}
ORDER: Mapping[str, Any] = {"type": "order", "n": 1, "who": {"name": "ada", "age": 36}, "tags": ["a", "b"]}
PAGE: Mapping[str, Any] = {"type": "page", "n": 2}
FITTING = [ORDER, {"type": "order"}, {"type": "order", "n": None, "tags": []}, {"type": "order", "who": {"age": 1}}]
KINDS: list[Mapping[str, Any]] = [
    *FITTING,
    PAGE,
    {"type": "page", "n": 2, "more": True},  # what it has more goes to `_rescued`
    {"type": "order", "n": "many"},  # does not fit
    {"type": "order", "who": {"name": 1}},
    {"type": "order", "new": 1.5},  # needs a column
    {"type": "order", "who": {"city": "Turin"}},
    {"type": "never seen", "n": 3},
    {"type": "spam", "n": 4},  # is not wanted
    {"type": "banned", "n": 5},  # may not have a table
    {"n": 6},  # has no type
    {"type": 7},
]

SHAPES = Shapes(
    {"order": Shape(columns(COLUMNS)), "page": Shape(columns({"type": "string", "n": "long"}), "rescue")},
    field="type",
    allow="^(order|page|never|banned)",
    refused={"banned": ("type.limit", "there is no room")},
)


@pytest.fixture(params=FORMATS)
def written_as(request: pytest.FixtureRequest) -> Written:
    return FORMATS[request.param]


def _run(values: Sequence[bytes]) -> Messages:
    nothing = Details(None, (), None)
    return Messages("topic", "0", np.arange(len(values)), pa.array(values, pa.binary()), lambda _: nothing)


def _messages(written_as: Written, messages: Sequence[Mapping[str, Any]]) -> Messages:
    return _run([written_as.write(message) for message in messages])


def _places(found: Sorted) -> Counter[int]:
    """How often every message was put somewhere."""
    listed = [*found.clean.values(), *found.waiting.values(), found.filtered]
    at = Counter(int(index) for indices in listed for index in indices)
    at.update(row.at for rows in found.rows.values() for row in rows)
    at.update(reject.at for reject in found.rejects)
    return at


def _became(reader: Reader, messages: Messages, found: Sorted) -> tuple[Counter[str], int]:
    """How many rows each type gets in the end, and how many messages are rejected: those that are called clean may
    be declined later, and are then decided one by one."""
    rows = Counter({type: len(made) for type, made in found.rows.items()})
    rejected = len(found.rejects)
    for type, at in found.clean.items():
        declined = at[reader.columns(type, messages.only(at)).declined]
        rows[type] += len(at) - len(declined)
        for place in declined.tolist():
            try:
                fit(reader.plain(messages, place), SHAPES.types[type])
                rows[type] += 1
            except Refusal:
                rejected += 1
    return rows, rejected


def _one_by_one(reader: Reader, messages: Messages, shape: Shape) -> list[dict[str, Any]]:
    """Rows of the reference path, as a table would hold them; nothing may be rejected."""
    rows = [fit(reader.plain(messages, at), shape) for at in range(len(messages))]
    made: list[dict[str, Any]] = pa.RecordBatch.from_pylist(rows, arrow_schema(shape.columns)).to_pylist()
    return made


# --- every message is in one place ---------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
@given(chosen=st.lists(st.integers(0, 200), max_size=150))
@settings(max_examples=40, deadline=None)
def test_every_message_is_in_exactly_one_place(name: str, chosen: list[int]) -> None:
    written_as = FORMATS[name]
    choices = [*map(written_as.write, KINDS), *written_as.broken]
    values = [choices[number % len(choices)] for number in chosen]

    found = written_as.format.reader(SHAPES).sort(_run(values), None)

    assert _places(found) == Counter(range(len(values)))


def test_every_kind_of_message_is_where_it_belongs_however_many_there_are(written_as: Written) -> None:
    messages = _run([*map(written_as.write, KINDS), *written_as.broken] * 50)
    reader = written_as.format.reader(SHAPES)

    found = reader.sort(messages, None)

    assert _places(found) == Counter(range(len(messages)))
    assert {type: len(at) for type, at in found.waiting.items()} == {"order": 100, "never seen": 50}
    assert len(found.filtered) == 50
    rows, rejected = _became(reader, messages, found)
    assert rows == {"order": 50 * len(FITTING), "page": 100}
    assert rejected == 50 * (5 + len(written_as.broken))
    assert all(reject.stage and reject.code and reject.text for reject in found.rejects)


def test_type_that_the_route_knows_needs_no_field(written_as: Written) -> None:
    values = [written_as.write({"n": 1}), written_as.write({"n": 2}), written_as.broken[0], written_as.broken[1]]
    shapes = replace(SHAPES, field=None)

    found = written_as.format.reader(shapes).sort(_run(values), ["order", "never", "spam", "order"])

    assert _places(found) == Counter(range(4))
    assert [row.at for row in found.rows.get("order", [])] + found.clean.get("order", np.empty(0)).tolist() == [0]
    assert found.waiting["never"].tolist() == [1]
    assert found.filtered.tolist() == [2]
    assert [reject.at for reject in found.rejects] == [3]


def test_nothing_is_sorted_into_nothing(written_as: Written) -> None:
    assert _places(written_as.format.reader(SHAPES).sort(_run([]), None)) == Counter()


# --- two ways to the same rows -------------------------------------------------------------------


@pytest.mark.parametrize("type", ["order", "page"])
def test_columns_and_rows_agree(written_as: Written, type: str) -> None:
    fitting = [message for message in [*FITTING, PAGE] * 20 if message["type"] == type]
    messages = _messages(written_as, fitting)
    reader, shape = written_as.format.reader(SHAPES), SHAPES.types[type]

    made = reader.columns(type, messages)

    assert made.declined.tolist() == [not written_as.is_columnar] * len(messages)
    if made.rows is None:
        return
    whole = [row | dict.fromkeys(arrow_schema(shape.columns).names, None) | row for row in made.rows.to_pylist()]
    assert whole == _one_by_one(reader, messages, shape)


def test_plain_messages_hold_what_they_said(written_as: Written) -> None:
    messages = _messages(written_as, FITTING)

    rows = _one_by_one(written_as.format.reader(SHAPES), messages, SHAPES.types["order"])

    assert rows[0] == ORDER
    assert [row["n"] for row in rows] == [1, None, None, None]
    assert rows[2]["tags"] == []
    assert rows[3]["who"] == {"name": None, "age": 1}


def test_bad_messages_are_refused_one_by_one(written_as: Written) -> None:
    messages = _run(written_as.broken)

    for at in range(len(messages)):
        with pytest.raises(Refusal) as refused:
            written_as.format.reader(SHAPES).plain(messages, at)
        assert refused.value.stage == "parse"


# --- columns that are not there yet --------------------------------------------------------------


def test_nothing_seen_means_no_columns(written_as: Written) -> None:
    reader = written_as.format.reader(SHAPES)

    assert reader.infer("never seen", _messages(written_as, [])) == Struct()
    assert reader.infer("order", _messages(written_as, [])) == Struct()


def test_columns_of_a_new_type_are_those_of_all_its_messages_so_far(written_as: Written) -> None:
    reader = written_as.format.reader(SHAPES)

    first = reader.infer("never seen", _messages(written_as, [{"n": 1}, {"who": {"name": "ada"}}]))
    second = reader.infer("never seen", _messages(written_as, [{"who": {"age": 1}, "tags": ["a"]}]))

    assert written(first) == {"n": "long", "who": "struct<name: string>"}
    assert written(second) == {"n": "long", "tags": "array<string>", "who": "struct<age: long, name: string>"}


def test_known_type_is_seen_to_lack_only_what_it_lacks(written_as: Written) -> None:
    messages: list[Mapping[str, Any]] = [
        {"type": "order", "n": 1, "new": 1.5},
        {"type": "order", "who": {"name": "ada", "city": "Turin"}},
    ]

    seen = written_as.format.reader(SHAPES).infer("order", _messages(written_as, messages))

    assert written(seen) == {"new": "double", "who": "struct<city: string>"}


def test_messages_wait_no_more_once_their_columns_are_there(written_as: Written) -> None:
    waiting = [message for message in KINDS if "new" in message or "city" in message.get("who", {})] * 40
    values = [written_as.write(message) for message in waiting]
    seen = written_as.format.reader(SHAPES).infer("order", _run(values))
    order = SHAPES.types["order"]
    grown = replace(SHAPES, types={"order": replace(order, schema=extended(order.schema, seen))})

    found = written_as.format.reader(grown).sort(_run(values), None)

    assert found.waiting == {}
    assert found.rejects == []
    assert _places(found) == Counter(range(len(values)))


# --- on its way to a worker ----------------------------------------------------------------------


def test_format_and_shapes_travel_to_workers_and_work_the_same_there(written_as: Written) -> None:
    format, shapes = pickle.loads(pickle.dumps((written_as.format, SHAPES)))
    values = [*map(written_as.write, KINDS), *written_as.broken]

    there, here = (f.reader(s).sort(_run(values), None) for f, s in ((format, shapes), (written_as.format, SHAPES)))

    assert there.rejects == here.rejects
    assert {type: at.tolist() for type, at in there.clean.items()} == {t: at.tolist() for t, at in here.clean.items()}
    assert there.waiting.keys() == here.waiting.keys()
