"""Kept messages as a source: read again from the files in which they waited for a table of their own.

A position here only counts rows, in the order of the files, so that two messages that had the same position
(a topic that was made again) stay two. Where a message was in its topic goes along with it.
"""

from __future__ import annotations

import base64
import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.contracts import Bound, File, Identity, Positions, ShortRead, Slice
from penstock.errors import in_one_line
from penstock.messages import NEVER, Details, Indices, Messages, Times
from penstock.storage import Storage

KEPT = "kept"
"""The one partition that this source has."""

_COLUMNS = (
    "base64_bytes",
    "json_string",
    "source",
    "topic",
    "partition",
    "position",
    "message_timestamp",
    "key",
    "headers",
)
_RUN = 20_000
_HOURLESS = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class KeptSource:
    """The messages in these files of one table, which all came from one source."""

    location: str
    files: tuple[File, ...]
    origin: Identity
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def identity(self) -> Identity:
        return self.origin

    def bounds(self) -> Mapping[str, Bound]:
        return {KEPT: Bound(0, sum(file.rows for file in self.files), 0)}

    def publish(self, app: str, positions: Positions) -> None:
        """Nobody follows these positions."""

    def read(self, piece: Slice) -> Iterator[Messages]:
        storage = Storage(self.location, self.options)
        starts = [0, *accumulate(file.rows for file in self.files)]
        if not 0 <= piece.start <= piece.end <= starts[-1]:
            raise ShortRead(f"there are {starts[-1]} kept messages, and {piece.end} were asked for")
        for at in range(bisect_right(starts, piece.start) - 1, len(self.files)):
            if starts[at] >= piece.end:
                return
            for first, rows in _rows(storage, self.files[at], piece.start - starts[at], piece.end - starts[at]):
                yield from self._messages(rows, starts[at] + first)

    def _messages(self, rows: pa.RecordBatch, first: int) -> Iterator[Messages]:
        """Runs of one topic and partition each."""
        if others := set(pc.unique(rows.column("source")).to_pylist()) - {self.origin.name}:
            raise ShortRead(f"kept messages of {self.origin.name} are mixed with those of {sorted(map(str, others))}")
        where = list(zip(rows.column("topic").to_pylist(), rows.column("partition").to_pylist(), strict=True))
        for topic, partition in sorted(set(where)):
            chosen = np.array([at for at, place in enumerate(where) if place == (topic, partition)], np.int64)
            yield _run(rows.take(pa.array(chosen)), topic, partition, chosen + first)


def _rows(storage: Storage, file: File, start: int, end: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows `[start, end)` of a file, a few at a time, each time with the number of the first of them."""
    content = storage.get(file.path)
    if content is None:
        raise ShortRead(f"{file.path} is gone, with {file.rows} kept messages")
    try:
        parquet = pq.ParquetFile(pa.BufferReader(content))
        if parquet.metadata.num_rows != file.rows:
            raise ShortRead(f"{file.path} holds {parquet.metadata.num_rows} messages, not {file.rows}")
        at = 0
        for group in range(parquet.num_row_groups):
            size = parquet.metadata.row_group(group).num_rows
            if at < end and at + size > start:
                for rows in parquet.iter_batches(_RUN, row_groups=[group], columns=list(_COLUMNS)):
                    low, high = max(start - at, 0), min(end - at, rows.num_rows)
                    if low < high:
                        yield at + low, rows.slice(low, high - low)
                    at += rows.num_rows
            else:
                at += size
    except (pa.ArrowException, KeyError, OSError) as cause:
        raise ShortRead(f"{file.path} cannot be read: {in_one_line(cause)}") from cause


def _run(rows: pa.RecordBatch, topic: str, partition: str, positions: Indices) -> Messages:
    @cache
    def clock() -> Times:
        return _times(rows.column("message_timestamp"))

    def details(at: int) -> Details:
        kind, stamp = clock()[at].tolist()
        key, headers = rows.column("key")[at].as_py(), rows.column("headers")[at].as_py()
        return Details(_bytes(key), _headers(headers), None if stamp == NEVER else stamp, kind)

    places = rows.column("position").to_numpy(zero_copy_only=False).astype(np.int64)
    return Messages(topic, partition, positions, _values(rows), details, clock=clock, places=places)


def _values(rows: pa.RecordBatch) -> pa.BinaryArray:
    texts, raw = rows.column("json_string").cast(pa.binary()), rows.column("base64_bytes")
    if raw.null_count == len(raw):
        return texts
    return pc.coalesce(texts, pa.array([_bytes(text) for text in raw.to_pylist()], pa.binary()))


def _times(stamps: pa.Array) -> npt.NDArray[np.int64]:
    """Whose time it was is not kept: it is told as the producer's, which is what nearly all topics have."""
    micros = stamps.cast(_HOURLESS, safe=False).cast(pa.int64())
    known = pc.is_valid(micros).to_numpy(zero_copy_only=False)
    millis = np.where(known, micros.fill_null(0).to_numpy(zero_copy_only=False) // 1000, NEVER)
    return np.stack([np.where(known, 0, -1), millis], axis=1).astype(np.int64)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _headers(text: str | None) -> list[tuple[str, bytes | None]]:
    return [(str(name), _header(value)) for name, value in json.loads(text)] if text else []


def _header(value: Any) -> bytes | None:
    if isinstance(value, dict):
        return _bytes(str(value["base64"]))
    return None if value is None else str(value).encode("utf-8")
