"""Two schemas of one value: what it looks like if it keeps both of them, and if it keeps either."""

from __future__ import annotations

from collections.abc import Callable

from penstock.schema import (
    DATE,
    DOUBLE,
    JSON,
    LONG,
    NOTHING,
    STRING,
    TIMESTAMP,
    Array,
    Field,
    Map,
    Scalar,
    Struct,
    Type,
)

BINARY = Scalar("binary")
_TEXTS = {STRING, DATE, TIMESTAMP, BINARY}

Meet = Callable[[Type, Type], Type]


def both(one: Type, other: Type) -> Type:
    """The narrower of the two. JSON text says nothing: the other one counts."""
    if one == other or other == JSON:
        return one
    if one == JSON:
        return other
    for wide, narrow in ((one, other), (other, one)):
        if (wide == DOUBLE and narrow == LONG) or (wide == STRING and narrow in _TEXTS):
            return narrow
        if isinstance(wide, Map) and isinstance(narrow, Struct):
            return narrow
    return _inside(one, other, both)


def either(one: Type, other: Type) -> Type:
    """The wider of the two, JSON text if there is none. Of objects, all the fields of both."""
    if one == other or other == NOTHING:
        return one
    if one == NOTHING:
        return other
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return DOUBLE if {one, other} == {LONG, DOUBLE} else STRING if {one, other} <= _TEXTS else JSON
    return _inside(one, other, either)


def _inside(one: Type, other: Type, meet: Meet) -> Type:
    if isinstance(one, Array) and isinstance(other, Array):
        return Array(meet(one.of, other.of))
    if isinstance(one, Map) and isinstance(other, Map):
        return Map(meet(one.of, other.of))
    if isinstance(one, Struct) and isinstance(other, Struct):
        fields = {field.name: field for field in one}
        for field in other:
            twin = fields.get(field.name)
            fields[field.name] = Field(field.name, meet(twin.type, field.type)) if twin else field
        return Struct(tuple(fields.values()))
    return JSON
