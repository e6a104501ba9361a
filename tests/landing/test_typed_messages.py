"""Messages with schemas on their way through transforms: what nobody touches keeps its type, and stays fast."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa

from penstock.arrow import arrow_schema
from penstock.contracts import Reader, Shape, Shapes
from penstock.formats.avro.decoder import AvroDecoder
from penstock.formats.decoding import Decoder, Framed
from penstock.formats.schema_reader import SchemaReader
from penstock.landing.changes import ByRules
from penstock.landing.transforming import Transforming
from penstock.messages import Messages
from penstock.schema import Field, Schema, Struct, parse
from penstock.transforms.rules import rules
from tests.formats.json.oracle import run

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "n", "type": "int"},
        {"name": "who", "type": ["null", "string"]},
        {"name": "share", "type": "float"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "raw", "type": "bytes"},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "line", "type": {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]}},
    ],
}


class One:
    """A format whose messages all have one Avro schema, and nothing before them."""

    def __init__(self) -> None:
        self._decoder = AvroDecoder(json.dumps(ORDER))

    @property
    def schema(self) -> Schema:
        return self._decoder.schema

    def reader(self, shapes: Shapes) -> Reader:
        return SchemaReader(self, shapes)

    def framed(self, messages: Messages) -> Framed:
        return Framed(messages.values, [0], np.zeros(len(messages), np.int64))

    def decoder(self, _: Any) -> Decoder:
        return self._decoder

    def part(self, _: Any, name: str) -> str:
        return name


def _encoded(n: int) -> bytes:
    out = io.BytesIO()
    message = {
        "n": n,
        "who": f"customer {n}",
        "share": n / 3,
        "price": Decimal(n) / 100,
        "at": datetime(2026, 3, 1, 12, n % 60, tzinfo=UTC),
        "raw": bytes([n % 256, 255]),
        "counts": {"a": n},
        "line": {"sku": f"s{n}"},
    }
    fastavro.schemaless_writer(out, ORDER, message)
    return out.getvalue()


def test_columns_agree_with_rows_and_none_is_declined() -> None:
    format = One()
    more = [Field("day", parse("string")), Field("off", parse("long")), Field("line2", parse("string"))]
    shapes = Shapes({"t": Shape(Struct((*format.schema, *more)))})
    change = ByRules(rules({"day": "substr(who, `0`, `3`)", "off": "kafka.offset", "line2": "line.sku"}))
    messages = run([_encoded(n) for n in range(500)])
    reading = Transforming(format, shapes, change)

    found = reading.sort(messages, ["t"] * 500)
    clean = found.clean["t"]
    made = reading.columns("t", [messages.only(clean)])
    slow = Transforming(format, shapes, change).rows("t", messages.only(clean))

    assert len(clean) > 400
    assert not made.declined.any()
    assert made.rows is not None
    schema = arrow_schema(shapes.types["t"].columns)
    assert made.rows.schema == schema
    assert (
        made.rows.to_pylist() == pa.RecordBatch.from_pylist([row.values for row in slow.rows["t"]], schema).to_pylist()
    )


def test_new_type_gets_the_columns_of_the_schema_and_of_the_transforms() -> None:
    reading = Transforming(One(), Shapes({}), ByRules(rules({"off": "kafka.offset", "n": "`null`"})))

    seen = reading.infer("t", run([_encoded(n) for n in range(300)]))

    kinds = {field.name: str(field.type) for field in seen}
    assert kinds["off"] == "long"
    assert "n" not in kinds or kinds["n"] == "nothing"
    assert kinds["line"] == "struct<sku: string>"


def test_columns_of_a_new_schema_keep_their_types_in_a_table_that_exists() -> None:
    """Also where the expression has to go one by one."""
    for source in ("n", "sort_by([n], &@)[0]"):
        table = Struct((Field("n", parse("int")), Field("x", parse("long"))))
        reading = Transforming(One(), Shapes({"t": Shape(table)}), ByRules(rules({"x": source})))
        messages = run([_encoded(n) for n in range(40)])

        waiting = reading.sort(messages, ["t"] * 40).waiting["t"]
        seen = reading.infer("t", messages.only(waiting))

        kinds = {field.name: str(field.type) for field in seen}
        assert (kinds["price"], kinds["at"], kinds["raw"], kinds["counts"]) == (
            "decimal(9, 2)",
            "timestamp",
            "binary",
            "map<string, long>",
        )


def test_one_message_that_goes_alone_changes_no_type() -> None:
    reading = Transforming(One(), Shapes({}), ByRules(rules({"x": "n"})))
    long = [_encoded(n) for n in range(100)]
    long[50] = long[50] + b"trailing"

    seen = reading.infer("t", run(long))

    assert str(seen.get("price").type) == "decimal(9, 2)"  # type: ignore[union-attr]
    assert str(seen.get("share").type) == "float"  # type: ignore[union-attr]
