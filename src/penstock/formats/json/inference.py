"""Columns that a table does not have yet: what all messages that wait for them have together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.contracts import Shapes
from penstock.formats.json.decoders import Decode, inference_decoder
from penstock.new_columns import TOO_WIDE, bearable, merged
from penstock.schema import NOTHING, Array, Field, Schema, Struct, Type
from penstock.values.fit import lacking
from penstock.values.plain import Refusal


class Inference:
    """What was seen of each type so far. A decoder made of it passes messages that hold nothing
    new; only the others are looked at one by one."""

    def __init__(self, shapes: Shapes, parse: Callable[[bytes], dict[str, Any]]) -> None:
        self._shapes, self._parse = shapes, parse
        self._seen: dict[str, Schema] = {}

    def look(self, type: str, values: Iterable[bytes]) -> Schema:
        """The columns that these messages and earlier ones lack: all of them where there is no table."""
        seen = self._seen.get(type, Struct())
        decode, misses, patience = self._nothing_new(type, seen), 0, 1
        news = Struct()  # merged by themselves first: what was seen before may be thousands of columns
        for value in values:
            try:
                decode(value)
            except Exception:
                news, misses = merged(news, self._lacking(type, value)), misses + 1
                if misses >= patience:
                    seen, news = merged(seen, news), Struct()
                    decode, misses, patience = self._nothing_new(type, seen), 0, min(patience * 2, 256)
        self._seen[type] = seen = merged(seen, news)
        return seen

    def _nothing_new(self, type: str, seen: Schema) -> Decode:
        shape, seen = self._shapes.types.get(type), seen.without(field.name for field in TOO_WIDE)
        return inference_decoder(seen if shape is None else _together(shape.schema, seen))

    def _lacking(self, type: str, value: bytes) -> Type:
        shape, limit = self._shapes.types.get(type), self._shapes.max_columns
        table = shape.schema if shape else Struct()
        try:
            return bearable(lacking(self._parse(value), shape), table, limit)
        except Refusal:
            return NOTHING  # it will be a dead letter


def _together(table: Schema, seen: Schema) -> Schema:
    """What a table has, and what was seen beside it."""
    fields = [Field(f.name, _inside(f.type, seen.get(f.name)), f.required) for f in table]
    return Struct((*fields, *(field for field in seen if field.name not in table)))


def _inside(have: Type, seen: Field | None) -> Type:
    kind = seen.type if seen else NOTHING
    if isinstance(have, Struct) and isinstance(kind, Struct):
        return _together(have, kind)
    if isinstance(have, Array) and isinstance(kind, Array):
        return Array(_inside(have.of, Field("element", kind.of)))
    return have
