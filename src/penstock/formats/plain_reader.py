"""A reader for formats that only know how to make plain values of a message: all of them go one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.contracts import Shapes
from penstock.formats.admission import Admission
from penstock.messages import Columns, Messages, Reject, Row, Sorted
from penstock.new_columns import bearable, merged
from penstock.schema import Schema, Struct
from penstock.values.fit import Waits, fit, lacking
from penstock.values.plain import Refusal, infer, type_at


class PlainReader:
    """Messages at work in one task, each parsed by itself."""

    def __init__(self, parse: Callable[[bytes], dict[str, Any]], shapes: Shapes) -> None:
        self._parse, self._shapes = parse, shapes
        self._admission = Admission(shapes)
        self._seen: dict[str, Schema] = {}

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted:
        found, filtered, waiting = Sorted(), [], dict[str, list[int]]()
        for at in range(len(messages)):
            name = types[at] if types else None
            try:
                if name is not None and not self._admission.wants(name):  # unwanted, whatever is in it
                    filtered.append(at)
                    continue
                message = self.plain(messages, at)
                name = name if name is not None else type_at(message, self._shapes.field or "")
                if not self._admission.wants(name):
                    filtered.append(at)
                else:
                    row = Row(at, self._row(name, message))
                    found.rows.setdefault(name, []).append(row)
            except Waits:
                waiting.setdefault(str(name), []).append(at)
            except Refusal as why:
                found.rejects.append(Reject(at, why.stage, why.code, why.text, name))
        found.waiting = {name: np.array(places) for name, places in waiting.items()}
        found.filtered = np.array(filtered, np.int64)
        return found

    def _row(self, name: str, message: dict[str, Any]) -> dict[str, object]:
        if name in self._shapes.refused:
            infer(message)  # its own trouble comes before its type's
            raise Refusal("identify", *self._shapes.refused[name])
        shape = self._shapes.types.get(name)
        if shape is not None:
            return fit(message, shape)
        found = infer(message)
        assert isinstance(found, Struct)
        self._admission.admit(name)
        raise Waits(found)

    def columns(self, _: str, messages: Messages) -> Columns:
        """None: nothing is ever called clean."""
        return Columns.none_of(messages)

    def plain(self, messages: Messages, at: int) -> dict[str, Any]:
        return self._parse(messages.value(at))

    def infer(self, type: str, messages: Messages) -> Schema:
        seen, shape = self._seen.get(type, Struct()), self._shapes.types.get(type)
        table = shape.schema if shape else Struct()
        for at in range(len(messages)):
            try:
                found = lacking(self.plain(messages, at), shape)
            except Refusal:
                continue  # it will be a dead letter
            seen = merged(seen, bearable(found, table, self._shapes.max_columns))
        self._seen[type] = seen
        return seen
