"""What maintenance did to a table, as lines for people and as values for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.errors import shown
from penstock.operate.repair import Lost, Repair
from penstock.tables.delta_log import Batch, LogCommit
from penstock.tables.upkeep import Rewrite


def show_repair(done: Repair, console: Console) -> None:
    """Everything that was lost is named: nobody can look it up any more."""
    _say(console, f"{done.location}: {_sum(done)}", "red" if done.lost else "green")
    for lost in done.lost:
        _say(console, f"  {_lost(lost)}")
    if done.batches:
        _say(console, "what to load again:")
        for batch in done.batches:
            _say(console, f"  {_batch(batch)}")
    if done.failed is None:
        show_rewrite(done.rewrite, console, dry_run=done.dry_run)
    _say(console, f"the table is at version {done.version}", "dim")


def _sum(done: Repair) -> str:
    if not done.lost:
        return "no file is missing"
    unknown = f", and those of {done.uncounted} files whose rows nobody counted" if done.uncounted else ""
    fate = "would be taken out of the table" if done.dry_run else "were taken out of the table"
    return f"{len(done.lost):,} files are gone and {fate}, with {done.rows:,} rows{unknown}"


def _lost(lost: Lost) -> str:
    file, origin = lost.file, lost.origin
    rows = "rows not counted" if file.rows is None else f"{file.rows:,} rows"
    values = [f"{shown(name)}={'null' if value is None else shown(value)}" for name, value in file.partition.items()]
    parts = [shown(file.path, 500), rows, f"{file.size:,} bytes", *values, f"from {_origin(lost)}"]
    when = f" ({origin.time:%Y-%m-%d %H:%M:%S} UTC)" if origin.time else ""
    return ", ".join(parts) + (f", version {origin.version}{when}" if origin.version is not None else "")


def _origin(lost: Lost) -> str:
    origin = lost.origin
    told = [f"batch {number} of {shown(app)}" for app, number in sorted(origin.batches)]
    told += ["another writer"] if origin.others else []
    told += [] if origin.complete else ["commits that are no longer in the log"]
    return (" and " if origin.exact else " or ").join(told)


def _batch(batch: Batch) -> str:
    positions = [f"partition {shown(p)} positions {start} to {end - 1}" for p, (start, end) in batch.ranges.items()]
    return f"batch {batch.number} of {shown(batch.app)}: {shown(batch.source)} {', '.join(positions)}".rstrip(": ")


def show_rewrite(rewrite: Rewrite, console: Console, *, dry_run: bool = False) -> None:
    if not rewrite.removed:
        _say(console, "optimize: nothing to do")
        return
    verb = "would put" if dry_run else "put"
    _say(
        console,
        f"optimize: {verb} {rewrite.removed:,} files of {rewrite.bytes:,} bytes together into {rewrite.added:,}",
    )


def show_vacuum(files: list[str], console: Console, *, dry_run: bool) -> None:
    for path in files if dry_run else ():
        _say(console, shown(path, 500))
    _say(console, f"vacuum: {len(files):,} files {'would be' if dry_run else 'were'} deleted")


def show_history(commits: Iterable[LogCommit], console: Console) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name, is_number in (("version", 1), ("time (UTC)", 0), ("operation", 0), ("app", 0), ("batch", 1)):
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for name in ("added", "removed", "rows"):
        table.add_column(name, justify="right", overflow="fold")
    for commit in commits:
        cells = (
            str(commit.version),
            f"{commit.time:%Y-%m-%d %H:%M:%S}" if commit.time else "?",
            commit.operation,
            commit.app,
            str(commit.batch.number) if commit.batch else "",
            f"{len(commit.added):,}",
            f"{len(commit.removed):,}",
            "?" if commit.rows is None else f"{commit.rows:,}",
        )
        table.add_row(*(Text(shown(cell)) for cell in cells))
    console.print(table)


def _say(console: Console, line: str, style: str | None = None) -> None:
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


# --- for programs --------------------------------------------------------------------------------


def repair_values(done: Repair) -> dict[str, Any]:
    return {
        "table": done.location,
        "dry_run": done.dry_run,
        "version": done.version,
        "lost": {
            "files": [_lost_values(lost) for lost in done.lost],
            "rows": done.rows,
            "files_without_a_count": done.uncounted,
            "batches": [_batch_values(batch) for batch in done.batches],
        },
        "optimize": {
            "files_removed": done.rewrite.removed,
            "files_added": done.rewrite.added,
            "bytes": done.rewrite.bytes,
            "failed": done.failed.what if done.failed else None,
        },
    }


def _lost_values(lost: Lost) -> dict[str, Any]:
    file, origin = lost.file, lost.origin
    return {
        "path": file.path,
        "rows": file.rows,
        "bytes": file.size,
        "partition": dict(file.partition),
        "version": origin.version,
        "time": origin.time.isoformat() if origin.time else None,
        "batches": [{"app": app, "batch": number} for app, number in sorted(origin.batches)],
        "exact": origin.exact and origin.complete,
        "other_writers": origin.others,
    }


def _batch_values(batch: Batch) -> dict[str, Any]:
    ranges = {partition: list(span) for partition, span in batch.ranges.items()}
    return {"app": batch.app, "batch": batch.number, "source": batch.source, "ranges": ranges}


def commit_values(commit: LogCommit) -> dict[str, Any]:
    return {
        "version": commit.version,
        "time": commit.time.isoformat() if commit.time else None,
        "operation": commit.operation,
        "app": commit.app or None,
        "batch": commit.batch.number if commit.batch else None,
        "files_added": len(commit.added),
        "files_removed": len(commit.removed),
        "rows_added": commit.rows,
        "transactions": dict(commit.transactions),
    }
