"""Places where a table can be, each with what others do to it there: a folder on disk, and the simulator's world."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import deltalake
import pyarrow as pa

from penstock.contracts import File, Table
from penstock.schema import columns, written
from penstock.tables.delta import DeltaTable
from penstock.tables.delta_schema import to_delta
from tests.simulation import outside
from tests.simulation.oracle import Profile, SimulatedTable, StoredFile
from tests.simulation.world import World
from tests.tables.shares import files

SCHEMA = columns({"x": "long", "day": "string"})


class Place(Protocol):
    """One place where a table can be, and what others do to it there."""

    def open(self) -> Table: ...
    def file(self) -> File: ...
    def append(self) -> None: ...
    def optimize(self) -> None: ...
    def restore_to_the_first_version(self) -> None: ...
    def drop(self) -> None: ...
    def make_again(self) -> None: ...


class OnDisk:
    """A Delta table in a local folder, and another writer that is delta-rs itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self) -> Table:
        return DeltaTable(str(self.folder), "shop")

    def file(self) -> File:
        return files(self.folder, [{"x": 1, "day": "monday"}], written(SCHEMA), ("day",))[0]

    def append(self) -> None:
        deltalake.write_deltalake(self.folder, pa.table({"x": [7], "day": ["friday"]}), mode="append")

    def optimize(self) -> None:
        assert deltalake.DeltaTable(self.folder).optimize.compact()["numFilesRemoved"] > 1

    def restore_to_the_first_version(self) -> None:
        deltalake.DeltaTable(self.folder).restore(0)

    def drop(self) -> None:
        shutil.rmtree(self.folder)

    def make_again(self) -> None:
        deltalake.DeltaTable.create(self.folder, to_delta(SCHEMA), partition_by=["day"])


class Still(World):
    """A simulated world in which nothing else happens: every call takes effect at once, and nobody decides."""

    def call(self, effect: Callable[[], Any], *, writes: bool) -> Any:
        return effect()

    def committed(self, name: str, table: SimulatedTable) -> None:
        table.history.append((dict(table.live), table.carried))


class Simulated:
    """A table of the simulator, and another writer as its `event` plays one."""

    def __init__(self) -> None:
        self.world = Still(Profile(), seed=0)

    @property
    def table(self) -> SimulatedTable:
        return self.world.tables["a"]

    def open(self) -> Table:
        return outside.Table(self.world, "a")

    def file(self) -> File:
        path = self.world.name("file")
        self.world.files[path] = StoredFile("a", (), 0.0)
        return File(path, 1, 1)

    def append(self) -> None:
        self.world._foreign(self.table, {**self.table.live, self.file().path: ()})

    def optimize(self) -> None:
        self.world._foreign(self.table, {self.file().path: ()})

    def restore_to_the_first_version(self) -> None:
        self.world._foreign(self.table, dict(self.table.history[0][0]))
        self.table.restored = self.table.version

    def drop(self) -> None:
        self.world.tables["a"] = SimulatedTable("a-dropped")

    def make_again(self) -> None:
        again = SimulatedTable("a-again", exists=True, version=0, schema=SCHEMA, partition_by=("day",))
        self.world.tables["a"] = again
