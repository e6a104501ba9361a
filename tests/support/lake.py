"""Reading tables with another engine than the one that wrote them: DuckDB's own Delta reader."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extensions


@cache
def _connection() -> Any:
    duckdb_extensions.import_extension("delta")
    connection = duckdb.connect()
    connection.load_extension("delta")
    return connection


def rows(table: Path | str, columns: str = "*", where: str = "true") -> list[dict[str, Any]]:
    """All rows of a table, without any deduplication."""
    found = _connection().cursor().execute(f"select {columns} from delta_scan('{table}') where {where}")
    listed: list[dict[str, Any]] = found.to_arrow_table().to_pylist()
    return listed


def count(table: Path | str, where: str = "true") -> int:
    return int(rows(table, "count(*) as n", where)[0]["n"])


def plan(table: Path | str, where: str) -> str:
    """What the engine did to answer a question: among others, how many files it opened."""
    asked = f"explain analyze select * from delta_scan('{table}') where {where}"
    return str(_connection().cursor().execute(asked).fetchall()[0][1])
