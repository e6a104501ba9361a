"""The columns that Avro types have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.formats.avro.mapping import schema_of
from penstock.formats.avro.model import least_size, width
from penstock.formats.avro.schema import parse
from tests.formats.avro.encoding import enum, fixed, logical, record

INNER = record("int", name="shop.Line")


@pytest.mark.parametrize(
    ("schema", "column"),
    [
        ("boolean", "boolean"),
        ("int", "int"),
        ("long", "long"),
        ("float", "float"),
        ("double", "double"),
        ("bytes", "binary"),
        ("string", "string"),
        (enum("A"), "string"),
        (fixed(3), "binary"),
        ({"type": "array", "items": "int"}, "array<int>"),
        ({"type": "map", "values": "long"}, "map<string, long>"),
        ({"type": "array", "items": "null"}, "array<json>"),
        ({"type": "array", "items": ["null", INNER]}, "array<struct<a: int>>"),
        (record(name="Empty"), "json"),
        (record("null", name="Hollow"), "json"),
        (["null", "int"], "int"),
        (["int"], "int"),
        (["int", "null"], "int"),
        (["int", "long"], "long"),
        (["null", "long", "int"], "long"),
        (["float", "null", "double"], "double"),
        (["int", "double"], "struct<int: int, double: double>"),
        (["int", "long", "float"], "struct<int: int, long: long, float: float>"),
        ([logical("int", "date"), "long"], "struct<int: date, long: long>"),
        (["null", "string", INNER], "struct<string: string, Line: struct<a: int>>"),
        ([fixed(1, name="x.F"), fixed(2, name="y.F")], "struct<x_F: binary, y_F: binary>"),
        ([fixed(1, name="Map"), {"type": "map", "values": "int"}], "struct<Map: binary, map_: map<string, int>>"),
        ([fixed(1, name="f"), fixed(2, name="F")], "struct<f: binary, F_: binary>"),
        ([record(name="Nothing"), "int"], "struct<Nothing: json, int: int>"),
        (logical("int", "date"), "date"),
        (logical("int", "time-millis"), "string"),
        (logical("long", "time-micros"), "string"),
        (logical("long", "timestamp-millis"), "timestamp"),
        (logical("long", "timestamp-micros"), "timestamp"),
        (logical("long", "timestamp-nanos"), "timestamp"),
        (logical("long", "local-timestamp-millis"), "timestamp_ntz"),
        (logical("long", "local-timestamp-micros"), "timestamp_ntz"),
        (logical("long", "local-timestamp-nanos"), "timestamp_ntz"),
        (logical("bytes", "decimal", precision=38, scale=9), "decimal(38, 9)"),
        (logical("bytes", "decimal", precision=39, scale=9), "string"),
        (fixed(4, logicalType="decimal", precision=9), "decimal(9, 0)"),
        (logical("string", "uuid"), "string"),
        (fixed(16, logicalType="uuid"), "string"),
        (fixed(12, logicalType="duration"), "struct<months: long, days: long, milliseconds: long>"),
        (logical("long", "unheard-of"), "long"),
    ],
    ids=str,
)
def test_a_type_has_its_column(schema: Any, column: str) -> None:
    [field] = schema_of(parse(json.dumps(record(schema))))

    assert str(field) == f"a: {column}"


def test_what_is_always_null_has_no_column() -> None:
    assert str(schema_of(parse(json.dumps(record("int", "null", ["null"], "long"))))) == "struct<a: int, d: long>"


def test_what_is_no_record_is_one_column() -> None:
    assert str(schema_of(parse('"string"'))) == "struct<value: string>"
    assert str(schema_of(parse('"null"'))) == "struct<>"


def test_how_much_a_value_is_at_least() -> None:
    type = parse(
        json.dumps(record("int", "double", fixed(3), ["null", INNER], "null", {"type": "array", "items": "int"}))
    )

    assert least_size(type) == 1 + 8 + 3 + 1 + 0 + 1
    assert width(type) == 7
