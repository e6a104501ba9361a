"""The elements of repeated fields, in the order of their messages: packed or not, in one run or many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from google.protobuf.descriptor import FieldDescriptor

from penstock.formats.protobuf.scan import BYTES, FIXED32, FIXED64, Run, wire_type
from penstock.formats.protobuf.unfolding import Part, Unfolding
from penstock.formats.protobuf.wire import Flags, Places, Wire, Words

_NO_WORDS, _NO_PLACES = np.empty(0, np.uint64), np.empty(0, np.int64)


@dataclass(frozen=True)
class Elements:
    """Which message each element is of, and its number or its place."""

    which: Places
    values: Words
    starts: Places
    ends: Places


def elements(field: FieldDescriptor, runs: list[Run], part: Part, cost: int, unfolding: Unfolding) -> Elements:
    """All elements of a field, each of which counts as so many values; none of messages that are declined."""
    for run in runs:
        unfolding.weigh(part.roots[run.which], _weights(field, run, cost))
    good = [_good(run, part, unfolding) for run in runs]
    if wire_type(field) != BYTES:
        good = [plain for run in good for plain in _unpacked(field, run, part, unfolding)]
    if len(good) == 1:
        return Elements(good[0].which, good[0].values, good[0].starts, good[0].ends)
    which = np.concatenate([_NO_PLACES, *(run.which for run in good)])
    order = np.argsort(which, kind="stable")
    return Elements(
        which[order],
        _ordered([_NO_WORDS, *(run.values for run in good)], order),
        _ordered([_NO_PLACES, *(run.starts for run in good)], order),
        _ordered([_NO_PLACES, *(run.ends for run in good)], order),
    )


def _ordered(parts: list[np.ndarray], order: Places) -> np.ndarray:
    joined = np.concatenate(parts)
    return joined[order] if len(joined) else joined


def _weights(field: FieldDescriptor, run: Run, cost: int) -> Places:
    if not len(run.starts) or wire_type(field) == BYTES:
        return np.full(len(run.which), cost)
    return (run.ends - run.starts) // {FIXED32: 4, FIXED64: 8}.get(wire_type(field) or 0, 1) + 1


def _good(run: Run, part: Part, unfolding: Unfolding) -> Run:
    bad = unfolding.bad[part.roots[run.which]]
    return run.of(~bad) if bad.any() else run


def _uneven(run: Run, size: int | None, wire: Wire) -> Flags:
    """Which packed runs end inside of an element. The last byte of a varint has no high bit."""
    if size:
        found: Flags = (run.ends - run.starts) % size != 0
        return found
    return (run.ends > run.starts) & (wire.bytes[run.ends - 1] > 0x7F)


def _unpacked(field: FieldDescriptor, run: Run, part: Part, unfolding: Unfolding) -> Iterator[Run]:
    if not len(run.starts):
        yield run
        return
    wire = unfolding.wire
    size = {FIXED32: 4, FIXED64: 8}.get(wire_type(field) or 0)
    uneven = _uneven(run, size, wire)
    if uneven.any():
        unfolding.decline_some(part, run.which[uneven])
        run = run.of(~uneven)
    places = wire.runs(run.starts, run.ends)
    which = np.repeat(run.which, run.ends - run.starts)
    if size:
        yield Run(which[::size], wire.words(places[::size]))
        return
    last = wire.bytes[places] < 0x80
    first = np.concatenate([[True], last[:-1]]) if len(last) else last
    values, ends = wire.varints(places[first])
    too_long = ends > places[last] + 1
    if too_long.any():
        unfolding.decline_some(part, which[first][too_long])
    yield Run(which[first], values)
