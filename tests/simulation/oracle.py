"""What there is, and what must be true of it: records, files, tables, and an oracle that knows them all."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.contracts import File
from penstock.places import LETTERS, UNROUTED
from penstock.protocol.entry import Entry
from penstock.schema import Schema, columns

Record = tuple[str, int]
PARTITIONS = ("0", "1")
TABLES = ("a", "b", LETTERS)
ADOPTED = "c"  # a type that nobody declared: its records are kept until somebody wishes for its table
WISH = f"adopt/{ADOPTED}.json"
TICK = 0.05  # seconds that pass with every step


class Violation(BaseException):
    """The promise is broken. Not an Exception: nothing under test may swallow it."""


@dataclass(frozen=True)
class Profile:
    """What can happen in a schedule."""

    steps: int = 260
    vacuum_pending: bool = False  # vacuum also deletes files that wait to be committed
    restore: bool = False  # an operator takes tables back: RESTORE, or a folder from a backup
    recreate: bool = False  # an operator drops tables and makes them again
    retention: bool = False  # the source drops records before they were read
    refuse_for_ever: str = ""  # this table refuses until everything else is finished
    takeover: bool = False  # another writer filled the tables before, each up to its own positions
    adopts: bool = False  # some records are kept, and an operator wishes for their table
    fails: float = 0.05
    loses_reply: float = 0.05
    late: float = 0.04


@dataclass
class StoredFile:
    table: str
    records: tuple[Record, ...]
    born: float
    there: bool = True


@dataclass
class SimulatedTable:
    """What a Delta table is to the protocol."""

    id: str
    exists: bool = False
    version: int = -1
    carried: int = 0
    schema: Schema | None = None
    partition_by: tuple[str, ...] = ()
    stored: dict[str, int] = field(default_factory=dict)  # where its former writer stands, or we do
    live: dict[str, tuple[Record, ...]] = field(default_factory=dict)
    ours: int = -1  # version of our newest commit
    restored: int = -1  # version of the newest RESTORE
    refuses: bool = False
    touched: bool = False  # an operator took it back or made it again, or somebody deleted its files
    history: list[tuple[dict[str, tuple[Record, ...]], int]] = field(default_factory=list)


class Stores:
    """The source, the storage and the tables of one schedule, and what others do to them."""

    def __init__(self, profile: Profile, seed: int) -> None:
        self.profile, self.rng, self.now, self.serial = profile, random.Random(seed), 0.0, 0
        # the source
        self.first = dict.fromkeys(PARTITIONS, 0)
        self.next = dict.fromkeys(PARTITIONS, 0)
        self.drops = self.rng.random() < 0.5
        # storage
        self.objects: dict[str, bytes] = {}
        self.files: dict[str, StoredFile] = {}
        self.names = (*TABLES, UNROUTED, ADOPTED) if profile.adopts else TABLES
        self.tables = {name: SimulatedTable(f"{name}-0") for name in self.names}
        # what the oracle knows
        self.decided: dict[int, Entry] = {}
        self.position = dict.fromkeys(PARTITIONS, 0)
        self.route: dict[Record, str] = {}
        self.moved: dict[Record, int] = {}  # kept records, and the batch that moves them
        self.writers: list[str] = []
        self.relandings = self.skipped = 0
        self.taken: dict[str, dict[str, int]] = {}  # what tables had before the app's first start
        if profile.takeover:
            self._written_before()

    def name(self, prefix: str) -> str:
        self.serial += 1
        return f"{prefix}{self.serial}"

    @property
    def is_wished(self) -> bool:
        return WISH in self.objects and b"refused" not in self.objects[WISH]

    # --- what others do

    def _written_before(self) -> None:
        """Each table of rows has everything of its type, up to a position of its own in each partition."""
        for partition in PARTITIONS:
            self.next[partition] = self.rng.randint(6, 14)
        for name in TABLES[:2]:
            if self.rng.random() < 0.9:
                chosen = [p for p in PARTITIONS if self.rng.random() < 0.8]
                self.taken[name] = {p: self.rng.randint(1, self.next[p]) for p in chosen}
        for name, stored in self.taken.items():
            records = tuple((p, n) for p, end in stored.items() for n in range(end) if type_of((p, n)) == name)
            path, table = self.name("before"), self.tables[name]
            self.files[path] = StoredFile(name, records, self.now)
            table.exists, table.version, table.schema = True, 0, columns({"x": "long"})
            table.live, table.stored = {path: records}, dict(stored)
            self.route |= dict.fromkeys(records, name)
        for partition in PARTITIONS:
            ends = [stored[partition] for stored in self.taken.values() if partition in stored]
            self.position[partition] = min(ends, default=0)

    def event(self) -> None:
        chance, name = self.rng.random(), self.rng.choice(self.names)
        self._wish()
        table = self.tables[name]
        if chance < 0.35:
            partition = self.rng.choice(PARTITIONS)
            self.next[partition] += self.rng.randint(1, 3)
        elif chance < 0.50:
            table.refuses = not table.refuses and self.rng.random() < 0.6
        elif chance < 0.62:
            self._optimize(name, table)
        elif chance < 0.68 and table.exists:
            path = self.name("foreign")
            self.files[path] = StoredFile(name, (), self.now)
            self._foreign(table, {**table.live, path: ()})
        elif chance < 0.80:
            self._vacuum(name, table)
        elif chance < 0.88 and self.drops:
            self._drop_records()
        elif chance < 0.94 and self.profile.restore:
            self._restore(table)
        elif chance < 0.96 and self.profile.recreate and table.exists:
            again = SimulatedTable(self.name(f"{name}-"), touched=True)
            if self.rng.random() < 0.6:  # otherwise it is only dropped
                again.exists, again.version, again.schema = True, 0, table.schema
                again.partition_by = table.partition_by
            self.tables[name] = again

    def _wish(self) -> None:
        if self.profile.adopts and self.rng.random() < 0.2 and not self.is_wished:
            self.objects[WISH] = b'{"type": "c", "after": 0}'

    def _foreign(self, table: SimulatedTable, live: dict[str, tuple[Record, ...]]) -> None:
        table.live, table.version = live, table.version + 1

    def _optimize(self, name: str, table: SimulatedTable) -> None:
        chosen = [path for path in table.live if self.rng.random() < 0.5]
        if not chosen or not all(self.files[path].there for path in chosen):
            return
        path = self.name("optimized")
        records = tuple(record for old in chosen for record in table.live[old])
        self.files[path] = StoredFile(name, records, self.now)
        rest = {old: records for old, records in table.live.items() if old not in chosen}
        self._foreign(table, {**rest, path: records})

    def _vacuum(self, name: str, table: SimulatedTable) -> None:
        pending = {
            f.path
            for e in self.decided.values()
            if e.number > table.carried and name in e.tables
            for f in e.tables[name].files or ()
        }
        undecided = {path for path in self.files if not any(path in _paths(e) for e in self.decided.values())}
        for path, file in self.files.items():
            if file.table != name or path in table.live:
                continue
            waits = path in pending or path in undecided
            if not waits or (self.profile.vacuum_pending and path in pending and self.now - file.born > 2.0):
                file.there = False

    def _drop_records(self) -> None:
        partition = self.rng.choice(PARTITIONS)
        limit = self.position[partition]
        if self.profile.retention and self.rng.random() < 0.2:
            limit = min(self.next[partition], limit + 2)
        if not self.profile.vacuum_pending:  # re-landing needs the source to still hold what is pending
            self.first[partition] = self.rng.randint(self.first[partition], max(limit, self.first[partition]))

    def _restore(self, table: SimulatedTable) -> None:
        """RESTORE keeps the batch number and leaves a mark; a folder from a backup does neither."""
        if len(table.history) < 2:
            return
        live, carried = self.rng.choice(table.history)
        if not all(self.files[path].there for path in live):
            return
        table.touched = True
        self._foreign(table, dict(live))
        if self.rng.random() < 0.5:
            table.restored = table.version
        else:
            table.carried, table.ours = carried, table.version

    # --- the oracle

    def decide(self, number: int, entry: Entry) -> None:
        """An entry was put: check everything that can be checked at once."""
        if number in self.decided:
            raise Violation(f"entry {number} was overwritten")
        if number != len(self.decided) + 1:
            raise Violation(f"entry {number} leaves a hole")
        if self.writers and self.writers[-1] != entry.instance and entry.instance in self.writers:
            raise Violation("two instances make progress")
        self.writers.append(entry.instance)
        self.decided[number] = entry
        self._moves_on(entry)
        if entry.adopted:
            self.moved |= dict.fromkeys(self._removed(entry), number)
        for name, file in _files(entry):
            for record in self.files[file.path].records:
                self.route[record] = name

    def _moves_on(self, entry: Entry) -> None:
        """Positions go on where they were, and every record on the way is in exactly one file."""
        for partition, (start, end) in entry.gaps.items():
            if start != self.position[partition] or end > self.first[partition]:
                raise Violation(f"positions [{start}, {end}) of partition {partition} were given up without need")
            self.position[partition] = end
        routed = Counter(record for name, file in _files(entry) for record in self.files[file.path].records)
        if entry.adopted:
            kept = self._removed(entry)
            if routed != Counter(kept) or any(self.route.get(record) != UNROUTED for record in kept):
                raise Violation(f"entry {entry.number} does not move what it takes away, or not what is kept")
            return
        for partition, (start, end) in entry.ranges.items():
            if start != self.position[partition]:
                raise Violation(f"partition {partition} goes from {self.position[partition]} to [{start}, {end})")
            self.position[partition] = end
            for position in range(start, end):
                was_there = position < self.taken.get(type_of((partition, position)), {}).get(partition, 0)
                self.skipped += was_there
                if routed.pop((partition, position), 0) != (not was_there):
                    raise Violation(f"record {(partition, position)} is not in the files exactly once")
        if routed:
            raise Violation(f"files hold records outside the ranges: {sorted(routed)}")

    def _removed(self, entry: Entry) -> list[Record]:
        return [record for file in entry.tables[UNROUTED].removed for record in self.files[file.path].records]

    def _may_be_in(self, record: Record, name: str, carried: int) -> bool:
        """Was the record decided for the table? A kept one that moves stays until the table carries that batch."""
        return self.route.get(record) == name or (name == UNROUTED and self.moved.get(record, 0) > carried)

    def committed(self, name: str, table: SimulatedTable) -> None:
        """A table changed by our hand."""
        visible = _records(table.live)
        if table.carried not in self.decided:
            raise Violation(f"table {name} carries batch {table.carried}, which nobody has decided")
        had, ends = self.taken.get(name, {}), self.decided[table.carried].ends
        if table.stored != {p: max(end, had.get(p, 0)) for p, end in ends.items()}:
            raise Violation(f"table {name} tells {table.stored} to who takes it back, at {ends}, having had {had}")
        if missing := [record for record in self._decided_for(name, table.carried) if record not in visible]:
            raise Violation(f"table {name} got batch {table.carried} on top of a hole: {missing[:5]}")
        for record, count in visible.items():
            if count > 1:
                raise Violation(f"record {record} is {count} times in {name}")
            if not self._may_be_in(record, name, table.carried):
                raise Violation(f"record {record} is in {name}, decided for {self.route.get(record)}")
        table.history.append((dict(table.live), table.carried))

    def _decided_for(self, name: str, upto: int) -> list[Record]:
        entries = (entry for number, entry in self.decided.items() if number <= upto and name in entry.tables)
        found = [
            record for entry in entries for f in entry.tables[name].files or () for record in self.files[f.path].records
        ]
        return [r for r in found if name != UNROUTED or not 0 < self.moved.get(r, 0) <= upto]

    def finished(self, parked: Mapping[str, str], skip: str = "", *, restarted: bool = False) -> None:
        """When all is quiet: every record is where it was decided to be, once. A table that an
        operator changed behind our back is noticed at its next batch, or at the next start."""
        for partition in PARTITIONS:
            if self.position[partition] != self.next[partition]:
                raise Violation(
                    f"not live: partition {partition} stands at {self.position[partition]} of {self.next[partition]}"
                )
        for name, table in self.tables.items():
            if name == skip or (table.touched and not restarted):
                continue
            if name in parked:
                if not table.touched and all(self.files[path].there for path in table.live):
                    raise Violation(f"table {name} is parked, and nothing is wrong with it")
                continue
            there = {path: records for path, records in table.live.items() if self.files[path].there}
            seen = _records(there)
            want = {record for record, route in self.route.items() if route == name}
            if lost := sorted(want - set(seen)):
                raise Violation(f"lost: {lost[:5]} decided for {name} and not there")
            if max(seen.values(), default=1) > 1:
                raise Violation(f"doubled in {name}")
            if name == UNROUTED and (twice := sorted(seen.keys() - want)):
                raise Violation(f"doubled: {twice[:5]} moved to their table and are still kept")


def type_of(record: Record) -> str:
    return TABLES[(int(record[0]) + record[1]) % 2]


def _files(entry: Entry) -> list[tuple[str, File]]:
    return [(name, file) for name, portion in entry.tables.items() for file in portion.files or ()]


def _paths(entry: Entry) -> set[str]:
    return {file.path for _, file in _files(entry)}


def _records(live: Mapping[str, tuple[Record, ...]]) -> Counter[Record]:
    return Counter(record for records in live.values() for record in records)
