"""How a run looks: a live table on a terminal, one structured line a batch anywhere else."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, deque
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.errors import PenstockError, Transient
from penstock.observe import BatchReport, Silence
from penstock.operate.audit import Audit
from penstock.operate.check import Finding
from penstock.pipeline import Pipeline
from penstock.places import LETTERS
from penstock.protocol.entry import Counts, Entry

QUIET = 30.0  # seconds before the same trouble is told again


class LogLines(Silence):
    """One JSON object per line on stderr: for files, pods and people who grep."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._app = pipeline.app
        self._told: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._say("stopped", **({"code": why.code} if isinstance(why, PenstockError) else {}))

    def _say(self, event: str, **facts: Any) -> None:
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, "app": self._app, **facts}
        print(json.dumps(line, default=str), file=sys.stderr, flush=True)

    def claimed(self, entry: Entry) -> None:
        self._say(
            "started", entry=entry.number, instance=entry.instance, source=entry.source.name, positions=entry.ends
        )

    def batch(self, report: BatchReport) -> None:
        total, entry = report.entry.total, report.entry
        self._say(
            "batch",
            batch=entry.number,
            read=total.read,
            rows=total.rows,
            dead_letters=total.dead,
            filtered=total.filtered,
            tombstones=total.tombstones,
            skipped=total.skipped,
            bytes_read=total.bytes,
            bytes_written=report.bytes_written,
            lag=report.lag,
            tables={name: portion.rows for name, portion in entry.tables.items()},
            reasons=entry.reasons,
            seconds={name: round(value, 3) for name, value in report.seconds.items()},
            parked=sorted(report.parked),
        )

    def waiting(self, why: Transient) -> None:
        if time.monotonic() - self._told.get(why.code, -QUIET) >= QUIET:
            self._told[why.code] = time.monotonic()
            self._say("waiting", code=why.code, what=why.what, remedy=why.remedy)

    def warned(self, why: Transient) -> None:
        self._say("warning", code=why.code, what=why.what, remedy=why.remedy)

    def parked(self, name: str, reason: str) -> None:
        self._say("parked", table=name, reason=reason)

    def healed(self, name: str) -> None:
        self._say("healed", table=name)


class Screen(Silence):
    """Live progress on a terminal."""

    def __init__(self, pipeline: Pipeline, console: Console) -> None:
        self._pipeline, self._console = pipeline, console
        self._recent: deque[tuple[float, int]] = deque([(time.monotonic(), 0)], maxlen=20)
        self._rows: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._dead: Counter[str] = Counter()
        self._read = 0
        self._last: BatchReport | None = None
        self._trouble: dict[str, str] = {}
        self._note, self._warning = "starting Spark …", ""
        self._live = Live(self._picture(), console=console, refresh_per_second=4)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note = ""
        self._live.update(self._picture())
        self._live.__exit__(kind, why, trace)

    def claimed(self, entry: Entry) -> None:
        self._note = f"reading {entry.source.name} as ledger entry {entry.number}"
        self._live.update(self._picture())

    def batch(self, report: BatchReport) -> None:
        self._last, self._note = report, ""
        self._read += report.entry.total.read
        self._recent.append((time.monotonic(), self._read))
        self._dead.update(report.entry.reasons)
        for name, portion in report.entry.tables.items():
            self._rows[name] += portion.rows
            self._bytes[name] += sum(file.size for file in portion.files or ())
        self._live.update(self._picture())

    def waiting(self, why: Transient) -> None:
        self._note = f"waiting: {why.what}"
        self._live.update(self._picture())

    def warned(self, why: Transient) -> None:
        self._warning = why.what
        self._live.update(self._picture())

    def parked(self, name: str, reason: str) -> None:
        self._trouble[name] = reason
        self._live.update(self._picture())

    def healed(self, name: str) -> None:
        self._trouble.pop(name, None)
        self._live.update(self._picture())

    def _picture(self) -> RenderableType:
        head = Text(f"penstock {self._pipeline.app}", "bold")
        if self._last is not None:
            (then, before), (now, after) = self._recent[0], self._recent[-1]
            rate = (after - before) / (now - then) if now > then else 0
            seconds = sum(self._last.seconds.values())
            head.append(
                f"   {rate:,.0f} messages/s   lag {self._last.lag:,}"
                f"   batch {self._last.entry.number} ({seconds:.2f} s)",
                "not bold",
            )
        if self._note:
            head.append(f"   {self._note}", "not bold dim")
        if self._warning:
            head.append(f"\n{self._warning}", "not bold yellow")
        return Group(head, *([self._tables()] if self._rows or self._trouble else []))

    def _tables(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name, side in (("table", "left"), ("rows", "right"), ("written", "right"), ("", "left")):
            table.add_column(name, justify=side, overflow="fold")  # type: ignore[arg-type]
        for name in sorted(self._rows.keys() | self._trouble.keys()):
            label = "dead letters" if name == LETTERS else name
            note = f"parked: {self._trouble[name]}" if name in self._trouble else ""
            if name == LETTERS:
                note = note or ", ".join(f"{code} {count:,}" for code, count in self._dead.most_common(3))
            table.add_row(
                label,
                f"{self._rows[name]:,}",
                f"{self._bytes[name] / 1e6:,.1f} MB",
                Text(note, "red" if name in self._trouble else "dim"),
            )
        return table


def show_finding(finding: Finding, console: Console) -> None:
    mark = "[green]✓[/]" if finding.ok else "[red]✗[/]"
    console.print(f"{mark} {finding.what}: ", end="")
    console.print(finding.told, markup=False, highlight=False)


def show_audit(found: Audit, console: Console) -> None:
    """The account, as tables for people."""
    if found.partitions:
        console.print("read = rows + dead letters + filtered + tombstones + skipped", style="dim", highlight=False)
        console.print(_partitions(found))
    if found.tables:
        console.print(_account(found))
    for note in found.notes:
        console.print(f"note: {note}", markup=False, highlight=False, style="dim")
    for wrong in found.wrong:
        console.print(f"wrong: {wrong}", markup=False, highlight=False, style="red")
    verdict = "nothing lost, nothing doubled" if found.ok else f"{len(found.wrong)} thing(s) wrong"
    console.print(
        f"{found.app}: {found.entries} ledger entries, {verdict}", style="green" if found.ok else "red", highlight=False
    )


def _partitions(found: Audit) -> Table:
    """A terminal has eighty columns: what nobody had is left out, and no number is ever cut off."""
    table = Table(box=None, padding=(0, 1, 0, 0))
    total = sum((line.counts for line in found.partitions.values()), Counts())
    rare = [kind for kind in ("filtered", "tombstones", "skipped") if getattr(total, kind)]
    for name in ("partition", "positions", "read", "rows", "dead\nletters", *rare):
        table.add_column(name, justify="right", overflow="fold")
    for partition, line in sorted(found.partitions.items(), key=lambda item: (len(item[0]), item[0])):
        numbers = [getattr(line.counts, kind) for kind in ("read", "rows", "dead", *rare)]
        table.add_row(partition, f"{line.start:,} … {line.end:,}", *(f"{number:,}" for number in numbers))
    return table


def _account(found: Audit) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("table", "batches", "rows", "recounted", "files", "version"):
        table.add_column(name, justify="left" if name == "table" else "right", overflow="fold")
    for name, line in found.tables.items():
        recounted = "?" if line.recounted is None else f"{line.recounted:,}"
        label = "dead letters" if name == LETTERS else name
        table.add_row(label, f"{line.batches:,}", f"{line.rows:,}", recounted, f"{line.files:,}", str(line.version))
    return table
