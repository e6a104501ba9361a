"""A sample of a source, landed for real by the same code as a run, in this process and in a private folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.contracts import Bound, Format, Holding, Home, Reader, Shapes, Slice, Source, Told
from penstock.landing.land import land
from penstock.landing.recipe import Landed, Piece, Recipe, Target
from penstock.landing.routing import unpack
from penstock.messages import Columns, Messages, Sorted
from penstock.protocol.plan import Limits, Measure, Pressure, plan
from penstock.schema import Schema
from penstock.storage import child

_YEAR_10000 = 253_402_300_800_000  # in milliseconds


def next_ones(waiting: Mapping[str, tuple[int, int]], most: int, size: int, like: Measure) -> list[Slice]:
    """The next messages of what waits: so many at most, and about so many bytes, spread over partitions."""
    return plan(waiting, Limits(most, size, 0.0), Pressure(0.0, like, hurry=True))


def last_ones(bounds: Mapping[str, Bound], most: int, size: int, like: Measure) -> list[Slice]:
    """The same of what the source still holds, from its end."""
    held = {p: (bound.first, bound.next) for p, bound in bounds.items() if bound.next > bound.first}
    taken = next_ones(held, most, size, like)
    return [Slice(s.partition, held[s.partition][1] - (s.end - s.start), held[s.partition][1]) for s in taken]


@dataclass(frozen=True)
class Span:
    """Messages of one partition: how many, and when the first and the last of them were written."""

    count: int
    first: int  # milliseconds since the epoch
    last: int

    def __or__(self, other: Span) -> Span:
        return Span(self.count + other.count, min(self.first, other.first), max(self.last, other.last))


class PrivateEngine:
    """Lands in this process. Whatever the recipe says, all that is written goes below one folder of ours."""

    cores = 1

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self.spans: dict[str, Span] = {}
        self.slow: Counter[str] = Counter()  # table → rows that were made one by one

    def land(self, tasks: Sequence[Sequence[Piece]], recipe: Recipe) -> list[Landed]:
        watched, singles = self._private(recipe), _Singles()
        watched = replace(watched, format=_WatchedFormat(recipe.format, singles))
        if not recipe.settled:  # the second job reads some of them again
            watched = replace(watched, source=_WatchedSource(recipe.source, self.spans))
        landed = [land(task, watched) for task in tasks]
        for account in (account for answer in landed for account in answer.accounts):
            routing = unpack(account.routing)
            for name in routing.names:
                self.slow[name] += singles.among(account.slice.partition, routing.positions(name))
        return landed

    def cancel(self) -> None: ...
    def ensure(self) -> None: ...

    def place(self, name: str) -> str:
        """Where files of a table are."""
        return child(self._folder, "tables", name)

    def _private(self, recipe: Recipe) -> Recipe:
        given = {field.name: getattr(recipe, field.name) for field in fields(recipe)}
        moved: dict[str, Any] = {name: self._moved(each) for name, each in given.items() if isinstance(each, Target)}
        return replace(
            recipe,
            **moved,
            targets={type: self._moved(target) for type, target in recipe.targets.items()},
            storage={},
            held="",
            fsync=False,
            home=Home(child(self._folder, "home"), grace=0.0),
        )

    def _moved(self, target: Target) -> Target:
        return replace(target, location=self.place(target.name))


class _Singles:
    """The positions of messages that somebody looked at one by one."""

    def __init__(self) -> None:
        self._positions: dict[str, set[int]] = {}

    def note(self, messages: Messages, at: int) -> None:
        self._positions.setdefault(messages.partition, set()).add(int(messages.positions[at]))

    def among(self, partition: str, positions: Any) -> int:
        noted = self._positions.get(partition, set())
        return int(np.count_nonzero(np.isin(positions, np.fromiter(noted, np.int64, len(noted)))))


@dataclass(frozen=True)
class _WatchedSource:
    """A source that notes when its messages were written."""

    source: Source
    spans: dict[str, Span]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def read(self, piece: Slice) -> Iterator[Messages]:
        for messages in self.source.read(piece):
            times = messages.times()[:, 1]
            times = times[(times > 0) & (times < _YEAR_10000)]
            if len(times):
                span = Span(len(times), int(times.min()), int(times.max()))
                before = self.spans.get(piece.partition)
                self.spans[piece.partition] = before | span if before else span
            yield messages


@dataclass(frozen=True)
class _WatchedFormat:
    """A format that notes which messages did not become columns with many others."""

    format: Format
    singles: _Singles

    def reader(self, shapes: Shapes) -> Reader:
        reader = self.format.reader(shapes)
        kind = _ToldReader if isinstance(reader, Told) else _WatchedReader
        return kind(reader, self.singles)


@dataclass(frozen=True)
class _WatchedReader:
    inner: Any
    singles: _Singles

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted:
        found: Sorted = self.inner.sort(messages, types)
        for rows in found.rows.values():
            for row in rows:
                self.singles.note(messages, row.at)
        return found

    def columns(self, type: str, messages: Messages) -> Columns:
        made: Columns = self.inner.columns(type, messages)
        return made

    def plain(self, messages: Messages, at: int) -> dict[str, Any]:
        self.singles.note(messages, at)
        found: dict[str, Any] = self.inner.plain(messages, at)
        return found

    def infer(self, type: str, messages: Messages) -> Schema:
        seen: Schema = self.inner.infer(type, messages)
        return seen


class _ToldReader(_WatchedReader):
    def told(self, messages: Messages) -> Sequence[Holding]:
        told: Sequence[Holding] = self.inner.told(messages)
        return told
