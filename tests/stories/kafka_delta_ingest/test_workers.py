"""Two workers of one job: one of them is the one, the other learns of it, and every message is there once."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import SparkContext

from penstock.errors import Fenced
from tests.support.ingest import Ingest, Running, held
from tests.support.process import PATIENCE, Process, eventually
from tests.support.topics import Topics

PARTITIONS, EMAILS = 4, 200
TRANSFORMS = ("-t", "date: substr(timestamp,`0`,`10`)", "_kafka_offset: kafka.offset")
SMALL = ("-l", "2", "-m", "10", "-b", "370", "-c", "-K", "auto.offset.reset=earliest", *TRANSFORMS)

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def emails(topics: Topics, tmp_path: Path, spark: SparkContext) -> Ingest:
    made = Ingest(topics, tmp_path, PARTITIONS, app="emails_test")
    texts = [(name, pa.string()) for name in ("id", "sender", "recipient")]
    made.make(pa.schema([*texts, ("timestamp", pa.timestamp("us", "UTC")), ("date", pa.string())]), ["date"])
    return made


def email(number: int) -> dict[str, str]:
    return {
        "id": str(number),
        "sender": f"sender-{number}@example.com",
        "recipient": f"recipient-{number}@example.com",
        "timestamp": f"2021-06-{1 + number % 2:02d}T10:00:00Z",
    }


@pytest.fixture
def workers() -> Iterator[list[Running]]:
    started: list[Running] = []
    yield started
    for worker in started:
        worker.stop()


def assert_each_is_there_once(emails: Ingest) -> None:
    found: list[dict[str, Any]] = emails.rows("id, sender, date, strftime(timestamp, '%Y-%m-%d') as day")
    assert Counter(row["id"] for row in found) == Counter(str(number) for number in range(EMAILS))
    assert all(row["sender"] == f"sender-{row['id']}@example.com" and row["date"] == row["day"] for row in found)
    assert sum(emails.offsets().values()) == EMAILS - PARTITIONS
    emails.assert_proven(*SMALL)


def test_when_both_workers_started_simultaneously(emails: Ingest, workers: list[Running]) -> None:
    workers.extend(Running(emails.pipeline(*SMALL)) for _ in range(2))
    eventually(lambda: all(worker.watch.claims for worker in workers), PATIENCE)
    emails.send(map(email, range(EMAILS)))

    emails.await_rows(EMAILS, *workers)
    eventually(lambda: any(worker.ended for worker in workers), PATIENCE)

    older, newer = sorted(workers, key=lambda worker: worker.watch.claims[-1].number)
    assert isinstance(older.failure, Fenced)
    assert (older.ended, newer.ended) == (True, False)
    assert_each_is_there_once(emails)


def test_when_rebalance_happens(emails: Ingest, workers: list[Running]) -> None:
    """A second worker comes while the first is in the middle."""
    workers.append(Running(emails.pipeline(*SMALL)))
    emails.send(map(email, range(EMAILS // 2)))
    emails.await_rows(1, workers[0])
    workers.append(Running(emails.pipeline(*SMALL)))
    emails.send(map(email, range(EMAILS // 2, EMAILS)))

    emails.await_rows(EMAILS, *workers)
    eventually(lambda: workers[0].ended, PATIENCE)

    assert isinstance(workers[0].failure, Fenced)
    assert workers[0].failure.exit_status == 3
    assert not workers[1].ended
    assert_each_is_there_once(emails)


# --- with processes, and more messages -----------------------------------------------------------

TOTAL, STEP = 200_000, 2_000


class Flow:
    """Messages that keep coming, up to where the story is."""

    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest
        self._sent = 0
        self._upto = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def allow(self, count: int) -> None:
        """So many more may be sent."""
        for _ in range(count // STEP):
            self._upto.release()

    @property
    def sent(self) -> int:
        return self._sent

    def _run(self) -> None:
        pace = threading.Event()
        while self._sent < TOTAL:
            self._upto.acquire()
            numbers = range(self._sent, self._sent + STEP)
            self._ingest.send({"id": number, "text": f"message {number}"} for number in numbers)
            self._sent += STEP
            pace.wait(0.05)  # a stream, not one heap


def test_instances_started_together_and_one_killed_and_replaced(topics: Topics, tmp_path: Path) -> None:
    ingest = Ingest(topics, tmp_path, PARTITIONS, app="flow")
    options = ("-l", "1", "-m", "10000", "-b", "1000", "-t", "at: kafka.offset")
    line = ("ingest", *ingest.tokens(*options))
    flow = Flow(ingest)
    together = [Process(*line), Process(*line)]
    try:
        flow.allow(20_000)
        ingest.await_rows(1)
        flow.allow(30_000)
        eventually(lambda: any(each.process.poll() is not None for each in together), PATIENCE)
        (fenced,) = [each for each in together if each.process.poll() is not None]
        (newer,) = [each for each in together if each is not fenced]
        assert fenced.wait().status == 3, fenced.printed()[1]

        flow.allow(70_000)
        before = held(ingest.table)
        eventually(lambda: held(ingest.table) > before, PATIENCE, lambda: newer.printed()[1])
        newer.kill()
        killed_at = flow.sent
        third = Process(*line)
        together.append(third)
        before = held(ingest.table)
        eventually(lambda: held(ingest.table) > before, PATIENCE, lambda: third.printed()[1])
        flow.allow(TOTAL - 120_000)
        ingest.await_rows(TOTAL)
        third.signal(signal.SIGTERM)
        ended = third.wait()
    finally:
        for each in together:
            each.kill()

    assert ended.status == 0, ended.err
    assert 0 < killed_at < 120_000  # messages came while nobody was there
    assert Counter(row["id"] for row in ingest.rows("id")) == Counter(range(TOTAL))
    assert sum(ingest.offsets().values()) == TOTAL - PARTITIONS
    ingest.assert_proven(*options)
