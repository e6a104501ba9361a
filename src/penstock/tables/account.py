"""What a Delta table's own log and files say of an app's batches: for audits, which trust nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.exceptions import DeltaError, TableNotFoundError

from penstock.errors import Unavailable, in_one_line
from penstock.storage import Storage
from penstock.tables.delta import relative, transaction

# What leaves the rows of earlier batches where they are.
_HARMLESS = {
    "WRITE",
    "CREATE TABLE",
    "ADD COLUMN",
    "SET TBLPROPERTIES",
    "STREAMING UPDATE",
    "VACUUM START",
    "VACUUM END",
}


@dataclass(frozen=True)
class TableAccount:
    """One table, looked at from outside."""

    version: int
    carried: int
    batches: tuple[int, ...]  # of this app, as the log lists them, oldest first
    relanded: frozenset[int]  # those that came with other files than the ledger lists, because those had vanished
    since: int  # the oldest version that the log still tells about
    rewritten: str  # the newest operation that moved or removed rows of earlier batches; empty if none
    repaired: tuple[int, ...]  # versions in which files that had gone were taken out, with their rows
    restored: bool  # somebody took the table back since the newest of these batches
    live: Mapping[str, int]  # file → rows, counted in the file itself
    missing: tuple[str, ...]  # files that the table refers to and that are not there
    foreign_commits: int  # of other writers, and of other apps


def account(location: str, app: str, options: Mapping[str, str]) -> TableAccount | None:
    """The account of a table; None if there is no table."""
    try:
        handle = deltalake.DeltaTable(location, storage_options=dict(options))
        history = handle.history()
        paths = [relative(uri, location) for uri in handle.file_uris()]
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as cause:
        raise Unavailable("table.unavailable", f"could not read {location}: {in_one_line(cause)}") from cause
    storage = Storage(location, options)
    missing = set(storage.missing(paths))
    ours = [commit for commit in history if commit.get("penstock.app") == app]
    moved = [c for c in history if c["operation"] not in _HARMLESS and not c["operation"].startswith("CREATE")]
    since_ours = history[: history.index(ours[0])] if ours else []
    return TableAccount(
        version=handle.version(),
        carried=handle.transaction_version(transaction(app)) or 0,
        batches=tuple(int(commit["penstock.batch"]) for commit in reversed(ours)),
        relanded=frozenset(int(commit["penstock.batch"]) for commit in ours if commit.get("penstock.relanded")),
        since=min((int(commit["version"]) for commit in history), default=0),
        rewritten=f"{moved[0]['operation']} in version {moved[0]['version']}" if moved else "",
        repaired=tuple(int(commit["version"]) for commit in history if commit["operation"] == "FSCK"),
        restored=any(commit["operation"] == "RESTORE" for commit in since_ours),
        live={path: _rows(storage, path) for path in paths if path not in missing},
        missing=tuple(sorted(missing)),
        foreign_commits=sum(c.get("penstock.app") != app and "penstock.evolves" not in c for c in history),
    )


def _rows(storage: Storage, path: str, guess: int = 65_536) -> int:
    """The rows of a Parquet file, from its footer: length and magic are its last eight bytes."""
    tail = storage.tail(path, guess)
    length = int.from_bytes(tail[-8:-4], "little") + 8
    if length > len(tail):
        tail = storage.tail(path, length)
    return int(pq.read_metadata(pa.BufferReader(tail)).num_rows)
