"""Batches of message bodies to batches of rows, some thousand messages at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.arrow import arrow_schema
from penstock.formats.protobuf.columns import MessageColumns
from penstock.formats.protobuf.schema import Layout
from penstock.formats.protobuf.unfolding import Part, Unfolding
from penstock.formats.protobuf.weight import Limits
from penstock.formats.protobuf.wire import Flags, Places, Wire
from penstock.schema import Schema

CHUNK_MESSAGES, CHUNK_BYTES = 16_384, 16 * 2**20
"""As many as the processor's cache holds: a field of all of them is read before the next."""
MAX_VALUES = 30_000_000
"""Values that a batch may unfold to on this path, beyond those that each message has."""


@dataclass(frozen=True)
class Rows:
    """Rows of the messages that are surely good, which of all are declined, and the unknown fields of the good."""

    rows: pa.RecordBatch
    declined: Flags
    unknown: int


class BatchReader:
    """Reads batches of messages of one type."""

    def __init__(self, layout: Layout, limits: Limits, *, strict: bool) -> None:
        self._columns, self._limits, self._strict = MessageColumns(layout), limits, strict
        self._names = [member.name for member in layout.members]

    def read(self, bodies: pa.BinaryArray, schema: pa.Schema) -> Rows:
        content, offsets = _content(bodies)
        declined = np.ones(len(bodies), np.bool_)
        batches: list[pa.RecordBatch] = []
        unknown, room = 0, MAX_VALUES + len(bodies) * self._columns.cost
        for first, last in _chunks(offsets):
            if not self._names or room < 0:
                break
            start, end = offsets[first], offsets[last]
            part = Part(offsets[first:last] - start, offsets[first + 1 : last + 1] - start, np.arange(last - first))
            unfolding = self._unfolding(Wire(content[start:end]), len(part), room)
            arrays = self._columns.arrays(self._sized(part, unfolding), unfolding)
            bad = unfolding.bad | (unfolding.unknown > 0) if self._strict else unfolding.bad
            rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
            batches.append(rows.filter(pa.array(~bad)) if bad.any() else rows)
            declined[first:last] = bad
            unknown += int(unfolding.unknown[~bad].sum())
            room -= int(unfolding.weight[~bad].sum())
        return Rows(_joined(batches, schema), declined, unknown)

    def _unfolding(self, wire: Wire, count: int, room: int) -> Unfolding:
        bad, none = np.zeros(count, np.bool_), np.zeros(count, np.int64)
        unfolding = Unfolding(wire, bad, none, none.copy(), self._limits.values, room)
        unfolding.weigh(np.arange(count), np.full(count, self._columns.cost))
        return unfolding

    def _sized(self, part: Part, unfolding: Unfolding) -> Part:
        """Messages that are too large are as if they were empty, and declined."""
        large = part.ends - part.starts > self._limits.bytes
        unfolding.bad |= large
        return Part(part.starts, np.where(large, part.starts, part.ends), part.roots) if large.any() else part


def _content(bodies: pa.BinaryArray) -> tuple[npt.NDArray[np.uint8], Places]:
    """All bytes, and where each body starts and the last ends."""
    _, offsets, content = bodies.buffers()
    if not len(bodies):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    found = np.frombuffer(offsets, np.int32)[bodies.offset : bodies.offset + len(bodies) + 1].astype(np.int64)
    return np.frombuffer(content, np.uint8) if content is not None else np.empty(0, np.uint8), found


def _chunks(offsets: Places) -> Iterator[tuple[int, int]]:
    first, count = 0, len(offsets) - 1
    while first < count:
        fit = int(np.searchsorted(offsets, offsets[first] + CHUNK_BYTES, side="right")) - 1
        last = min(count, first + CHUNK_MESSAGES, max(fit, first + 1))
        yield first, last
        first = last


def _joined(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema=schema)


# --- flattening ----------------------------------------------------------------------------------


def flattened_rows(rows: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Rows with the columns of a flattened schema: what is in an absent struct is null."""
    arrays = [leaf for column in rows.columns for leaf in _leaves(column)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))


def _leaves(column: pa.Array) -> Iterator[pa.Array]:
    if pa.types.is_struct(column.type):
        for inner in column.flatten():
            yield from _leaves(inner)
    elif pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type):
        yield _flat_elements(column)
    else:
        yield column


def _flat_elements(column: pa.ListArray) -> pa.ListArray:
    values = column.values
    kinds = list(_flat_names(values.type, ""))
    flat = pa.StructArray.from_arrays(list(_leaves(values)), names=kinds)
    kind = pa.list_(pa.field("element", flat.type))
    absent = column.is_null() if column.null_count else None
    return pa.ListArray.from_arrays(column.offsets, flat, type=kind, mask=absent)


def _flat_names(struct: pa.StructType, prefix: str) -> Iterator[str]:
    for field in struct:
        if pa.types.is_struct(field.type):
            yield from _flat_names(field.type, f"{prefix}{field.name}_")
        else:
            yield prefix + field.name
