"""Messages in envelopes: opened one by one and all at once, to the same rows."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.arrow import arrow_schema
from penstock.contracts import Shape, Shapes
from penstock.envelope import Envelope
from penstock.formats.avro import AvroFormat
from penstock.formats.json import JsonFormat
from penstock.landing.changes import change
from penstock.landing.transforming import Transforming
from penstock.merging import in_order
from penstock.messages import Columns, Messages
from penstock.schema import Struct, columns
from penstock.transforms.reference import About
from penstock.transforms.rules import rules
from penstock.values.plain import Number, Refusal
from tests.formats.json.oracle import run

EVENT = Envelope(payload="event", into="event", columns={"topic": "kafka.topic", "timestamp": "eventTimestamp"})
FLAT = Envelope(payload="body.event", columns={"id": "eventId"})
ABOUT = About("raw_events", 0, 7, None, -1)


def opened(envelope: Envelope, message: dict[str, Any], transforms: dict[str, str] | None = None) -> dict[str, Any]:
    return change(envelope, rules(transforms or {})).of(message, ABOUT)


def test_payload_becomes_a_column_beside_those_of_the_envelope() -> None:
    message = {"eventId": "1", "eventType": "a", "eventTimestamp": "2020-10-04", "event": {"x": Number("1")}}

    assert opened(EVENT, message) == {"topic": "raw_events", "timestamp": "2020-10-04", "event": {"x": "1"}}


def test_payload_that_is_a_text_is_read_as_json() -> None:
    assert opened(FLAT, {"eventId": "1", "body": {"event": '{"x": 1.50}'}}) == {"id": "1", "x": Number("1.50")}


def test_transforms_see_the_inner_message() -> None:
    found = opened(FLAT, {"eventId": "1", "body": {"event": {"x": "abc"}}}, {"y": "substr(x, `0`, `1`)"})

    assert found == {"id": "1", "x": "abc", "y": "a"}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"eventId": "1"}, "envelope.no-payload"),
        ({"body": {"event": None}}, "envelope.no-payload"),
        ({"body": []}, "envelope.no-payload"),
        ({"body": {"event": [1]}}, "envelope.payload"),
        ({"body": {"event": "no json"}}, "envelope.payload"),
        ({"body": {"event": "[1]"}}, "envelope.payload"),
        ({"eventId": "1", "body": {"event": {"id": "2"}}}, "envelope.clash"),
    ],
)
def test_message_that_cannot_be_opened_is_refused(message: dict[str, Any], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        opened(FLAT, message)

    assert refused.value.code == code


def test_cloudevents_are_known_by_name() -> None:
    message = {"specversion": "1.0", "id": "a", "source": "/s", "type": "t", "data": {"n": Number("1")}}

    found = opened(Envelope.model_validate("cloudevents"), message)

    assert found == {"id": "a", "source": "/s", "type": "t", "data": {"n": "1"}}


def _values() -> st.SearchStrategy[dict[str, Any]]:
    inner = st.fixed_dictionaries(
        {}, optional={"x": st.integers(0, 9), "y": st.text(max_size=3), "id": st.text(max_size=1)}
    )
    payload = st.one_of(inner, inner.map(json.dumps), st.none(), st.integers(), st.just("no json"))
    body = st.fixed_dictionaries({}, optional={"event": payload})
    return st.fixed_dictionaries({}, optional={"eventId": st.text(max_size=2), "body": st.one_of(body, st.none())})


@given(st.lists(_values(), min_size=1, max_size=30), st.sampled_from([None, "event"]))
@settings(max_examples=150, deadline=None)
def test_all_at_once_agrees_with_one_by_one(messages: list[dict[str, Any]], into: str | None) -> None:
    envelope = Envelope(payload="body.event", into=into, columns={"id": "eventId"})
    kinds = {"id": "string", "event": "struct<x: long, y: string, id: string>", "x": "long", "y": "string"}
    shapes = Shapes({"t": Shape(columns(kinds), "ignore")})
    reading = Transforming(JsonFormat(), shapes, change(envelope, rules({})))
    run_of = run([json.dumps(message).encode() for message in messages] * 3)

    sorted_ = reading.sort(run_of, ["t"] * len(run_of))
    rows = {row.at: row.values for row in sorted_.rows.get("t", [])}
    clean = sorted_.clean.get("t", np.empty(0, np.int64))
    made = reading.columns("t", [run_of.only(clean)]) if len(clean) else Columns.none_of(clean)
    if made.rows is not None:
        rows |= dict(zip(clean[~made.declined].tolist(), made.rows.to_pylist(), strict=True))
    left = reading.rows("t", run_of.only(clean[made.declined]))
    rows |= {int(clean[made.declined][row.at]): row.values for row in left.rows["t"]}

    slow = Transforming(JsonFormat(), shapes, change(envelope, rules({}))).rows("t", _copy(run_of))
    assert rows == {row.at: row.values for row in slow.rows["t"]}


def _copy(messages: Messages) -> Messages:
    return messages.only(np.arange(len(messages)))


# --- messages with schemas -----------------------------------------------------------------------

TYPED = {
    "type": "record",
    "name": "wrapped",
    "fields": [
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 2}},
        {
            "name": "event",
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "event",
                    "fields": [
                        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
                        {"name": "counts", "type": {"type": "map", "values": "long"}},
                    ],
                },
            ],
        },
    ],
}


def _typed(n: int) -> bytes:
    message = {
        "at": None if n % 3 == 0 else datetime(2026, 3, 1, 12, 0, 0, n, UTC),
        "price": Decimal("1234567890123456789012345.67") + n,
        "event": None if n % 5 == 4 else {"day": date(2026, 3, 1 + n % 9), "counts": {"a": n}},
    }
    written = io.BytesIO()
    fastavro.writer(written, fastavro.parse_schema(dict(TYPED)), [message])
    return written.getvalue()


@pytest.mark.parametrize("into", [None, "event"])
def test_values_that_have_a_type_keep_it(into: str | None) -> None:
    envelope = Envelope(payload="event", into=into, columns={"at": "at", "price": "price", "offset": "kafka.offset"})
    messages = run([_typed(n) for n in range(100)])

    seen = Transforming(AvroFormat(), Shapes({}), change(envelope, rules({}))).infer("t", messages)

    inner = {"day": "date", "counts": "map<string, long>"}
    beside = {"at": "timestamp", "price": "decimal(30, 2)", "offset": "long"}
    more = {"event": "struct<day: date, counts: map<string, long>>"} if into else inner
    assert seen == in_order(columns(beside | more))
    shapes = Shapes({"t": Shape(seen)})
    reading, slow = (Transforming(AvroFormat(), shapes, change(envelope, rules({}))) for _ in range(2))
    found = reading.sort(messages, ["t"] * 100)
    clean = found.clean["t"]
    made = reading.columns("t", [messages.only(clean)])
    assert made.rows is not None
    expected = slow.rows("t", messages.only(clean[~made.declined])).rows["t"]
    assert len(expected) > 20
    table = pa.RecordBatch.from_pylist([row.values for row in expected], arrow_schema(seen))
    assert made.rows.select(table.schema.names).to_pylist() == table.to_pylist()


def test_envelope_of_which_nothing_is_left_is_opened_one_by_one() -> None:
    messages = run([b'{"event": {}}'] * 100)

    seen = Transforming(JsonFormat(), Shapes({}), change(Envelope(payload="event"), rules({}))).infer("t", messages)

    assert seen == Struct()
