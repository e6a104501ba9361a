"""Schemas to Delta and back, with JSON columns still known as such."""

from __future__ import annotations

import json
from typing import Any

import deltalake
import pytest
from hypothesis import given, settings

from penstock.schema import SCALARS, Schema, columns, written
from penstock.tables.delta_schema import WRITTEN, fields_to_delta, to_delta
from penstock.tables.delta_schema import from_delta as read_delta
from tests.strategies import schemas


def delta(*fields: tuple[str, Any], metadata: dict[str, str] | None = None) -> deltalake.Schema:
    """A schema as another writer leaves it."""
    described = [{"name": n, "type": t, "nullable": True, "metadata": metadata or {}} for n, t in fields]
    return deltalake.Schema.from_json(json.dumps({"type": "struct", "fields": described}))


def from_delta(schema: deltalake.Schema) -> Schema:
    """A schema with nothing foreign in it."""
    found, foreign = read_delta(schema)
    assert foreign == []
    return found


def described(schema: Schema) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(to_delta(schema).to_json())["fields"]
    return found


# --- there and back ------------------------------------------------------------------------------


@settings(deadline=None)
@given(schemas)
def test_schema_comes_back_from_delta_as_it_went(schema: Schema) -> None:
    assert from_delta(to_delta(schema)) == schema
    again = deltalake.Schema.from_json(to_delta(schema).to_json())
    assert from_delta(again) == schema


@pytest.mark.parametrize("name", sorted(SCALARS - {"nothing"}))
def test_every_scalar_comes_back(name: str) -> None:
    schema = columns({"a": f"{name} not null", "b": f"array<{name}>"})
    assert from_delta(to_delta(schema)) == schema


def test_columns_to_add_are_the_same_columns() -> None:
    fields = fields_to_delta(columns({"a": "long", "b": "array<json>"}))
    assert [(field.name, field.nullable) for field in fields] == [("a", True), ("b", True)]
    assert fields[1].metadata == {WRITTEN: "array<json>"}


# --- as Delta has it -----------------------------------------------------------------------------


def test_columns_have_the_names_that_delta_gives_them() -> None:
    kinds = [field["type"] for field in described(columns({"a": "int", "b": "decimal(10, 2)", "c": "json"}))]
    assert kinds == ["integer", "decimal(10,2)", "string"]


def test_column_that_must_not_be_null_is_so_in_delta() -> None:
    schema = columns({"a": "long not null", "b": "struct<c: long not null>"})
    a, b = described(schema)
    assert (a["nullable"], b["nullable"]) == (False, True)
    assert b["type"]["fields"][0]["nullable"] is False


def test_only_fields_that_are_json_text_are_noted_each_by_itself() -> None:
    schema = columns({"a": "string", "b": "json", "c": "struct<d: array<json>, e: long>", "f": "map<string, json>"})
    found = described(schema)
    assert [field["metadata"] for field in found] == [{}, {WRITTEN: "json"}, {}, {WRITTEN: "map<string, json>"}]
    assert [inner["metadata"] for inner in found[2]["type"]["fields"]] == [{WRITTEN: "array<json>"}, {}]


# --- tables that others changed ------------------------------------------------------------------


def test_json_text_is_still_known_after_somebody_added_to_the_struct_around_it() -> None:
    now = {
        "type": "struct",
        "fields": [
            {"name": "j", "type": "string", "nullable": True, "metadata": {}},
            {"name": "new", "type": "string", "nullable": True, "metadata": {}},
        ],
    }
    found = from_delta(delta(("a", now), metadata={WRITTEN: "struct<j: json, dropped: json>"}))
    assert written(found) == {"a": "struct<j: json, new: string>"}


@pytest.mark.parametrize("now", ["long", "string", "array<string>", "map<string, string>", "struct<j: string>"])
@pytest.mark.parametrize("noted", ["json", "array<json>", "map<string, json>", "struct<j: json>"])
def test_column_that_changed_its_kind_is_what_it_is_now(noted: str, now: str) -> None:
    found = from_delta(delta(("a", described(columns({"a": now}))[0]["type"]), metadata={WRITTEN: noted}))
    as_noted = noted.replace("json", "string") == now
    assert written(found) == {"a": noted if as_noted else now}


def test_text_of_another_writer_is_text() -> None:
    assert written(from_delta(delta(("a", "string")))) == {"a": "string"}


def test_types_of_another_writer_are_known_by_our_words() -> None:
    theirs = delta(
        ("a", "integer"),
        ("b", "decimal(38,18)"),
        ("c", "timestamp_ntz"),
        ("d", {"type": "array", "elementType": "byte", "containsNull": False}),
        ("e", {"type": "map", "keyType": "string", "valueType": "date", "valueContainsNull": False}),
    )
    assert written(from_delta(theirs)) == {
        "a": "int",
        "b": "decimal(38, 18)",
        "c": "timestamp_ntz",
        "d": "array<byte>",
        "e": "map<string, date>",
    }


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "map", "keyType": "long", "valueType": "string", "valueContainsNull": True},
        {"type": "map", "keyType": "date", "valueType": "long", "valueContainsNull": True},
    ],
)
def test_column_of_a_type_that_we_have_no_word_for_is_told_and_the_others_stay_known(kind: dict[str, Any]) -> None:
    wrapped = {"type": "array", "elementType": kind, "containsNull": True}
    for theirs in (kind, wrapped):
        found, foreign = read_delta(delta(("a", "long"), ("b", theirs), ("c", "string")))
        assert written(found) == {"a": "long", "c": "string"}
        assert foreign == [f"map with keys of type {kind['keyType']} ('b')"]


def test_foreign_field_of_a_struct_leaves_the_others_of_it_known() -> None:
    theirs = {"type": "map", "keyType": "long", "valueType": "string", "valueContainsNull": True}
    mixed = json.loads(delta(("x", "long"), ("y", theirs)).to_json())
    nothing_known = json.loads(delta(("y", theirs)).to_json())
    found, foreign = read_delta(delta(("a", mixed), ("b", nothing_known)))
    assert written(found) == {"a": "struct<x: long>"}
    assert len(foreign) == 3
