"""Maintenance of any Delta table, safe beside a penstock that writes to it.

A vacuum needs care: files that were landed and are not committed yet look like garbage to it. The rule:
nothing younger than an hour goes, no file goes that a decided batch still waits with, and less than the
table's own retention is kept only where a ledger tells what waits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from penstock.errors import ConfigError, PenstockError, refused, shown
from penstock.ledger import Ledger
from penstock.operate.waiting import Waiting, ledgers_beside, open_ledger, waiting
from penstock.protocol.entry import Entry
from penstock.storage import absolute
from penstock.tables.upkeep import Upkeep

HOUR = 3600.0
LONGEST = 100 * 365 * 24 * HOUR


@dataclass(frozen=True)
class Keep:
    """How long files stay that the table no longer refers to, and who else is asked about them."""

    seconds: float | None = None  # if not given, the table's own retention
    ledgers: Sequence[str] = ()  # that are not beside the table
    without: frozenset[str] = frozenset()  # apps that are no more

    def hours(self, table: Upkeep) -> int:
        return math.ceil(max(HOUR, table.retention if self.seconds is None else self.seconds) / HOUR)


def vacuum(table: Upkeep, keep: Keep, *, dry_run: bool) -> list[str]:
    """Delete what nobody needs any more; the files that were deleted, or would be."""
    _check_keep(keep)
    hours = keep.hours(table)
    found = _Ledgers(table, keep)
    if hours * HOUR < table.retention and not found.apps:
        raise _below_retention(table)
    waits = list(found.waiting())
    table.refresh()  # after the ledgers were read: a batch that waits no more is in the table now
    # By an hour more than will be deleted: what is near the limit now may be past it then.
    near = table.vacuum(hours - 1, dry_run=True)
    table.check_vacuum(near)
    for batch in waits:
        if needed := batch.files.intersection(near):
            raise _still_needed(table, batch, len(needed))
    return table.vacuum(hours, dry_run=dry_run)


def _check_keep(keep: Keep) -> None:
    if keep.seconds is not None and not HOUR <= keep.seconds <= LONGEST:
        raise refused(
            "usage.keep",
            "--keep must be at least 1h and at most 100 years",
            "write --keep 1h or more: a batch in flight is written down nowhere yet, so only the age of its files "
            "tells them from garbage",
        )


@dataclass
class _Ledgers:
    """The ledgers of all apps that write to a table."""

    table: Upkeep
    keep: Keep
    apps: dict[str, tuple[Ledger, Entry]] = field(init=False)

    def __post_init__(self) -> None:
        self.apps = {}
        for location in ledgers_beside(self.table.location, self.table.options):
            self._take(location)
        for location in map(absolute, self.keep.ledgers):
            if not self._take(location):
                raise refused("usage.ledger", f"there is no ledger at {location}", "correct --ledger")
        written = {commit.batch.app for commit in self.table.commits() if commit.batch}
        unknown = sorted(written - self.apps.keys() - self.keep.without)
        if unknown:
            raise _ledger_unknown(self.table, unknown[0])

    def _take(self, location: str) -> bool:
        found = open_ledger(location, self.table.options)
        if found is not None:
            self.apps[found[1].app] = found
        return found is not None

    def waiting(self) -> Iterator[Waiting]:
        for book, head in self.apps.values():
            yield from waiting(book, head, self.table.location, self.table.options)


def _below_retention(table: Upkeep) -> ConfigError:
    return refused(
        "usage.keep",
        f"--keep is below what {table.location} itself keeps, {table.retention / HOUR:g} hours, and no ledger "
        "beside it tells what its writers still need",
        "keep longer, or lower the table's delta.deletedFileRetentionDuration",
    )


def _ledger_unknown(table: Upkeep, app: str) -> ConfigError:
    return refused(
        "vacuum.ledger-unknown",
        f"app '{shown(app)}' writes to {table.location}, and its ledger is not beside the table: "
        "nobody can tell which files still wait to be committed",
        f"name the ledger with --ledger, or, if the app is no more, say --without {shown(app)}",
    )


def _still_needed(table: Upkeep, batch: Waiting, files: int) -> PenstockError:
    return PenstockError(
        "vacuum.still-needed",
        f"batch {batch.batch} of app '{shown(batch.app)}' was decided at {batch.time}, and {table.location} does not "
        f"carry it yet: {files} of its files are so old that a vacuum would delete them",
        "let penstock commit the batch first, or keep files for longer than they have waited, with an hour to spare",
    )
