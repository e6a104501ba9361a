"""What a run tells becomes numbers."""

from __future__ import annotations

import sys
from typing import Any, Literal

import pytest

from penstock.contracts import Bound, File
from penstock.errors import broker_away
from penstock.metrics.numbers import Numbers
from penstock.metrics.watch import Metering
from penstock.observe import BatchReport, TableReport
from penstock.places import LETTERS
from penstock.protocol.entry import Counts
from tests.entries import batch, claim, portion


class Watched:
    """A metering observer, and its numbers by name and labels."""

    def __init__(self) -> None:
        self.numbers = Numbers("shop", 10)
        self.told = Metering(self.numbers)

    def __call__(self, name: str, *labels: str) -> float | None:
        given = ("shop", *labels) if name.startswith("penstock.") else labels
        return self.numbers.snapshot().values.get((name, given))

    def timing(self, name: str, *labels: str) -> tuple[int, float]:
        given = ("shop", *labels) if name.startswith("penstock.") else labels
        found = self.numbers.snapshot().timings[name, given]
        return found.count, found.total


@pytest.fixture
def watched() -> Watched:
    return Watched()


def _report(number: int = 2, **more: Any) -> BatchReport:
    entry = batch(
        number,
        counts={
            "0": Counts(read=100, rows=80, dead=10, filtered=6, tombstones=3, skipped=1, bytes=5_000),
            "1": Counts(read=10, rows=10, bytes=500),
        },
        reasons={"json.malformed": 4, "value.misfit": 3, "transform.failed": 2, "type.missing": 1},
        tables={
            "order": portion(rows=70, files=[File("a", 1_000, 40), File("b", 500, 30)]),
            "page": portion(rows=20, files=[File("c", 300, 20)]),
            LETTERS: portion(rows=10, files=[File("d", 200, 10)]),
        },
        **more,
    )
    return BatchReport(entry, 0, {"plan": 0.1, "land": 2.0, "decide": 0.3}, 2_000)


def test_a_batch_is_counted_by_what_became_of_its_messages(watched: Watched) -> None:
    watched.told.batch(_report(2))
    watched.told.batch(_report(3))

    assert watched("penstock.batches") == 2
    found = {what: watched(f"penstock.messages.{what}") for what in ("read", "filtered", "tombstones", "skipped")}
    assert found == {"read": 220, "filtered": 12, "tombstones": 6, "skipped": 2}
    assert watched("messages.skipped") == 2
    assert watched("penstock.bytes.read") == 11_000
    assert watched("messages.size") == 50


def test_tables_get_rows_files_and_bytes(watched: Watched) -> None:
    watched.told.batch(_report())

    assert [watched("penstock.rows", name) for name in ("order", "page", LETTERS)] == [70, 20, 10]
    assert [watched("penstock.bytes.written", name) for name in ("order", "page", LETTERS)] == [1_500, 300, 200]
    assert [watched("delta.write.size", name) for name in ("order", "page", LETTERS)] == [1_500, 300, 200]
    assert [watched("recordbatch.completed", name) for name in ("order", "page")] == [2, 1]
    assert [watched("recordbatch.started", name) for name in ("order", "page")] == [2, 1]
    assert watched("delta.add.size", "order") == 750


def test_dead_letters_are_told_by_code_and_by_whether_they_could_be_parsed(watched: Watched) -> None:
    watched.told.batch(_report())

    assert watched("penstock.dead_letters", "json.malformed") == 4
    assert watched("penstock.dead_letters", "value.misfit") == 3
    assert watched("messages.deserialization.failed") == 4
    assert watched("messages.transform.failed") == 2
    assert watched("messages.deserialization.completed") == 6  # parsed, and still no rows
    assert watched("messages.deserialization.completed", "order") == 70
    assert watched("messages.transform.completed", "order") == 70
    assert watched("messages.deserialization.completed", LETTERS) is None


