"""Several formats in one topic: a header of each message says which one it is in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from penstock.contracts import Format, Holding, Reader, Refreshes, Shapes, Told
from penstock.declared import Declared
from penstock.messages import Columns, Indices, Messages, Reject, Sorted
from penstock.new_columns import merged
from penstock.schema import Schema, Struct
from penstock.values.plain import Refusal, shown


class MixedFormat(Declared):
    """Messages whose format is named by a header."""

    PARTS: ClassVar = {"formats": "formats"}

    header: str = Field(min_length=1)
    """The name of the header. Of several headers with this name the last one counts."""
    formats: dict[str, Any] = Field(min_length=1)
    """Value of the header → the format of such messages."""
    default: str | None = None
    """Which of them messages have that say nothing. Not set, those are dead letters."""

    @property
    def routes(self) -> tuple[str, ...]:
        """The parts of a schema that can name a message's type, whichever format it is in."""
        each = [set(getattr(format, "routes", ())) for format in self.formats.values()]
        return tuple(sorted(set.intersection(*each)))

    @model_validator(mode="after")
    def _default_is_one_of_them(self) -> MixedFormat:
        if self.default is not None and self.default not in self.formats:
            raise ValueError(f"has the default {self.default}, and no such format among its formats")
        return self

    def refreshed(self) -> MixedFormat:
        """With what the formats take along to workers now."""
        found = {name: each.refreshed() if isinstance(each, Refreshes) else each for name, each in self.formats.items()}
        return self.model_copy(update={"formats": found})

    def reader(self, shapes: Shapes) -> Reader:
        return MixedReader(self, shapes)


class MixedReader:
    """Messages of several formats at work in one task: each format is given its own."""

    def __init__(self, format: MixedFormat, shapes: Shapes) -> None:
        self._header, self._default, self._shapes = format.header, format.default, shapes
        self._seen: dict[str, Schema] = {}
        formats: dict[str, Format] = format.formats
        self._readers = {name: each.reader(shapes) for name, each in formats.items()}

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted:
        whole, names = Sorted(), self._names(messages)
        for name, at in self._apart(names):
            part = self._readers[name].sort(messages.only(at), [types[place] for place in at] if types else None)
            _add(whole.clean, part.clean, at)
            _add(whole.waiting, part.waiting, at)
            for type, rows in part.rows.items():
                whole.rows.setdefault(type, []).extend(replace(row, at=int(at[row.at])) for row in rows)
            whole.filtered = np.sort(np.concatenate([whole.filtered, at[part.filtered]]))
            whole.rejects += [replace(reject, at=int(at[reject.at])) for reject in part.rejects]
        for place, why in enumerate(names):
            if isinstance(why, Refusal):
                whole.rejects.append(Reject(place, why.stage, why.code, why.text, types[place] if types else None))
        return whole

    def columns(self, type: str, messages: Messages) -> Columns:
        declined = np.full(len(messages), True)
        made, places = [], []
        for name, at in self._apart(self._names(messages)):
            part = self._readers[name].columns(type, messages.only(at))
            declined[at] = part.declined
            if part.rows is not None:
                made.append(part.rows)
                places.append(at[~part.declined])
        if not made:
            return Columns(None, declined)
        order = np.argsort(np.concatenate(places), kind="stable")
        whole = (
            pa.Table.from_batches(made[:1])
            if len(made) == 1
            else pa.concat_tables([pa.Table.from_batches([rows]) for rows in made], promote_options="default")
        )
        batches = whole.take(pa.array(order)).combine_chunks().to_batches()
        return Columns(batches[0] if batches else made[0], declined)

    def plain(self, messages: Messages, at: int) -> dict[str, Any]:
        (name,) = self._names(messages.cut(at, at + 1))
        if isinstance(name, Refusal):
            raise name
        return self._readers[name].plain(messages, at)

    def infer(self, type: str, messages: Messages) -> Schema:
        for name, at in self._apart(self._names(messages)):
            found = self._readers[name].infer(type, messages.only(at))
            self._seen[type] = merged(self._seen.get(type, Struct()), found)
        return self._seen.get(type, Struct())

    def told(self, messages: Messages) -> list[Holding]:
        """Of those whose format has schemas."""
        found = []
        for name, at in self._apart(self._names(messages)):
            reader = self._readers[name]
            if isinstance(reader, Told):
                found += [replace(each, at=at[each.at]) for each in reader.told(messages.only(at))]
        return found

    def _names(self, messages: Messages) -> list[str | Refusal]:
        return [self._name(messages, at) for at in range(len(messages))]

    def _name(self, messages: Messages, at: int) -> str | Refusal:
        raw = dict(messages.details(at).headers).get(self._header)
        if raw is None and self._default is not None:
            return self._default
        name = raw.decode("utf-8", "backslashreplace") if raw is not None else None
        if name in self._readers:
            return str(name)
        told = "no header" if name is None else f"{shown(name)} as header"
        return Refusal("parse", "format.unknown", f"the message has {told} '{self._header}', which names its format")

    def _apart(self, names: Sequence[str | Refusal]) -> Iterator[tuple[str, Indices]]:
        for name in self._readers:
            at = np.array([place for place, each in enumerate(names) if each == name], np.int64)
            if len(at):
                yield name, at


def _add(whole: dict[str, Indices], part: dict[str, Indices], at: Indices) -> None:
    for type, places in part.items():
        known = whole.get(type, np.empty(0, np.int64))
        whole[type] = np.sort(np.concatenate([known, at[places]]))
