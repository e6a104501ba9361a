"""Columns that a table does not have yet, of messages that are changed on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from penstock.contracts import Format, Holding, Reader, Shape, Shapes, Told
from penstock.landing.about import about, about_all
from penstock.landing.changes import Change
from penstock.landing.input_shapes import clean_of, told
from penstock.merging import extended, in_order, settled
from penstock.messages import Indices, Messages
from penstock.new_columns import TOO_WIDE, admitted, bearable, beyond, leaves, merged
from penstock.schema import NOTHING, Array, Field, Schema, Struct, Type
from penstock.transforms.expressions import Declines
from penstock.values.fit import lacking
from penstock.values.plain import Refusal


class Inferring:
    """What was seen of each type so far, after the change. Messages that will be dead letters tell nothing, or
    only that they are too wide."""

    def __init__(self, format: Format, shapes: Shapes, change: Change) -> None:
        self._format, self._shapes, self._change = format, shapes, change
        self._reader: Reader = format.reader(replace(shapes, types={}))
        self._seen: dict[str, Schema] = {}

    def look(self, type: str, messages: Messages) -> Schema:
        """The columns that these messages and earlier ones lack: all of them where there is no table."""
        by_schema = self._reader.told(messages) if isinstance(self._reader, Told) else ()
        if by_schema:
            found = self._by_schema(type, messages, by_schema)
        else:
            at_once = self._all_at_once(type, messages) if type not in self._shapes.types else None
            found = at_once or self._one_by_one(type, messages, range(len(messages)))[0]
        self._seen[type] = merged(self._seen.get(type, Struct()), in_order(found))
        return self._seen[type]

    def _by_schema(self, type: str, messages: Messages, known: Sequence[Holding]) -> Schema:
        """What schemas tell, and beside that what only values tell."""
        shape, limit = self._shapes.types.get(type), self._shapes.max_columns
        table, seen, left = shape.schema if shape else Struct(), Struct(), np.full(len(messages), True)
        for each in known:
            kinds, is_all = self._change.kinds(each.schema)
            seen = merged(seen, bearable(beyond(kinds, table), table, limit))
            left[each.at] = not (is_all and each.is_all)
        whole = replace(shape or Shape(table), schema=extended(table, admitted(seen, table)))
        return merged(seen, self._one_by_one(type, messages, np.flatnonzero(left).tolist(), whole)[0])

    def _one_by_one(
        self, type: str, messages: Messages, places: Iterable[int], known: Shape | None = None
    ) -> tuple[Schema, list[int]]:
        """The columns of these messages beyond those that are known, and which of them are refused."""
        seen, refused, shape = Struct(), [], known or self._shapes.types.get(type)
        table = shape.schema if shape else Struct()
        for at in places:
            try:
                message = self._change.of(self._reader.plain(messages, at), about(messages, at))
                found = bearable(lacking(message, shape), table, self._shapes.max_columns)
            except Refusal:
                refused.append(at)
                continue
            if found == TOO_WIDE:
                refused.append(at)
                self._seen[type] = merged(self._seen.get(type, Struct()), TOO_WIDE)
            else:
                seen = merged(seen, found)
        return seen, refused

    def _all_at_once(self, type: str, messages: Messages) -> Schema | None:
        """The same as columns; None where there is no program for them."""
        kept = np.arange(len(messages))
        while len(kept):
            run = messages.only(kept)
            told = self._told(type, run)
            if told is None:
                return None
            seen, left = told
            rest, refused = self._one_by_one(type, run, left.tolist())
            if not refused:
                return merged(seen, rest)
            kept = np.delete(kept, refused)  # what they hold made others look like them
        return Struct()

    def _told(self, type: str, messages: Messages) -> tuple[Schema, Indices] | None:
        """What a program says of the messages, and of which of them it says nothing."""
        limit = self._shapes.max_columns
        unlimited = replace(self._shapes, types={}, allow=None, refused={})
        fresh = self._format.reader(unlimited)
        given = told(fresh.infer(type, messages))
        nothing = Struct(), np.arange(len(messages))
        if not given.fields or leaves(given) > limit:
            return nothing
        reader: Reader = self._format.reader(replace(unlimited, types={type: Shape(given, "freeze")}))
        clean = clean_of(reader, self._shapes, type, messages)
        made = reader.columns(type, messages.only(clean))
        if made.rows is None:
            return nothing
        clean = clean[~made.declined]
        try:
            changed, schema, declined = self._change.program(given).apply(made.rows, about_all([messages], clean))
        except Declines:
            return None
        rows = changed.filter(pa.array(~declined))
        seen = Struct(tuple(_seen(field, rows.column(field.name)) for field in schema))
        if leaves(settled(seen)) > limit:  # all together, or one of them alone?
            return nothing
        return seen, np.setdiff1d(np.arange(len(messages)), clean[~declined])


def _seen(field: Field, column: pa.Array) -> Field:
    return Field(field.name, _held(field.type, column))


def _held(kind: Type, column: pa.Array) -> Type:
    """What a column really holds: where there is no value, nothing."""
    if column.null_count == len(column):
        return NOTHING
    if isinstance(kind, Struct):
        inner = zip(kind, column.flatten(), strict=True)
        return Struct(tuple(_seen(field, inside) for field, inside in inner))
    if isinstance(kind, Array):
        return Array(_held(kind.of, column.flatten()))
    return kind
