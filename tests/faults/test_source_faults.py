"""Faults 15 to 23 of the matrix: what a broker can do to a pipeline, with a real one."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from penstock import PenstockError, audit, load
from penstock.demo.broker import LocalBroker
from penstock.errors import ConfigError, SourceLost
from penstock.pipeline import Pipeline
from penstock.protocol.begin import Accepted
from penstock.sources import kafka
from penstock.testing import land_all
from tests.support.lake import rows
from tests.support.pipelines import write_pipeline
from tests.support.topics import Topics


def _send(topics: Topics, topic: str, numbers: range, partition: int = 0) -> None:
    values = [json.dumps({"type": "event", "n": n}).encode() for n in numbers]
    topics.produce(topic, values, partition=partition)


def _landed(folder: Path) -> Counter[int]:
    return Counter(row["n"] for row in rows(folder / "lake" / "event", "n"))


def _pipeline(topics: Topics, topic: str, folder: Path) -> Pipeline:
    return load(write_pipeline(folder, topics.servers, topic))


def test_deleted_topic_stops_the_app(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    _send(topics, topic, range(10))
    pipeline = _pipeline(topics, topic, tmp_path)
    land_all(pipeline)
    topics.delete(topic)

    with pytest.raises(SourceLost, match=topic) as lost:
        land_all(pipeline)

    assert lost.value.exit_status == 4


@pytest.mark.parametrize("count", [5, 10, 25], ids=["fewer", "equal", "more"])
def test_recreated_topic_stops_the_app_however_much_it_holds(topics: Topics, tmp_path: Path, count: int) -> None:
    topic = topics.create()
    _send(topics, topic, range(10))
    pipeline = _pipeline(topics, topic, tmp_path)
    land_all(pipeline)
    topics.delete(topic)
    topics.create(name=topic)
    _send(topics, topic, range(100, 100 + count))

    with pytest.raises(SourceLost, match=r"source\.recreated") as lost:
        land_all(pipeline)
    assert "partition 0 position 10" in str(lost.value)

    new_id = pipeline.source.identity().incarnation
    assert f"--accept-gap topic={new_id}" in str(lost.value)
    land_all(pipeline, accepted=Accepted(incarnations=frozenset({new_id})))
    assert _landed(tmp_path) == Counter([*range(10), *range(100, 100 + count)])
    found = audit(pipeline)
    assert found.wrong == []
    assert any("begins anew" in note for note in found.notes)


def test_expired_records_are_named_and_given_up_only_on_the_operators_word(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(partitions=2)
    _send(topics, topic, range(10))
    pipeline = _pipeline(topics, topic, tmp_path)
    land_all(pipeline)
    _send(topics, topic, range(10, 30))
    for answer in topics.admin.delete_records([TopicPartition(topic, 0, 25)]).values():
        answer.result(30)

    with pytest.raises(SourceLost, match="partition 0 positions 10 to 24") as lost:
        land_all(pipeline)
    assert "--accept-gap 0:10-24" in lost.value.remedy
    with pytest.raises(SourceLost):
        land_all(pipeline, accepted=Accepted(gaps={"0": (10, 20)}))  # that is not what was lost

    land_all(pipeline, accepted=Accepted(gaps={"0": (10, 25)}))

    assert _landed(tmp_path) == Counter([*range(10), *range(25, 30)])
    found = audit(pipeline)
    assert found.wrong == []
    assert found.partitions["0"].gaps == [(10, 25)]


def test_new_partitions_are_read_from_their_beginning(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    _send(topics, topic, range(10))
    path = write_pipeline(tmp_path, topics.servers, topic)
    path.write_text(path.read_text().replace("start: earliest", "start: latest"))
    pipeline = load(path)
    land_all(pipeline)
    topics.widen(topic, 3)
    _send(topics, topic, range(10, 20), partition=2)

    land_all(pipeline)

    assert _landed(tmp_path) == Counter(range(10, 20))


def test_expired_records_of_a_new_partition_are_named_and_not_skipped(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    _send(topics, topic, range(10))
    pipeline = _pipeline(topics, topic, tmp_path)
    land_all(pipeline)
    topics.widen(topic, 2)
    _send(topics, topic, range(10, 40), partition=1)
    for answer in topics.admin.delete_records([TopicPartition(topic, 1, 20)]).values():
        answer.result(30)

    with pytest.raises(SourceLost, match="partition 1 positions 0 to 19") as lost:
        land_all(pipeline)
    assert lost.value.code == "source.expired"

    land_all(pipeline, accepted=Accepted(gaps={"1": (0, 20)}))

    assert _landed(tmp_path) == Counter([*range(10), *range(30, 40)])
    found = audit(pipeline)
    assert found.wrong == []
    assert found.partitions["1"].gaps == [(0, 20)]


def test_another_topic_under_the_same_app_is_refused_without_adopt(topics: Topics, tmp_path: Path) -> None:
    first, second = topics.create(), topics.create()
    _send(topics, first, range(10))
    _send(topics, second, range(10, 20))
    land_all(_pipeline(topics, first, tmp_path))
    moved = _pipeline(topics, second, tmp_path)

    with pytest.raises(ConfigError, match=r"--adopt.*config\.source-changed"):
        land_all(moved)

    land_all(moved, accepted=Accepted(adopt=True))
    assert _landed(tmp_path) == Counter(range(20))
    assert audit(moved).wrong == []


def test_lost_ledger_is_not_taken_for_a_first_start(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    _send(topics, topic, range(10))
    pipeline = _pipeline(topics, topic, tmp_path)
    land_all(pipeline)
    shutil.rmtree(tmp_path / "lake" / "_penstock")

    with pytest.raises(ConfigError, match=r"ledger\.missing"):
        land_all(pipeline)


def test_exchanged_cluster_and_truncated_log_stop_the_app(tmp_path: Path) -> None:
    broker = LocalBroker(tmp_path / "one").start()
    topics = Topics(broker.servers)
    topic = topics.create()
    _send(topics, topic, range(10))
    pipeline = _pipeline(topics, topic, tmp_path)
    land_all(pipeline)
    broker.stop()

    with LocalBroker(tmp_path / "two", port=broker.port) as other:
        Topics(other.servers).create(name=topic)
        with pytest.raises(SourceLost, match=r"source\.cluster-exchanged"):
            land_all(pipeline)

    kafka._clients.clear()  # as in the new process that an operator would start
    for file in (tmp_path / "one" / "data").glob(f"{topic}-0/0*"):
        file.unlink()
    with LocalBroker(tmp_path / "one", port=broker.port):
        with pytest.raises(SourceLost, match="partition 0 positions 0 to 9") as lost:
            land_all(pipeline)
        assert "source.truncated" in str(lost.value)
        _send(topics, topic, range(50, 53))
        with pytest.raises(PenstockError, match="partition 0 positions 3 to 9"):
            land_all(pipeline)
        land_all(pipeline, accepted=Accepted(gaps={"0": (3, 10)}))
        _send(topics, topic, range(60, 65))
        land_all(pipeline)
    assert _landed(tmp_path) == Counter([*range(10), *range(60, 65)])
