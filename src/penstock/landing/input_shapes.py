"""What messages of each type hold before they are changed, as far as a task has seen."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from penstock.contracts import Shape, Shapes
from penstock.schema import JSON, STRING, Array, Field, Schema, Struct, Type, merge, settled
from penstock.values.plain import Refusal, infer

MAX_LESSONS = 2_000
"""How many messages may teach. Where every message has keys of its own, learning them helps nobody."""


class InputShapes:
    """Shapes of messages as they come. They know no policy: what a message holds beyond its shape is for
    whoever asked to decide."""

    def __init__(self, target: Shapes) -> None:
        self._target = target
        self._seen: dict[str, Schema] = {}
        self._lessons = 0
        self._changed: set[str] = set()
        self.is_stale = False

    def shapes(self) -> Shapes:
        """What a reader is told. Types of which nothing was seen yet are new to it."""
        self.is_stale = False
        known = {name: Shape(self.schema(name), "freeze") for name in self._seen}
        room = self._target.room + len(self._target.types)
        return Shapes(
            {name: shape for name, shape in known.items() if shape.schema.fields},
            self._target.field,
            self._target.allow,
            self._target.refused,
            room,
        )

    def schema(self, type: str) -> Schema:
        return texts(settled(self._seen.get(type, Struct())))

    def learn(self, type: str, message: Mapping[str, Any]) -> None:
        """Take a message as an example of its type."""
        if self._lessons >= MAX_LESSONS:
            return
        self._lessons += 1
        before = self.schema(type)
        with suppress(Refusal):  # it has keys or numbers that no column could have
            seen = merge(self._seen.get(type, Struct()), infer(message))
            assert isinstance(seen, Struct)
            self._seen[type] = seen
            after = self.schema(type)
            self.is_stale |= after != before
            if not _keeps(before, after):
                self._changed.add(type)

    def has_changed(self, type: str) -> bool:
        """Has a column got another kind since this was asked last? New columns are no change."""
        found = type in self._changed
        self._changed.discard(type)
        return found


def texts(schema: Schema) -> Schema:
    """Of a mixture, the strings are taken as they are; other kinds go one message at a time."""
    return Struct(tuple(Field(field.name, _text(field.type)) for field in schema))


def _text(kind: Type) -> Type:
    if isinstance(kind, Struct):
        return texts(kind)
    if isinstance(kind, Array):
        return Array(_text(kind.of))
    return STRING if kind == JSON else kind


def _keeps(before: Type, after: Type) -> bool:
    if isinstance(before, Struct) and isinstance(after, Struct):
        pairs = [(field.type, after.get(field.name)) for field in before]
        return all(now is not None and _keeps(was, now.type) for was, now in pairs)
    if isinstance(before, Array) and isinstance(after, Array):
        return _keeps(before.of, after.of)
    return before == after
