"""Finding the fields of many messages of one type, field by field instead of message by message.

Each message has a cursor. In every round those whose cursor stands at the lowest tag of all read that field and go
on, the others wait: messages that have the same fields in the same order, as nearly all writers make them, go
through together, and those that lack some fall in step again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from google.protobuf.descriptor import FieldDescriptor

from penstock.formats.protobuf.wire import Flags, Places, Wire, Words

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MAX_ROUNDS, MAX_ALONE, FEW = 40_000, 200, 8
"""A message with very many fields, or with fields unlike those of all others, is better read by itself."""

MAX_SHORT_BYTES = 5
"""Tags and lengths that take more bytes, which only zeros could fill, are refused by the library too."""
_LAST_TAG = np.uint64(2**32 - 1)

_F = FieldDescriptor
_WIRE_TYPES = {
    _F.TYPE_DOUBLE: FIXED64,
    _F.TYPE_FIXED64: FIXED64,
    _F.TYPE_SFIXED64: FIXED64,
    _F.TYPE_FLOAT: FIXED32,
    _F.TYPE_FIXED32: FIXED32,
    _F.TYPE_SFIXED32: FIXED32,
    _F.TYPE_STRING: BYTES,
    _F.TYPE_BYTES: BYTES,
    _F.TYPE_MESSAGE: BYTES,
}


_NO_WORDS, _NO_PLACES = np.empty(0, np.uint64), np.empty(0, np.int64)


@dataclass(frozen=True)
class Run:
    """One field of some messages: the values themselves, or where their bytes start and end."""

    which: Places
    values: Words = field(default_factory=lambda: _NO_WORDS)
    starts: Places = field(default_factory=lambda: _NO_PLACES)
    ends: Places = field(default_factory=lambda: _NO_PLACES)

    def of(self, those: Flags) -> Run:
        values = self.values[those] if len(self.values) else self.values
        if not len(self.starts):
            return Run(self.which[those], values)
        return Run(self.which[those], values, self.starts[those], self.ends[those])


@dataclass
class Found:
    """The fields of messages, by number, in rounds, and what was odd about the messages."""

    runs: dict[int, list[Run]]
    bad: Flags
    unknown: npt.NDArray[np.int64]


def wire_type(one: FieldDescriptor) -> int | None:
    """The wire type of one value; None for a group, which is left to the reference path."""
    return None if one.type == _F.TYPE_GROUP else _WIRE_TYPES.get(one.type, VARINT)


def tags(fields: Mapping[int, FieldDescriptor]) -> dict[int, int]:
    """The tags that values of these fields come under, each with its field's number. A repeated number may come
    packed or not, whatever the schema says."""
    found: dict[int, int] = {}
    for number, one in fields.items():
        wire = wire_type(one)
        if wire is not None:
            found[number << 3 | wire] = number
            if one.is_repeated:
                found[number << 3 | BYTES] = number
    return found


@dataclass
class _Cursors:
    """The messages that are not at their end: which, where, and the tag that comes next."""

    which: Places
    at: Places
    ends: Places
    tag: Words
    content: Places

    def keep(self, those: Flags) -> None:
        index = those.nonzero()[0]
        self.which, self.at, self.ends = self.which[index], self.at[index], self.ends[index]
        self.tag, self.content = self.tag[index], self.content[index]


class _Alone:
    """How often messages were at a field at which few others were."""

    def __init__(self, count: int, limit: int) -> None:
        self._times, self._limit, self._rounds = np.zeros(count, np.int64), limit, 0

    def too_often(self, which: Places, of: int) -> Flags:
        """Which of these, of so many that are left, have been alone once more and too often."""
        if len(which) >= max(FEW, of // 64):
            return np.zeros(len(which), np.bool_)
        self._rounds += 1
        self._times[which] += 1
        if self._rounds > 10 * self._limit:
            return np.ones(len(which), np.bool_)
        return self._times[which] > self._limit


class Scan:
    """One pass over messages of one type."""

    def __init__(self, wire: Wire, known: Mapping[int, int], numbers: frozenset[int]) -> None:
        self._wire, self._known, self._numbers = wire, known, numbers

    def find(self, starts: Places, ends: Places) -> Found:
        found = Found({}, np.zeros(len(starts), np.bool_), np.zeros(len(starts), np.int64))
        cursors = _Cursors(np.arange(len(starts)), starts, ends, *self._tags(starts))
        if not (starts < ends).all():
            cursors.keep(starts < ends)
        alone = _Alone(len(starts), MAX_ALONE + 4 * len(self._known))
        for _ in range(MAX_ROUNDS):
            if not len(cursors.which):
                return found
            self._round(cursors, found, alone)
        found.bad[cursors.which] = True
        return found

    def _tags(self, at: Places) -> tuple[Words, Places]:
        """The tag at each place, and where it ends. What is longer than a tag can be is the tag 0, which is none."""
        tag, content = self._wire.varints(at)
        if (content - at > 2).any():
            wrong = (content - at > MAX_SHORT_BYTES) | (tag > _LAST_TAG)
            tag[wrong], content[wrong] = 0, at[wrong]
        return tag, content

    def _round(self, cursors: _Cursors, found: Found, alone: _Alone) -> None:
        tag = int(cursors.tag.min())
        chosen = cursors.tag == tag
        if chosen.all() and len(chosen) >= FEW:
            went = self._field(tag, cursors.which, cursors.content, cursors.ends, found)
            cursors.at = went
            over = went >= cursors.ends
            if over.any():
                found.bad[cursors.which[went > cursors.ends]] = True
                cursors.keep(~over)
            cursors.tag, cursors.content = self._tags(cursors.at)
            return
        index = chosen.nonzero()[0]
        over = alone.too_often(cursors.which[index], len(cursors.which))
        if over.any():
            found.bad[cursors.which[index[over]]] = True
            chosen[index[~over]] = False
            cursors.keep(~chosen)
            return
        ends = cursors.ends[index]
        went = self._field(tag, cursors.which[index], cursors.content[index], ends, found)
        found.bad[cursors.which[index[went > ends]]] = True
        cursors.at = cursors.at.copy()  # which may be where a field ended, kept as such
        cursors.at[index] = went
        on = index[went < ends]
        cursors.tag[on], cursors.content[on] = self._tags(went[went < ends])
        if len(on) < len(index):
            cursors.keep(cursors.at < cursors.ends)

    def _field(self, tag: int, which: Places, at: Places, ends: Places, found: Found) -> Places:
        """Read one field of these messages, and say where it ends; beyond their end if it is wrong."""
        number = self._known.get(tag)
        wire = tag & 7
        if tag >> 3 == 0 or wire not in (VARINT, FIXED64, BYTES, FIXED32):
            return ends + 1
        if number is None:
            if tag >> 3 in self._numbers:
                return ends + 1  # of another wire type than its schema says: rare, and not for here
            found.unknown[which] += 1
        run, went = self._read(wire, which, at, ends)
        if number is not None:
            good = went <= ends
            found.runs.setdefault(number, []).append(run if good.all() else run.of(good))
        return went

    def _read(self, wire: int, which: Places, at: Places, ends: Places) -> tuple[Run, Places]:
        if wire == VARINT:
            values, went = self._wire.varints(at)
            return Run(which, values), went
        if wire != BYTES:
            return Run(which, self._wire.words(at)), at + (8 if wire == FIXED64 else 4)
        size, starts = self._wire.varints(at)
        left = ends - starts
        fits = (left >= 0) & (size <= left.view(np.uint64)) & (starts - at <= MAX_SHORT_BYTES)
        went = np.where(fits, starts + size.view(np.int64), ends + 1)
        return Run(which, starts=starts, ends=went), went
