"""Arrays and maps, read from many messages at once: the first item of each, then the second of each, and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.formats.avro.lanes import Lanes, Longs, Marks
from penstock.formats.avro.reference import Limits

NO_SIZE = -1


@dataclass(frozen=True)
class Blocks:
    """What reads the items of one array or map type, which have several parts in a map."""

    readers: Sequence[Callable[[Lanes], Any]]
    least: int
    """The fewest bytes that an item takes."""
    width: int
    """How many values an item makes in its columns."""
    limits: Limits

    def read(self, lanes: Lanes) -> tuple[pa.Array, list[pa.Array]]:
        """Where the items of each message begin among all, and the columns of the items."""
        state = _Open(np.zeros(len(lanes), np.int64), np.full(len(lanes), NO_SIZE))
        active, who, rounds = np.arange(len(lanes)), [], []
        while len(active := self._opened(lanes, active, state)):
            if not lanes.chunk.spend(len(active)):
                lanes.fail(np.isin(np.arange(len(lanes)), active))
                break
            some = lanes.only(active)
            rounds.append([read(some) for read in self.readers])
            lanes.put(active, some)
            who.append(active)
            state.left[active] -= 1
            active = active[~lanes.chunk.bad[lanes.owners[active]]]
        if not rounds:
            none = lanes.only(np.zeros(0, np.int64))
            return _edges(np.zeros(len(lanes), np.int64)), [read(none) for read in self.readers]
        return _sorted(len(lanes), who, rounds)

    def _opened(self, lanes: Lanes, active: Longs, state: _Open) -> Longs:
        """The lanes that have a next item. Those whose block is used up have come to its end or begin another one."""
        places = active[state.left[active] == 0]
        if not len(places):
            return active
        some = lanes.only(places)
        before = state.ends[places]
        some.fail((before != NO_SIZE) & (before != some.at))
        counts = some.integer()
        state.ends[places] = NO_SIZE
        sized = np.flatnonzero(counts < 0)
        if len(sized):
            inner = some.only(sized)
            sizes = inner.integer()
            some.put(sized, inner)
            state.ends[places[sized]] = inner.at + np.clip(sizes, 0, 2**40)  # what is no size is no end either
            counts[sized] = -counts[sized]
        over = (counts < 0) | (counts > (some.ends - some.at) // self.least)
        some.fail(over)
        counts[over | some.chunk.bad[some.owners]] = 0
        counts = self._within_limits(some, counts)
        lanes.put(places, some)
        state.left[places] = counts
        return active[state.left[active] > 0]

    def _within_limits(self, lanes: Lanes, counts: Longs) -> Longs:
        chunk, cells = lanes.chunk, counts * self.width
        chunk.cells[lanes.owners] += cells
        over = chunk.cells[lanes.owners] > self.limits.items
        if chunk.cells.sum() > chunk.most_cells:
            over |= counts > 0  # the others may go on; these are read one at a time
            chunk.cells[lanes.owners] -= cells
        lanes.fail(over)
        return np.where(over, 0, counts)


@dataclass
class _Open:
    """The block that each lane is in: how many items are left in it, and where it says that it ends."""

    left: Longs
    ends: Longs


def _edges(counts: Longs) -> pa.Array:
    edges: npt.NDArray[np.int32] = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=edges[1:])
    return pa.array(edges)


def _sorted(count: int, who: list[Longs], rounds: list[list[pa.Array]]) -> tuple[pa.Array, list[pa.Array]]:
    """The items of all rounds, those of one message together."""
    lanes = np.concatenate(who)
    columns = [pa.concat_arrays(list(parts)) for parts in zip(*rounds, strict=True)]
    if len(rounds) > 1:
        order = pa.array(np.argsort(lanes, kind="stable"))
        columns = [column.take(order) for column in columns]
    return _edges(np.bincount(lanes, minlength=count)), columns


def repeated_keys(edges: pa.Array, keys: pa.Array) -> Marks:
    """Which maps have a key more than once."""
    counts = np.diff(edges.to_numpy())
    if not len(counts) or counts.max() < 2:
        return np.zeros(len(counts), bool)
    owners = np.repeat(np.arange(len(counts)), counts)
    encoded = keys.dictionary_encode()
    pairs = np.sort(owners * len(encoded.dictionary) + encoded.indices.to_numpy())
    twice = pairs[1:][pairs[1:] == pairs[:-1]] // len(encoded.dictionary)
    return np.isin(np.arange(len(counts)), twice)
