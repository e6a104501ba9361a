"""JSON Schemas as columns: what they say of values, where they lead, and what is refused of them."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formats.json_schema.schema import MAX_CHOICES, columns, document, record_name
from penstock.registries.documents import MAX_TEXT, MAX_TYPES
from penstock.schema import Struct, written
from penstock.values.plain import MAX_COLUMN_DEPTH


def read(schema: Any, **references: Any) -> dict[str, str]:
    """The columns in written form, after the way through JSON text."""
    others = {name: document(json.dumps(each)) for name, each in references.items()}
    return written(columns(document(json.dumps(schema)), others))


def of(value: Any, **more: Any) -> str:
    """The type of a column with this schema; none if it has no column."""
    return read({"type": "object", "properties": {"a": value, "z": {"type": "boolean"}}, **more}).get("a", "none")


# --- what they say -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "long"),
        ({"type": "number"}, "double"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "null"}, "none"),
        ({}, "json"),
        (True, "json"),
        (False, "none"),
        ({"type": "any"}, "json"),
        ({"type": []}, "json"),
        ({"type": 7}, "json"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": "string", "format": "time"}, "string"),
        ({"type": "string", "format": "uuid"}, "string"),
        ({"type": "string", "format": ["date"]}, "string"),
        ({"type": "string", "contentEncoding": "base64"}, "binary"),
        ({"type": "string", "enum": ["a", "b"]}, "string"),
        ({"type": ["string", "null"]}, "string"),
        ({"type": ["null", "integer", "number"]}, "double"),
        ({"type": ["string", "integer"]}, "json"),
        ({"type": ["null"]}, "none"),
        ({"type": ["object", "null"], "properties": {"b": {"type": "integer"}}}, "struct<b: long>"),
        ({"enum": ["a", "b", None]}, "string"),
        ({"enum": [1, 2]}, "long"),
        ({"enum": [1, 2.5]}, "double"),
        ({"enum": ["a", 1]}, "json"),
        ({"enum": [True]}, "boolean"),
        ({"enum": [{"b": 1}]}, "json"),
        ({"enum": []}, "json"),
        ({"const": "a"}, "string"),
        ({"const": None}, "none"),
        ({"type": "array", "items": {"type": "integer"}}, "array<long>"),
        ({"items": {"type": "integer"}}, "array<long>"),
        ({"type": "array"}, "array<json>"),
        ({"type": "array", "items": {}}, "array<json>"),
        ({"type": "array", "items": {"type": "null"}}, "array<json>"),
        ({"type": "array", "items": [{"type": "integer"}, {"type": "number"}]}, "array<double>"),
        ({"type": "array", "items": []}, "array<json>"),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "string"}}, "array<string>"),
        ({"type": "object", "properties": {"b": {"type": "string"}}}, "struct<b: string>"),
        ({"properties": {"b": {}}}, "struct<b: json>"),
        ({"properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "integer"}}, "struct<b: string>"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map<string, long>"),
        ({"type": "object", "additionalProperties": {}}, "map<string, json>"),
        ({"type": "object", "patternProperties": {"^x": {"type": "string"}}}, "map<string, string>"),
        ({"type": "object"}, "json"),
        ({"type": "object", "additionalProperties": True}, "json"),
        ({"type": "object", "properties": {}}, "json"),
        ({"type": "object", "properties": {"b": {"type": "null"}}}, "json"),
        ({"type": "object", "properties": ["b"]}, "json"),
    ],
)
def test_schema_of_a_value_is_its_column(schema: Any, kind: str) -> None:
    assert of(schema) == kind


INT, TEXT, NULL = {"type": "integer"}, {"type": "string"}, {"type": "null"}
DAY, MOMENT = {"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}


def props(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
@pytest.mark.parametrize(
    ("choices", "kind"),
    [
        ([TEXT, NULL], "string"),
        ([NULL, MOMENT], "timestamp"),
        ([NULL, NULL], "none"),
        ([INT, {"type": "number"}], "double"),
        ([INT, TEXT], "json"),
        ([INT, {}], "json"),
        ([DAY, MOMENT], "string"),
        ([DAY, TEXT], "string"),
        ([{"required": ["b"]}, {"required": ["c"]}], "json"),
        ([props(b=INT), props(c=TEXT), NULL], "struct<b: long, c: string>"),
        ([props(b=INT), props(b=TEXT, c=TEXT)], "struct<b: json, c: string>"),
        ([props(b=props(c=INT)), props(b=props(d=INT))], "struct<b: struct<c: long, d: long>>"),
        ([{"type": "array", "items": INT}, {"type": "array", "items": {"type": "number"}}], "array<double>"),
        ([{"additionalProperties": INT}, {"additionalProperties": TEXT}], "map<string, json>"),
        ([props(b=INT), {"type": "array", "items": INT}], "json"),
        ([{"const": str(n)} for n in range(MAX_CHOICES)], "string"),
        ([{"const": str(n)} for n in range(MAX_CHOICES + 1)], "json"),
        ([], "json"),
    ],
)
def test_choice_is_the_type_that_holds_all_of_it(word: str, choices: list[Any], kind: str) -> None:
    assert of({word: choices}) == kind


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"allOf": [TEXT]}, "string"),
        ({"allOf": [TEXT, {"minLength": 1}]}, "string"),
        ({"allOf": [TEXT, DAY]}, "date"),
        ({"allOf": [{"type": "number"}, INT]}, "long"),
        ({"allOf": [TEXT, INT]}, "json"),
        ({"allOf": [props(b=INT), props(c=TEXT)]}, "struct<b: long, c: string>"),
        ({"allOf": [props(b={"type": "number"}), props(b=INT)]}, "struct<b: long>"),
        ({"allOf": [{"additionalProperties": INT}, props(c=TEXT)]}, "struct<c: string>"),
        (
            {**props(b=INT), "allOf": [props(c=TEXT)], "anyOf": [props(d=INT), props(e=INT)]},
            "struct<b: long, c: string, d: long, e: long>",
        ),
        ({**props(b=INT), "anyOf": [{"required": ["b"]}, {"required": ["c"]}]}, "struct<b: long>"),
        ({"type": "string", "anyOf": [{"pattern": "a"}, {"pattern": "b"}]}, "string"),
    ],
)
def test_what_is_said_together_counts_together(schema: Any, kind: str) -> None:
    assert of(schema) == kind


def test_properties_stay_in_their_order() -> None:
    assert list(read(props(z=INT, a=INT, m=props(y=INT, b=INT)))) == ["z", "a", "m"]


def test_root_may_be_open_or_a_choice() -> None:
    assert read({"type": "object"}) == read({}) == read({"additionalProperties": INT}) == {}
    assert read({"oneOf": [props(a=INT), props(b=TEXT)]}) == {"a": "long", "b": "string"}
    assert read({"$ref": "#/definitions/o", "definitions": {"o": props(a=INT)}}) == {"a": "long"}


# --- where they lead -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "inside"),
    [
        ("#/definitions/x", {"definitions": {"x": INT}}),
        ("#/$defs/x", {"$defs": {"x": INT}}),
        ("#/definitions/a~1b~0c%20d", {"definitions": {"a/b~c d": INT}}),
        ("#/allOf/1", {"allOf": [{}, INT]}),
        ("#/properties/other", {}),
        ("#x", {"$defs": {"y": {**INT, "$anchor": "x"}}}),
        ("#x", {"definitions": {"y": {**INT, "$id": "#x"}}}),
        ("x.json", {"$defs": {"y": {**INT, "$id": "x.json"}}}),
        ("http://there/x.json#", {"$id": "http://there/o.json", "definitions": {"y": {**INT, "$id": "x.json"}}}),
        ("o.json#/definitions/x", {"$id": "http://there/o.json", "definitions": {"x": INT}}),
        ("#/definitions/x", {"definitions": {"x": {"$ref": "#/definitions/y"}, "y": INT}}),
    ],
)
def test_reference_inside_the_document_is_followed(reference: str, inside: Any) -> None:
    schema = props(a={"$ref": reference, "description": "it"}, z=TEXT)
    schema["properties"]["other"] = INT
    found = read({**schema, **{word: part for word, part in inside.items() if word != "allOf"}})
    if "allOf" in inside:
        found = read({"type": "object", "properties": {"a": {"$ref": "#/$defs/l/allOf/1"}}, "$defs": {"l": inside}})

    assert found["a"] == "long"


def test_reference_to_another_document_is_followed_and_its_own_stay_in_it() -> None:
    other = {"$id": "http://there/money.json", **props(v={"$ref": "#/$defs/x"}), "$defs": {"x": {"type": "number"}}}
    mine = {"x": TEXT}
    for name, base, reference in (
        ("money", "http://there/o.json", "money.json"),
        ("money", "http://here/o.json", "http://there/money.json"),
        ("money", "", "money"),
        ("money", "urn:o", "money#"),
        ("http://x/m.json", "http://x/o.json", "m.json"),
    ):
        schema = {"$id": base, **props(a={"$ref": reference}, b={"$ref": "#/$defs/x"}), "$defs": mine}
        assert read(schema, **{name: other}) == {"a": "struct<v: double>", "b": "string"}, (name, base, reference)
    assert read(props(a={"$ref": "money#/$defs/x"}), money=other) == {"a": "double"}


@pytest.mark.parametrize(
    "reference",
    [
        *("#/definitions/none", "#none", "none.json", "http://169.254.169.254/latest", "file:///etc/passwd", "", "#/"),
        *("http://[", "#/definitions/%", "#/properties/a/properties/0", "#/required/9", "#/required/٣", "x" * 100_000),
        *(7, None),
    ],
)
def test_reference_that_leads_nowhere_is_json_text(reference: Any) -> None:
    assert of({"$ref": reference}, required=["a"]) == "json"


def test_type_inside_itself_is_json_text() -> None:
    tree = props(value=INT, left={"$ref": "#/$defs/tree"}, all={"type": "array", "items": {"$ref": "#/$defs/tree"}})
    found = read({**props(root={"$ref": "#/$defs/tree"}), "$defs": {"tree": tree}})

    assert found == {"root": "struct<value: long, left: json, all: array<json>>"}
    assert read(props(a=INT, me={"$ref": "#"})) == {"a": "long", "me": "json"}
    assert of({"$ref": "#/$defs/x"}, **{"$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}}}) == "json"


def test_what_is_too_deep_for_a_column_is_json_text() -> None:
    schema: Any = INT
    for _ in range(MAX_COLUMN_DEPTH + 5):
        schema = props(a=schema)
    kind = read(schema)["a"]

    assert kind.count("struct<") == MAX_COLUMN_DEPTH - 1
    assert "a: json" in kind


# --- what they are called ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"$id": "http://there/order.json", "title": "Order"}, "http://there/order.json"),
        ({"title": "Order"}, "Order"),
        ({"$id": "", "title": "Order"}, "Order"),
        ({"$id": 1, "title": "Order"}, "Order"),
        ({"id": "http://there/order.json", "title": "Order"}, "Order"),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://there/order.json"},
            "http://there/order.json",
        ),
        ({"title": ["Order"]}, None),
        ({}, None),
    ],
)
def test_name_is_the_id_or_the_title(schema: Any, name: str | None) -> None:
    assert record_name(document(json.dumps(schema))) == name


# --- what is refused -----------------------------------------------------------------------------


def _doubling(levels: int) -> Any:
    defs = {f"d{n}": props(a={"$ref": f"#/$defs/d{n + 1}"}, b={"$ref": f"#/$defs/d{n + 1}"}) for n in range(levels)}
    return {**props(a={"$ref": "#/$defs/d0"}), "$defs": {**defs, f"d{levels}": INT}}


BAD: dict[str, tuple[str, str]] = {
    "empty": ("", "not JSON"),
    "a word": ("object", "not JSON"),
    "half of it": ('{"type":"object"', "not JSON"),
    "true": ("true", "a boolean"),
    "an array": ("[]", "an array"),
    "a string": ('"object"', "a string"),
    "null": ("null", "null"),
    "a number": ("1", "a number"),
    "a key twice": ('{"type":"object","type":"object"}', "same key twice"),
    "brackets": ('{"allOf":' + "[" * 100_000, "nested too deep"),
    "too long": (" " * (MAX_TEXT + 1), "longer than"),
    "messages that are texts": ('{"type":"string"}', "one of string, and messages are objects"),
    "messages that are arrays": ('{"items":{"type":"integer"}}', "one of array<long>"),
    "messages that are null": ('{"type":"null"}', "messages are objects"),
    "names that differ in case": (json.dumps(props(Id=INT, id=INT)), "differ only in case"),
    "names that differ in case inside": (json.dumps(props(o=props(Id=INT, id=INT))), "in 'o' differ only in case"),
    "choices whose names differ in case": (json.dumps({"anyOf": [props(Id=INT), props(id=INT)]}), "only in case"),
    "choices whose names differ in case inside": (
        json.dumps({"anyOf": [props(o=props(Id=INT)), props(o=props(id=INT))]}),
        "in 'o' differ only in case",
    ),
    "a name with a space": (json.dumps({"properties": {"a b": INT}}), "cannot be a column name"),
    "an empty name": (json.dumps({"properties": {"": INT}}), "cannot be a column name"),
    "half a pair in a name": (json.dumps({"properties": {"a\ud800": INT}}), "surrogate"),
    "doubling references": (json.dumps(_doubling(15)), "more than 10000 types"),
    "many properties": (json.dumps(props(**{f"p{n}": INT for n in range(MAX_TYPES)})), "more than 10000 types"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_schema_is_refused_in_a_sentence(name: str) -> None:
    text, part = BAD[name]
    began = time.process_time()
    with pytest.raises(ValueError, match=part) as refusal:
        columns(document(text))

    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 500
    assert time.process_time() - began < 3


def _chain(length: int) -> Any:
    defs: Any = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(length)}
    return {**props(a={"$ref": "#/$defs/d0"}), "$defs": defs}


def _folded(word: str, levels: int) -> Any:
    schema: Any = INT
    for _ in range(levels):
        schema = {word: [schema]}
    return props(a=schema)


HOSTILE = {
    "a long chain": _chain(5_000),
    "allOf in allOf": _folded("allOf", 300),
    "anyOf in anyOf": _folded("anyOf", 300),
    "chains of folds": {
        **props(a={"$ref": "#/$defs/d0"}),
        "$defs": {f"d{n}": _folded("anyOf", 50) | {"$ref": f"#/$defs/d{n + 1}"} for n in range(100)},
    },
    "many anchors": {
        **props(**{f"p{n}": {"$ref": f"#a{n}"} for n in range(3_000)}),
        "$defs": {f"d{n}": {"$anchor": f"a{n}"} for n in range(3_000)},
    },
    "many choices of objects": {"anyOf": [props(**{f"p{n}_{m}": INT for m in range(90)}) for n in range(100)]},
    "a large enum": props(a={"enum": [str(n) for n in range(9_000)]}),
    "an enum beyond that": props(a={"enum": [str(n) for n in range(50_000)]}),
    "a digit without end": {"properties": {"a": {"const": 10**4_000}}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schema_is_read_in_time(name: str) -> None:
    began = time.process_time()
    read(HOSTILE[name])

    assert time.process_time() - began < 3


WORDS = [
    "type",
    "properties",
    "items",
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "enum",
    "const",
    "additionalProperties",
    "$id",
]
documents: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from(["object", "array", "string", "integer", "null", "#", "#/properties/a", "a", "#/$defs/type"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*WORDS, "$defs", "prefixItems", "patternProperties", "format"]), inner),
        st.dictionaries(st.sampled_from(["a", "b", "type"]), inner).map(lambda fields: {"properties": fields}),
        st.lists(inner, max_size=3).map(lambda choices: {"oneOf": choices}),
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(WORDS), documents), st.dictionaries(st.sampled_from(["a", "#", ""]), documents))
def test_any_other_json_is_columns_or_a_sentence(schema: Any, references: Any) -> None:
    text, others = json.dumps(schema), json.loads(json.dumps(references))
    try:
        found = columns(document(text), others)
    except ValueError as why:
        found, told = Struct(), str(why)
    else:
        told = "columns"
    assert told
    assert columns_are_whole(found)


def columns_are_whole(found: Struct) -> bool:
    """Nothing is left of a kind that no table has."""
    return "nothing" not in str(found)