def test_phases_are_timed(watched: Watched) -> None:
    watched.told.batch(_report())
    watched.told.table(TableReport("order", "took", seconds=0.5))

    assert watched.timing("penstock.phase.duration", "plan") == (1, 0.1)
    assert watched.timing("penstock.phase.duration", "land") == (1, 2.0)
    assert watched.timing("penstock.phase.duration", "decide") == (1, 0.3)
    assert watched.timing("penstock.phase.duration", "commit") == (1, 0.5)
    assert watched.timing("deserialize.duration") == (1, 2.0)
    assert watched.timing("recordbatch.write_duration", "order") == (1, 2.0)
    assert watched.timing("transform.duration", "page") == (1, 2.0)
    assert watched.timing("delta.write.duration", "order") == (1, 0.5)


def test_lag_is_what_the_source_has_and_batches_or_tables_have_not(watched: Watched) -> None:
    watched.told.claimed(claim(1, ends={"0": 10, "1": 0}))
    watched.told.looked({"0": Bound(0, 110, 0), "1": Bound(0, 30, 0), "2": Bound(0, 5, 0)}, {"0": 10, "1": 0})

    assert [watched("penstock.lag.buffer", p) for p in "012"] == [100, 30, 5]
    found = [watched(f"buffer.lag.{what}") for what in ("num_partitions", "total", "max", "min")]
    assert found == [3, 135, 100, 5]
    assert watched("penstock.lag.write", "0") is None  # what tables had at the start is not known yet

    watched.told.settled({"0": 10, "1": 0})
    watched.told.batch(_report(ends={"0": 100, "1": 30, "2": 5}))
    assert [watched("penstock.lag.buffer", p) for p in "012"] == [10, 0, 0]
    assert [watched("penstock.lag.write", p) for p in "012"] == [100, 30, 5]
    found = [watched(f"delta.write.lag.{what}") for what in ("num_partitions", "total", "max", "min")]
    assert found == [3, 135, 100, 5]

    watched.told.settled({"0": 100, "1": 30, "2": 5})
    assert watched("delta.write.lag.total") == 10


def test_a_table_that_took_its_batch_before_the_batch_was_told_waits_for_nothing(watched: Watched) -> None:
    steps: list[Literal["gives", "took", "owes"]] = ["gives", "took", "owes"]
    for step in steps:
        watched.told.table(TableReport("order", step, seconds=0.1 if step == "took" else None))

    assert watched("penstock.table.waiting", "order") == 0
    assert watched("buffered.record_batches", "order") == 0


def test_commits_are_counted_as_they_go(watched: Watched) -> None:
    watched.told.table(TableReport("order", "owes", 3))
    watched.told.table(TableReport("order", "gives"))
    watched.told.table(TableReport("order", "fails"))
    watched.told.table(TableReport("order", "gives"))
    watched.told.table(TableReport("order", "took", seconds=0.0))
    watched.told.table(TableReport("order", "took"))  # it had that one already

    found = [watched(f"delta.write.{what}", "order") for what in ("started", "completed", "failed")]
    assert found == [2, 1, 1]
    assert (watched("penstock.commits", "order"), watched("penstock.commits.failed", "order")) == (1, 1)
    assert watched("penstock.table.waiting", "order") == 1


def test_trouble_is_told_until_it_is_over(watched: Watched) -> None:
    watched.told.waiting(broker_away("here:1", "no"))
    watched.told.parked("order", "it is gone")
    assert (watched("penstock.waiting"), watched("penstock.waits", "source.unavailable")) == (1, 1)
    assert watched("penstock.table.parked", "order") == 1

    watched.told.looked({}, {})
    watched.told.healed("order")
    assert (watched("penstock.waiting"), watched("penstock.waits", "source.unavailable")) == (0, 1)
    assert watched("penstock.table.parked", "order") == 0


def test_memory_does_not_grow_with_batches(watched: Watched) -> None:
    def size() -> int:
        now = watched.numbers.snapshot()
        return len(now.values) + sum(sys.getsizeof(told.recent) + len(told.recent) for told in now.timings.values())

    for number in range(2, 202):
        watched.told.batch(_report(number))
    before = size()
    for number in range(202, 1_202):
        watched.told.batch(_report(number))

    assert size() == before
