"""A reader of messages that were written with a schema: what each is, is told by its schema alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.contracts import Holding, Shape, Shapes
from penstock.formats.admission import Admission
from penstock.formats.decoding import Decoder, Framed, Framing
from penstock.merging import extended
from penstock.messages import Columns, Indices, Messages, Reject, Sorted
from penstock.new_columns import admitted, bearable, beyond, merged
from penstock.schema import Schema, Struct
from penstock.values.columns import conform
from penstock.values.fit import lacking
from penstock.values.plain import Refusal, type_at


class SchemaReader:
    """Messages with schemas at work in one task. Whether a message waits, is filtered or can be a row is told by
    its schema; whether its bytes are good is seen when they become columns."""

    def __init__(self, framing: Framing, shapes: Shapes) -> None:
        self._framing, self._shapes = framing, shapes
        self._admission = Admission(shapes)
        self._seen: dict[str, Schema] = {}
        self._lacks: dict[tuple[str, Any], bool] = {}

    # --- what is each message?

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted:
        found, framed, parts = Sorted(), self._framing.framed(messages), _Parts()
        names = pa.array(types).dictionary_encode() if types else None
        for key, places in _by_schema(framed):
            for name, at in self._named(key, places, framed, names, found):
                self._place(name, key, at, framed, found, parts)
        for place, why in framed.refused.items():
            self._refuse(place, why, types[place] if types else None, found, parts)
        found.clean, found.waiting = parts.joined("clean"), parts.joined("waiting")
        found.filtered = parts.filtered()
        return found

    def _refuse(self, place: int, why: Refusal, name: str | None, found: Sorted, parts: _Parts) -> None:
        """Reject a message; but one of an unwanted type is unwanted, whatever it holds."""
        if name is not None and not self._admission.wants(name):
            parts.add("filtered", "", np.array([place]))
        else:
            found.rejects.append(Reject(place, why.stage, why.code, why.text, name))

    def _named(
        self,
        key: Any,
        places: Indices,
        framed: Framed,
        names: pa.DictionaryArray | None,
        found: Sorted,
    ) -> Iterator[tuple[str, Indices]]:
        """The types of messages with one schema; `names` are those of all messages, where the route knows them."""
        if names is not None:
            codes = names.indices.to_numpy()[places]
            for code in np.unique(codes).tolist():
                yield names.dictionary[code].as_py(), places[codes == code]
            return
        try:
            if self._shapes.part is not None:
                yield self._framing.part(key, self._shapes.part), places
                return
            decoder = self._framing.decoder(key)
        except Refusal as why:
            found.rejects += [Reject(at, why.stage, why.code, why.text) for at in places.tolist()]
            return
        yield from self._by_field(decoder, places, framed, found)

    def _by_field(
        self, decoder: Decoder, places: Indices, framed: Framed, found: Sorted
    ) -> Iterator[tuple[str, Indices]]:
        """Types that are in a field, from columns where that is possible."""
        path, names = self._shapes.field or "", dict[str, list[int]]()
        rows, declined = decoder.columns(framed.bodies.take(pa.array(places)))
        told = _texts(rows, path)
        if told is None:
            declined = np.full(len(places), True)
        else:
            for name, at in zip(told.to_pylist(), places[~declined].tolist(), strict=True):
                names.setdefault(name, []).append(at)
        doubtful = places[declined].tolist() + names.pop(None, [])  # type: ignore[call-overload]
        for at in doubtful:
            try:
                message = decoder.plain(framed.bodies[at].as_py())
                names.setdefault(type_at(message, path), []).append(at)
            except Refusal as why:
                found.rejects.append(Reject(at, why.stage, why.code, why.text))
        for name, listed in names.items():
            yield name, np.sort(np.array(listed))

    def _place(self, name: str, key: Any, at: Indices, framed: Framed, found: Sorted, parts: _Parts) -> None:
        """Put messages of one type and one schema where they belong."""
        if not self._admission.wants(name):
            parts.add("filtered", "", at)
            return
        try:
            decoder = self._framing.decoder(key)
            if name in self._shapes.refused:
                self._refuse_type(name, decoder, at, framed, found)
            elif name in self._shapes.types:
                shape = self._shapes.types[name]
                parts.add("waiting" if self._is_lacking(name, key, shape, decoder) else "clean", name, at)
            else:
                self._admission.admit(name)
                parts.add("waiting", name, at)
        except Refusal as why:
            found.rejects += [Reject(place, why.stage, why.code, why.text, name) for place in at.tolist()]

    def _refuse_type(self, name: str, decoder: Decoder, at: Indices, framed: Framed, found: Sorted) -> None:
        for place in at.tolist():
            why = Refusal("identify", *self._shapes.refused[name])
            try:
                decoder.plain(framed.bodies[place].as_py())  # its own trouble comes before its type's
            except Refusal as own:
                why = own
            found.rejects.append(Reject(place, why.stage, why.code, why.text, name))

    def _is_lacking(self, name: str, key: Any, shape: Shape, decoder: Decoder) -> bool:
        """Must the table get columns before it can take messages of this schema?"""
        if shape.evolve != "add":
            return False
        if (name, key) not in self._lacks:
            grown = extended(shape.schema, admitted(decoder.schema, shape.schema, shape.reserved))
            self._lacks[name, key] = grown != shape.schema
        return self._lacks[name, key]

    # --- rows

    def columns(self, type: str, messages: Messages) -> Columns:
        framed, shape = self._framing.framed(messages), self._shapes.types[type]
        declined, made, places = np.full(len(messages), True), [], []
        for key, at in _by_schema(framed):
            try:
                decoder = self._framing.decoder(key)
            except Refusal:
                continue
            bodies = framed.bodies if len(at) == len(messages) else framed.bodies.take(pa.array(at))
            rows, bad = decoder.columns(bodies)
            rows, misfits = conform(rows, decoder.schema, shape)
            kept = at[~bad]
            declined[kept] = misfits
            made.append(rows.filter(pa.array(~misfits)) if misfits.any() else rows)
            places.append(kept[~misfits])
        if not made:
            return Columns(None, declined)
        if len(made) == 1:
            return Columns(made[0], declined)
        order = np.argsort(np.concatenate(places), kind="stable")
        return Columns(pa.concat_batches(made).take(pa.array(order)), declined)

    def plain(self, messages: Messages, at: int) -> dict[str, Any]:
        framed = self._framing.framed(messages.cut(at, at + 1))
        if framed.refused:
            raise framed.refused[0]
        return self._framing.decoder(framed.keys[0]).plain(framed.bodies[0].as_py())

    # --- columns that a table does not have yet

    def told(self, messages: Messages) -> list[Holding]:
        found = []
        for key, at in _by_schema(self._framing.framed(messages)):
            with suppress(Refusal):
                decoder = self._framing.decoder(key)
                found.append(Holding(decoder.schema, at, not getattr(decoder, "is_open", False)))
        return found

    def infer(self, type: str, messages: Messages) -> Schema:
        shape, framed = self._shapes.types.get(type), self._framing.framed(messages)
        table = shape.schema if shape else Struct()
        seen = self._seen.get(type, Struct())
        for key, at in _by_schema(framed):
            try:
                decoder = self._framing.decoder(key)
            except Refusal:
                continue
            seen = merged(seen, bearable(beyond(decoder.schema, table), table, self._shapes.max_columns))
            if getattr(decoder, "is_open", False):
                seen = merged(seen, self._held(decoder, framed, at, shape))
        self._seen[type] = seen
        return seen

    def _held(self, decoder: Decoder, framed: Framed, at: Indices, shape: Shape | None) -> Schema:
        """What messages hold beyond what their schema says."""
        table = shape.schema if shape else Struct()
        whole, seen = replace(shape or Shape(table), schema=extended(table, decoder.schema)), Struct()
        for place in at.tolist():
            try:
                found = lacking(decoder.plain(framed.bodies[place].as_py()), whole)
                seen = merged(seen, bearable(found, whole.schema, self._shapes.max_columns))
            except Refusal:
                continue  # it will be a dead letter
        return seen


def _by_schema(framed: Framed) -> Iterator[tuple[Any, Indices]]:
    """The messages of each schema, in order."""
    for code, key in enumerate(framed.keys):
        at = np.flatnonzero(framed.codes == code)
        if len(at):
            yield key, at


def _texts(rows: pa.RecordBatch, path: str) -> pa.Array | None:
    """The texts at a dotted path; None if there are no texts."""
    column: pa.Array = pa.StructArray.from_arrays(rows.columns, fields=list(rows.schema))
    for name in path.split("."):
        if not pa.types.is_struct(column.type) or column.type.get_field_index(name) < 0:
            return None
        column = column.flatten()[column.type.get_field_index(name)]
    return column if pa.types.is_string(column.type) else None


class _Parts:
    """Places of messages by what becomes of them and by type, collected in parts."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, list[Indices]]] = {"clean": {}, "waiting": {}, "filtered": {}}

    def add(self, fate: str, name: str, at: Indices) -> None:
        self._parts[fate].setdefault(name, []).append(at)

    def joined(self, fate: str) -> dict[str, Indices]:
        return {name: np.sort(np.concatenate(parts)) for name, parts in self._parts[fate].items()}

    def filtered(self) -> Indices:
        return self.joined("filtered").get("", np.empty(0, np.int64))
