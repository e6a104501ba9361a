"""Spark's JSON schemas: what they mean, that Spark agrees, and what is refused of them."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql import types as spark

from penstock.registries.documents import MAX_TEXT, MAX_TYPES
from penstock.registries.spark_json import from_spark, to_spark
from penstock.schema import JSON, STRING, Array, Field, Map, Schema, Struct, Type, columns, written
from penstock.values.plain import MAX_COLUMN_DEPTH, Refusal, names
from tests.strategies import schemas


def text(*fields: Any) -> str:
    return json.dumps({"type": "struct", "fields": list(fields)})


def field(name: Any, type: Any = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "nullable": True, "metadata": {}, **more}


def optional(kind: Type) -> Any:
    """The same type with every field optional."""
    if isinstance(kind, Array | Map):
        return type(kind)(optional(kind.of))
    if isinstance(kind, Struct):
        return Struct(tuple(Field(f.name, optional(f.type)) for f in kind))
    return kind


def is_nameable(schema: Type) -> bool:
    if isinstance(schema, Array | Map):
        return is_nameable(schema.of)
    if not isinstance(schema, Struct):
        return True
    try:
        names(dict.fromkeys(f.name for f in schema), "")
    except Refusal:
        return False
    return bool(schema.fields) and all(is_nameable(f.type) for f in schema)


# --- what they mean ------------------------------------------------------------------------------


def test_schema_of_a_registered_event_is_read() -> None:
    inner = [field(name, nullable=False) for name in ("sessionId", "url", "browser", "userAgent", "ip")]
    common = {"type": "struct", "fields": inner}
    found = from_spark(text(field("common", common, nullable=False), field("link_url", nullable=False)))

    assert written(found) == {
        "common": "struct<sessionId: string, url: string, browser: string, userAgent: string, ip: string>",
        "link_url": "string",
    }


@pytest.mark.parametrize(
    ("kind", "meaning"),
    [
        ("integer", "int"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("decimal(10,2)", "decimal(10, 2)"),
        ("decimal( 38 , 0 )", "decimal(38, 0)"),
        ("decimal", "decimal(10, 0)"),
        ("char(3)", "string"),
        ("varchar(20)", "string"),
        ("time(6)", "string"),
        ("string collate UTF8_LCASE", "string"),
        ("variant", "json"),
        ({"type": "array", "elementType": "long", "containsNull": False}, "array<long>"),
        ({"type": "array", "elementType": "long"}, "array<long>"),
        ({"type": "map", "keyType": "string", "valueType": "date", "valueContainsNull": True}, "map<string, date>"),
    ],
)
def test_spark_types_have_their_meaning(kind: Any, meaning: str) -> None:
    assert written(from_spark(text(field("a", kind)))) == {"a": meaning}


def test_json_text_is_still_that_after_a_round_trip() -> None:
    schema = columns({"a": "json", "b": "array<map<string, json>>", "c": "string", "d": "struct<e: json, f: string>"})

    assert from_spark(to_spark(schema)) == schema


def test_note_of_another_type_is_not_believed() -> None:
    for noted in ("long", "array<json>", "", 1, None, ["json"]):
        assert from_spark(text(field("a", metadata={"penstock.type": noted}))) == Struct((Field("a", STRING),))
    assert from_spark(text(field("a", metadata={"penstock.type": "json"}))) == Struct((Field("a", JSON),))
    assert from_spark(text(field("a", "long", metadata={"penstock.type": "json"}))) == columns({"a": "long"})


def test_what_spark_does_not_need_may_be_missing() -> None:
    assert from_spark('{"type":"struct","fields":[{"name":"a","type":"long"}]}') == columns({"a": "long"})


@given(schemas)
def test_schema_survives_the_way_through_spark(schema: Schema) -> None:
    assume(is_nameable(schema))
    through_spark = spark.StructType.fromJson(json.loads(to_spark(schema)))

    assert from_spark(through_spark.json()) == optional(schema)
    assert json.loads(to_spark(schema)) == json.loads(through_spark.json())


@given(schemas)
def test_schema_that_no_table_can_have_is_refused(schema: Schema) -> None:
    assume(not is_nameable(schema))
    with pytest.raises(ValueError, match="field"):
        from_spark(to_spark(schema))


# --- what is refused -----------------------------------------------------------------------------

STRUCT = {"type": "struct", "fields": [field("b")]}
BAD: dict[str, tuple[str, str]] = {
    "empty": ("", "not JSON"),
    "a word": ("string", "not JSON"),
    "half of it": (text(field("a"))[:-5], "not JSON"),
    "two of it": (text(field("a")) * 2, "not JSON"),
    "NaN": ('{"type":"struct","fields":NaN}', "not JSON"),
    "a long number": ('{"type":"struct","fields":' + "9" * 10_000 + "}", "no fields"),
    "a scalar": ('"long"', "not a struct"),
    "a number": ("1", "not a struct"),
    "null": ("null", "not a struct"),
    "an array": ("[]", "not a struct"),
    "an array type": ('{"type":"array","elementType":"long"}', "not a struct"),
    "Avro": ('{"type":"record","name":"a","fields":[]}', "not a struct"),
    "a JSON Schema": ('{"type":"object","properties":{}}', "not a struct"),
    "brackets": ("[" * 100_000, "nested too deep"),
    "braces": ('{"a":' * 100_000, "nested too deep"),
    "a key twice": ('{"type":"struct","type":"struct","fields":[]}', "same key twice"),
    "no fields": ('{"type":"struct"}', "no fields"),
    "empty fields": (text(), "no fields"),
    "fields as an object": ('{"type":"struct","fields":{"a":"long"}}', "no fields"),
    "a field that is text": (text("a"), "without a name"),
    "a field that is null": (text(None), "without a name"),
    "a field without name": (text({"type": "long"}), "without a name"),
    "a field without type": (text({"name": "a"}), "without a type"),
    "a name that is a number": (text(field(1)), "without a name"),
    "a type that is a number": (text(field("a", 1)), "a type is a name or an object, and this is a number"),
    "a type that is null": (text(field("a", None)), "this is null"),
    "a type that is an array": (text(field("a", ["null", "long"])), "this is an array"),
    "an unknown type": (text(field("a", "bigint")), 'of type "bigint"; there are string, long'),
    "an unknown type inside": (text(field("a", {**STRUCT, "fields": [field("b", "x")]})), "'a.b'"),
    "an unknown object": (text(field("a", {"type": "enum"})), "neither a struct nor an array nor a map"),
    "an empty object": (text(field("a", {})), "neither a struct nor an array nor a map"),
    "a nested empty struct": (text(field("a", {"type": "struct", "fields": []})), "'a' has no fields"),
    "a user-defined type": (text(field("a", {"type": "udt", "class": "x", "sqlType": "long"})), "user-defined"),
    "an interval": (text(field("a", "interval day to second")), "interval day to second"),
    "a calendar interval": (text(field("a", "interval")), '"interval"'),
    "void": (text(field("a", "void")), '"void"'),
    "geometry": (text(field("a", "geometry(4326)")), "geometry"),
    "decimal too wide": (text(field("a", "decimal(39,0)")), "not a decimal that a table can have"),
    "decimal without digits": (text(field("a", "decimal(0,0)")), "not a decimal"),
    "decimal with more scale": (text(field("a", "decimal(3,4)")), "not a decimal"),
    "decimal with negative scale": (text(field("a", "decimal(3,-2)")), "not a decimal"),
    "decimal of many digits": (text(field("a", f"decimal({'9' * 5_000},0)")), "of type"),
    "a map of numbers": (text(field("a", {"type": "map", "keyType": "long", "valueType": "long"})), "not of type str"),
    "a map without keys": (text(field("a", {"type": "map", "valueType": "long"})), "not of type string"),
    "a map without values": (text(field("a", {"type": "map", "keyType": "string"})), "no valueType"),
    "an array without elements": (text(field("a", {"type": "array"})), "no elementType"),
    "the same name twice": (text(field("a"), field("b"), field("a")), 'two fields "a"'),
    "the same name in another case": (text(field("Id"), field("id")), 'fields "Id" and "id" differ only in case'),
    "a clash inside": (text(field("o", {**STRUCT, "fields": [field("B"), field("b")]})), "in 'o' differ only in case"),
    "an empty name": (text(field("")), "cannot be a column name"),
    "a name with a space": (text(field("a b")), "cannot be a column name"),
    "a name with a line break": (text(field("a\nb")), "cannot be a column name"),
    "a long name": (text(field("a" * 256)), "cannot be a column name"),
    "half a pair in a name": (text(field("a\ud800")), "surrogate"),
    "a control character in a type": (text(field("a", "\x1b[31mlong")), "\\\\u001b"),
    "a long type": (text(field("a", "x" * 100_000)), "xxx"),
    "a long schema": (" " * (MAX_TEXT + 1), "longer than"),
    "many fields": (text(*({"name": f"f{n}", "type": "byte"} for n in range(MAX_TYPES + 1))), "more than 10000"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_schema_is_refused_in_a_sentence(name: str) -> None:
    given, part = BAD[name]
    began = time.process_time()
    with pytest.raises(ValueError, match=part) as refusal:
        from_spark(given)

    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 500
    assert time.process_time() - began < 2


def test_schema_may_be_nested_as_deep_as_readers_go_and_no_deeper() -> None:
    def nested(levels: int) -> str:
        kind: Any = "long"
        for level in range(levels):
            inner = {"type": "struct", "fields": [field("a", kind)]}
            kind = inner if level % 2 else {"type": "array", "elementType": kind}
        return text(field("a", kind))

    from_spark(nested(MAX_COLUMN_DEPTH - 1))
    for levels in (MAX_COLUMN_DEPTH, 200):
        with pytest.raises(ValueError, match="nested more than 16 deep"):
            from_spark(nested(levels))


WORDS = st.sampled_from(["type", "fields", "name", "elementType", "keyType", "valueType"])
documents: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["long", "string", "struct", "array", "map", "a"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(WORDS, inner),
        st.lists(inner, max_size=3).map(lambda fields: {"type": "struct", "fields": fields}),
        inner.map(lambda kind: {"name": "a", "type": kind}),
    ),
)


@given(documents)
def test_any_other_json_is_a_schema_or_a_sentence(document: Any) -> None:
    with suppress(ValueError):
        assert from_spark(json.dumps(document)).fields
