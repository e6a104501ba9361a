"""Shares of batches with real files, and tables as other engines leave them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.arrow import arrow_schema
from penstock.contracts import File, Shape, Share, TableState
from penstock.landing.files import Files
from penstock.landing.recipe import Target
from penstock.schema import columns
from penstock.tables.delta import DeltaTable

X = {"x": "long"}
PLAIN = {"minReaderVersion": 1, "minWriterVersion": 2}
NOBODY = {  # nobody listens there
    "aws_endpoint": "http://127.0.0.1:1",
    "aws_allow_http": "true",
    "aws_region": "nowhere-1",
    "aws_access_key_id": "key",
    "aws_secret_access_key": "c4n4ry",
    "max_retries": "0",
}


def files(
    folder: Path, rows: Sequence[Mapping[str, Any]], schema: Mapping[str, str] = X, by: tuple[str, ...] = ()
) -> tuple[File, ...]:
    """Files with these rows, in a table's folder and in no table yet."""
    out, wanted = Files({}, fsync=False), columns(schema)
    out.add(Target("t", str(folder), Shape(wanted), by), pa.RecordBatch.from_pylist(list(rows), arrow_schema(wanted)))
    return tuple(out.finish()["t"])


def share(batch: int, written: tuple[File, ...], schema: Mapping[str, str] = X, **changes: Any) -> Share:
    """A table's share of a batch, of the app `shop`."""
    given: dict[str, Any] = {
        "app": "shop",
        "batch": batch,
        "previous": batch - 1,
        "schema": columns(schema),
        "partition_by": (),
        "files": written,
        "ends": {"0": batch * 10},
        "manifest": {"number": batch},
    }
    return Share(**(given | changes))


def look(table: DeltaTable) -> TableState:
    state = table.state()
    assert state is not None
    return state


def table_with(folder: Path, *batches: list[int], app: str = "shop") -> DeltaTable:
    """A table with these values of `x`, batch by batch."""
    table = DeltaTable(str(folder), app)
    for number, values in enumerate(batches, 1):
        give = share(number, files(folder, [{"x": value} for value in values]), app=app)
        state = table.state()
        if state is None:
            table.create(give)
        else:
            table.commit(state, give)
    return table


def left_by_others(
    folder: Path, protocol: Mapping[str, Any], settings: Mapping[str, str], metadata: Mapping[str, Any], kind: Any
) -> Path:
    """An empty table with one column `x`, whose log some other engine wrote."""
    field = {"name": "x", "type": kind, "nullable": True, "metadata": metadata}
    described = {
        "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": [field]}),
        "partitionColumns": [],
        "configuration": settings,
        "createdTime": 1_700_000_000_000,
    }
    told = {"timestamp": 1_700_000_000_000, "operation": "CREATE TABLE", "operationParameters": {}}
    actions = [{"commitInfo": told}, {"protocol": protocol}, {"metaData": described}]
    (folder / "_delta_log").mkdir(parents=True)
    (folder / "_delta_log" / f"{0:020d}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))
    return folder
