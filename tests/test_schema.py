"""Columns and types: one written form, and two ideas of a type that become one."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings

from penstock.merging import extended, holds, merge, settled
from penstock.schema import (
    DOUBLE,
    JSON,
    LONG,
    NOTHING,
    STRING,
    Array,
    Decimal,
    Field,
    Map,
    Schema,
    Struct,
    Type,
    columns,
    parse,
    written,
)
from tests.strategies import schemas, seen_schemas, seen_types, types

# --- written form --------------------------------------------------------------------------------


@settings(deadline=None)
@given(types)
def test_type_is_read_back_from_its_written_form(kind: Type) -> None:
    assert parse(str(kind)) == kind


@settings(deadline=None)
@given(schemas)
def test_schema_is_read_back_from_its_columns(schema: Schema) -> None:
    assert columns(written(schema)) == schema


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("long", LONG),
        ("  array < string >  ", Array(STRING)),
        ("array<array<long>>", Array(Array(LONG))),
        ("map<string, double>", Map(DOUBLE)),
        ("decimal(10,2)", Decimal(10, 2)),
        ("struct<>", Struct()),
        ("struct<sku: string not null, qty: long>", Struct((Field("sku", STRING, True), Field("qty", LONG)))),
        ("struct<`two words`: long, `a``b`: json>", Struct((Field("two words", LONG), Field("a`b", JSON)))),
        ("struct<not: long not null, null: long>", Struct((Field("not", LONG, True), Field("null", LONG)))),
    ],
)
def test_type_can_be_written_as_people_write_it(text: str, kind: Type) -> None:
    assert parse(text) == kind


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected a name or a type at character 1"),
        ("array", "expected '<' at character 6"),
        ("array<long", "expected '>' at character 11"),
        ("map<long, string>", "expected 'string' at character 5"),
        ("map<string>", "expected ',' at character 11"),
        ("decimal(10)", "expected ',' at character 11"),
        ("struct<a long>", "expected ':' at character 9"),
        ("struct<a: long b: long>", "expected ',' at character 15"),
        ("struct<a: long not>", "expected 'null' at character 19"),
        ("struct<`a: long>", "expected a name or a type at character 8"),
        ("long long", "nothing may follow character 4"),
        ("long;", "nothing may follow character 4"),
    ],
)
def test_written_type_that_is_wrong_is_refused_with_the_place(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match="is not a type") as refusal:
        parse(text)
    assert str(refusal.value) == f"'{text}' is not a type: {complaint}"


@pytest.mark.parametrize("word", ["lnog", "integer", "LONG", "nothing", ">"])
def test_word_that_is_no_type_is_named_with_those_that_are(word: str) -> None:
    with pytest.raises(ValueError, match="timestamp_ntz, array, map, struct, decimal") as refusal:
        parse(f"array<{word}>")
    assert str(refusal.value).startswith(f"'{word}' is not a type")


def test_column_with_more_than_a_type_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="column 'price': 'long or so' is not a type"):
        columns({"sku": "string", "price": "long or so"})


# --- merge ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(seen_types, seen_types)
def test_order_of_two_does_not_matter_to_merge(one: Type, other: Type) -> None:
    assert merge(one, other) == merge(other, one)


@settings(deadline=None)
@given(seen_types, seen_types, seen_types)
def test_grouping_of_three_does_not_matter_to_merge(one: Type, two: Type, three: Type) -> None:
    assert merge(merge(one, two), three) == merge(one, merge(two, three))


@settings(deadline=None)
@given(seen_types)
def test_merging_a_type_with_itself_or_with_nothing_changes_nothing(kind: Type) -> None:
    assert merge(kind, kind) == kind
    assert merge(kind, NOTHING) == merge(NOTHING, kind) == kind


@settings(deadline=None)
@given(seen_types, seen_types)
def test_merge_never_narrows(one: Type, other: Type) -> None:
    """What is merged already takes in both: seeing either of them again adds nothing."""
    both = merge(one, other)
    assert merge(both, one) == merge(both, other) == both


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("long", "double", "double"),
        ("long", "string", "json"),
        ("boolean", "long", "json"),
        ("json", "double", "json"),
        ("array<long>", "array<double>", "array<double>"),
        ("array<long>", "long", "json"),
        ("array<struct<a: long>>", "array<struct<b: long>>", "array<struct<a: long, b: long>>"),
        ("struct<b: long>", "struct<a: string, b: string>", "struct<a: string, b: json>"),
        ("struct<a: long>", "string", "json"),
        ("map<string, long>", "map<string, double>", "map<string, double>"),
    ],
)
def test_two_ideas_of_a_type_become_one_that_alters_nothing(one: str, other: str, both: str) -> None:
    assert merge(parse(one), parse(other)) == parse(both)


# --- settled -------------------------------------------------------------------------------------


def _holds_nothing(kind: Type) -> bool:
    if isinstance(kind, Array):
        return _holds_nothing(kind.of)
    if isinstance(kind, Struct):
        return not kind.fields or any(_holds_nothing(field.type) for field in kind)
    return kind == NOTHING


@settings(deadline=None)
@given(seen_schemas)
def test_settled_schema_has_only_columns_that_a_table_can_have(seen: Schema) -> None:
    assert not any(_holds_nothing(field.type) for field in settled(seen))
    assert settled(settled(seen)) == settled(seen)


def test_column_that_was_only_ever_null_waits() -> None:
    empty = Field("empty", Struct((Field("deep", NOTHING),)))
    assert settled(Struct((Field("a", LONG), Field("b", NOTHING), empty))) == columns({"a": "long"})


def test_elements_that_were_never_seen_are_json_text() -> None:
    half = Struct((Field("x", LONG), Field("y", NOTHING)))
    seen = Struct(
        (Field("a", Array(NOTHING)), Field("b", Array(Struct((Field("c", NOTHING),)))), Field("d", Array(half)))
    )
    assert written(settled(seen)) == {"a": "array<json>", "b": "array<json>", "d": "array<struct<x: long>>"}


# --- extended ------------------------------------------------------------------------------------


@settings(deadline=None)
@given(schemas, seen_schemas)
def test_extended_table_keeps_every_column_it_had_in_place(table: Schema, seen: Schema) -> None:
    grown = extended(table, seen)
    assert [(f.name, f.required) for f in grown][: len(table.fields)] == [(f.name, f.required) for f in table]
    assert holds(grown, table) is None


@settings(deadline=None)
@given(schemas, seen_schemas)
def test_extending_twice_is_extending_once(table: Schema, seen: Schema) -> None:
    assert extended(extended(table, seen), seen) == extended(table, seen)


def test_extended_table_gains_columns_inside_structs_and_arrays_too() -> None:
    table = columns({"at": "struct<x: long not null>", "lines": "array<struct<sku: string>>"})
    seen = columns({"at": "struct<x: string, y: long>", "lines": "array<struct<qty: long>>", "new": "boolean"})
    assert written(extended(table, seen)) == {
        "at": "struct<x: long not null, y: long>",
        "lines": "array<struct<sku: string, qty: long>>",
        "new": "boolean",
    }


def test_seen_value_of_another_kind_does_not_change_the_table() -> None:
    table = columns({"a": "long", "b": "string", "c": "struct<d: long>", "e": "array<long>"})
    assert extended(table, columns({"a": "double", "b": "long", "c": "string", "e": "struct<f: long>"})) == table


def test_null_gives_a_table_no_column() -> None:
    table = columns({"a": "struct<b: long>"})
    assert extended(table, Struct((Field("a", Struct((Field("c", NOTHING),))), Field("d", NOTHING)))) == table


# --- holds ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(schemas)
def test_table_holds_files_of_its_own_schema(schema: Schema) -> None:
    assert holds(schema, schema) is None


def test_table_holds_files_that_lack_columns_or_have_more() -> None:
    assert holds(columns({"a": "long", "b": "string"}), columns({"b": "string", "c": "double"})) is None


def test_json_text_and_text_are_the_same_to_a_file() -> None:
    assert holds(columns({"a": "string", "b": "array<json>"}), columns({"a": "json", "b": "array<string>"})) is None


@pytest.mark.parametrize(
    ("table", "files", "told"),
    [
        ("long", "string", ("'a'", "long in the table", "string in the files")),
        ("long", "int", ("'a'", "long in the table", "int in the files")),
        ("struct<b: long>", "struct<b: double>", ("'a'", "'b'", "long in the table", "double in the files")),
        ("array<long>", "array<string>", ("'a'", "long in the table", "string in the files")),
        ("array<long>", "long", ("'a'", "array<long> in the table", "long in the files")),
        ("string", "long", ("'a'", "string in the table", "long in the files")),
        ("struct<b: long>", "long", ("'a'", "struct<b: long> in the table", "long in the files")),
        ("long not null", "long", ("'a'", "must not be null")),
    ],
)
def test_files_that_do_not_fit_are_told_by_column(table: str, files: str, told: tuple[str, ...]) -> None:
    why = holds(columns({"a": table}), columns({"a": files}))
    assert why is not None
    assert all(part in why for part in told)


def test_column_that_must_be_there_and_is_not_in_the_files_is_told() -> None:
    why = holds(columns({"a": "long not null"}), columns({"b": "long"}))
    assert why is not None
    assert "'a' must not be null" in why


def test_columns_are_found_by_name() -> None:
    schema = columns({"a": "long", "b": "string"})
    assert "a" in schema
    assert "c" not in schema
    assert schema.get("b") == Field("b", STRING)
    assert schema.get("c") is None
    assert schema.without(["a", "c"]) == columns({"b": "string"})


# --- looking for a field -------------------------------------------------------------------------


def test_field_is_found_by_its_name_and_its_twin_in_any_case() -> None:
    schema = columns({"a": "long", "B": "string"})
    assert (schema.get("B"), schema.get("b"), "a" in schema, "A" in schema) == (schema.fields[1], None, True, False)
    assert (schema.twin("b"), schema.twin("A"), schema.twin("c")) == (schema.fields[1], schema.fields[0], None)


def test_schema_that_was_looked_into_is_still_the_same_value() -> None:
    looked, fresh = columns({"a": "long"}), columns({"a": "long"})
    assert looked.get("a")
    assert looked.twin("A")
    assert (looked, hash(looked), pickle.dumps(looked)) == (fresh, hash(fresh), pickle.dumps(fresh))
    assert pickle.loads(pickle.dumps(looked)) == fresh


def test_looking_for_fields_takes_time_with_their_number_not_with_its_square() -> None:
    wide = Struct(tuple(Field(f"c{n}", LONG) for n in range(50_000)))
    assert all(wide.get(field.name) is field for field in wide)
