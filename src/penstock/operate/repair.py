"""Repair: take files that are gone out of a table, say what was lost with them, then put small files together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.errors import PenstockError
from penstock.operate.origin import Origin, trace
from penstock.operate.progress import Steps
from penstock.tables.delta_log import Batch
from penstock.tables.upkeep import ActiveFile, Rewrite, Upkeep, Where


@dataclass(frozen=True)
class Lost:
    """A file that a table referred to and that is gone, with what its log tells of it."""

    file: ActiveFile
    origin: Origin


@dataclass
class Repair:
    """What was done, or would be."""

    location: str
    dry_run: bool
    lost: list[Lost] = field(default_factory=list)
    rewrite: Rewrite = field(default_factory=Rewrite)
    version: int = -1  # of the table, at the end
    failed: PenstockError | None = None  # why the optimize was not done; what was lost is told all the same

    @property
    def rows(self) -> int:
        """As many as are known to be lost; files without statistics are not in it."""
        return sum(lost.file.rows or 0 for lost in self.lost)

    @property
    def uncounted(self) -> int:
        return sum(lost.file.rows is None for lost in self.lost)

    @property
    def batches(self) -> list[Batch]:
        """The batches that brought what was lost: what to load again."""
        found = {key: batch for lost in self.lost for key, batch in lost.origin.batches.items()}
        return [found[key] for key in sorted(found)]


def repair(table: Upkeep, *, target: int, where: Where | None, dry_run: bool, steps: Steps) -> Repair:
    """Two commits at most: one without the files that are gone, one with the small files put together."""
    done = Repair(table.location, dry_run)
    table.check_where(where)
    steps.step("listing every file of the table")
    gone = table.missing()
    if gone:
        steps.step(f"asking the log where {len(gone)} missing files came from")
        done.lost = _told(table, gone)
    if gone and not dry_run:
        steps.step("taking the missing files out of the table")
        done.lost = _confirmed(done.lost, table)
    steps.step("looking for files to put together" if dry_run else "putting small files together")
    try:
        done.rewrite = table.would_rewrite(target, where, gone) if dry_run else table.optimize(target, where)
    except PenstockError as why:
        done.failed = why
    done.version = table.version
    return done


def _told(table: Upkeep, gone: Sequence[ActiveFile]) -> list[Lost]:
    origins = trace(table.commits(), [file.path for file in gone])
    return [Lost(file, origins[file.path]) for file in gone]


def _confirmed(lost: list[Lost], table: Upkeep) -> list[Lost]:
    """Those that the commit took out: what came back meanwhile is not lost, what vanished meanwhile is."""
    active = {file.path: file for file in table.active()}
    taken, known = table.drop_missing(), {each.file.path: each for each in lost}
    late = [active[path] for path in sorted(taken - known.keys())]
    return [each for each in lost if each.file.path in taken] + _told(table, late)
