"""The shape of a message on its way, and of one that could not become a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.schema import DATE, INT, LONG, STRING, TIMESTAMP, Field, Schema, Struct

Indices = npt.NDArray[np.int64]
Times = npt.NDArray[np.int64]
NEVER = -(2**63)
WHOLE_RUN = 20_000


@dataclass(frozen=True)
class Details:
    """What a message carries beside its value."""

    key: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    timestamp: int | None  # milliseconds since the epoch, as the source recorded it
    timestamp_type: int = -1  # whose time it is: -1 nobody's, 0 the producer's, 1 the log's


@dataclass(frozen=True)
class Messages:
    """A run of messages of one partition, in order, as the source gave them.

    Values are a column. Keys, headers and timestamps cost time on the hot path, so they
    are fetched with `details` for the few messages that somebody asks about.
    """

    source: str
    partition: str
    positions: Indices
    values: pa.BinaryArray
    details: Callable[[int], Details]
    objects: list[bytes] | None = None  # the values once more, where the source had to make objects of them anyway
    clock: Callable[[], Times] | None = None  # the times of all of them at once, where that is cheaper than details
    places: Indices | None = None  # where the source first had them, where `positions` only count them

    @property
    def origins(self) -> Indices:
        """Their positions as users know them."""
        return self.positions if self.places is None else self.places

    def __len__(self) -> int:
        return len(self.positions)

    def listed(self) -> list[bytes]:
        """The values as Python objects. None of them is null: tombstones were taken out."""
        found: list[bytes] = self.values.to_pylist() if self.objects is None else self.objects
        return found

    def value(self, at: int) -> bytes:
        found: bytes = self.values[at].as_py() if self.objects is None else self.objects[at]
        return found

    def times(self) -> Times:
        """For each message the type of its timestamp, and the timestamp: `NEVER` if it has none."""
        if self.clock is not None:
            return self.clock()
        details = map(self.details, range(len(self)))
        found = [(each.timestamp_type, NEVER if each.timestamp is None else each.timestamp) for each in details]
        return np.array(found, np.int64).reshape(-1, 2)

    @staticmethod
    def joined(runs: Sequence[Messages]) -> Messages:
        """Runs of one partition as one run."""
        if len(runs) == 1:
            return runs[0]
        starts = np.cumsum([0, *(len(run) for run in runs)])

        def details(at: int) -> Details:
            run = int(np.searchsorted(starts, at, side="right")) - 1
            return runs[run].details(at - int(starts[run]))

        positions = np.concatenate([run.positions for run in runs])
        values = pa.concat_arrays([run.values for run in runs])
        return Messages(
            runs[0].source,
            runs[0].partition,
            positions,
            values,
            details,
            clock=lambda: np.concatenate([run.times() for run in runs]),
            places=np.concatenate([run.origins for run in runs]) if runs[0].places is not None else None,
        )

    def only(self, indices: Indices) -> Messages:
        """These messages of the run, in this order."""
        if len(indices) == len(self):
            return self
        return self._taken(indices)

    def grouped(self, groups: Mapping[str, Indices]) -> dict[str, Messages]:
        """These groups of messages: taken together, then cut apart."""
        if not groups:
            return {}
        whole, start, found = self._taken(np.concatenate(list(groups.values()))), 0, {}
        for name, indices in groups.items():
            found[name] = whole.cut(start, start + len(indices))
            start += len(indices)
        return found

    def _taken(self, indices: Indices) -> Messages:
        whole, values = self.details, self.values.take(pa.array(indices))
        return Messages(
            self.source,
            self.partition,
            self.positions[indices],
            values,
            lambda at: whole(int(indices[at])),
            clock=lambda: self.times()[indices],
            places=self.places[indices] if self.places is not None else None,
        )

    def cut(self, start: int, end: int) -> Messages:
        """A part of the run."""
        whole, objects = self.details, self.objects[start:end] if self.objects is not None else None
        values = self.values.slice(start, end - start)
        return Messages(
            self.source,
            self.partition,
            self.positions[start:end],
            values,
            lambda at: whole(start + at),
            objects,
            clock=lambda: self.times()[start:end],
            places=self.places[start:end] if self.places is not None else None,
        )


@dataclass(frozen=True)
class Reject:
    """Why a message is not a row: a value that travels beside the rows, never an exception."""

    at: int  # its place in the run it came with
    stage: str
    code: str
    text: str
    type: str | None = None


@dataclass(frozen=True)
class Row:
    """A row that was made one message at a time, on the reference path."""

    at: int
    values: dict[str, object]


@dataclass(frozen=True)
class Columns:
    """Rows of clean messages, made all at once, and which messages are not among them: those are decided
    one by one."""

    rows: pa.RecordBatch | None  # None: there are none
    declined: npt.NDArray[np.bool_]

    @staticmethod
    def none_of(messages: Sized) -> Columns:
        """All of them are declined."""
        return Columns(None, np.full(len(messages), True))

    @staticmethod
    def all_of(rows: pa.RecordBatch) -> Columns:
        """None of them is."""
        return Columns(rows, np.full(rows.num_rows, False))


@dataclass
class Sorted:
    """What a format says of every message of a run. Each index is in exactly one place."""

    clean: dict[str, Indices] = field(default_factory=dict)  # type → messages that `columns` may take as they are
    rows: dict[str, list[Row]] = field(default_factory=dict)  # type → rows made one by one
    waiting: dict[str, Indices] = field(default_factory=dict)  # type → messages that need columns it does not have yet
    filtered: Indices = field(default_factory=lambda: np.empty(0, np.int64))
    rejects: list[Reject] = field(default_factory=list)


def growing(count: int, first: int) -> Iterator[tuple[int, int]]:
    """Parts of a run, `[start, end)`: a few messages first, then more and more. What the few teach keeps the
    many fast."""
    start, step = 0, first
    while start < count:
        yield start, min(start + step, count)
        start, step = start + step, min(step * 8, WHOLE_RUN)


def _required(name: str, kind: object) -> Field:
    return Field(name, kind, required=True)  # type: ignore[arg-type]


DEAD_LETTERS: Schema = Struct(
    (
        Field("base64_bytes", STRING),
        Field("json_string", STRING),
        _required("error", STRING),
        _required("timestamp", TIMESTAMP),
        _required("date", DATE),
        _required("source", STRING),
        _required("topic", STRING),
        _required("partition", STRING),
        _required("position", LONG),
        Field("message_timestamp", TIMESTAMP),
        Field("key", STRING),
        Field("headers", STRING),
        Field("type", STRING),
        _required("stage", STRING),
        _required("code", STRING),
        _required("config", STRING),
    )
)
"""A dead letter: the message whole, where it came from, and why it is here."""

UNROUTED_COLUMNS: Schema = Struct(
    (
        *DEAD_LETTERS.without({"type", "stage", "code", "error"}),
        _required("type", STRING),
    )
)
"""A message whose type has no table: whole, with where it came from, until somebody says what becomes of it."""

SOURCE_COLUMNS: Schema = Struct(
    (
        Field("_source", STRING),
        Field("_partition", INT),
        Field("_position", LONG),
        Field("_timestamp", TIMESTAMP),
    )
)
"""Where a row came from: written only where a table asks for it."""

RESCUED = "_rescued"
"""The column that keeps what did not fit, under the policy `rescue`."""
