"""A Delta table in the hands of its operator: missing files, small files, old files, checkpoints.

Nothing here writes rows. Positions, schema and every file that is not spoken of stay as they are.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

import deltalake
import pyarrow as pa
from deltalake.exceptions import DeltaError, TableNotFoundError

from penstock.errors import PenstockError, in_one_line, refused, shown
from penstock.storage import Storage
from penstock.tables.delta import relative
from penstock.tables.delta_log import AT_ONCE, LogCommit, Partition, newest_first
from penstock.tables.names import DEFAULT_PARTITION

WEEK = 7 * 24 * 3600.0
_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400, "millisecond": 0.001}
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:")
_DAMAGED = ("Json error", "log segment", "contiguous", "metadata or protocol", "Checkpoint", "Parquet", "UTF-8")


@dataclass(frozen=True)
class Where:
    """`column = value` on a partition column. The value None is the partition without one."""

    column: str
    value: str | None

    @classmethod
    def of(cls, column: str, value: str) -> Where:
        return cls(column, None if value == DEFAULT_PARTITION else value)

    @property
    def filters(self) -> list[tuple[str, str, str]]:
        """For the engine: never a text that it would have to parse. Nothing stands for null."""
        return [(self.column, "=", "" if self.value is None else self.value)]

    def __str__(self) -> str:
        return f"{shown(self.column)} = {'null' if self.value is None else shown(self.value)}"


@dataclass(frozen=True)
class ActiveFile:
    """A file that a table refers to."""

    path: str
    size: int
    rows: int | None
    partition: Partition = field(default_factory=dict)


@dataclass(frozen=True)
class Rewrite:
    """What an optimize did, or would do."""

    removed: int = 0
    added: int = 0
    bytes: int = 0  # of the files that are rewritten


class Upkeep:
    """One table, opened for maintenance."""

    def __init__(self, location: str, options: Mapping[str, str] | None = None) -> None:
        self.location, self.options = location, dict(options or {})
        self._handle = self._open()
        self.storage = Storage(location, self.options)  # not before: it would make the folder

    def _open(self) -> deltalake.DeltaTable:
        try:
            return deltalake.DeltaTable(self.location, storage_options=self.options)
        except TableNotFoundError as cause:
            raise PenstockError(
                "table.missing",
                f"there is no Delta table at {self.location}: {in_one_line(cause)}",
                "check the location. If the table's _delta_log was deleted, repair cannot help: "
                "put it back from a backup",
            ) from cause
        except (DeltaError, OSError) as cause:
            if not any(word in str(cause) for word in _DAMAGED):
                raise self._failed("open", cause) from cause
            raise PenstockError(
                "table.log-damaged",
                f"the log of {self.location} cannot be read: {in_one_line(cause)}",
                "repair helps where data files are gone, not where files of the log are: "
                "put _delta_log back from a backup",
            ) from cause

    # --- looking

    def refresh(self) -> None:
        """Look at the table as it is now."""
        self._handle = self._open()

    @property
    def version(self) -> int:
        return int(self._handle.version())

    @property
    def partition_by(self) -> list[str]:
        return list(self._handle.metadata().partition_columns)

    @property
    def retention(self) -> float:
        """Seconds for which the table's own setting keeps files that were removed."""
        written = self._handle.metadata().configuration.get("delta.deletedFileRetentionDuration", "")
        found = re.findall(r"(\d+)\s+([a-z]+?)s?\b", written.lower())
        return sum(int(count) * _UNITS.get(unit, 0) for count, unit in found) if found else WEEK

    def commits(self, limit: int | None = None) -> Iterator[LogCommit]:
        return newest_first(self.storage, self.version, limit)

    def active(self) -> list[ActiveFile]:
        """The files of the table, in the order in which the engine plans with them."""
        with self._calling("read the files of"):
            actions = pa.table(self._handle.get_add_actions())
        wanted = [name for name in ("path", "size_bytes", "num_records", "partition") if name in actions.column_names]
        return [
            ActiveFile(
                path=unquote(row["path"]),
                size=row["size_bytes"],
                rows=row.get("num_records"),
                partition={k: None if v is None else str(v) for k, v in (row.get("partition") or {}).items()},
            )
            for row in actions.select(wanted).to_pylist()
        ]

    def check_where(self, where: Where | None) -> None:
        """Refuse a filter that the table cannot answer, before anything is done."""
        if where is None:
            return
        if where.column not in self.partition_by:
            known = ", ".join(map(shown, self.partition_by))
            raise refused(
                "usage.not-a-partition",
                f"'{shown(where.column)}' is not a partition column of {self.location}",
                f"it is partitioned by {known}" if known else "it is not partitioned: leave the filter away",
            )
        try:
            self._handle.file_uris(file_pruning_predicate=where.filters)
        except DeltaError as cause:
            raise refused(
                "usage.partition-value",
                f"{where} cannot be asked of {self.location}: {in_one_line(cause)}",
                "write the value as the column's type has it, such as 42 or 2026-01-31",
            ) from cause

    # --- files that are gone

    def missing(self) -> list[ActiveFile]:
        """The active files that a listing of the whole table does not show, and that nobody finds by name either."""
        active = {file.path: file for file in self.active()}
        foreign = [path for path in active if _ABSOLUTE.match(path)]
        if foreign:
            raise PenstockError(
                "table.absolute-paths",
                f"{self.location} refers to files by absolute paths, such as {shown(foreign[0])}: it is a clone, "
                "and its files are another table's",
                "repair the table that the files belong to",
            )
        with self._calling("list the files of"):
            gone = sorted(self._handle.repair(dry_run=True)["files_removed"])
        named = [path for path in gone if not {"", ".", ".."} & set(path.split("/"))]
        with ThreadPoolExecutor(AT_ONCE) as lookers:
            absent = {path for found in lookers.map(lambda path: self.storage.missing([path]), named) for path in found}
        doubtful = sorted(set(gone) - absent)
        if doubtful:
            raise PenstockError(
                "repair.doubtful",
                f"a listing of {self.location} does not show {len(doubtful)} files that may be there all the same, "
                f"such as {shown(doubtful[0])}",
                "nothing was changed; look for the files, and at how the table's log spells their paths",
            )
        return [active[path] for path in gone]

    def drop_missing(self) -> frozenset[str]:
        """Take the missing files out of the table, in one commit; which they were."""
        with self._calling("take missing files out of"):
            return frozenset(self._handle.repair()["files_removed"])

    # --- small files

    def would_rewrite(self, target: int, where: Where | None, gone: Sequence[ActiveFile] = ()) -> Rewrite:
        """What `optimize` would do, once these files are out of the table."""
        left_out, chosen = {file.path for file in gone}, self._chosen(where)
        partitions: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
        for file in self.active():
            if file.path not in left_out and (chosen is None or file.path in chosen):
                partitions[tuple(file.partition.values())].append(file.size)
        bins = [group for sizes in partitions.values() for group in _bins(sizes, target) if len(group) > 1]
        return Rewrite(sum(map(len, bins)), len(bins), sum(map(sum, bins)))

    def _chosen(self, where: Where | None) -> set[str] | None:
        if where is None:
            return None
        uris = self._handle.file_uris(file_pruning_predicate=where.filters)
        return {relative(uri, self.location) for uri in uris}

    def optimize(self, target: int, where: Where | None) -> Rewrite:
        """Put small files together, in one commit that changes no row; nothing to do is no commit."""
        with self._calling("optimize"):
            told = self._handle.optimize.compact(
                partition_filters=where.filters if where else None,
                target_size=target,
            )
        if not told["numFilesRemoved"]:
            return Rewrite()
        size = json.loads(told["filesRemoved"])["totalSize"]
        return Rewrite(int(told["numFilesRemoved"]), int(told["numFilesAdded"]), int(size))

    # --- old files, and the log

    def vacuum(self, hours: int, *, dry_run: bool) -> list[str]:
        """Delete the files that no version within these hours refers to, and what writers that died left behind."""
        with self._calling("vacuum"):
            found = self._handle.vacuum(hours, dry_run=dry_run, enforce_retention_duration=False, full=True)
        return sorted(found)

    def check_vacuum(self, paths: Sequence[str]) -> None:
        """Refuse a vacuum that would delete what the table needs, whatever the engine thinks of it."""
        active = {file.path for file in self.active()}
        log = [path for path in paths if path.startswith("_delta_log/") or path in active]
        vectors = [path for path in paths if re.search(r"(^|/)deletion_vector_[^/]*\.bin$", path)]
        if log:
            raise PenstockError(
                "vacuum.unsafe",
                f"a vacuum of {self.location} would delete {shown(log[0])}, which the table needs",
                "do not vacuum this table with delta-rs",
            )
        if vectors:
            raise PenstockError(
                "vacuum.deletion-vectors",
                f"a vacuum of {self.location} would delete deletion vectors such as {shown(vectors[0])}: "
                "delta-rs does not tell which of them are in use",
                "vacuum this table with the engine that wrote them",
            )

    def checkpoint(self) -> int:
        with self._calling("checkpoint"):
            self._handle.create_checkpoint()
        return self.version

    @contextmanager
    def _calling(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (DeltaError, OSError) as cause:
            raise self._failed(verb, cause) from cause

    def _failed(self, verb: str, cause: Exception) -> PenstockError:
        return PenstockError(
            "table.upkeep-failed",
            f"could not {verb} {self.location}: {in_one_line(cause)}",
            "look at the storage and at who else changes the table, and run again",
        )


def _bins(sizes: Sequence[int], target: int) -> list[list[int]]:
    """How delta-rs puts the files of a partition together: neighbours only, up to the target size, and a file
    that is larger than that ends a group."""
    bins: list[list[int]] = [[]]
    full = 0
    for size in sizes:
        if size > target or full + size > target:
            bins.append([])
            full = 0
        if size <= target:
            bins[-1].append(size)
            full += size
    return bins
