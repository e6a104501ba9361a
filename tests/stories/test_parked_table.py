"""A table that cannot be written does not stop the others, and catches up by itself, without the topic."""

from __future__ import annotations

import json
import shutil
import threading
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark import SparkContext

from penstock import PenstockError, Pipeline, Until, audit, load, run
from penstock.demo.broker import LocalBroker
from penstock.errors import Transient
from penstock.observe import Silence
from penstock.protocol.begin import Accepted
from penstock.protocol.entry import Entry
from tests.support.lake import count, rows
from tests.support.pipelines import write_pipeline
from tests.support.process import eventually
from tests.support.topics import Topics


def _send(topics: Topics, topic: str, start: int, count: int) -> None:
    values = [json.dumps({"type": "good" if n % 2 else "bad", "n": n}).encode() for n in range(start, start + count)]
    topics.produce(topic, values)


class _Watch(Silence):
    def __init__(self) -> None:
        self.waits, self.started = threading.Event(), threading.Event()
        self.told: list[str] = []

    def claimed(self, entry: Entry) -> None:
        self.started.set()

    def waiting(self, why: Transient) -> None:
        self.waits.set()

    def parked(self, name: str, reason: str) -> None:
        self.told.append(f"parked {name}: {reason}")

    def healed(self, name: str) -> None:
        self.told.append(f"healed {name}")


def test_parked_table_is_complete_after_it_heals_without_the_broker(spark: SparkContext, tmp_path: Path) -> None:
    broker = LocalBroker(tmp_path / "broker").start()
    topics = Topics(broker.servers)
    topic = topics.create()
    _send(topics, topic, 0, 100)
    pipeline = load(write_pipeline(tmp_path, broker.servers, topic, latency="100ms"))
    run(pipeline, until=Until(caught_up=True))
    lake = tmp_path / "lake"
    watch, until = _Watch(), Until()
    worker = threading.Thread(target=lambda: run(pipeline, until=until, observer=watch))
    worker.start()
    eventually(watch.started.is_set)
    DeltaTable(lake / "bad").alter.add_constraint({"closed": "n >= 0"})  # penstock cannot keep constraints
    _send(topics, topic, 100, 100)
    eventually(lambda: count(lake / "good") == 100)
    eventually(lambda: any(told.startswith("parked bad") for told in watch.told))
    assert count(lake / "bad") == 50
    broker.stop()
    eventually(watch.waits.is_set)

    DeltaTable(lake / "bad").alter.drop_constraint("closed")

    eventually(lambda: "healed bad" in watch.told)
    assert Counter(row["n"] for row in rows(lake / "bad")) == Counter(range(0, 200, 2))
    with LocalBroker(tmp_path / "broker", port=broker.port):
        until.batches = 0  # enough
        worker.join(60)
    assert not worker.is_alive()
    assert audit(pipeline).wrong == []


def test_table_that_this_engine_cannot_write_is_named_before_anything_is_read(
    topics: Topics, spark: SparkContext, tmp_path: Path
) -> None:
    topic = topics.create()
    _send(topics, topic, 0, 10)
    DeltaTable.create(tmp_path / "lake" / "bad", pa.schema({"n": pa.int64()})).alter.add_constraint({"closed": "n > 5"})
    pipeline = load(write_pipeline(tmp_path, topics.servers, topic))

    with pytest.raises(PenstockError, match=r"'bad'.*delta\.constraints\.closed.*\n.*") as refused:
        run(pipeline, until=Until(caught_up=True))

    assert refused.value.code == "table.unwritable"
    assert not list((tmp_path / "lake/_penstock").rglob("*.json"))
    assert not (tmp_path / "lake" / "good").exists()


def test_table_that_can_no_longer_be_written_or_read_at_a_restart_is_one_tables_trouble(
    topics: Topics, spark: SparkContext, tmp_path: Path
) -> None:
    topic = topics.create()
    _send(topics, topic, 0, 20)
    pipeline = load(write_pipeline(tmp_path, topics.servers, topic, tables="  park_after: 1s"))
    run(pipeline, until=Until(caught_up=True))
    lake = tmp_path / "lake"
    bad = DeltaTable(lake / "bad")
    bad.alter.add_constraint({"closed": "n >= 0"})
    _send(topics, topic, 20, 20)
    with pytest.raises(PenstockError, match=r"table\.unwritable"):
        run(pipeline, until=Until(caught_up=True))
    assert count(lake / "good") == 20
    bad.alter.drop_constraint("closed")

    newest = max((lake / "bad" / "_delta_log").glob("*.json"))
    content = newest.read_bytes()
    newest.write_bytes(b"torn")
    _send(topics, topic, 40, 20)
    with pytest.raises(PenstockError, match=r"table\.unavailable"):
        run(pipeline, until=Until(caught_up=True))
    assert count(lake / "good") == 30
    newest.write_bytes(content)

    run(pipeline, until=Until(caught_up=True))

    assert Counter(row["n"] for row in rows(lake / "bad")) == Counter(range(0, 60, 2))
    assert audit(pipeline).wrong == []


