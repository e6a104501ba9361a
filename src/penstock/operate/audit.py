"""Audit: the promise, proved again from the ledger and the tables alone, whether the app runs or not.

Ranges without gap or overlap; every decided batch in its tables exactly once; every file present and
its rows counted again; and per partition, read = rows + dead letters + filtered + tombstones + skipped.
Kept messages that moved to a table of their own are in that table, and no longer where they were kept.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.catalog import Catalog
from penstock.ledger import Ledger
from penstock.pipeline import Pipeline
from penstock.places import LETTERS, UNROUTED
from penstock.protocol.entry import Counts, Entry, Portion, Range, Skips
from penstock.protocol.takeover import left
from penstock.running import catalog_of
from penstock.tables.account import TableAccount, account

PATIENCE = 5.0  # seconds for commits that are on their way while the app runs


@dataclass
class PartitionAccount:
    """One partition over all batches."""

    start: int
    end: int
    counts: Counts = field(default_factory=Counts)
    gaps: list[Range] = field(default_factory=list)


@dataclass
class TableLine:
    """One table over all batches."""

    batches: int = 0
    rows: int = 0
    files: int = 0
    version: int = -1
    recounted: int | None = None


@dataclass
class Audit:
    """What was found: the account, what is wrong, and what can no longer be told."""

    app: str
    entries: int = 0
    partitions: dict[str, PartitionAccount] = field(default_factory=dict)
    tables: dict[str, TableLine] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.wrong


def audit(pipeline: Pipeline) -> Audit:
    """Look at everything, and say what is not as it was promised."""
    found = Audit(pipeline.app)
    catalog = catalog_of(pipeline)
    ledger = Ledger(catalog.storage(catalog.ledger_location))
    numbers = ledger.numbers()
    if not numbers:
        found.wrong.append(f"there is no ledger at {ledger.location}: nothing was ever decided, or it is lost")
        return found
    if numbers != list(range(1, len(numbers) + 1)):
        found.wrong.append("numbers are missing from the ledger: " + ", ".join(map(str, _holes(numbers)[:10])))
        return found
    entries = [ledger.entry(number) for number in numbers]
    found.entries = len(entries)
    _ranges(entries, found)
    _skips(entries, found)
    _sums(entries, found)
    deadline = time.monotonic() + PATIENCE
    for name, number in sorted(entries[-1].heads.items()):
        state = _settled(name, number, catalog, deadline)
        _table(name, number, entries, state, found)
    return found


def _holes(numbers: list[int]) -> list[int]:
    return sorted(set(range(1, numbers[-1] + 1)) - set(numbers))


# --- the ledger ----------------------------------------------------------------------------------


def _ranges(entries: list[Entry], found: Audit) -> None:
    """Every batch starts where the one before ended; what was given up was given up in so many words."""
    at: dict[str, int] = {}
    for entry in entries:
        for partition, position in entry.rebased.items():
            at[partition] = position
            found.notes.append(f"entry {entry.number}: partition {partition} begins anew at {position}")
        for partition, (start, end) in entry.gaps.items():
            found.notes.append(
                f"entry {entry.number}: positions {start} to {end - 1} of partition {partition} were given up"
            )
            _line(found, partition, start).gaps.append((start, end))
            at[partition] = end
        if entry.number == 1:
            at = dict(entry.ends)
        if entry.rebased:  # partitions that another stream had are no longer there
            at = {partition: position for partition, position in at.items() if partition in entry.ends}
        for partition, (start, end) in entry.ranges.items():
            if at.setdefault(partition, 0) != start:  # one that appeared later begins at 0
                found.wrong.append(
                    f"entry {entry.number}: partition {partition} starts at {start}, not at {at[partition]} as it must"
                )
            line = _line(found, partition, start)
            line.end, at[partition] = end, end
            line.counts = line.counts + entry.counts.get(partition, Counts())
        if at != entry.ends:
            found.wrong.append(f"entry {entry.number}: its ends do not follow from its ranges")


def _line(found: Audit, partition: str, start: int) -> PartitionAccount:
    return found.partitions.setdefault(partition, PartitionAccount(start, start))


def _skips(entries: list[Entry], found: Audit) -> None:
    """Only what others had written before is skipped, and only until the app has passed it."""
    before: Skips = {}
    for entry in entries:
        if entry.is_claim and entry.skips != before:
            for name, positions in sorted(entry.skips.items()):
                told = ", ".join(f"{at} of partition {p}" for p, at in sorted(positions.items()))
                found.notes.append(f"entry {entry.number}: table {name} was written by others up to {told}: skipped")
        elif not entry.is_claim and entry.skips != left(before, entry.ends):
            found.wrong.append(f"entry {entry.number}: what it skips does not follow from the entry before")
        if entry.total.skipped and not before:
            found.wrong.append(f"entry {entry.number}: it skipped messages, and there was nothing to skip")
        before = entry.skips


def _sums(entries: list[Entry], found: Audit) -> None:
    """Per partition and batch every message is accounted for, and the tables got what was counted."""
    for entry in entries:
        for partition, counts in entry.counts.items():
            if not counts.accounted:
                found.wrong.append(
                    f"entry {entry.number}: partition {partition} read {counts.read} messages, accounts for others"
                )
        _adopted(entry, found)
        total = sum(entry.adopted.values(), entry.total)
        rows = sum(portion.rows for name, portion in entry.tables.items() if name != LETTERS)
        dead = entry.tables[LETTERS].rows if LETTERS in entry.tables else 0
        if (rows, dead) != (total.rows, total.dead):
            found.wrong.append(
                f"entry {entry.number}: its tables hold {rows} rows and {dead} dead letters, "
                f"its partitions {total.rows} and {total.dead}"
            )


def _adopted(entry: Entry, found: Audit) -> None:
    """Every kept message that moved is accounted for, and just those were taken away."""
    for type, counts in entry.adopted.items():
        told = f"entry {entry.number}: {counts.read} kept messages of type {type} moved to their table"
        found.notes.append(f"{told}: {counts.rows} rows, {counts.dead} dead letters")
        removed = sum(file.rows for file in entry.tables[UNROUTED].removed)
        if not counts.accounted or (removed != counts.read and not entry.stripped):
            found.wrong.append(f"{told}, {removed} were taken away, and it accounts for others")


# --- the tables ----------------------------------------------------------------------------------


def _table(name: str, head: int, entries: list[Entry], state: TableAccount | None, found: Audit) -> None:
    listed = {entry.number: entry.tables[name] for entry in entries if name in entry.tables}
    moved = {e.number: sum(counts.read for counts in e.adopted.values()) for e in entries if name == UNROUTED}
    line = found.tables[name] = TableLine(len(listed), _left(listed, moved))
    if state is None:
        found.wrong.append(f"table {name} is not there; batches {min(listed)} to {head} belong in it")
        return
    line.version, line.files = state.version, len(state.live)
    if state.carried < head:
        late = [number for number in listed if number > state.carried]
        found.wrong.append(
            f"table {name} does not carry batch {', '.join(map(str, late[:10]))} yet: it is parked, or the app is down"
        )
    if state.restored:
        found.wrong.append(f"table {name} was restored to an older version after batch {state.batches[-1]}")
    if state.missing:
        found.wrong.append(
            f"table {name} refers to {len(state.missing)} files that are gone, such as {state.missing[0]}"
        )
    expected = [number for number in listed if number <= state.carried]
    _batches(name, expected, state, found)
    line.recounted = sum(state.live.values())
    portions = {number: listed[number] for number in expected}
    _files(name, portions, state, found)
    _total(name, _left(portions, moved), state, found)


def _left(portions: Mapping[int, Portion], moved: Mapping[int, int]) -> int:
    """The rows that a table has after these batches: what they brought, without what they took away."""
    return sum(portion.rows - moved.get(number, 0) for number, portion in portions.items())


def _settled(name: str, head: int, catalog: Catalog, deadline: float) -> TableAccount | None:
    """The table's account; while the app runs, a commit may be on its way."""
    while True:
        state = account(catalog.location(name), catalog.app, catalog.options)
        if (state is not None and state.carried >= head) or time.monotonic() > deadline:
            return state
        time.sleep(0.2)


