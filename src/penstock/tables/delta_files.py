"""The files of a Delta table, as they go into its log and come out of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from urllib.parse import unquote

import deltalake
import pyarrow as pa
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from penstock.contracts import File
from penstock.errors import TableRefused, Unavailable, in_one_line


def adding(file: File) -> AddAction:
    return AddAction(file.path, file.size, file.partition, _now(), True, file.stats)


def removing(file: File) -> RemoveAction:
    """By its path as it is: one that is escaped already would name another file, and remove nothing."""
    return RemoveAction(file.path, True, _now(), file.size, file.partition)


def held(handle: deltalake.DeltaTable, values: Mapping[str, str]) -> list[File]:
    """The files with these partition values. Rows that are only marked as deleted would be taken for rows."""
    try:
        actions = pa.table(handle.get_add_actions())
        marked = pa.table(handle.deletion_vectors()).num_rows if _may_mark(handle) else 0
    except (DeltaError, OSError) as cause:
        raise Unavailable("table.unavailable", f"could not read {handle.table_uri}: {in_one_line(cause)}") from cause
    if marked:
        told = f"{marked} of its files have deletion vectors, which penstock does not read"
        raise TableRefused("table.deletion-vectors", told, "purge them: REORG TABLE … APPLY (PURGE)")
    wanted = [name for name in ("path", "size_bytes", "num_records", "partition") if name in actions.column_names]
    found = [
        File(unquote(row["path"]), row["size_bytes"], row.get("num_records") or 0, dict(row.get("partition") or {}))
        for row in actions.select(wanted).to_pylist()
    ]
    return sorted((file for file in found if values.items() <= file.partition.items()), key=lambda file: file.path)


def _may_mark(handle: deltalake.DeltaTable) -> bool:
    return "deletionVectors" in (handle.protocol().reader_features or ())


def _now() -> int:
    return time.time_ns() // 10**6
