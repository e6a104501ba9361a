"""Messages that are changed before they become rows: parse → transform → fit.

The reference path does this with one message at a time, from plain values to a row. The fast path does it
with columns: what messages of a type hold before the change is learned from the first of them, messages that
hold just that are parsed into columns by their format, and the change is a program over those. A message that
holds anything else goes the reference way, and the next ones like it do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from penstock.contracts import Format, Reader, Shapes, Told
from penstock.landing.about import about, about_all
from penstock.landing.changes import Change, Program
from penstock.landing.inferring import Inferring
from penstock.landing.input_shapes import InputShapes, clean_of, held
from penstock.merging import extended
from penstock.messages import Columns, Indices, Messages, Reject, Row, Sorted, growing
from penstock.new_columns import admitted
from penstock.schema import Schema
from penstock.transforms.expressions import Declines
from penstock.transforms.program import AboutColumns
from penstock.values.columns import Mask, conform
from penstock.values.fit import Waits, fit
from penstock.values.plain import Refusal

FIRST_LOOK = 64  # messages that teach before the many are sorted


class Transforming:
    """A reading of messages that are changed on the way, or made to fit."""

    def __init__(self, format: Format, shapes: Shapes, change: Change) -> None:
        self._format, self._shapes, self._change = format, shapes, change
        self._input = InputShapes(shapes)
        self._reader: Reader = format.reader(self._input.shapes())
        self._programs: dict[str, Program | None] = {}
        self._kinds: dict[Schema, Schema] = {}
        self._inferring = Inferring(format, shapes, change)

    # --- what is each message?

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted:
        found, clean, waiting = Sorted(), _Parts(), _Parts()
        for start, end in growing(len(messages), FIRST_LOOK):
            part = self._reader.sort(messages.cut(start, end), types[start:end] if types else None)
            found.filtered = np.concatenate([found.filtered, part.filtered + start])
            clean.add(part.clean, start)
            waiting.add({name: part.waiting.pop(name) for name in self._new(part)}, start)
            for name, at in self._doubtful(part, start, found.rejects):
                self._settle(name, messages, at, found, waiting)
            for name in self._shapes.types:
                self._input.heed(name, len(part.clean.get(name, ())))
            self._refresh()
        found.clean, found.waiting = clean.joined(), waiting.joined()
        return found

    def _new(self, part: Sorted) -> list[str]:
        return [name for name in part.waiting if name not in self._shapes.types]

    def _doubtful(self, part: Sorted, start: int, rejects: list[Reject]) -> list[tuple[str, int]]:
        """The messages that are not just what was learned, with their types, in order. What is wrong with a
        message before it meets its type's columns is wrong here too."""
        found = [(name, row.at + start) for name, rows in part.rows.items() for row in rows]
        found += [(name, int(at) + start) for name, places in part.waiting.items() for at in places]
        for reject in part.rejects:
            if reject.stage == "fit" and reject.type in self._shapes.types:
                found.append((str(reject.type), reject.at + start))
            else:
                rejects.append(replace(reject, at=reject.at + start))
        return sorted(found, key=lambda pair: pair[1])

    def _settle(self, name: str, messages: Messages, at: int, found: Sorted, waiting: _Parts) -> None:
        """The reference path's answer for one message, and what it teaches."""
        try:
            message = self._reader.plain(messages, at)
            self._input.learn(name, held(self._reader, message, messages, at))
            found.rows.setdefault(name, []).append(Row(at, self._row(name, message, messages, at)))
        except Waits:
            waiting.add({name: np.array([at])}, 0)
        except Refusal as why:
            found.rejects.append(Reject(at, why.stage, why.code, why.text, name))

    def _row(self, name: str, message: dict[str, object], messages: Messages, at: int) -> dict[str, object]:
        changed, shape = self._change.of(message, about(messages, at)), self._shapes.types[name]
        by_schema = self._reader.told(messages.cut(at, at + 1)) if isinstance(self._reader, Told) else ()
        if by_schema and shape.evolve == "add":
            kinds = self._kinds_of(by_schema[0].schema)
            whole = extended(shape.schema, admitted(kinds, shape.schema, shape.reserved))
            if whole != shape.schema:
                fit(changed, replace(shape, schema=whole))  # if it will never be a row, that is said now
                raise Waits(kinds)
        return fit(changed, shape)

    def _kinds_of(self, schema: Schema) -> Schema:
        if schema not in self._kinds:
            self._kinds[schema], _ = self._change.kinds(schema)
        return self._kinds[schema]

    def _refresh(self) -> None:
        if self._input.is_stale:
            self._reader = self._format.reader(self._input.shapes())
            self._programs.clear()

    # --- rows

    def columns(self, type: str, runs: Sequence[Messages]) -> Columns:
        messages = Messages.joined(runs)
        where, program = np.flatnonzero(self._still_clean(type, runs)), self._program(type)
        made = self._reader.columns(type, messages.only(where))
        if made.rows is None or program is None:
            return Columns.none_of(messages)
        where = where[~made.declined]
        rows, declined = self._conformed(type, program, made.rows, about_all(runs, where))
        whole = np.full(len(messages), True)
        whole[where] = declined
        if declined.any():
            rows = rows.filter(pa.array(~declined))
        return Columns(rows, whole)

    def _conformed(
        self, type: str, program: Program, made: pa.RecordBatch, about: AboutColumns
    ) -> tuple[pa.RecordBatch, Mask]:
        changed, schema, declined = program.apply(made, about)
        if changed.num_rows != made.num_rows:  # nothing is left of any of them, not even the number
            return made, np.full(made.num_rows, True)
        rows, misfits = conform(changed, schema, self._shapes.types[type])
        return rows, declined | misfits

    def _program(self, type: str) -> Program | None:
        if type not in self._programs:
            try:
                self._programs[type] = self._change.program(self._input.schema(type))
            except Declines:
                self._programs[type] = None
        return self._programs[type]

    def _still_clean(self, type: str, runs: Sequence[Messages]) -> Mask:
        """Messages were sorted before a column's kind changed: are they what it is now?"""
        kept = np.full(sum(map(len, runs)), True)
        if self._input.has_changed(type):
            start = 0
            for run in runs:
                clean = clean_of(self._reader, self._shapes, type, run)
                kept[start : start + len(run)] = np.isin(np.arange(len(run)), clean)
                start += len(run)
        return kept

    def rows(self, type: str, messages: Messages) -> Sorted:
        found, waiting = Sorted(rows={type: []}), _Parts()
        for at in range(len(messages)):
            self._settle(type, messages, at, found, waiting)
        found.waiting = waiting.joined()
        return found

    # --- columns that a table does not have yet

    def infer(self, type: str, messages: Messages) -> Schema:
        return self._inferring.look(type, messages)


class _Parts:
    """Places of messages by type, collected in parts."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Indices]] = {}

    def add(self, found: dict[str, Indices], start: int) -> None:
        for name, places in found.items():
            self._parts.setdefault(name, []).append(places + start)

    def joined(self) -> dict[str, Indices]:
        return {name: np.concatenate(parts) for name, parts in self._parts.items()}
