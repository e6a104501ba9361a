"""The four contracts a part can keep, and the values they speak in. Read this second.

A part can be written from the text here alone. Parts are found by entry point
(`penstock.sources`, `penstock.formats`, `penstock.tables`); built-in ones are no exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as having
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from penstock.messages import RESCUED, Columns, Indices, Messages, Sorted
from penstock.route import Unrouted
from penstock.schema import JSON, Field, Schema, Struct

Positions = Mapping[str, int]
"""Partition → the next position to read (exclusive end of what was read)."""


# --- sources -------------------------------------------------------------------------------------


class Slice(msgspec.Struct, frozen=True):
    """`[start, end)` of one partition: what a task reads. Positions in it may be missing."""

    partition: str
    start: int
    end: int


class Bound(msgspec.Struct, frozen=True):
    """What a partition holds now: its first position, the next one to be written (exclusive),
    and where a pipeline that never ran before begins."""

    first: int
    next: int
    begin: int


class Identity(msgspec.Struct, frozen=True):
    """Which stream this is. A topic that was deleted and made again has the same name and
    another incarnation; a cluster exchanged behind the same address is another home."""

    name: str
    home: str
    incarnation: str


@runtime_checkable
class Named(Protocol):
    """A source that was told by position where a first start begins, beyond what `Bound.begin` says."""

    @property
    def named(self) -> Positions:
        """Those positions; partitions without one begin by policy."""
        ...


class ShortRead(Exception):
    """A slice could not be read to its end: plan again, do not trust what was read of it."""


class Source(Protocol):
    """Where messages come from. The same object plans on the driver and reads on workers.

    The implementer keeps: `read` yields every message of the slice that readers may see, once,
    in order, and returns only after the slice is exhausted; anything else raises `ShortRead` or
    `Transient`. The common mistake is to stop at the last message instead of the slice's end:
    the positions in between may never have held one.
    """

    def identity(self) -> Identity:
        """Which stream this is, now. Raises `SourceLost` if it is gone, `Transient` if nobody answers."""
        ...

    def bounds(self) -> Mapping[str, Bound]:
        """What every partition holds, now; only what is committed at the source."""
        ...

    def read(self, piece: Slice) -> Iterator[Messages]:
        """The messages of exactly this slice (on a worker)."""
        ...

    def publish(self, app: str, positions: Positions) -> None:
        """Tell the source how far the app has come: for lag tools only, never read back."""
        ...


# --- formats -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """What rows of one type must look like, and what becomes of a message that has more."""

    schema: Schema
    evolve: str = "add"
    reserved: frozenset[str] = frozenset()  # column names that belong to penstock in this table
    coerce: bool = False  # make values fit: see `values.fit`

    @property
    def columns(self) -> Schema:
        """The columns that messages fill, and under `rescue` the one for what did not fit."""
        return Struct((*self.schema, Field(RESCUED, JSON))) if self.evolve == "rescue" else self.schema


@dataclass(frozen=True)
class Home:
    """The app's own area, where a format may keep what it will need again; and how to reach it. `grace` is for who
    cannot wait: how many seconds something may be unknown, whatever is configured."""

    location: str
    options: Mapping[str, str] = having(default_factory=dict, repr=False)
    grace: float | None = None


@dataclass(frozen=True)
class Shapes:
    """Everything a reader needs to tell what a message is.

    `field` is the dotted path to the type inside the value; `part` says which part of a message's schema names
    the type. Both are None where the type is known before the value is read. `refused` are types that may not
    have a table, with code and text; `room` is how many more types may get one; `max_columns` is how many columns
    a table may get from messages. `unrouted` says what becomes of types that are not among `routed`.
    """

    types: Mapping[str, Shape]
    field: str | None = None
    allow: str | None = None
    refused: Mapping[str, tuple[str, str]] = having(default_factory=dict)
    room: int = 500
    max_columns: int = 1_000
    part: Literal["record", "subject", "schema"] | None = None
    unrouted: Unrouted | Literal["wait"] = "create"
    routed: frozenset[str] = frozenset()
    home: Home | None = None

    @property
    def tells_types(self) -> bool:
        """Does the value, or its schema, name the type?"""
        return self.field is not None or self.part is not None


class Reader(Protocol):
    """A format at work on one task's messages; it may keep what it learns from them."""

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted:
        """Say what every message is. `types` gives each message's type where the route knows it
        already. Never raises for data: bad messages are rejects."""
        ...

    def columns(self, type: str, messages: Messages) -> Columns:
        """The columns of messages that `sort` called clean. Those that it declines go one by one, through `plain`."""
        ...

    def plain(self, messages: Messages, at: int) -> dict[str, Any]:
        """One message as plain values (see `values.plain`): the reference path, which says what is right.
        Raises `Refusal`."""
        ...

    def infer(self, type: str, messages: Messages) -> Schema:
        """The columns that messages of this type have, as far as this reader has seen them:
        these ones and those of earlier calls. Pass what each message has through `new_columns.bearable`:
        one that alone is too wide for its table must not cost the others theirs."""
        ...


