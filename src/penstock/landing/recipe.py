"""What a task is told, and what it answers. Everything travels in these values: a worker shares
nothing with the driver but the place where tables are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as having
from typing import Any, Literal

from penstock.contracts import File, Format, Home, Shape, Shapes, Slice, Source
from penstock.envelope import Envelope
from penstock.protocol.entry import Counts
from penstock.route import SCHEMA_PARTS, Unrouted
from penstock.schema import Schema


@dataclass(frozen=True)
class Target:
    """One table as a task sees it."""

    name: str
    location: str
    shape: Shape
    partition_by: tuple[str, ...] = ()
    source_columns: bool = False


@dataclass(frozen=True)
class Recipe:
    """How to land messages: the same for all tasks of a job. Secrets travel here and nowhere else."""

    source: Source
    format: Format
    by: Any  # what gives a message its type: see pipeline.Route
    allow: str | None
    targets: Mapping[str, Target]  # type → its table
    letters: Target
    kept: Target | None = None  # where messages of unrouted types go
    envelope: Envelope | None = None
    transforms: Mapping[str, str] = having(default_factory=dict)
    nulls: Literal["remove", "keep"] = "remove"
    letter_transforms: Mapping[str, str] = having(default_factory=dict)
    refused: Mapping[str, tuple[str, str]] = having(default_factory=dict)
    unrouted: Unrouted | Literal["wait"] = "create"
    room: int = 500
    max_columns: int = 1_000
    settled: bool = False  # the second job of a batch: nothing may wait any more
    source_name: str = ""
    config: str = ""
    now: int = 0  # microseconds: one time for all letters of a batch
    storage: Mapping[str, str] = having(default_factory=dict, repr=False)
    fsync: bool = False
    home: Home | None = None
    held: str = ""  # where files are kept whose table's place cannot be written just now
    skips: Mapping[str, Mapping[str, int]] = having(default_factory=dict)  # table → partition → needs nothing before

    @property
    def field(self) -> str | None:
        return getattr(self.by, "field", None)

    @property
    def coerces(self) -> bool:
        return any(target.shape.coerce for target in self.targets.values())

    def shapes(self) -> Shapes:
        types = {name: target.shape for name, target in self.targets.items()}
        return Shapes(
            types,
            self.field,
            self.allow,
            self.refused,
            self.room,
            self.max_columns,
            part=self.by if self.by in SCHEMA_PARTS else None,
            unrouted=self.unrouted,
            routed=frozenset(self.targets),
            home=self.home,
        )


@dataclass(frozen=True)
class Piece:
    """A slice to read, and which of its positions to take: all of them, or those of a packed mask."""

    slice: Slice
    only: bytes | None = None
    forced: str | None = None  # land all of it in this table: what was decided is not decided again


@dataclass(frozen=True)
class Account:
    """What became of every message of one slice."""

    slice: Slice
    counts: Counts
    routing: bytes  # see routing.py
    waiting: int = 0


@dataclass(frozen=True)
class Landed:
    """A task's answer: the files it wrote, the account of its slices, and what it learned."""

    files: Mapping[str, list[File]] = having(default_factory=dict)  # table → files
    accounts: Sequence[Account] = ()
    seen: Mapping[str, Schema] = having(default_factory=dict)  # type that waits → the columns its messages have
    reasons: Mapping[str, int] = having(default_factory=dict)
    example: str = ""  # the first dead letter, for an error message
    unknown_fields: int = 0  # fields of messages that their schemas do not have, and that are in no row
    short: str = ""  # why a slice could not be read to its end: nothing here counts
    away: str = ""  # what was not there just now: wait, then plan again
