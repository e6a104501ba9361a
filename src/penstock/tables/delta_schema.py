"""Schemas between penstock and Delta, in Delta's own JSON form.

A column that holds JSON text is a string to Delta. Its real type stands in the field's own
metadata, so that it is still known after a restart. A struct says nothing of the fields inside it:
they may become more, and what was noted once cannot be changed by adding columns.
"""

from __future__ import annotations

import json
import re
from typing import Any

import deltalake

from penstock.schema import JSON, STRING, Array, Decimal, Field, Map, Scalar, Schema, Struct, Type, parse

WRITTEN = "penstock.type"
_TO_DELTA = {"int": "integer", "json": "string"}
_FROM_DELTA = {"integer": "int"}


def to_delta(schema: Schema) -> deltalake.Schema:
    return deltalake.Schema.from_json(json.dumps(_struct_to(schema)))


def fields_to_delta(schema: Schema) -> list[deltalake.Field]:
    return list(to_delta(schema).fields)


def _struct_to(struct: Struct) -> dict[str, Any]:
    return {"type": "struct", "fields": [_field_to(field) for field in struct]}


def _field_to(field: Field) -> dict[str, Any]:
    metadata = {WRITTEN: str(field.type)} if _is_json(field.type) else {}
    return {"name": field.name, "type": _type_to(field.type), "nullable": not field.required, "metadata": metadata}


def _type_to(kind: Type) -> Any:
    if isinstance(kind, Scalar):
        return _TO_DELTA.get(kind.name, kind.name)
    if isinstance(kind, Decimal):
        return f"decimal({kind.precision},{kind.scale})"
    if isinstance(kind, Array):
        return {"type": "array", "elementType": _type_to(kind.of), "containsNull": True}
    if isinstance(kind, Map):
        return {"type": "map", "keyType": "string", "valueType": _type_to(kind.of), "valueContainsNull": True}
    return _struct_to(kind)


def _is_json(kind: Type) -> bool:
    return _is_json(kind.of) if isinstance(kind, Array | Map) else kind == JSON


class Foreign(Exception):
    """A type that penstock has no word for, in a table somebody else made."""


def from_delta(schema: deltalake.Schema) -> tuple[Schema, list[str]]:
    """The columns that penstock has words for, and the types it has none for, with their columns.
    A table that somebody gave one must not be written, but its other columns are what they were."""
    foreign: list[str] = []
    return _struct_from(json.loads(schema.to_json()), foreign), foreign


def _struct_from(struct: dict[str, Any], foreign: list[str]) -> Struct:
    fields = []
    for field in struct["fields"]:
        try:
            fields.append(_field_from(field, foreign))
        except Foreign as kind:
            foreign.append(f"{kind} ('{field['name']}')")
    return Struct(tuple(fields))


def _field_from(field: dict[str, Any], foreign: list[str]) -> Field:
    found = _type_from(field["type"], foreign)
    noted = field["metadata"].get(WRITTEN)
    return Field(field["name"], _noted(found, parse(noted)) if noted else found, not field["nullable"])


def _noted(found: Type, noted: Type) -> Type:
    """What the table has now, with JSON text where it was noted: columns may have been added since."""
    if isinstance(found, Array) and isinstance(noted, Array):
        return Array(_noted(found.of, noted.of))
    if isinstance(found, Map) and isinstance(noted, Map):
        return Map(_noted(found.of, noted.of))
    if isinstance(found, Struct) and isinstance(noted, Struct):
        names = {field.name: field.type for field in noted}
        return Struct(tuple(Field(f.name, _noted(f.type, names.get(f.name, f.type)), f.required) for f in found))
    return JSON if (found, noted) == (STRING, JSON) else found


def _type_from(kind: Any, foreign: list[str]) -> Type:
    if isinstance(kind, str):
        return _scalar_from(kind)
    match kind["type"]:
        case "array":
            return Array(_type_from(kind["elementType"], foreign))
        case "map" if kind["keyType"] == "string":
            return Map(_type_from(kind["valueType"], foreign))
        case "struct":
            inner = _struct_from(kind, foreign)
            if inner.fields or not kind["fields"]:
                return inner
            raise Foreign("struct with no field that penstock knows")
    raise Foreign(f"{kind['type']} with keys of type {kind.get('keyType')}")


def _scalar_from(name: str) -> Type:
    found = re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", name)
    if found:
        return Decimal(int(found[1]), int(found[2]))
    try:
        return parse(_FROM_DELTA.get(name, name))
    except ValueError:
        raise Foreign(name) from None
