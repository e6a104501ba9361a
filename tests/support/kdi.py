"""Tables as kafka-delta-ingest leaves them: rows, and per partition the last offset that is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake


def ingest(
    table: Path, app: str, offsets: Mapping[int, int], rows: Sequence[Mapping[str, Any]], columns: pa.Schema
) -> None:
    """One commit of kafka-delta-ingest: these rows, and for every partition the offset of the last one."""
    ids = [Transaction(f"{app}-{partition}", offset) for partition, offset in offsets.items()]
    partition_by = ["color"] if "color" in columns.names else None
    write_deltalake(
        table,
        pa.Table.from_pylist(list(rows), columns),
        mode="append",
        partition_by=partition_by,
        commit_properties=CommitProperties(app_transactions=ids),
    )


def offsets(table: Path, app: str, partitions: int = 1) -> dict[int, int]:
    """What kafka-delta-ingest would find in a table: it goes on after these offsets."""
    handle = DeltaTable(table)
    found = {partition: handle.transaction_version(f"{app}-{partition}") for partition in range(partitions)}
    return {partition: offset for partition, offset in found.items() if offset is not None}
