"""When a batch is due and what it holds: rows, bytes or latency, whichever comes first, and never an empty one."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark import SparkContext

from penstock.batch import land_batch
from penstock.errors import Fenced
from penstock.protocol.plan import Limits, Measure, Pressure, backlog, plan
from tests.memory_shop import instance
from tests.support.ingest import Ingest
from tests.support.process import PATIENCE, eventually
from tests.support.topics import Topics

COLUMNS = pa.schema([("id", pa.int32()), ("date", pa.string())])
LATENCY = 1.0
NEITHER_ROWS_NOR_BYTES = ("-l", "1", "-m", "5000", "-b", "1000000")


@pytest.fixture
def ingest(topics: Topics, tmp_path: Path, spark: SparkContext) -> Ingest:
    return Ingest(topics, tmp_path)


def messages(ids: Iterable[int]) -> list[dict[str, Any]]:
    return [{"id": number, "date": "default"} for number in ids]


def rows_at(ingest: Ingest, version: int) -> int:
    return int(DeltaTable(ingest.table, version=version).count())


def test_flush_when_latency_expires(ingest: Ingest) -> None:
    ingest.make(COLUMNS, ["date"])
    began = time.monotonic()
    ingest.send(messages(range(1, 11)))

    with ingest.running(*NEITHER_ROWS_NOR_BYTES) as running:
        eventually(lambda: ingest.version == 1, PATIENCE)
        again = time.monotonic()
        ingest.send(messages(range(11, 21)))
        eventually(lambda: ingest.version == 2, PATIENCE)

    assert (rows_at(ingest, 1), rows_at(ingest, 2)) == (10, 20)
    assert ingest.ids() == list(range(1, 21))
    (first, _), (second, _) = running.watch.batches
    assert first - began >= LATENCY
    assert second - again >= LATENCY


def test_dont_write_an_empty_buffer(ingest: Ingest) -> None:
    ingest.make(COLUMNS, ["date"])
    ingest.send(messages(range(1, 11)))

    with ingest.running(*NEITHER_ROWS_NOR_BYTES) as running:
        eventually(lambda: ingest.version == 1, PATIENCE)
        enough = time.monotonic() + 2 * LATENCY
        eventually(lambda: running.watch.looks[-1] > enough, PATIENCE)
        assert ingest.version == 1

    assert [entry.number for entry in ingest.entries()] == [2]  # after the claim, and nothing after it
    assert len(ingest.rows()) == 10


@pytest.mark.parametrize("is_there", [True, False])
def test_flush_on_size_without_latency_expiration(ingest: Ingest, is_there: bool) -> None:
    """An hour to wait, ten messages to a batch. A table that is not there is made with the rows that are its first."""
    if is_there:
        ingest.make(COLUMNS, ["date"])

    with ingest.running("-l", "3600", "-m", "10", "-b", "20", "--partition_columns", "date") as running:
        ingest.send(messages(range(1, 11)))
        ingest.await_rows(10, running)
        ingest.send(messages([11]))
        looks = len(running.watch.looks)
        eventually(lambda: len(running.watch.looks) > looks + 1, PATIENCE)

    assert ingest.ids() == list(range(1, 11))
    assert ingest.version == (1 if is_there else 0)
    assert DeltaTable(ingest.table).metadata().partition_columns == ["date"]


def test_value_buffers_test(topics: Topics, tmp_path: Path, spark: SparkContext) -> None:
    """Messages of two partitions in turn: a batch knows range, count and last offset of each, and the
    last offsets stay when it is done."""
    ingest = Ingest(topics, tmp_path, partitions=2)
    for partition, offset in [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1)]:
        ingest.send([{"id": f"{partition}:{offset}"}], partition=partition)

    ingest.run("-e")
    ingest.run("-e")

    (batch,) = ingest.entries()
    assert batch.ranges == {"0": (0, 3), "1": (0, 2)}
    assert {partition: counts.rows for partition, counts in batch.counts.items()} == {"0": 3, "1": 2}
    assert ingest.ids() == ["0:0", "0:1", "0:2", "1:0", "1:1"]
    head = ingest.ledger.head()
    assert head is not None
    assert head.is_claim
    assert head.ends == {"0": 3, "1": 2}
    assert ingest.offsets() == {0: 2, 1: 1}


def test_value_buffers_conflict_offsets_test(ingest: Ingest) -> None:
    """An offset is taken once. Whoever has landed it and comes second is refused, and the next batch begins
    after it, also in a process that knows nothing but the ledger."""
    ingest.send({"id": number} for number in range(3))
    everything = Pressure(0.0, Measure(), hurry=True)

    with instance(ingest.pipeline()) as late:
        late.claim()
        slices = plan(backlog(late.head.ends, late.pipeline.source.bounds()), Limits(100, 10**6, 1.0), everything)
        landed = land_batch(slices, late.around.engine, late.recipe(), late.catalog)
        ingest.run("-e")
        with pytest.raises(Fenced):
            late.decide(slices, landed)
    assert ingest.ids() == [0, 1, 2]

    ingest.send({"id": number} for number in (3, 4))
    ingest.run("-e")

    assert [entry.ranges for entry in ingest.entries()] == [{"0": (0, 3)}, {"0": (3, 5)}]
    assert ingest.ids() == [0, 1, 2, 3, 4]
    assert ingest.offsets() == {0: 4}
    ingest.assert_proven()
