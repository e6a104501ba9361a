"""An observer that counts: what a run tells becomes numbers."""

from __future__ import annotations

import time
from collections.abc import Mapping

from penstock.contracts import Bound, Positions
from penstock.errors import Transient
from penstock.metrics.numbers import Numbers
from penstock.observe import BatchReport, Silence, TableReport
from penstock.places import LETTERS
from penstock.protocol.entry import Counts, Entry, Portion

# Dead letters with these codes could be parsed, but not become rows. All other codes belong to a format.
PARSED = frozenset({"column", "number", "partition", "schema", "transform", "type", "value"})
UNPARSED = frozenset({"schema.no-id", "schema.unknown-id", "schema.kind", "schema.unusable"})


class Metering(Silence):
    """Counts what it is told. It asks nobody anything and waits for nothing."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self._source: dict[str, int] = {}  # partition → the next position to be written there
        self._decided: Positions = {}
        self._written: Positions | None = None  # not known before the tables have what was decided before the start

    def claimed(self, entry: Entry) -> None:
        self._decided = entry.ends

    def looked(self, bounds: Mapping[str, Bound], ends: Positions) -> None:
        self._source = {partition: bound.next for partition, bound in bounds.items()}
        self._decided = ends
        self._numbers.put("penstock.waiting", 0)
        self._tell_lag()

    def settled(self, ends: Positions) -> None:
        self._written = ends
        self._tell_lag()

    def batch(self, report: BatchReport) -> None:
        entry, numbers = report.entry, self._numbers
        self._decided = entry.ends
        numbers.add("penstock.batches")
        numbers.put("penstock.last_batch.timestamp_seconds", time.time())
        numbers.put("penstock.waiting", 0)
        self._count(entry.total)
        self._count_reasons(entry.reasons)
        numbers.add("penstock.unknown_fields", entry.unknown_fields)
        for name, portion in entry.tables.items():
            self._count_portion(name, portion, report.seconds.get("land", 0.0))
        for phase, seconds in report.seconds.items():
            numbers.took("penstock.phase.duration", seconds, phase)
        numbers.took("deserialize.duration", report.seconds.get("land", 0.0))
        self._tell_lag()

    def table(self, report: TableReport) -> None:
        name, numbers = report.name, self._numbers
        match report.step:
            case "owes":
                self._waiting(name, report.batches)
            case "gives":
                numbers.add("delta.write.started", 1, name)
            case "fails":
                numbers.add("delta.write.failed", 1, name)
                numbers.add("penstock.commits.failed", 1, name)
            case "took":
                self._waiting(name, -1)
                if report.seconds is not None:
                    numbers.add("delta.write.completed", 1, name)
                    numbers.add("penstock.commits", 1, name)
                    numbers.took("delta.write.duration", report.seconds, name)
                    numbers.took("penstock.phase.duration", report.seconds, "commit")

    def waiting(self, why: Transient) -> None:
        self._numbers.add("penstock.waits", 1, why.code)
        self._numbers.put("penstock.waiting", 1)

    def parked(self, name: str, reason: str) -> None:  # noqa: ARG002
        self._numbers.put("penstock.table.parked", 1, name)

    def healed(self, name: str) -> None:
        self._numbers.put("penstock.table.parked", 0, name)

    # --- one batch

    def _count(self, total: Counts) -> None:
        numbers = self._numbers
        numbers.add("messages.skipped", total.skipped)
        for what in ("read", "filtered", "tombstones", "skipped"):
            numbers.add(f"penstock.messages.{what}", getattr(total, what))
        numbers.add("penstock.bytes.read", total.bytes)
        if total.read:
            numbers.put("messages.size", round(total.bytes / total.read))

    def _count_reasons(self, reasons: Mapping[str, int]) -> None:
        for code, letters in reasons.items():
            self._numbers.add("penstock.dead_letters", letters, code)
            family = code.partition(".")[0]
            if family == "transform":
                self._numbers.add("messages.transform.failed", letters)
            outcome = "completed" if family in PARSED and code not in UNPARSED else "failed"
            self._numbers.add(f"messages.deserialization.{outcome}", letters)

    def _count_portion(self, name: str, portion: Portion, landing: float) -> None:
        numbers, files = self._numbers, portion.files or ()
        size = sum(file.size for file in files)
        numbers.add("penstock.rows", portion.rows, name)
        numbers.add("penstock.bytes.written", size, name)
        numbers.add("delta.write.size", size, name)
        for step in ("started", "completed"):
            numbers.add(f"recordbatch.{step}", len(files), name)
        numbers.took("recordbatch.write_duration", landing, name)
        if files:
            numbers.put("delta.add.size", round(size / len(files)), name)
        if name != LETTERS:
            numbers.add("messages.deserialization.completed", portion.rows, name)
            numbers.add("messages.transform.completed", portion.rows, name)
            numbers.took("transform.duration", landing, name)

    # --- how far behind

    def _waiting(self, name: str, more: int) -> None:
        """Told as changes: whether a batch is reported before or after a table took it makes no difference."""
        self._numbers.add("buffered.record_batches", more, name)
        self._numbers.add("penstock.table.waiting", more, name)

    def _tell_lag(self) -> None:
        self._tell("buffer.lag", "penstock.lag.buffer", self._behind(self._decided))
        if self._written is not None:
            self._tell("delta.write.lag", "penstock.lag.write", self._behind(self._written))

    def _behind(self, positions: Positions) -> dict[str, int]:
        return {partition: max(0, end - positions.get(partition, 0)) for partition, end in self._source.items()}

    def _tell(self, overall: str, each: str, behind: dict[str, int]) -> None:
        lags = behind.values()
        self._numbers.put(f"{overall}.num_partitions", len(behind))
        self._numbers.put(f"{overall}.total", sum(lags))
        self._numbers.put(f"{overall}.max", max(lags, default=0))
        self._numbers.put(f"{overall}.min", min(lags, default=0))
        for partition, lag in behind.items():
            self._numbers.put(each, lag, partition)
