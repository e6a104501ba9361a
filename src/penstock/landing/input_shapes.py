"""What messages of each type hold before they are changed, as far as a task has seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.contracts import Reader, Shape, Shapes, Told
from penstock.merging import merge
from penstock.messages import Indices, Messages
from penstock.new_columns import leaves, merged
from penstock.schema import BOOLEAN, DOUBLE, JSON, LONG, NOTHING, STRING, Array, Field, Schema, Struct, Type
from penstock.values.plain import MAX_COLUMN_DEPTH, Number, integer

_AS_LONG = ("byte", "short", "int")  # expressions know integers, not how many bits one has
MAX_LESSONS, MAX_WIDTH = 200, 2_000
"""How often a type's shape may grow, and how wide. Where every message has keys of its own, learning them
helps nobody."""


class InputShapes:
    """Shapes of messages as they come. They know no policy: what a message holds beyond its shape is for
    whoever asked to decide."""

    def __init__(self, target: Shapes) -> None:
        self._target = target
        self._seen: dict[str, Schema] = {}
        self._schemas: dict[str, Schema] = {}
        self._lessons: dict[str, int] = {}
        self._odd: dict[str, list[Schema]] = {}
        self._alike: dict[str, int] = {}
        self._changed: set[str] = set()
        self.is_stale = False

    def shapes(self) -> Shapes:
        """What a reader is told. Types of which nothing was seen yet are new to it."""
        self.is_stale = False
        known = {
            name: Shape(schema, "freeze", coerce=self._target.types[name].coerce)
            for name, schema in self._schemas.items()
            if schema.fields
        }
        room = self._target.room + len(self._target.types)
        return replace(self._target, types=known, room=room)

    def schema(self, type: str) -> Schema:
        return self._schemas.get(type, Struct())

    def learn(self, type: str, found: Type) -> None:
        """Take what a message holds as an example of its type. If it has another kind of value where the others
        agree, it is an odd one, and goes alone."""
        if self._lessons.get(type, 0) >= MAX_LESSONS:
            return
        assert isinstance(found, Struct)
        if leaves(found) > MAX_WIDTH:
            return
        seen = self._seen.get(type, Struct())
        if _mixes(seen, found):
            self._odd.setdefault(type, []).append(found)
        else:
            self._alike[type] = self._alike.get(type, 0) + 1
            self._take(type, seen, found)

    def heed(self, type: str, clean: int) -> None:
        """After some messages: were there more odd ones than others? Then they are what the type is now."""
        odd, alike = self._odd.pop(type, []), self._alike.pop(type, 0)
        if len(odd) > clean + alike:
            for found in odd:
                seen = self._seen.get(type, Struct())
                self._take(type, Struct() if _mixes(seen, found) else seen, found)

    def _take(self, type: str, seen: Schema, found: Schema) -> None:
        whole = merged(seen, found)
        if whole == self._seen.get(type) or leaves(whole) > MAX_WIDTH:
            return
        before, after = self.schema(type), told(whole)
        self._seen[type], self._schemas[type] = whole, after
        if after != before:
            self._lessons[type] = self._lessons.get(type, 0) + 1
            self.is_stale = True
            if not _keeps(before, after):
                self._changed.add(type)

    def has_changed(self, type: str) -> bool:
        """Has a column got another kind since this was asked last? New columns are no change."""
        found = type in self._changed
        self._changed.discard(type)
        return found


def clean_of(reader: Reader, shapes: Shapes, type: str, messages: Messages) -> Indices:
    """Which of these messages of one type hold just what the reader was told of it."""
    types = None if shapes.tells_types else [type] * len(messages)
    return reader.sort(messages, types).clean.get(type, np.empty(0, np.int64))


def held(reader: Reader, message: Mapping[str, Any], messages: Messages, at: int) -> Type:
    """What one message holds: by its own schema if it has one, else by its values."""
    by_schema = reader.told(messages.cut(at, at + 1)) if isinstance(reader, Told) else ()
    return by_schema[0].schema if by_schema else shape_of(message, MAX_COLUMN_DEPTH)


def shape_of(value: Any, levels: int) -> Type:
    """The type of a value, like `infer`; but it need not become a column, so it may have any name that can be
    printed. What no column could hold is nothing, and a message that has it there goes alone."""
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, float):
        return DOUBLE
    if isinstance(value, Number):
        whole = integer(value)
        return DOUBLE if whole is None else LONG if -(2**63) <= whole < 2**63 else NOTHING
    if value is None or not levels:
        return NOTHING
    if isinstance(value, str):
        return STRING
    if isinstance(value, list):
        kind: Type = NOTHING
        for element in value:
            kind = merge(kind, shape_of(element, levels - 1))
        return Array(kind)
    fields = ((name, shape_of(value[name], levels - 1)) for name in sorted(value))
    return Struct(tuple(Field(name, kind if name.isprintable() and name else NOTHING) for name, kind in fields))


def _mixes(seen: Type, found: Type) -> bool:
    """Would they be a mixture together, which none of them is alone?"""
    if isinstance(seen, Struct) and isinstance(found, Struct):
        pairs = [(field.type, found.get(field.name)) for field in seen]
        return any(other is not None and _mixes(kind, other.type) for kind, other in pairs)
    if isinstance(seen, Array) and isinstance(found, Array):
        return _mixes(seen.of, found.of)
    return JSON not in (seen, found) and merge(seen, found) == JSON


def told(seen: Schema) -> Schema:
    """What was seen, as a reader is told it. What was only ever null has no column; an object that was always
    empty has one without fields. Of a mixture, the strings are taken as they are, and other kinds go one
    message at a time."""
    return Struct(tuple(Field(field.name, _told(field.type)) for field in seen if field.type != NOTHING))


def _told(kind: Type) -> Type:
    if isinstance(kind, Struct):
        return told(kind)
    if isinstance(kind, Array):
        return Array(_told(kind.of))
    if str(kind) in _AS_LONG:
        return LONG
    return STRING if kind in (JSON, NOTHING) else DOUBLE if str(kind) == "float" else kind


def _keeps(before: Type, after: Type) -> bool:
    if isinstance(before, Struct) and isinstance(after, Struct):
        pairs = [(field.type, after.get(field.name)) for field in before]
        return all(now is not None and _keeps(was, now.type) for was, now in pairs)
    if isinstance(before, Array) and isinstance(after, Array):
        return _keeps(before.of, after.of)
    return before == after
