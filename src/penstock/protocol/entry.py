"""An entry of the ledger: everything that makes a decided batch reach its tables, whoever dies.

The text form is JSON that `cat`, DuckDB and `spark.read.json` can read. Fields are only ever
added; an entry of an older release stays readable.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.contracts import File, Identity, Share
from penstock.schema import columns

Range = tuple[int, int]

Skips = dict[str, dict[str, int]]
"""Table → partition → position: messages of the table before it were written before."""


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of the messages of one partition in one batch."""

    read: int = 0
    rows: int = 0
    dead: int = 0
    filtered: int = 0
    tombstones: int = 0
    skipped: int = 0
    bytes: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            *(a + b for a, b in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True))
        )

    @property
    def accounted(self) -> bool:
        return self.read == self.rows + self.dead + self.filtered + self.tombstones + self.skipped


class Portion(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a batch holds for one table. Emptied of its files once the table carries it for long."""

    rows: int
    previous: int
    schema: dict[str, str]
    partition_by: list[str] = []
    is_new: bool = False
    files: list[File] | None = None
    removed: list[File] = []  # what the batch takes out of the table: kept messages that moved to their own


class Place(msgspec.Struct, frozen=True):
    """Where the app writes. Changing it under a running app is refused."""

    format: str
    base: str
    dead_letters: str


class Known(msgspec.Struct, frozen=True):
    """What somebody has seen of the tables: their ids, and batches they carried. It stays true."""

    ids: dict[str, str] = {}
    carried: dict[str, int] = {}

    def __or__(self, later: Known) -> Known:
        names = self.carried.keys() | later.carried.keys()
        carried = {name: max(self.carried.get(name, 0), later.carried.get(name, 0)) for name in sorted(names)}
        return Known(self.ids | later.ids, carried)


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One number of the ledger: a claim (neither ranges nor adopted types) or a batch."""

    number: int
    id: str
    app: str
    instance: str
    time: str
    config: str
    source: Identity
    place: Place
    ends: dict[str, int]  # every partition: where the next batch starts
    ranges: dict[str, Range] = {}
    gaps: dict[str, Range] = {}  # positions given up by an operator's word
    rebased: dict[str, int] = {}  # partitions whose positions begin anew, and where
    anew: int = 0  # the newest entry with which positions began anew
    skips: Skips = {}  # what others wrote before an app took their tables over: see takeover.py
    counts: dict[str, Counts] = {}
    reasons: dict[str, int] = {}  # dead letters by code
    unknown_fields: int = 0  # fields that schemas of messages do not have, and that are in no row
    adopted: dict[str, Counts] = {}  # type → what became of its kept messages: the batch moves them, and reads nothing
    tables: dict[str, Portion] = {}
    routing: str = ""  # side file: which position went to which table
    # For every table the app ever wrote to, so that a restart reads a few entries, not all:
    heads: dict[str, int] = {}  # newest entry that lists it
    ids: dict[str, str] = {}  # its id, once known
    carried: dict[str, int] = {}  # a batch it surely carries
    stripped: bool = False

    @property
    def known(self) -> Known:
        return Known(self.ids, self.carried)

    @property
    def is_claim(self) -> bool:
        return not self.ranges and not self.adopted

    @property
    def total(self) -> Counts:
        return sum(self.counts.values(), Counts())

    @property
    def reached(self) -> dict[str, int]:
        """How far every partition was surely written, by this app or by whoever had its tables before."""
        found = dict(self.ends)
        for positions in self.skips.values():
            found |= {p: max(at, found.get(p, 0)) for p, at in positions.items()}
        return found

    def manifest(self) -> dict[str, Any]:
        """The entry without file lists and without what is known of other tables: small enough
        to ride in every table commit, enough to rebuild a lost ledger."""
        bare = msgspec.structs.replace(self, tables={}, heads={}, ids={}, carried={})
        found: dict[str, Any] = msgspec.to_builtins(bare)
        return found

    def share(self, name: str) -> Share:
        """What one table must take of this batch."""
        portion = self.tables[name]
        return Share(
            app=self.app,
            batch=self.number,
            previous=portion.previous,
            schema=columns(portion.schema),
            partition_by=tuple(portion.partition_by),
            files=tuple(portion.files or ()),
            ends=self.ends | self.skips.get(name, {}),  # a table that is ahead of the app stays ahead
            manifest=self.manifest(),
            is_new=portion.is_new,
            is_emptied=portion.files is None,
            removed=tuple(portion.removed),
        )


def encode(entry: Entry) -> bytes:
    return msgspec.json.format(msgspec.json.encode(entry), indent=1)


_decoder = msgspec.json.Decoder(Entry)


def decode(text: bytes) -> Entry:
    return _decoder.decode(text)


def strip(entry: Entry) -> Entry:
    """The entry without what only an uncarried batch needs. Its number stays taken for ever."""
    emptied = {name: msgspec.structs.replace(portion, files=None, removed=[]) for name, portion in entry.tables.items()}
    return msgspec.structs.replace(entry, tables=emptied, stripped=True)
