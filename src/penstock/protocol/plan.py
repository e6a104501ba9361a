"""Plan: which positions make the next batch, and how tasks share them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.contracts import Bound, Positions, Slice
from penstock.errors import partitions_away, records_lost
from penstock.protocol.entry import Range

SMALLEST_SLICE = 5_000
"""Splitting a partition below this costs more in seeks than a second core gains."""

FIRST_BATCH = 100_000


@dataclass(frozen=True)
class Limits:
    """When a batch is full. `bytes` is a target, from the average size of earlier messages."""

    messages: int
    bytes: int
    latency: float

    def at_first(self) -> Limits:
        """The limits of a batch before which there is no table: its messages are read twice, once to
        learn the columns of all of them, so it should be enough to learn from and no more."""
        return replace(self, messages=min(self.messages, FIRST_BATCH))


@dataclass(frozen=True)
class Pressure:
    """What waits at the source: how much, about how large each, and for how long by our clock."""

    waited: float
    size: float
    hurry: bool = False  # do not wait for more: the run is about to end


def backlog(ends: Positions, bounds: Mapping[str, Bound]) -> dict[str, Range]:
    """What every partition holds that was not read yet. A partition without an end appeared after
    the first start: it is read from position 0, whatever the start policy says."""
    found = {p: (ends.get(p, 0), bound.next) for p, bound in bounds.items()}
    return {p: (start, end) for p, (start, end) in found.items() if end > start}


def plan(waiting: Mapping[str, Range], limits: Limits, pressure: Pressure) -> list[Slice]:
    """The next batch, or nothing if it is not due yet."""
    lag = sum(end - start for start, end in waiting.values())
    full = lag >= limits.messages or lag * pressure.size >= limits.bytes
    if not lag or not (full or pressure.hurry or pressure.waited >= limits.latency):
        return []
    room = max(1, min(limits.messages, int(limits.bytes / pressure.size)))
    allowed = _shares({p: end - start for p, (start, end) in waiting.items()}, room)
    return [Slice(p, start, start + allowed[p]) for p, (start, _) in sorted(waiting.items()) if allowed[p]]


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


def lost(ends: Positions, bounds: Mapping[str, Bound], accepted: Mapping[str, Range]) -> None:
    """Raise if the source no longer holds what comes next, unless exactly that was accepted. A new
    partition that does not begin at 0 any more has lost records too."""
    if away := sorted(ends.keys() - bounds.keys()):
        raise partitions_away(away)
    due = {p: (ends.get(p, 0), bound) for p, bound in bounds.items()}
    for why, ranges in (
        ("expired", {p: (end, bound.first) for p, (end, bound) in due.items() if bound.first > end}),
        ("truncated", {p: (bound.next, end) for p, (end, bound) in due.items() if bound.next < end}),
    ):
        if unaccepted := {p: r for p, r in ranges.items() if accepted.get(p) != r}:
            raise records_lost(unaccepted, why)


def covers(pieces: Iterable[Slice], slices: Iterable[Slice]) -> bool:
    """Do the pieces that were read make up exactly the slices that were planned?"""
    joined: list[Slice] = []
    for piece in sorted(pieces, key=lambda s: (s.partition, s.start)):
        if joined and joined[-1].partition == piece.partition and joined[-1].end == piece.start:
            joined[-1] = Slice(piece.partition, joined[-1].start, piece.end)
        else:
            joined.append(piece)
    return joined == sorted(slices, key=lambda s: (s.partition, s.start))