@dataclass(frozen=True)
class Holding:
    """What messages hold, by the schema that they were written with."""

    schema: Schema
    at: Indices  # which messages of a run
    is_all: bool = True  # False: they may hold more than it says


@runtime_checkable
class Told(Protocol):
    """A reader of messages that were written with schemas."""

    def told(self, messages: Messages) -> Sequence[Holding]:
        """What the messages hold, for each schema among them. Messages that no schema tells of are left out."""
        ...


class Format(Protocol):
    """How message bytes become rows."""

    def reader(self, shapes: Shapes) -> Reader:
        """A reader for these shapes (on a worker)."""
        ...


@runtime_checkable
class Refreshes(Protocol):
    """A format that takes along to workers what lies beside the driver and may have changed, such as schema files."""

    def refreshed(self) -> Format:
        """The format with what is there now (on the driver, before each batch)."""
        ...


# --- tables --------------------------------------------------------------------------------------


class File(msgspec.Struct, frozen=True, omit_defaults=True):
    """A data file that a task wrote: where (relative to its table), how large, what is in it."""

    path: str
    size: int
    rows: int
    partition: dict[str, str | None] = {}
    stats: str = ""


@dataclass(frozen=True)
class Share:
    """One table's share of a decided batch: what a single commit must put into it."""

    app: str
    batch: int
    previous: int  # the batch the table must carry for this one to be next; 0: none
    schema: Schema
    partition_by: tuple[str, ...]
    files: tuple[File, ...]
    ends: Positions
    manifest: Mapping[str, Any]  # the entry without file lists, kept in the table's own log
    is_new: bool = False  # the table did not exist when the batch was decided
    is_emptied: bool = False  # the ledger no longer lists its files: the table carried it long ago
    is_relanded: bool = False  # other files than the ledger lists, with the same rows: those had vanished
    removed: tuple[File, ...] = ()  # files of the table whose rows this batch takes out of it


@dataclass(frozen=True)
class TableState:
    """What one look at a table found. `token` is the implementation's own: the commit is
    conditional on nothing having moved since."""

    id: str
    version: int
    carried: int  # newest batch of this app in the table; 0: none
    schema: Schema
    partition_by: tuple[str, ...]
    restored: bool = False  # somebody took the table back since our newest batch
    unwritable: str = ""  # why this engine must not write to it
    refers: Callable[[Sequence[str]], list[str]] = lambda _: []  # which of these files are part of it
    holds: Callable[[Mapping[str, str]], list[File]] = lambda _: []  # its files with these partition values
    # Of these partitions, where another writer under this app's name stands, such as kafka-delta-ingest; nothing
    # if the newest commit is ours:
    stored: Callable[[Iterable[str]], Positions] = lambda _: {}
    token: Any = None


class Table(Protocol):
    """Where rows end. All methods run on the driver.

    The implementer keeps: `commit` and `create` are one atomic change of files and batch number
    together, and fail if anything at all happened to the table since `state` was read. A failed
    call may still have taken effect: callers read again and compare, they never repeat blindly.
    Raise `TableRefused` where trying again is pointless, any other error where it is not.
    """

    def state(self) -> TableState | None:
        """The table now, in one read; None if there is none."""
        ...

    def create(self, share: Share) -> None:
        """Make the table with its first files and batch number as one version; fail if one is there."""
        ...

    def evolve(self, state: TableState, schema: Schema) -> None:
        """Add the columns of `schema` that the table lacks, if nothing moved since `state`."""
        ...

    def commit(self, state: TableState, share: Share) -> None:
        """Add the share's files and its batch number, and take out what it removes, if nothing moved since `state`."""
        ...


@runtime_checkable
class Tidy(Protocol):
    """A table with work that can wait: checkpoints, log clean-up. Called off the critical path."""

    @property
    def is_untidy(self) -> bool:
        """Is it time, after the commit just made?"""
        ...

    def tidy(self) -> None: ...