def test_table_whose_place_cannot_be_written_gets_its_files_when_it_can(
    topics: Topics, spark: SparkContext, tmp_path: Path
) -> None:
    topic = topics.create()
    _send(topics, topic, 0, 20)
    pipeline = load(write_pipeline(tmp_path, topics.servers, topic, tables="  park_after: 1s"))
    run(pipeline, until=Until(caught_up=True))
    lake = tmp_path / "lake"
    (lake / "bad").rename(tmp_path / "away")
    (lake / "bad").write_text("a file where a folder belongs")
    _send(topics, topic, 20, 20)
    with pytest.raises(PenstockError, match="bad"):
        run(pipeline, until=Until(caught_up=True))
    assert count(lake / "good") == 20
    topics.delete(topic)  # what waits is on disk already

    (lake / "bad").unlink()
    (tmp_path / "away").rename(lake / "bad")
    with pytest.raises(PenstockError, match="does not exist"):
        run(pipeline, until=Until(caught_up=True))
    topics.create(name=topic)
    run(pipeline, until=Until(caught_up=True), accepted=_this_topic(pipeline))

    assert Counter(row["n"] for row in rows(lake / "bad")) == Counter(range(0, 40, 2))
    assert not list((lake / "_penstock/shop/held").rglob("*.parquet"))
    assert audit(pipeline).wrong == []


def _this_topic(pipeline: Pipeline) -> Accepted:
    return Accepted(incarnations=frozenset({pipeline.source.identity().incarnation}))


def test_dropped_and_recreated_tables_are_parked_and_the_others_go_on(
    topics: Topics, spark: SparkContext, tmp_path: Path
) -> None:
    topic = topics.create()
    _send(topics, topic, 0, 20)
    pipeline = load(write_pipeline(tmp_path, topics.servers, topic))
    run(pipeline, until=Until(caught_up=True))
    lake = tmp_path / "lake"
    shutil.rmtree(lake / "bad")
    _send(topics, topic, 20, 20)

    with pytest.raises(PenstockError, match=r"table\.dropped"):
        run(pipeline, until=Until(caught_up=True))
    assert count(lake / "good") == 20

    DeltaTable.create(lake / "bad", DeltaTable(lake / "good").schema())
    _send(topics, topic, 40, 20)
    with pytest.raises(PenstockError, match=r"table\.(recreated|off-chain)"):
        run(pipeline, until=Until(caught_up=True))
    assert count(lake / "good") == 30
    assert count(lake / "bad") == 0
    assert any("bad" in wrong for wrong in audit(pipeline).wrong)


def test_restored_table_is_parked_instead_of_losing_batches(
    topics: Topics, spark: SparkContext, tmp_path: Path
) -> None:
    topic = topics.create()
    pipeline = load(write_pipeline(tmp_path, topics.servers, topic))
    for start in (0, 20, 40):
        _send(topics, topic, start, 20)
        run(pipeline, until=Until(caught_up=True))
    DeltaTable(tmp_path / "lake" / "bad").restore(0)
    _send(topics, topic, 60, 20)

    with pytest.raises(PenstockError, match=r"table\.restored"):
        run(pipeline, until=Until(caught_up=True))

    assert count(tmp_path / "lake" / "bad") == 10
    assert count(tmp_path / "lake" / "good") == 40


def test_optimize_and_foreign_appends_in_between_do_no_harm(
    topics: Topics, spark: SparkContext, tmp_path: Path
) -> None:
    topic = topics.create()
    pipeline = load(write_pipeline(tmp_path, topics.servers, topic))
    for start in (0, 20, 40):
        _send(topics, topic, start, 20)
        run(pipeline, until=Until(caught_up=True))
        DeltaTable(tmp_path / "lake" / "bad").optimize.compact()

    assert Counter(row["n"] for row in rows(tmp_path / "lake" / "bad")) == Counter(range(0, 60, 2))
    found = audit(pipeline)
    assert found.wrong == []
    assert any("OPTIMIZE" in note for note in found.notes)


def test_files_that_vanish_before_their_commit_are_landed_again(
    topics: Topics, spark: SparkContext, tmp_path: Path
) -> None:
    topic = topics.create()
    _send(topics, topic, 0, 20)
    pipeline = load(write_pipeline(tmp_path, topics.servers, topic))
    run(pipeline, until=Until(caught_up=True))
    lake = tmp_path / "lake"
    table = DeltaTable(lake / "bad")
    table.alter.add_constraint({"closed": "n >= 0"})
    _send(topics, topic, 20, 20)
    # The table is found unwritable only once the batch is decided: the claim is made before.
    before = set((lake / "bad").glob("*.parquet"))
    _land_while_closed(pipeline, table)
    pending = set((lake / "bad").glob("*.parquet")) - before
    assert pending
    for file in pending:
        file.unlink()

    run(pipeline, until=Until(caught_up=True))

    assert Counter(row["n"] for row in rows(lake / "bad")) == Counter(range(0, 40, 2))
    assert audit(pipeline).wrong == []


def _land_while_closed(pipeline: Pipeline, table: DeltaTable) -> None:
    """Run one batch with a table that closes right after the claim and opens again when the run is over."""
    table.alter.drop_constraint("closed")

    class Closing(Silence):
        def claimed(self, entry: object) -> None:
            DeltaTable(table.table_uri).alter.add_constraint({"closed": "n >= 0"})

    with pytest.raises(PenstockError, match=r"table\.unwritable"):
        run(pipeline, until=Until(caught_up=True), observer=Closing())
    DeltaTable(table.table_uri).alter.drop_constraint("closed")
