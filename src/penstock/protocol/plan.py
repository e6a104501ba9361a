"""Plan: which positions make the next batch, and how tasks share them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.contracts import Bound, Positions, Slice
from penstock.errors import partitions_away, records_lost
from penstock.protocol.entry import Entry, Range

SMALLEST_SLICE = 5_000
"""Splitting a partition below this costs more in seeks than a second core gains."""

FIRST_BATCH = 100_000


@dataclass(frozen=True)
class Limits:
    """When a batch is full. `bytes` is a target, from the average size of earlier messages. With
    `file_bytes` a batch is as many times `messages` as make files of that size, and `most` at most."""

    messages: int
    bytes: int
    latency: float
    file_bytes: int | None = None
    most: int | None = None

    def at_first(self) -> Limits:
        """The limits of a batch before which there is no table: its messages are read twice, once to
        learn the columns of all of them, so it should be enough to learn from and no more."""
        return replace(self, messages=min(self.messages, FIRST_BATCH), most=FIRST_BATCH)

    def stretched(self, share: float) -> Limits:
        """The same with a longer latency: instances that began together do not commit in step."""
        return replace(self, latency=self.latency * (1 + share))


@dataclass(frozen=True)
class Measure:
    """What a batch was like, to tell how large the next one will be: average bytes of a message as it
    came and as it was written, and how many tables got some."""

    size: float = 1_000.0
    written: float = 250.0
    tables: int = 1

    def after(self, entry: Entry) -> Measure:
        """As measured in this batch, where it tells."""
        read, files = entry.total.read, [file for p in entry.tables.values() for file in p.files or ()]
        return Measure(
            max(1.0, entry.total.bytes / read) if read else self.size,
            max(1.0, sum(file.size for file in files) / read) if read and files else self.written,
            len(entry.tables) or self.tables,
        )


@dataclass(frozen=True)
class Pressure:
    """What waits at the source: about how large each message is, and for how long by our clock."""

    waited: float
    like: Measure
    hurry: bool = False  # do not wait for more: the run is about to end
    cores: int = 1


def backlog(ends: Positions, bounds: Mapping[str, Bound]) -> dict[str, Range]:
    """What every partition holds that was not read yet. A partition without an end appeared after
    the first start: it is read from position 0, whatever the start policy says."""
    found = {p: (ends.get(p, 0), bound.next) for p, bound in bounds.items()}
    return {p: (start, end) for p, (start, end) in found.items() if end > start}


def plan(waiting: Mapping[str, Range], limits: Limits, pressure: Pressure) -> list[Slice]:
    """The next batch, or nothing if it is not due yet."""
    lag, like = sum(end - start for start, end in waiting.values()), pressure.like
    full = lag >= _enough(limits, like, 1) or lag * like.size >= limits.bytes
    if not lag or not (full or pressure.hurry or pressure.waited >= limits.latency):
        return []
    room = max(1, min(_enough(limits, like, pressure.cores), int(limits.bytes / like.size)))
    allowed = _shares({p: end - start for p, (start, end) in waiting.items()}, room)
    return [Slice(p, start, start + allowed[p]) for p, (start, _) in sorted(waiting.items()) if allowed[p]]


def _enough(limits: Limits, like: Measure, tasks: int) -> int:
    """How many messages make a full batch for so many tasks. Each task makes a file per table."""
    needed = (limits.file_bytes or 0) * like.tables * tasks / like.written
    times = max(1, math.ceil(needed / limits.messages))
    return min(limits.messages * times, limits.most or sys.maxsize)


def workers(slices: Sequence[Slice], limits: Limits, like: Measure, cores: int) -> int:
    """How many tasks may share a batch, so that files do not become smaller than they need to be."""
    if limits.file_bytes is None:
        return cores
    size = sum(piece.end - piece.start for piece in slices) * like.written
    return max(1, min(cores, int(size / (limits.file_bytes * like.tables))))


def _shares(lags: Mapping[str, int], room: int) -> dict[str, int]:
    """Room divided over partitions as evenly as their lags allow: none starves, none hogs."""
    shares: dict[str, int] = {}
    left = room
    for done, (partition, lag) in enumerate(sorted(lags.items(), key=lambda item: (item[1], item[0]))):
        shares[partition] = min(lag, -(-left // (len(lags) - done)))
        left -= shares[partition]
    return shares


def tasks(slices: Sequence[Slice], cores: int, smallest: int = SMALLEST_SLICE) -> list[list[Slice]]:
    """The slices of a batch as tasks: no more tasks than cores, each with about the same to read."""
    total = sum(piece.end - piece.start for piece in slices)
    count = max(1, min(cores, -(-total // smallest)))
    target = -(-total // count)
    found: list[list[Slice]] = [[]]
    room = target
    for piece in slices:
        start = piece.start
        while start < piece.end:
            end = min(piece.end, start + room)
            if 0 < piece.end - end < smallest // 4:
                end = piece.end  # a crumb is not worth a seek of its own
            found[-1].append(Slice(piece.partition, start, end))
            room -= end - start
            start = end
            if room <= 0:
                found.append([])
                room = target
    return [task for task in found if task]


def lost(
    ends: Positions, bounds: Mapping[str, Bound], accepted: Mapping[str, Range], reached: Positions | None = None
) -> None:
    """Raise if the source no longer holds what comes next, unless exactly that was accepted. A new
    partition that does not begin at 0 any more has lost records too. `reached` is what was surely
    written, where that is more than what was read."""
    if away := sorted(ends.keys() - bounds.keys()):
        raise partitions_away(away)
    done = {p: (ends if reached is None else reached).get(p, 0) for p in bounds}
    for why, ranges in (
        ("expired", expired(ends, bounds)),
        ("truncated", {p: (bound.next, done[p]) for p, bound in bounds.items() if bound.next < done[p]}),
    ):
        if unaccepted := {p: r for p, r in ranges.items() if accepted.get(p) != r}:
            raise records_lost(unaccepted, why)


def expired(ends: Positions, bounds: Mapping[str, Bound]) -> dict[str, Range]:
    """What comes next and the source has dropped, by partition."""
    due = {p: (ends.get(p, 0), bound.first) for p, bound in bounds.items()}
    return {p: (end, first) for p, (end, first) in due.items() if first > end}


def covers(pieces: Iterable[Slice], slices: Iterable[Slice]) -> bool:
    """Do the pieces that were read make up exactly the slices that were planned?"""
    joined: list[Slice] = []
    for piece in sorted(pieces, key=lambda s: (s.partition, s.start)):
        if joined and joined[-1].partition == piece.partition and joined[-1].end == piece.start:
            joined[-1] = Slice(piece.partition, joined[-1].start, piece.end)
        else:
            joined.append(piece)
    return joined == sorted(slices, key=lambda s: (s.partition, s.start))
