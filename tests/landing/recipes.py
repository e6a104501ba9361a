"""Recipes for one task, and what it wrote, read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.arrow import arrow_schema
from penstock.contracts import File, Shape, Share, Slice
from penstock.formats.json import JsonFormat
from penstock.landing.files import Files
from penstock.landing.land import land
from penstock.landing.recipe import Landed, Piece, Recipe, Target
from penstock.messages import DEAD_LETTERS, SOURCE_COLUMNS
from penstock.route import FieldRoute
from penstock.schema import columns
from penstock.tables.delta import DeltaTable
from penstock.testing import MemorySource

LETTERS = "_dead_letters"
NOW = 1_700_000_000_000_000
T = {"type": "string", "x": "long"}


def target(folder: Path, name: str = "t", schema: Mapping[str, str] = T, evolve: str = "add", **more: Any) -> Target:
    reserved = frozenset(field.name for field in SOURCE_COLUMNS) if more.get("source_columns") else frozenset[str]()
    return Target(name, str(folder / name), Shape(columns(schema), evolve, reserved), **more)


def recipe(folder: Path, source: MemorySource, *targets: Target, **changes: Any) -> Recipe:
    """Messages of types that are named like their tables, by the field `type`."""
    given: dict[str, Any] = {
        "source": source,
        "format": JsonFormat(),
        "by": FieldRoute(field="type"),
        "allow": None,
        "targets": {one.name: one for one in targets},
        "letters": Target(LETTERS, str(folder / "letters"), Shape(DEAD_LETTERS, "freeze"), ("date",)),
        "source_name": "memory:memory",
        "config": "cafe",
        "now": NOW,
    }
    return Recipe(**(given | changes))


def source(*values: bytes | None) -> MemorySource:
    made = MemorySource()
    made.add(*values)
    return made


def whole(of: MemorySource) -> list[Piece]:
    return [Piece(Slice(partition, 0, len(values))) for partition, values in of.partitions.items() if values]


def landed(folder: Path, values: Iterable[bytes | None], *targets: Target, **changes: Any) -> Landed:
    """All these messages, landed by one task."""
    given = source(*values)
    return land(whole(given), recipe(folder, given, *targets, **changes))


def rows(found: Landed, of: Target) -> list[dict[str, Any]]:
    """What a task wrote for a table, file by file."""
    return [row for file in found.files.get(of.name, []) for row in read(of, file)]


def letters(folder: Path, found: Landed) -> list[dict[str, Any]]:
    return rows(found, recipe(folder, MemorySource()).letters)


def read(of: Target, file: File) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.ParquetFile(Path(of.location) / file.path).read().to_pylist()
    assert len(found) == file.rows
    assert (Path(of.location) / file.path).stat().st_size == file.size
    return [row | file.partition for row in found]


def batch(rows: list[dict[str, Any]], schema: Mapping[str, str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, arrow_schema(columns(schema)))


def table(folder: Path, schema: Mapping[str, str], *files: list[dict[str, Any]], by: tuple[str, ...] = ()) -> Path:
    """A table of files with these rows each."""
    into = target(folder, "table", schema, partition_by=by)
    written: list[File] = []
    for rows_of_file in files:
        out = Files({}, fsync=False)
        out.add(into, batch(rows_of_file, schema))
        written += out.finish()["table"]
    share = Share("app", 1, 0, columns(schema), by, tuple(written), {"0": 1}, {}, is_new=True)
    DeltaTable(into.location, "app").create(share)
    return folder / "table"