def _batches(name: str, expected: list[int], state: TableAccount, found: Audit) -> None:
    told = list(state.batches)
    reachable = [number for number in expected if not told or number >= told[0]]
    if len(told) != len(set(told)):
        twice = sorted({number for number in told if told.count(number) > 1})
        found.wrong.append(f"table {name} carries batch {', '.join(map(str, twice))} more than once")
    absent = sorted(set(reachable) - set(told))
    if absent and (state.since == 0 or told):
        found.wrong.append(f"table {name} never got batch {', '.join(map(str, absent[:10]))}")
    if len(reachable) < len(expected):
        found.notes.append(
            f"table {name}: its log tells of batches only since version {state.since}; older ones are proved by totals"
        )


def _files(name: str, portions: Mapping[int, Portion], state: TableAccount, found: Audit) -> None:
    for number in sorted(state.relanded & portions.keys()):
        found.notes.append(
            f"table {name}: files of batch {number} had vanished, and were landed again under other names"
        )
    removed = {file.path: number for number, portion in portions.items() for file in portion.removed}
    found.wrong += [
        f"table {name}: {path} is still part of the table, although batch {removed[path]} moved its rows to another"
        for path in sorted(removed.keys() & state.live.keys())
    ]
    for number, portion in portions.items():
        for file in portion.files or () if number not in state.relanded else ():
            if file.path in state.live:
                if state.live[file.path] != file.rows:
                    found.wrong.append(
                        f"table {name}, batch {number}: {file.path} holds {state.live[file.path]} rows, not {file.rows}"
                    )
            elif not state.rewritten and file.path not in state.missing and file.path not in removed:
                found.wrong.append(f"table {name}, batch {number}: {file.path} is not part of the table")


def _total(name: str, rows: int, state: TableAccount, found: Audit) -> None:
    counted = sum(state.live.values())
    gone = "took out files that had gone; their rows are lost"
    found.wrong += [f"table {name}: a repair (version {version}) {gone}" for version in state.repaired]
    if state.rewritten:
        found.notes.append(
            f"table {name}: others rewrote it ({state.rewritten}); since then rows cannot be recounted by batch"
        )
    elif state.foreign_commits:
        found.notes.append(f"table {name}: {state.foreign_commits} commits are not ours; its total includes their rows")
    elif counted != rows and not state.missing:
        found.wrong.append(f"table {name} holds {counted} rows, the ledger accounts for {rows}")
