"""Schemas as Spark writes them: the JSON that `StructType.json()` gives and `from_json` takes.

`nullable: false` is not enforced: Spark itself does not when it reads JSON, so columns stay optional.
A text from a registry is anybody's: its size, depth and number of fields are limited, and every fault is
a ValueError whose sentence says where it is.
"""

from __future__ import annotations

import json
import re
from typing import Any

from penstock.merging import MAX_DIGITS
from penstock.registries.documents import MAX_TYPES, at, check_names, is_text, parsed
from penstock.schema import JSON, STRING, Array, Decimal, Field, Map, Scalar, Schema, Struct, Type
from penstock.values.plain import MAX_COLUMN_DEPTH, kind_of, shown, under

WRITTEN = "penstock.type"
"""The key of a field's metadata that tells JSON text from other strings, in Delta tables as well."""

_FROM_SPARK = {
    **{name: name for name in "string long short byte double float boolean date timestamp binary".split()},  # noqa: SIM905
    "timestamp_ntz": "timestamp_ntz",
    "integer": "int",
    "variant": "json",
}
_TO_SPARK = {"int": "integer", "json": "string", "nothing": "void"}
_TEXTS = re.compile(r"(?:char|varchar|time)\(\s*\d+\s*\)|string collate \w+", re.ASCII)
_DECIMAL = re.compile(r"decimal(?:\(\s*(\d{1,3})\s*,\s*(-?\d{1,3})\s*\))?", re.ASCII)


def to_spark(schema: Schema) -> str:
    """A schema as Spark's JSON text."""
    return json.dumps(_struct_to(schema), separators=(",", ":"), ensure_ascii=False)


def _struct_to(struct: Struct) -> dict[str, Any]:
    return {"fields": [_field_to(field) for field in struct], "type": "struct"}


def _field_to(field: Field) -> dict[str, Any]:
    metadata = {WRITTEN: str(field.type)} if _as_json(field.type) == field.type else {}
    return {"metadata": metadata, "name": field.name, "nullable": not field.required, "type": _type_to(field.type)}


def _type_to(kind: Type) -> Any:
    if isinstance(kind, Scalar):
        return _TO_SPARK.get(kind.name, kind.name)
    if isinstance(kind, Decimal):
        return f"decimal({kind.precision},{kind.scale})"
    if isinstance(kind, Array):
        return {"containsNull": True, "elementType": _type_to(kind.of), "type": "array"}
    if isinstance(kind, Map):
        return {"keyType": "string", "type": "map", "valueContainsNull": True, "valueType": _type_to(kind.of)}
    return _struct_to(kind)


def _as_json(kind: Type) -> Type | None:
    """What a type of texts would be if they were JSON: that is not to be seen in Spark's own words."""
    if isinstance(kind, Array | Map):
        inner = _as_json(kind.of)
        return inner and type(kind)(inner)
    return JSON if kind in (STRING, JSON) else None


def from_spark(text: str) -> Schema:
    """The schema that Spark's JSON text means; a ValueError says what is wrong with it."""
    found = parsed(text)
    if not isinstance(found, dict) or found.get("type") != "struct":
        raise ValueError('the schema is not a struct: Spark\'s JSON for one begins with {"type":"struct","fields":[')
    return _Reading().struct(found, "", 1)


class _Reading:
    """One schema on its way in. Its types are counted."""

    def __init__(self) -> None:
        self._types = 0

    def struct(self, written: dict[str, Any], path: str, depth: int) -> Struct:
        fields = written.get("fields")
        if not isinstance(fields, list) or not fields:
            raise ValueError(f"{at(path)} has no fields, and a column needs some")
        self._count(len(fields))
        found = [self._field(field, path, depth) for field in fields]
        check_names([field.name for field in found], path)
        return Struct(tuple(found))

    def _field(self, written: Any, path: str, depth: int) -> Field:
        name = written.get("name") if isinstance(written, dict) else None
        if not is_text(name) or "type" not in written:
            raise ValueError(f"{at(path)} has a field without a name or without a type")
        inner = under(path, name)
        found = self._type(written["type"], inner, depth)
        metadata = written.get("metadata")
        noted = metadata.get(WRITTEN) if isinstance(metadata, dict) else None
        is_json = noted is not None and (texts := _as_json(found)) and str(texts) == noted
        return Field(name, texts if is_json and texts else found)

    def _type(self, written: Any, path: str, depth: int) -> Type:
        if is_text(written):
            return _scalar(written, path)
        if not isinstance(written, dict):
            raise ValueError(f"{at(path)}: a type is a name or an object, and this is {kind_of(written)}")
        if depth >= MAX_COLUMN_DEPTH:
            raise ValueError(f"{at(path)} is nested more than {MAX_COLUMN_DEPTH} deep, which readers of tables refuse")
        match written.get("type"):
            case "struct":
                return self.struct(written, path, depth + 1)
            case "array":
                return Array(self._inner(written, "elementType", f"{path}[]", depth))
            case "map" if written.get("keyType") == "string":
                return Map(self._inner(written, "valueType", f"{path}{{}}", depth))
            case "map":
                raise ValueError(f"{at(path)} is a map whose keys are not of type string")
            case "udt":
                raise ValueError(f"{at(path)} is of a user-defined type, which needs its author's code")
        raise ValueError(f"{at(path)} is neither a struct nor an array nor a map")

    def _inner(self, written: dict[str, Any], key: str, path: str, depth: int) -> Type:
        self._count(1)
        if key not in written:
            raise ValueError(f"{at(path)} has no {key}")
        return self._type(written[key], path, depth + 1)

    def _count(self, more: int) -> None:
        self._types += more
        if self._types > MAX_TYPES:
            raise ValueError(f"the schema has more than {MAX_TYPES} fields and types")


def _scalar(name: str, path: str) -> Type:
    if name in _FROM_SPARK:
        return Scalar(_FROM_SPARK[name])
    if found := _DECIMAL.fullmatch(name):
        precision, scale = int(found[1] or 10), int(found[2] or 0)
        if not (1 <= precision <= MAX_DIGITS and 0 <= scale <= precision):
            raise ValueError(
                f"{at(path)}: {shown(name)} is not a decimal that a table can have, such as decimal(38,18)"
            )
        return Decimal(precision, scale)
    if _TEXTS.fullmatch(name):
        return STRING
    known = ", ".join([*_FROM_SPARK, "decimal(p,s)", "char(n)", "varchar(n)", "time(n)"])
    raise ValueError(f"{at(path)} is of type {shown(name)}; there are {known}, and struct, array, map as objects")
