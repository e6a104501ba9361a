"""The fast path: many messages of one schema to columns at once, one part of the schema after the other.

It knows the same rules as the reference path and marks every message that breaks one; only how is for the reference
path to say. What would take long or grow large is declined as well.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.arrow import arrow_schema
from penstock.formats.avro.lanes import PAD, Chunk, Lanes, Longs, Marks
from penstock.formats.avro.leaves import MAX_LANES
from penstock.formats.avro.model import AvroType, width
from penstock.formats.avro.reading import Unfit, fields
from penstock.formats.avro.reference import Limits
from penstock.schema import Schema

MAX_CHUNK = 2 * 2**20
MAX_BODY = 2**20
MAX_CELLS = 4_000_000
MAX_BATCH = 2**30
"""So many bytes fit into one batch, whatever columns they are in."""


class Columns:
    """Decodes the messages of one schema, all together."""

    def __init__(self, type: AvroType, schema: Schema, limits: Limits) -> None:
        self._arrow, self._limits = arrow_schema(schema), limits
        self._lanes = max(64, min(MAX_LANES, MAX_CELLS // width(type)))
        try:
            self._read = fields(type, limits) if schema.fields else None
        except Unfit:
            self._read = None

    def decoded(self, bodies: pa.BinaryArray) -> tuple[pa.RecordBatch, npt.NDArray[np.bool_]]:
        """The rows of the messages that are surely good, and which messages are not among them."""
        if self._read is None or not len(bodies):
            return self._none(), np.ones(len(bodies), bool)
        edges = _edges(bodies)
        sizes = np.diff(edges)
        declined = sizes > min(self._limits.bytes, MAX_BODY)
        joined = np.frombuffer(bodies.buffers()[2] or b"", np.uint8)
        batches, made = [], 0
        for places in self._chunks(edges, declined):
            if made > MAX_BATCH:
                declined[places] = True
                continue
            batch, bad = self._chunk(joined, edges[places], sizes[places])
            declined[places[bad]] = True
            batches.append(batch)
            made += batch.nbytes
        rows = pa.Table.from_batches(batches, self._arrow).combine_chunks().to_batches()
        return rows[0] if rows else self._none(), declined

    def _none(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in self._arrow], schema=self._arrow)

    def _chunks(self, edges: Longs, declined: Marks) -> list[Longs]:
        """The messages that are read together, so many that what is worked on stays in the processor's cache."""
        places = np.flatnonzero(~declined)
        ends, found, start = edges[places + 1], [], 0
        while start < len(places):
            stop = int(np.searchsorted(ends, edges[places[start]] + MAX_CHUNK, "right"))
            stop = max(start + 1, min(stop, start + self._lanes))
            found.append(places[start:stop])
            start = stop
        return found

    def _chunk(self, joined: npt.NDArray[np.uint8], starts: Longs, sizes: Longs) -> tuple[pa.RecordBatch, Marks]:
        count, first, last = len(starts), int(starts[0]), int(starts[-1] + sizes[-1])
        chunk = Chunk(joined[first:last], count)
        at = starts - first + PAD
        lanes = Lanes(chunk, at, at + sizes, np.arange(count))
        assert self._read is not None
        found = self._read(lanes)
        lanes.fail(lanes.at != lanes.ends)
        rows = pa.RecordBatch.from_arrays(found, schema=self._arrow)
        return rows.filter(pa.array(~chunk.bad)) if chunk.bad.any() else rows, chunk.bad


def _edges(bodies: pa.BinaryArray) -> Longs:
    """Where the messages begin in their common buffer, and where the last one ends."""
    kind = np.int64 if pa.types.is_large_binary(bodies.type) else np.int32
    edges = np.frombuffer(bodies.buffers()[1], kind)
    return edges[bodies.offset : bodies.offset + len(bodies) + 1].astype(np.int64)
