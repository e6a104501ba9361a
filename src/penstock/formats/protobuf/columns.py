"""The fast path: many messages of one type, column by column.

Whatever is not plainly as a writer of that type makes it is declined, and then decided by the reference path: a
field that comes twice, two members of one oneof, a wrong wire type, groups, equal keys in a map, fields kept as JSON
text. Declining marks the message and goes on: no message suffers for another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from penstock.arrow import arrow_type
from penstock.formats.protobuf.elements import Elements, elements
from penstock.formats.protobuf.reference import FIRST_SECOND, LAST_SECOND
from penstock.formats.protobuf.scalars import TEXTS, Names, number_array, numbers, texts
from penstock.formats.protobuf.scan import Found, Run, Scan, tags
from penstock.formats.protobuf.schema import Layout, Member, Value
from penstock.formats.protobuf.unfolding import Part, Unfolding
from penstock.formats.protobuf.wire import Flags, Places, Words

_EMPTY = Run(np.empty(0, np.int64))


@dataclass(frozen=True)
class Cells:
    """The values of a field, one after the other: numbers, or the places of bytes. Where absent they mean nothing."""

    values: Words
    starts: Places
    ends: Places
    roots: Places
    absent: Flags | None = None


class Maker(Protocol):
    """Makes an Arrow array of one kind of value."""

    def array(self, cells: Cells, unfolding: Unfolding, /) -> pa.Array: ...


class MessageColumns:
    """Makes the columns of one message type."""

    def __init__(self, layout: Layout) -> None:
        self._scan = _Scanner(layout.descriptor)
        self._oneofs = [[one.number for one in oneof.fields] for oneof in layout.descriptor.oneofs]
        self._members = [_member(member) for member in layout.members]
        self.cost = 2 * len(self._members) + 1 + sum(one.cost for one in self._members if isinstance(one, _One))
        """Values that a message counts as: more than it can have without repeated fields."""

    def arrays(self, part: Part, unfolding: Unfolding) -> list[pa.Array]:
        """A column for each field; what it holds for declined messages means nothing."""
        found = self._scan.find(part, unfolding)
        for numbers_of in self._oneofs:
            runs = [run.which for number in numbers_of for run in found.runs.get(number, ())]
            if len(runs) > 1:
                unfolding.decline(part, np.bincount(np.concatenate(runs), minlength=len(part)) > 1)
        return [member.array(found.runs.get(member.field.number, []), part, unfolding) for member in self._members]


class _Scanner:
    def __init__(self, descriptor: Descriptor) -> None:
        fields = descriptor.fields_by_number
        self._tags, self._numbers = tags(fields), frozenset(fields)

    def find(self, part: Part, unfolding: Unfolding) -> Found:
        found = Scan(unfolding.wire, self._tags, self._numbers).find(part.starts, part.ends)
        unfolding.decline(part, found.bad)
        unfolding.count_unknown(part, found.unknown)
        return found


# --- a field of a message ------------------------------------------------------------------------


class _One:
    """A field that comes once, or not at all."""

    def __init__(self, field: FieldDescriptor, maker: Maker, *, tells_absence: bool) -> None:
        self.field, self._maker, self._tells_absence = field, maker, tells_absence
        self.cost = _cost(maker)

    def array(self, runs: list[Run], part: Part, unfolding: Unfolding) -> pa.Array:
        return self._maker.array(self._cells(runs, part, unfolding), unfolding)

    def _cells(self, runs: list[Run], part: Part, unfolding: Unfolding) -> Cells:
        if len(runs) == 1 and len(runs[0].which) == len(part):
            return Cells(runs[0].values, runs[0].starts, runs[0].ends, part.roots)
        present = np.zeros(len(part), np.bool_)
        # What is absent is empty, at a place that keeps all places in order.
        values, starts, ends = np.zeros(len(part), np.uint64), part.starts.copy(), part.starts.copy()
        for run in runs:
            twice = present[run.which]
            if twice.any():
                unfolding.decline_some(part, run.which[twice])
            present[run.which] = True
            if len(run.values):
                values[run.which] = run.values
            if len(run.starts):
                starts[run.which], ends[run.which] = run.starts, run.ends
        if self.field.is_required:
            unfolding.decline(part, ~present)
        return Cells(values, starts, ends, part.roots, ~present if self._tells_absence else None)


class _Many:
    """A field that comes any number of times."""

    def __init__(self, member: Member) -> None:
        self.field, self._maker = member.field, _maker(member.value)
        self._cost = _cost(self._maker)
        self._type = arrow_type(member.type)

    def array(self, runs: list[Run], part: Part, unfolding: Unfolding) -> pa.Array:
        found = elements(self.field, runs, part, self._cost, unfolding)
        cells = Cells(found.values, found.starts, found.ends, part.roots[found.which])
        values = self._maker.array(cells, unfolding)
        return pa.ListArray.from_arrays(_offsets(found, part), values, type=self._type)


class _Map:
    """A map: messages of a key and a value, either of which may be left out if it is the default."""

    def __init__(self, member: Member) -> None:
        assert member.key is not None
        entry = member.field.message_type
        assert entry is not None
        self.field = member.field
        self._scan = _Scanner(entry)
        value = _maker(member.value)
        self._key = _One(member.key, _Keys(member.key), tells_absence=False)
        self._value = _One(member.value.field, value, tells_absence=False)
        self._is_enum = isinstance(value, _Enum)
        self._cost = 5 + _cost(value)

    def array(self, runs: list[Run], part: Part, unfolding: Unfolding) -> pa.Array:
        found = elements(self.field, runs, part, self._cost, unfolding)
        entries = Part(found.starts, found.ends, part.roots[found.which])
        inside = self._scan.find(entries, unfolding)
        unfolding.decline(entries, inside.unknown > 0)  # the library forgets these, so they are not counted here
        key_runs, value_runs = inside.runs.get(1, []), inside.runs.get(2, [])
        keys = self._key.array(key_runs, entries, unfolding)
        unfolding.decline(entries, _repeated(found.which, keys))
        if self._is_enum:
            unfolding.decline(entries, np.bincount(_which(value_runs), minlength=len(entries)) != 1)
        values = self._value.array(value_runs, entries, unfolding)
        return pa.MapArray.from_arrays(_offsets(found, part), keys, values)


def _which(runs: list[Run]) -> Places:
    return np.concatenate([run.which for run in [_EMPTY, *runs]])


def _offsets(found: Elements, part: Part) -> pa.Array:
    counts = np.bincount(found.which, minlength=len(part))
    return pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))


def _repeated(which: Places, keys: pa.Array) -> Flags:
    """Which entries have a key that an entry of the same map has."""
    codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    _, back, counts = np.unique(which * (len(codes) + 1) + codes, return_inverse=True, return_counts=True)
    found: Flags = (counts > 1)[back]
    return found


def _member(member: Member) -> _One | _Many | _Map:
    if member.shape == "map":
        return _Map(member)
    if member.shape == "many":
        return _Many(member)
    return _One(member.field, _maker(member.value), tells_absence=member.field.has_presence or member.field.is_repeated)


# --- a value -------------------------------------------------------------------------------------


def _maker(value: Value) -> Maker:
    if value.kind == "json":
        return _Free()
    if value.kind == "enum":
        return _Enum(value)
    if value.layout is not None:
        return _Message(value)
    return _Text(value.field) if value.field.type in TEXTS else _Number(value.field)


def _cost(maker: Maker) -> int:
    return 1 + (maker.inner.cost if isinstance(maker, _Message) else 0)


class _Number:
    def __init__(self, field: FieldDescriptor) -> None:
        self._kind = field.type

    def array(self, cells: Cells, _: Unfolding) -> pa.Array:
        return number_array(cells.values, self._kind, cells.absent)


class _Enum:
    def __init__(self, value: Value) -> None:
        self._names = Names(value)

    def array(self, cells: Cells, unfolding: Unfolding) -> pa.Array:
        found, nameless = self._names.array(cells.values, cells.absent)
        if self._names.is_closed and nameless.any():
            unfolding.bad[cells.roots[nameless]] = True
        return found


class _Text:
    def __init__(self, field: FieldDescriptor) -> None:
        self._is_text = field.type == FieldDescriptor.TYPE_STRING

    def array(self, cells: Cells, unfolding: Unfolding) -> pa.Array:
        slices = unfolding.wire.slices(cells.starts, cells.ends, cells.absent)
        if not self._is_text:
            return slices
        found, wrong = texts(slices)
        if wrong is not None:
            unfolding.bad[cells.roots[wrong]] = True
        return found


class _Keys:
    """Keys of any kind as texts."""

    def __init__(self, field: FieldDescriptor) -> None:
        self._kind, self._text = field.type, _Text(field)

    def array(self, cells: Cells, unfolding: Unfolding) -> pa.Array:
        if self._kind in TEXTS:
            return self._text.array(cells, unfolding).fill_null("")
        return pa.array(numbers(cells.values, self._kind)).cast(pa.string())


class _Free:
    """What is kept as JSON text is left to the reference path wherever there is any."""

    def array(self, cells: Cells, unfolding: Unfolding) -> pa.Array:
        present = cells.roots if cells.absent is None else cells.roots[~cells.absent]
        unfolding.bad[present] = True
        return pa.nulls(len(cells.roots), pa.string())


class _Message:
    """A message in a message: a struct, or what a well-known type stands for."""

    def __init__(self, value: Value) -> None:
        assert value.layout is not None
        self._kind, self._type = value.kind, arrow_type(value.type)
        self.inner = MessageColumns(value.layout)

    def array(self, cells: Cells, unfolding: Unfolding) -> pa.Array:
        if cells.absent is None:
            return self._present(Part(cells.starts, cells.ends, cells.roots), unfolding)
        there = (~cells.absent).nonzero()[0]
        if not len(there):
            return pa.nulls(len(cells.absent), self._type)
        found = self._present(Part(cells.starts[there], cells.ends[there], cells.roots[there]), unfolding)
        at = np.cumsum(~cells.absent) - 1
        return found.take(pa.array(at, mask=cells.absent))

    def _present(self, part: Part, unfolding: Unfolding) -> pa.Array:
        arrays = self.inner.arrays(part, unfolding)
        if self._kind == "timestamp":
            return _moments(arrays, part, unfolding)
        if self._kind == "wrapper":
            return arrays[0]
        if self._kind == "presence":
            return pa.array(np.ones(len(part), np.bool_))
        return pa.StructArray.from_arrays(arrays, fields=list(self._type))


def _moments(arrays: list[pa.Array], part: Part, unfolding: Unfolding) -> pa.Array:
    seconds, nanos = (array.to_numpy() for array in arrays)
    unfolding.decline(part, (seconds < FIRST_SECOND) | (seconds > LAST_SECOND) | (nanos < 0) | (nanos >= 1_000_000_000))
    return pa.array(seconds * 1_000_000 + nanos // 1000).view(pa.timestamp("us", "UTC"))
