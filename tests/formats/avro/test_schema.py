"""Schema texts: what they mean, and that hostile ones end in a sentence for people."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from penstock.formats.avro.model import Entries, Enum, Fixed, Items, Logical, Primitive, Record, RecordField, Union
from penstock.formats.avro.schema import parse
from tests.formats.avro.encoding import enum, fixed, logical, record


def _parsed(schema: Any, *references: Any) -> Any:
    return parse(json.dumps(schema), [json.dumps(reference) for reference in references])


def test_every_kind_of_type_is_known() -> None:
    schema = record(
        "null", {"type": "array", "items": "int"}, {"type": "map", "values": "bytes"}, ["null", enum("A")], fixed(3)
    )

    a, b, c, d, e = _parsed(schema).fields

    assert a.type == Primitive("null")
    assert b.type == Items(Primitive("int"))
    assert c.type == Entries(Primitive("bytes"))
    assert d.type == Union((Primitive("null"), Enum("E", ("A",))))
    assert e.type == Fixed("F", 3)


def test_names_are_found_in_their_namespace_and_by_their_full_name() -> None:
    inner = {"type": "enum", "name": "Kind", "symbols": ["A"]}
    schema = {**record(inner, "Kind", "shop.Kind"), "namespace": "shop"}

    found = _parsed(schema)

    assert found.name == "shop.R"
    assert {field.type for field in found.fields} == {Enum("shop.Kind", ("A",))}


def test_a_dotted_name_brings_its_own_namespace() -> None:
    schema = {**record({**fixed(2), "name": "other.F"}, "other.F"), "namespace": "shop"}

    assert [field.type for field in _parsed(schema).fields] == [Fixed("other.F", 2)] * 2


def test_a_name_without_a_namespace_is_found_from_inside_of_one() -> None:
    schema = {**record("Money"), "namespace": "shop"}

    assert _parsed(schema, fixed(2, name="Money")).fields[0].type == Fixed("Money", 2)


def test_references_define_names_and_may_use_each_other() -> None:
    money, line = fixed(8, name="shop.Money"), {**record("Money", name="Line"), "namespace": "shop"}
    order = {**record({"type": "array", "items": "Line"}, name="Order"), "namespace": "shop"}

    expected = Record("shop.Line", (RecordField("a", Fixed("shop.Money", 8)),))

    assert _parsed(order, money, line, money).fields[0].type == Items(expected)


def test_defaults_and_aliases_are_kept() -> None:
    schema = {"type": "record", "name": "n.R", "aliases": ["Old", "m.Older"], "fields": []}
    field = {"name": "a", "type": "int", "default": 3, "aliases": ["b"]}

    found = _parsed({**schema, "fields": [field]})

    assert found == Record("n.R", (RecordField("a", Primitive("int"), "3", ("b",)),), ("n.Old", "m.Older"))


@pytest.mark.parametrize(
    ("schema", "meaning"),
    [
        (logical("int", "date"), Logical("date")),
        (logical("long", "date"), None),
        (logical("string", "unheard-of"), None),
        (logical("string", ["date"]), None),
        (logical("bytes", "decimal", precision=5, scale=2), Logical("decimal", 5, 2)),
        (logical("bytes", "decimal", precision=5), Logical("decimal", 5, 0)),
        (logical("bytes", "decimal", precision=2, scale=3), None),
        (logical("bytes", "decimal", precision=0), None),
        (logical("bytes", "decimal", precision="5"), None),
        (logical("bytes", "decimal", precision=True), None),
        (fixed(2, logicalType="decimal", precision=4), Logical("decimal", 4, 0)),
        (fixed(2, logicalType="decimal", precision=5), None),
        (fixed(16, logicalType="uuid"), Logical("uuid")),
        (fixed(15, logicalType="uuid"), None),
        (fixed(12, logicalType="duration"), Logical("duration")),
        (fixed(13, logicalType="duration"), None),
    ],
    ids=str,
)
def test_a_logical_type_that_does_not_hold_together_is_none(schema: Any, meaning: Logical | None) -> None:
    assert _parsed(schema).logical == meaning


def _nested(depth: int, inner: str = "int") -> Any:
    found: Any = inner
    for _ in range(depth):
        found = {"type": "array", "items": found}
    return found


def _doubling(levels: int) -> list[Any]:
    """Records of which each holds the one before it twice."""
    return [record(*([f"R{level - 1}"] * 2 if level else ["int"]), name=f"R{level}") for level in range(levels)]


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ("strin", 'uses the type "strin", which is not defined before'),
        (7, 'has "7" where a type is expected'),
        (None, "where a type is expected"),
        ({}, "has an object without 'type'"),
        ({"type": "array"}, "a type 'array' without 'items'"),
        ({"type": "map"}, "a type 'map' without 'values'"),
        ({"type": "record", "name": "R"}, "has no list of fields"),
        ({"type": "record", "fields": []}, "without a proper name"),
        (record("int", name="no name"), 'whose name is not allowed: "no name"'),
        (record("int", name="a..b"), "whose name is not allowed"),
        (record("int", name="string"), "whose name is not allowed"),
        (record("int", name="x.\u00e9"), "whose name is not allowed"),
        (record("int", name="N" * 300), "whose name is not allowed"),
        ({**record("int"), "namespace": 7}, "without a proper name"),
        ({**record("int"), "aliases": "x"}, "'aliases' that is not a list of texts"),
        ({"type": "record", "name": "R", "fields": [{"name": "a-b", "type": "int"}]}, "a field without a proper name"),
        ({"type": "record", "name": "R", "fields": ["a"]}, "a field without a proper name"),
        ({"type": "record", "name": "R", "fields": [{"name": "a"}]}, "has no type"),
        ({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}] * 2}, 'has two fields "a"'),
        (record(fixed(1), fixed(1)), 'defines the name "F" twice'),
        (record("R"), "contains itself: recursive types cannot be columns"),
        (record(["null", {"type": "array", "items": "R"}]), "contains itself"),
        (fixed(-1), "has no proper size"),
        (fixed(2**31), "has no proper size"),
        ({**fixed(1), "size": "1"}, "has no proper size"),
        ({**fixed(1), "size": True}, "has no proper size"),
        (enum(), "are not names, each once"),
        (enum("A", "A"), "are not names, each once"),
        (enum("a b"), "are not names, each once"),
        (enum("A" * 300), "are not names, each once"),
        (enum(*(f"A{i}" for i in range(10_001))), "more than 10000 symbols"),
        ({**enum("A"), "default": "B"}, "is none of its symbols"),
        ({**enum("A"), "symbols": "A"}, "'symbols' that is not a list of texts"),
        ([], "a union of nothing"),
        (["int", ["string"]], "a union directly inside a union"),
        (["int", "int"], 'a union with two branches "int"'),
        (["int", logical("int", "date")], 'a union with two branches "int"'),
        ([_nested(1), _nested(2)], 'a union with two branches "array"'),
        (_nested(64), "nested more than 64 deep"),
        ([f"null{i}" for i in range(3)], "not defined before"),
        (record(*_doubling(14)), "more than 10000 types"),
        (logical("bytes", "decimal", precision=10**9), "the limit is 1000"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_what_cannot_be_used_ends_in_a_sentence(schema: Any, sentence: str) -> None:
    start = time.process_time()
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        _parsed(schema)

    assert len(str(caught.value)) < 400
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not well-formed JSON"),
        ("string", "not well-formed JSON"),
        ('{"type": "int"', "not well-formed JSON"),
        ("[" * 100_000, "not well-formed JSON"),
        ('{"type":' * 900 + '"int"' + "}" * 900, "nested more than 64 deep"),
        ('{"type": "fixed", "name": "F", "size": ' + "9" * 5_000 + "}", "not well-formed JSON"),
        (" " * 1_000_001, "has 1000001 characters"),
    ],
    ids=["nothing", "no JSON", "cut off", "brackets", "deep", "digits", "long"],
)
def test_what_is_no_schema_ends_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        parse(text)


def test_a_recursion_through_references_is_refused() -> None:
    with pytest.raises(ValueError, match="not defined before"):
        _parsed(record("B", name="A"), record("A", name="B"))


def test_depth_counts_through_references() -> None:
    half = record(_nested(40), name="Half")

    _parsed(record(half, _nested(20, "Half")))
    with pytest.raises(ValueError, match="nested more than 64 deep"):
        _parsed(record(half, _nested(30, "Half")))


def test_references_are_limited() -> None:
    with pytest.raises(ValueError, match="has 1001 references"):
        parse('"int"', ['"int"'] * 1_001)
