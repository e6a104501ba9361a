"""Values of a writer's schema, as a reader's schema has them."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from penstock.formats.avro.decoder import AvroDecoder
from penstock.formats.avro.schema import parse
from penstock.values.plain import Number, Refusal
from tests.formats.avro.encoding import enum, fixed, logical, record, written


def _field(name: str, type: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, **more}


def _of(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": list(fields), **more}


def _plain(writer: Any, value: Any, reader: Any) -> Any:
    return AvroDecoder(json.dumps(writer)).plain_as(written(writer, value), parse(json.dumps(reader)))


@pytest.mark.parametrize(
    ("writer", "value", "reader", "plain"),
    [
        ("int", 5, "long", Number("5")),
        ("int", 5, "double", Number("5.0")),
        ("long", 2**53 + 1, "double", Number("9007199254740992.0")),
        ("long", 2**24 + 1, "float", Number("16777216.0")),
        ("float", 0.1, "double", Number("0.10000000149011612")),
        ("string", "é", "bytes", "w6k="),
        ("bytes", "é".encode(), "string", "é"),
        ("long", 0, logical("long", "timestamp-micros"), "1970-01-01T00:00:00.000000Z"),
        (logical("int", "date"), 0, "int", Number("0")),
        ("int", 5, ["null", "string", "long"], {"long": Number("5")}),
        ("int", 5, ["null", "long"], Number("5")),
        ("int", 5, ["double", "int"], {"int": Number("5")}),
        (["null", "int"], 5, "long", Number("5")),
        (["null", "int"], None, ["int", "null"], None),
        ({"type": "array", "items": "int"}, [1], {"type": "array", "items": "double"}, [Number("1.0")]),
        ({"type": "map", "values": "int"}, {"k": 1}, {"type": "map", "values": "long"}, {"k": Number("1")}),
        (enum("A", "B"), "B", enum("B", "C"), "B"),
        (enum("A", "B"), "A", {**enum("B", "C"), "default": "C"}, "C"),
        (fixed(2), b"ab", fixed(2), "YWI="),
        (fixed(2, name="x.F"), b"ab", fixed(2, name="y.F"), "YWI="),
        (record("int", name="Old"), {"a": 1}, {**record("int", name="New"), "aliases": ["Old"]}, {"a": Number("1")}),
    ],
    ids=str,
)
def test_value_becomes_what_the_reader_has(writer: Any, value: Any, reader: Any, plain: Any) -> None:
    found = _plain(_of(_field("f", writer)), {"f": value}, _of(_field("f", reader)))

    assert found == {"f": plain}


@pytest.mark.parametrize(
    ("type", "default", "plain"),
    [
        ("null", None, None),
        ("boolean", True, True),
        ("int", 3, Number("3")),
        ("double", 3, Number("3.0")),
        ("float", 0.1, Number("0.10000000149011612")),
        ("bytes", "\xff", "/w=="),
        (fixed(2), "\0\xff", "AP8="),
        ("string", "x", "x"),
        (enum("A"), "A", "A"),
        (["null", "int"], None, None),
        (["null", "int"], 7, Number("7")),
        ({"type": "array", "items": "int"}, [1], [Number("1")]),
        ({"type": "map", "values": "int"}, {"k": 1}, {"k": Number("1")}),
        (record("int", name="I"), {"a": 1}, {"a": Number("1")}),
        (_of(_field("x", "int", default=4), name="I"), {}, {"x": Number("4")}),
        (logical("int", "date"), 0, "1970-01-01"),
    ],
    ids=str,
)
def test_what_was_not_written_has_its_default(type: Any, default: Any, plain: Any) -> None:
    found = _plain(_of(_field("a", "int")), {"a": 1}, _of(_field("a", "int"), _field("b", type, default=default)))

    assert found == {"a": Number("1"), "b": plain}


def test_fields_are_found_by_their_aliases_and_others_are_left_out() -> None:
    writer = _of(_field("old", "int"), _field("gone", "string"))

    found = _plain(writer, {"old": 1, "gone": "x"}, _of(_field("new", "long", aliases=["older", "old"])))

    assert found == {"new": Number("1")}


@pytest.mark.parametrize(
    ("writer", "value", "reader", "code"),
    [
        ("string", "x", "int", "avro.resolve"),
        ("long", 1, "int", "avro.resolve"),
        ("double", 1.0, "float", "avro.resolve"),
        ("int", 1, ["null", "string"], "avro.resolve"),
        (["null", "int"], None, "int", "avro.resolve"),
        (fixed(2), b"ab", fixed(3), "avro.resolve"),
        (record("int", name="A"), {"a": 1}, record("int", name="B"), "avro.resolve"),
        (enum("A", "B"), "A", enum("B"), "avro.resolve"),
        ("bytes", b"\xff", "string", "avro.text"),
        ("int", 2**31 - 1, logical("int", "date"), "avro.time"),
    ],
    ids=str,
)
def test_what_the_reader_has_no_value_for_is_refused(writer: Any, value: Any, reader: Any, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        _plain(_of(_field("f", writer)), {"f": value}, _of(_field("f", reader)))

    assert (caught.value.stage, caught.value.code) == ("parse", code)


@pytest.mark.parametrize(
    ("type", "default"),
    [
        ("int", "x"),
        ("int", 2**31),
        ("int", True and 1.5),
        ("boolean", 1),
        ("string", 1),
        ("string", None),
        ("bytes", "\u0100"),
        ("bytes", 1),
        ("double", True),
        (fixed(2), "abc"),
        (enum("A"), "B"),
        (record("int", name="I"), 7),
        (record("int", name="I"), {"a": "x"}),
        (["null", "int"], "x"),
        ({"type": "array", "items": "int"}, {"0": 1}),
        ({"type": "map", "values": "int"}, [1]),
        ("float", 1e300),
    ],
    ids=str,
)
def test_a_default_that_is_none_is_refused_when_it_is_needed(type: Any, default: Any) -> None:
    reader = _of(_field("a", "int"), _field("b", type, default=default))

    with pytest.raises(Refusal) as caught:
        _plain(_of(_field("a", "int")), {"a": 1}, reader)

    assert caught.value.code == "avro.resolve"
    assert _plain(_of(_field("a", "int")), {"a": 1}, _of(_field("a", "int"))) == {"a": Number("1")}


def test_what_has_no_default_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        _plain(_of(_field("a", "int")), {"a": 1}, _of(_field("b", "int")))

    assert caught.value.text == 'the field "b" was not written and has no default'


def test_fastavro_says_the_same() -> None:
    writer = _of(_field("a", "int"), _field("b", ["null", "float"]), _field("c", {"type": "array", "items": "int"}))
    reader = _of(
        _field("z", "long", aliases=["a"]),
        _field("b", ["null", "double"]),
        _field("c", {"type": "array", "items": "double"}),
        _field("d", "string", default="none"),
    )
    body = written(writer, {"a": 7, "b": 0.5, "c": [1, 2]})

    theirs = fastavro.schemaless_reader(io.BytesIO(body), writer, reader)

    assert theirs == {"z": 7, "b": 0.5, "c": [1.0, 2.0], "d": "none"}
    ours = AvroDecoder(json.dumps(writer)).plain_as(body, parse(json.dumps(reader)))
    assert ours == {"z": Number("7"), "b": Number("0.5"), "c": [Number("1.0"), Number("2.0")], "d": "none"}
