"""The commits of a Delta table as its log tells them, newest first: who added which files, and with which batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import msgspec

from penstock.storage import Storage

AT_ONCE = 32  # calls to the storage that run together, where there is one for each of many files

Partition = Mapping[str, str | None]


@dataclass(frozen=True)
class Batch:
    """A batch of an app, and the positions of its source that it brought to all its tables."""

    app: str
    number: int
    source: str = ""
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class LogFile:
    """A file that a commit added or removed."""

    path: str
    partition: Partition
    rows: int | None = None


@dataclass(frozen=True)
class LogCommit:
    """One version of a table."""

    version: int
    time: datetime | None
    operation: str
    app: str
    batch: Batch | None
    added: tuple[LogFile, ...]
    removed: tuple[LogFile, ...]
    transactions: Mapping[str, int]

    @property
    def rows(self) -> int | None:
        """The rows of the files it added; None where the log does not say."""
        counted = [file.rows for file in self.added]
        return None if None in counted else sum(rows or 0 for rows in counted)


def newest_first(storage: Storage, version: int, limit: int | None = None) -> Iterator[LogCommit]:
    """The commits from this version back, to the oldest that the log still holds."""
    oldest = -1 if limit is None else max(-1, version - limit)
    with ThreadPoolExecutor(AT_ONCE) as readers:
        for start in range(version, oldest, -AT_ONCE):
            for found in readers.map(lambda v: _commit(storage, v), range(start, max(start - AT_ONCE, oldest), -1)):
                if found is None:
                    return
                yield found


def _commit(storage: Storage, version: int) -> LogCommit | None:
    """One commit; None if it was cleaned up, or is no longer whole."""
    text = storage.get(f"_delta_log/{version:020d}.json")
    if text is None:
        return None
    try:
        actions = [msgspec.json.decode(line) for line in text.splitlines() if line.strip()]
    except msgspec.DecodeError:
        return None
    told = _only(actions, "commitInfo")
    info: dict[str, Any] = told[0] if told else {}
    return LogCommit(
        version=version,
        time=_time(info),
        operation=str(info.get("operation", "")),
        app=str(info.get("penstock.app") or info.get("penstock.evolves") or ""),
        batch=_batch(info),
        added=tuple(_file(action) for action in _only(actions, "add")),
        removed=tuple(_file(action) for action in _only(actions, "remove")),
        transactions={str(action["appId"]): int(action["version"]) for action in _only(actions, "txn")},
    )


def _only(actions: list[Any], kind: str) -> list[Any]:
    return [action[kind] for action in actions if isinstance(action.get(kind), dict)]


def _time(info: Mapping[str, Any]) -> datetime | None:
    stamp = info.get("inCommitTimestamp", info.get("timestamp"))
    return datetime.fromtimestamp(stamp / 1000, UTC) if isinstance(stamp, int) else None


def _batch(info: Mapping[str, Any]) -> Batch | None:
    """What a commit of penstock says of itself. Anybody may have written it: what is not as it must be is left out."""
    app, number = info.get("penstock.app"), info.get("penstock.batch")
    if not isinstance(app, str) or not isinstance(number, int):
        return None
    try:
        told = msgspec.json.decode(str(info.get("penstock.manifest", "{}")), type=_Manifest)
    except msgspec.DecodeError:
        told = _Manifest()
    return Batch(app, number, told.source.get("name", ""), told.ranges)


class _Manifest(msgspec.Struct, frozen=True):
    source: dict[str, str] = {}
    ranges: dict[str, tuple[int, int]] = {}


class _Stats(msgspec.Struct, frozen=True):
    numRecords: int | None = None  # noqa: N815


def _file(action: Mapping[str, Any]) -> LogFile:
    try:
        rows = msgspec.json.decode(str(action.get("stats") or "{}"), type=_Stats).numRecords
    except msgspec.DecodeError:
        rows = None
    return LogFile(unquote(str(action["path"])), action.get("partitionValues") or {}, rows)
