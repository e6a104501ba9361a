"""`penstock ingest` from its options to rows: a topic of its own, a base for tables, and runs in this process."""

from __future__ import annotations

import json
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from penstock import Until, audit, run
from penstock.cli.main import main
from penstock.config.ingest import IngestRequest, request
from penstock.contracts import Bound, Positions
from penstock.ledger import Ledger
from penstock.observe import BatchReport, Observer, Silence
from penstock.pipeline import Pipeline
from penstock.protocol.entry import Entry
from penstock.storage import Storage
from tests.support.kdi import offsets
from tests.support.lake import count, rows
from tests.support.process import PATIENCE, eventually
from tests.support.topics import Topics


def typed(line: str) -> int:
    """A command line as somebody types it, by the entry point of `penstock`, in this process: its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as ended:
            main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def is_table(location: Path) -> bool:
    return DeltaTable.is_deltatable(str(location))


def held(location: Path) -> int:
    """How many rows there are, in a table that may not be there yet."""
    return count(location) if is_table(location) else 0


class Watch(Silence):
    """What a run told, with the time of it."""

    def __init__(self, on_look: Callable[[], None] | None = None) -> None:
        self.claims: list[Entry] = []
        self.looks: list[float] = []
        self.batches: list[tuple[float, Entry]] = []
        self._on_look = on_look

    def claimed(self, entry: Entry) -> None:
        self.claims.append(entry)

    def looked(self, bounds: Mapping[str, Bound], ends: Positions) -> None:
        self.looks.append(time.monotonic())
        if self._on_look and len(self.looks) == 1:
            self._on_look()

    def batch(self, report: BatchReport) -> None:
        self.batches.append((time.monotonic(), report.entry))


class Running:
    """A run in a thread of its own, until it ends by itself or is told to."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.watch, self.until = Watch(), Until()
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(pipeline,), daemon=True)
        self._thread.start()

    def _run(self, pipeline: Pipeline) -> None:
        try:
            run(pipeline, until=self.until, observer=self.watch)
        except Exception as why:  # told to whoever waits for the end
            self.failure = why

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def stop(self) -> None:
        """No batch after the one in hand."""
        self.until.batches = 0
        self._thread.join(PATIENCE)
        assert self.ended, "the run did not end"


class Ingest:
    """A topic and its tables, as one command line of `penstock ingest` after the other sees them."""

    def __init__(self, topics: Topics, folder: Path, partitions: int = 1, app: str = "ingest") -> None:
        self.topics, self.partitions, self.app = topics, partitions, app
        self.topic, self.base = topics.create(partitions), folder / "lake"
        self.table = self.base / self.topic

    # --- messages

    def send(self, messages: Iterable[Any], partition: int | None = None) -> None:
        """To one partition, or to all of them in turn. Bytes are sent as they are, values as JSON."""
        sent = [message if isinstance(message, bytes) else json.dumps(message).encode() for message in messages]
        self.topics.produce(self.topic, sent, partition=partition, partitions=self.partitions)

    # --- runs

    def tokens(self, *more: str) -> list[str]:
        """The least that a command line needs, and more."""
        place = ["--topic", self.topic, "--table_base_uri", str(self.base)]
        return [*place, "-k", self.topics.servers, "-a", self.app, *more]

    def asked(self, *more: str) -> IngestRequest:
        return request(self.tokens(*more), {})

    def pipeline(self, *more: str) -> Pipeline:
        return self.asked(*more).pipeline({})

    def run(self, *more: str, observer: Observer | None = None) -> None:
        """As the command does it, until it ends by itself."""
        own = self.asked(*more).own
        assert own.caught_up or own.batches, "it would not end"
        run(self.pipeline(*more), until=Until(own.caught_up, own.batches), observer=observer)

    @contextmanager
    def running(self, *more: str) -> Iterator[Running]:
        """The same without an end: it runs while the test goes on."""
        started = Running(self.pipeline(*more))
        try:
            yield started
        finally:
            started.stop()
        if started.failure is not None:
            raise started.failure

    # --- tables

    def make(self, columns: pa.Schema, partition_by: Sequence[str] = ()) -> None:
        """A table without rows, made by somebody else: its version 0."""
        DeltaTable.create(self.table, columns, partition_by=list(partition_by))

    def rows(self, columns: str = "*") -> list[dict[str, Any]]:
        return rows(self.table, columns)

    def ids(self) -> list[Any]:
        """Of all rows, each as often as it is there."""
        return sorted(row["id"] for row in self.rows("id"))

    @property
    def version(self) -> int:
        """The newest version of the table; -1 if there is no table."""
        return DeltaTable(self.table).version() if is_table(self.table) else -1

    def await_rows(self, number: int, *running: Running) -> None:
        """Until so many rows are there, as long as one of these runs goes on."""

        def there() -> bool:
            assert not running or not all(each.ended for each in running), [each.failure for each in running]
            return held(self.table) >= number

        eventually(there, PATIENCE, tell=lambda: f"{held(self.table)} rows, {[each.failure for each in running]}")

    def offsets(self) -> dict[int, int]:
        """The last offset of each partition, where kafka-delta-ingest looks for it."""
        return offsets(self.table, self.app, self.partitions)

    # --- what was decided

    @property
    def ledger(self) -> Ledger:
        return Ledger(Storage(str(self.base / "_penstock" / self.app), {}))

    def entries(self) -> list[Entry]:
        """Every batch that was decided."""
        found = [self.ledger.entry(number) for number in self.ledger.numbers()]
        return [entry for entry in found if not entry.is_claim]

    def assert_proven(self, *more: str) -> None:
        """The audit finds nothing wrong."""
        found = audit(self.pipeline(*more))
        assert found.ok, found.wrong
