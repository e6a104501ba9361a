"""What the loop meets outside, simulated: a crew, a source, an engine, storage and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from greenlet import getcurrent

from penstock.contracts import Bound, File, Identity, Positions, Share, Slice, TableState
from penstock.errors import Transient, Unavailable
from penstock.landing.recipe import Account, Landed, Piece, Recipe
from penstock.landing.routing import SKIPPED, WAITING, Routing, pack, unmask
from penstock.places import LETTERS, UNROUTED
from penstock.protocol.entry import Counts, decode
from penstock.schema import Schema, columns
from penstock.sources.kept import KeptSource
from tests.simulation.oracle import ADOPTED, PARTITIONS, TICK, Record, StoredFile, Violation, type_of

if TYPE_CHECKING:
    from tests.simulation.world import Member, World


class SimulatedCrew:
    def __init__(self, world: World, member: Member) -> None:
        self.world, self.member = world, member

    def now(self) -> float:
        return self.world.now

    def chance(self) -> float:
        return self.world.rng.random()

    def spawn(self, work: Callable[[], None]) -> None:
        self.world.spawn(self.member, work)

    def every(self, seconds: float, work: Callable[[], None]) -> None:
        def again() -> None:
            while True:
                self._sleep(seconds)
                work()

        self.world.spawn(self.member, again)

    def wait(self, seconds: float) -> None:
        self._sleep(max(seconds, TICK))

    def _sleep(self, seconds: float) -> None:
        me = getcurrent()
        task = next(task for task in self.member.tasks if task.run is me)
        task.wake_at, task.sleeping = self.world.now + seconds, True
        self.world.pause()

    def wake(self) -> None:
        self.member.woken = True


class SimulatedSource:
    def __init__(self, world: World) -> None:
        self.world = world

    def identity(self) -> Identity:
        return Identity("sim", "home", "1")

    def bounds(self) -> Mapping[str, Bound]:
        def look() -> dict[str, Bound]:
            return {p: Bound(self.world.first[p], self.world.next[p], 0) for p in PARTITIONS}

        try:
            found: dict[str, Bound] = self.world.call(look, writes=False)
        except Unavailable as why:
            raise Transient("simulated", str(why)) from None
        return found

    def read(self, piece: Slice) -> Any:
        raise NotImplementedError("the simulated engine reads by itself")

    def publish(self, app: str, positions: Positions) -> None:
        self.world.call(lambda: None, writes=True)


class SimulatedEngine:
    """Reads records and writes files as tasks would. Decoding is not deterministic: what is a row
    today may be a dead letter tomorrow."""

    cores = 2

    def __init__(self, world: World) -> None:
        self.world = world

    def cancel(self) -> None: ...
    def ensure(self) -> None: ...

    def land(self, tasks: Sequence[Sequence[Piece]], recipe: Recipe) -> list[Landed]:
        return [self._task(pieces, recipe) for pieces in tasks]

    def _task(self, pieces: Sequence[Piece], recipe: Recipe) -> Landed:
        kept = self._kept(recipe.source) if isinstance(recipe.source, KeptSource) else None
        if kept is not None and ADOPTED not in recipe.targets:
            return self._asks_for_columns(pieces)
        files: dict[str, list[File]] = {}
        accounts = []
        for piece in pieces:
            where = piece.slice
            self.world.pause()
            if kept is None and where.start < self.world.first[where.partition]:
                return Landed(short="the source dropped it")
            routing = Routing(where)
            chosen = (
                np.arange(where.end - where.start)
                if piece.only is None
                else unmask(piece.only, where.end - where.start)
            )
            sorted_out: dict[str, list[Record]] = {}
            for offset in chosen:
                position = where.start + int(offset)
                record = (where.partition, position) if kept is None else kept[position]
                if self.is_skipped(record, recipe):
                    routing.mark(np.array([position]), SKIPPED)
                    continue
                table = self.choose(record, piece)
                if table == ADOPTED and table not in recipe.targets:
                    table = UNROUTED
                sorted_out.setdefault(table, []).append(record)
                routing.mark_table(np.array([position]), table)
            for table, records in sorted_out.items():
                files.setdefault(table, []).append(self.write(table, records))
            dead, skipped = len(sorted_out.get(LETTERS, ())), routing.count(SKIPPED)
            rows = len(chosen) - dead - skipped
            counts = Counts(read=len(chosen), rows=rows, dead=dead, skipped=skipped, bytes=len(chosen))
            accounts.append(Account(where, counts, pack(routing)))
        return Landed(files=files, accounts=accounts)

    def _kept(self, source: KeptSource) -> list[Record]:
        return [record for file in source.files for record in self.world.files[file.path].records]

    def _asks_for_columns(self, pieces: Sequence[Piece]) -> Landed:
        """The first job of a batch for a type without a table: all its messages wait."""
        accounts = []
        for piece in pieces:
            routing, count = Routing(piece.slice), piece.slice.end - piece.slice.start
            routing.mark(np.arange(piece.slice.start, piece.slice.end), WAITING)
            accounts.append(Account(piece.slice, Counts(read=count, bytes=count), pack(routing), count))
        return Landed(accounts=accounts, seen={ADOPTED: columns({"x": "long"})})

    def choose(self, record: Record, piece: Piece) -> str:
        if piece.forced is not None:
            self.world.relandings += 1
            return piece.forced
        if self.world.rng.random() < 0.25:
            return LETTERS
        if self.world.profile.adopts and (int(record[0]) + record[1]) % 3 == 2:
            return ADOPTED
        return type_of(record)

    def is_skipped(self, record: Record, recipe: Recipe) -> bool:
        return record[1] < recipe.skips.get(type_of(record), {}).get(record[0], 0)

    def write(self, table: str, records: list[Record]) -> File:
        """A write of unknown outcome is abandoned: another name, never the same again."""
        while True:
            path = self.world.name("file")
            stored = StoredFile(table, tuple(records), self.world.now)
            try:
                self.world.call(partial(self.world.files.__setitem__, path, stored), writes=True)
            except Unavailable:
                continue
            return File(path, 1, len(records))


class SimulatedStorage:
    """The ledger's folder, or a table's: whichever is asked for."""

    def __init__(self, world: World, member: Member, location: str) -> None:
        self.world, self.member, self.location = world, member, location

    def get(self, path: str) -> bytes | None:
        if path.startswith("ledger/"):
            self.member.entries_read += 1
        found: bytes | None = self.world.call(lambda: self.world.objects.get(path), writes=False)
        return found

    def put(self, path: str, content: bytes) -> None:
        def effect() -> None:
            if path.startswith("ledger/") and decode(content).id != decode(self.world.objects[path]).id:
                raise Violation(f"{path} was replaced by another entry")
            self.world.objects[path] = content

        self.world.call(effect, writes=True)

    def create(self, path: str, content: bytes) -> bool:
        def effect() -> bool:
            if path in self.world.objects:
                return False
            self.world.objects[path] = content
            entry = decode(content)
            self.world.decide(entry.number, entry)
            return True  # nobody but an operator makes wishes

        return bool(self.world.call(effect, writes=True))

    def names(self, folder: str, after: str = "") -> list[str]:
        def look() -> list[str]:
            found = (path.partition("/")[2] for path in self.world.objects if path.startswith(folder + "/"))
            return sorted(name for name in found if name > after)

        names: list[str] = self.world.call(look, writes=False)
        return names

    def missing(self, paths: Sequence[str]) -> list[str]:
        found: list[str] = self.world.call(
            lambda: [p for p in paths if not (p in self.world.files and self.world.files[p].there)], writes=False
        )
        return found

    def folders(self) -> list[str]:
        return [name for name in self.world.names if name != LETTERS and self.world.tables[name].exists]

    def delete(self, paths: Sequence[str]) -> None:
        def effect() -> None:
            for path in paths:
                self.world.objects.pop(path, None)
                if path in self.world.files:
                    self.world.files[path].there = False

        self.world.call(effect, writes=True)


class Table:
    """The Table contract over a simulated table."""

    def __init__(self, world: World, folder: str) -> None:
        self.world = world
        self.name = LETTERS if folder == "dead_letters" else folder

    def state(self) -> TableState | None:
        found: TableState | None = self.world.call(self._look, writes=False)
        return found

    def _look(self) -> TableState | None:
        table = self.world.tables[self.name]
        if not table.exists or table.schema is None:
            return None
        stored = {} if table.ours == table.version else dict(table.stored)
        return TableState(
            id=table.id,
            version=table.version,
            carried=table.carried,
            schema=table.schema,
            partition_by=table.partition_by,
            restored=table.restored > table.ours,
            refers=lambda paths, live=dict(table.live): [path for path in paths if path in live],  # type: ignore[misc]
            holds=lambda values, live=dict(table.live): [  # type: ignore[misc]
                File(path, 1, len(records), dict(values)) for path, records in sorted(live.items())
            ],
            stored=lambda partitions: {p: at for p, at in stored.items() if p in set(partitions)},
            token=(table.id, table.version),
        )

    def create(self, share: Share) -> None:
        self.world.call(lambda: self._change(share, None), writes=True)

    def commit(self, state: TableState, share: Share) -> None:
        self.world.call(lambda: self._change(share, state.token), writes=True)

    def evolve(self, state: TableState, schema: Schema) -> None:
        raise NotImplementedError("simulated tables have one schema")

    def _change(self, share: Share, token: Any) -> None:
        table = self.world.tables[self.name]
        if table.refuses or token != ((table.id, table.version) if table.exists else None):
            raise Unavailable("simulated", "the table refuses, or somebody was quicker")
        table.exists, table.version = True, table.version + 1
        table.schema, table.partition_by = table.schema or share.schema, table.partition_by or share.partition_by
        gone = {file.path for file in share.removed}
        table.live = {path: records for path, records in table.live.items() if path not in gone}
        table.live |= {file.path: self.world.files[file.path].records for file in share.files}
        table.carried, table.ours, table.stored = share.batch, table.version, dict(share.ends)
        self.world.committed(self.name, table)
