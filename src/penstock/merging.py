"""How two ideas of a type become one: what messages hold together, and what a table holds with that."""

from __future__ import annotations

from penstock.schema import DOUBLE, JSON, NOTHING, STRING, Array, Decimal, Field, Map, Scalar, Schema, Struct, Type

MAX_DIGITS = 38
_INTEGERS = ("byte", "short", "int", "long")


def merge(one: Type, other: Type) -> Type:
    """What was seen in some messages and what was seen in others, as one type.

    Numbers make the narrowest number that holds both; any other mixture is kept as JSON text, so
    that nothing is altered. The order of merging does not matter.
    """
    if one == other or other == NOTHING:
        return one
    if one == NOTHING:
        return other
    if isinstance(one, Array) and isinstance(other, Array):
        return Array(merge(one.of, other.of))
    if isinstance(one, Map) and isinstance(other, Map):
        return Map(merge(one.of, other.of))
    if isinstance(one, Struct) and isinstance(other, Struct):
        return _merge_fields(one, other)
    return wider(one, other) or JSON


def in_order(kind: Type) -> Type:
    """The same with its fields by name, whoever said them first."""
    if isinstance(kind, Struct):
        return Struct(tuple(sorted((Field(f.name, in_order(f.type)) for f in kind), key=lambda field: field.name)))
    if isinstance(kind, Array | Map):
        return type(kind)(in_order(kind.of))
    return kind


def wider(one: Type, other: Type) -> Type | None:
    """The narrowest number that holds both kinds of numbers; None if one of them is no number, or there is none."""
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        scale = max(one.scale, other.scale)
        precision = max(one.precision - one.scale, other.precision - other.scale) + scale
        return Decimal(precision, scale) if precision <= MAX_DIGITS else None
    names = [str(one), str(other)]
    if all(name in _INTEGERS for name in names):
        return Scalar(max(names, key=_INTEGERS.index))
    return DOUBLE if all(name in (*_INTEGERS, "float", "double") for name in names) else None


def _merge_fields(one: Struct, other: Struct) -> Struct:
    if not one.fields or not other.fields:
        return one if one.fields else other  # alone, a schema keeps the order that its author gave it
    found = {field.name: field.type for field in one}
    for field in other:
        found[field.name] = merge(found[field.name], field.type) if field.name in found else field.type
    return Struct(tuple(Field(name, found[name]) for name in sorted(found)))


def settled(schema: Schema) -> Schema:
    """A seen schema as a table can have it: what was only ever null has no column yet,
    an array whose elements were never seen holds JSON text."""
    fields = ((f.name, _settle(f.type)) for f in schema)
    return Struct(tuple(Field(name, kind) for name, kind in fields if kind is not None))


def _settle(kind: Type) -> Type | None:
    if kind == NOTHING:
        return None
    if isinstance(kind, Array):
        return Array(_settle(kind.of) or JSON)
    if isinstance(kind, Struct):
        inner = settled(kind)
        return inner if inner.fields else None
    return kind


def extended(table: Schema, seen: Schema) -> Schema:
    """A table's schema with the columns it lacks, also inside structs. What it has, it keeps:
    a seen value that does not fit is the message's trouble, not the table's."""
    fields = [Field(f.name, _extend(f.type, seen.get(f.name)), f.required) for f in table]
    fields += [field for field in settled(seen) if field.name not in table]
    return Struct(tuple(fields))


def _extend(have: Type, seen: Field | None) -> Type:
    kind = seen.type if seen else NOTHING
    if isinstance(have, Struct) and isinstance(kind, Struct):
        return extended(have, kind)
    if isinstance(have, Array) and isinstance(kind, Array):
        return Array(_extend(have.of, Field("element", kind.of)))
    return have


def holds(table: Schema, files: Schema) -> str | None:
    """Why a table cannot show files of this schema as they are; None if it can.
    Columns that the table lacks altogether are no obstacle here: they can be added."""
    for have in table:
        field = files.get(have.name)
        if have.required and not (field and field.required):
            return f"column '{have.name}' must not be null in the table, and may be in the files"
        if field and (why := _conflict(have.type, field.type)):
            return f"column '{have.name}' {why}"
    return None


def _conflict(have: Type, files: Type) -> str | None:
    if isinstance(have, Struct) and isinstance(files, Struct):
        return holds(have, files)
    if isinstance(have, Array) and isinstance(files, Array):
        return _conflict(have.of, files.of)
    text = {STRING, JSON}
    if have == files or (have in text and files in text):
        return None
    return f"is {have} in the table and {files} in the files"
