"""The Kafka source over what real topics hold: gaps, markers, aborted transactions, empty ends."""

from __future__ import annotations

import ctypes
import pickle
import time
from pathlib import Path
from typing import Any

import confluent_kafka
import numpy as np
import pytest
from confluent_kafka import Producer
from pydantic import SecretStr, ValidationError

from penstock.contracts import Named, ShortRead, Slice
from penstock.errors import SourceLost, Transient
from penstock.sources import kafka
from penstock.sources.kafka import KafkaSource
from tests.support.topics import Topics


def _read(source: KafkaSource, start: int, end: int) -> list[tuple[int, bytes]]:
    runs = source.read(Slice("0", start, end))
    return [(int(p), v) for run in runs for p, v in zip(run.positions, run.values.to_pylist(), strict=True)]


def _transactions(topics: Topics, topic: str, plan: list[tuple[list[bytes], bool]]) -> None:
    """Groups of messages, each committed or aborted."""
    producer = Producer({"bootstrap.servers": topics.servers, "transactional.id": f"t-{topic}"})
    producer.init_transactions(30)
    for values, commits in plan:
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=0)
        producer.flush(30)
        if commits:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)


def test_aborted_records_are_never_seen_and_markers_take_no_time(topics: Topics) -> None:
    topic = topics.create()
    _transactions(topics, topic, [([b"a", b"b"], True), ([b"x", b"y", b"z"], False), ([b"c"], True)])
    source = KafkaSource(servers=topics.servers, topic=topic)
    end = source.bounds()["0"].next
    assert end == 9  # six records, three markers

    began = time.monotonic()
    assert [value for _, value in _read(source, 0, end)] == [b"a", b"b", b"c"]
    assert time.monotonic() - began < 5


def test_a_slice_of_nothing_but_markers_and_aborted_records_is_empty(topics: Topics) -> None:
    topic = topics.create()
    _transactions(topics, topic, [([b"a"], True), ([b"x", b"y"], False), ([b"b"], True)])
    source = KafkaSource(servers=topics.servers, topic=topic)

    assert _read(source, 1, 5) == []
    assert _read(source, 1, 6) == [(5, b"b")]


def test_an_open_transaction_is_beyond_the_end(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, [b"a", b"b"])
    producer = Producer({"bootstrap.servers": topics.servers, "transactional.id": f"open-{topic}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"pending", partition=0)
    producer.flush(30)
    source = KafkaSource(servers=topics.servers, topic=topic)

    assert source.bounds()["0"].next == 2
    producer.abort_transaction(30)


def test_compacted_topics_have_gaps_and_are_read_whole(topics: Topics) -> None:
    settings = {
        "cleanup.policy": "compact",
        "segment.ms": "50",
        "min.cleanable.dirty.ratio": "0.01",
        "min.compaction.lag.ms": "0",
        "delete.retention.ms": "50",
    }
    topic = topics.create(config=settings)
    for number in range(30):
        topics.produce(topic, [b"%d" % number] * 3, partition=0, key=b"key-%d" % (number % 3))
    source = KafkaSource(servers=topics.servers, topic=topic)
    deadline = time.monotonic() + 60
    while len(found := _read(source, 0, source.bounds()["0"].next)) == 90:
        assert time.monotonic() < deadline, "the broker never compacted the topic"
        topics.produce(topic, [b"again"], partition=0, key=b"other")  # rolls a segment

    positions = [position for position, _ in found]
    assert positions == sorted(positions)
    middle = positions[len(positions) // 2]
    assert _read(source, 0, middle) + _read(source, middle, source.bounds()["0"].next) == found


def test_start_policies(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, [b"1", b"2", b"3"])

    def begin(start: str) -> int:
        return KafkaSource(servers=topics.servers, topic=topic, start=start).bounds()["0"].begin

    assert begin("earliest") == 0
    assert begin("latest") == 3
    assert begin("2001-01-01T00:00:00Z") == 0
    assert begin("2100-01-01T00:00:00Z") == 3


def test_start_at_positions(topics: Topics) -> None:
    topic = topics.create(partitions=3)
    topics.produce(topic, [b"1", b"2", b"3"], partition=1)
    source = KafkaSource(servers=topics.servers, topic=topic, start={"1": 2, "2": 7})

    assert {p: bound.begin for p, bound in source.bounds().items()} == {"0": 0, "1": 2, "2": 7}
    assert isinstance(source, Named)
    assert source.named == {"1": 2, "2": 7}
    assert KafkaSource(servers=topics.servers, topic=topic, start="latest").named == {}


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("soon", "neither 'earliest', 'latest', a time with its zone"),
        ("2026-01-31T12:00:00", "neither 'earliest', 'latest', a time with its zone"),
        (None, "nor the first position to read by partition"),
        (7, "nor the first position to read by partition"),
        ({}, "names no partition"),
        ({"a": 1}, "names a partition that is not a number"),
        ({"-1": 1}, "names a partition that is not a number"),
        ({"٣": 1}, "names a partition that is not a number"),
        ({True: 1}, "names a partition that is not a number"),
        ({"9" * 5_000: 1}, "names a partition that is not a number"),
        ({"0": 1, 0: 2}, "names partition 0 twice"),
        ({"0": 1, "00": 2}, "names partition 0 twice"),
        ({"0": -1}, "names no position for partition 0"),
        ({"0": "5"}, "names no position for partition 0"),
        ({"0": 1.0}, "names no position for partition 0"),
        ({"0": True}, "names no position for partition 0"),
        ({"0": 2**63}, "names no position for partition 0"),
    ],
)
def test_start_that_makes_no_sense_is_refused(start: Any, told: str) -> None:
    with pytest.raises(ValidationError) as refused:
        KafkaSource(servers="x", topic="t", start=start)
    (complaint,) = refused.value.errors()
    assert told in complaint["msg"]


def test_a_missing_topic_is_lost_not_empty(topics: Topics) -> None:
    source = KafkaSource(servers=topics.servers, topic="no-such-topic")

    for ask in (source.identity, source.bounds):
        with pytest.raises(SourceLost, match="no-such-topic"):
            ask()


def test_brokers_that_do_not_answer_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "ANSWER", 1.0)
    source = KafkaSource(servers="127.0.0.1:1", topic="any")

    with pytest.raises(Transient, match=r"127\.0\.0\.1:1"):
        source.bounds()


def test_a_slice_beyond_the_end_is_given_up_in_time(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "PATIENCE", 1.0)
    topic = topics.create()
    topics.produce(topic, [b"only"])

    with pytest.raises((Transient, ShortRead)):
        _read(KafkaSource(servers=topics.servers, topic=topic), 0, 5)


def test_large_messages_are_read_however_small_the_queues(topics: Topics) -> None:
    topic = topics.create(config={"max.message.bytes": "8000000"})
    large = b"x" * 6_000_000
    producer = Producer({"bootstrap.servers": topics.servers, "message.max.bytes": 8_000_000})
    for value in (b"small", large, b"small"):
        producer.produce(topic, value, partition=0)
    assert producer.flush(60) == 0

    found = _read(KafkaSource(servers=topics.servers, topic=topic), 0, 3)

    assert [len(value) for _, value in found] == [5, 6_000_000, 5]


def test_a_run_ends_by_bytes_where_messages_are_large(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "RUN_BYTES", 1_000_000)
    monkeypatch.setattr(kafka, "FETCH", 10)
    topic = topics.create()
    values: list[bytes | None] = [None if at % 7 == 0 else b"x" * 20_000 for at in range(300)]
    topics.produce(topic, values)

    runs = list(KafkaSource(servers=topics.servers, topic=topic).read(Slice("0", 0, 300)))

    assert np.concatenate([run.positions for run in runs]).tolist() == list(range(300))
    assert all(sum(map(len, filter(None, run.values.to_pylist()))) < 1_200_000 for run in runs)
    assert len(runs) <= 6  # and not before


def test_a_header_whose_name_is_not_text_harms_nobody(topics: Topics) -> None:
    topic = topics.create()
    usual = 200  # so many that the interpreter has adapted itself to them
    topics.produce(topic, [b"value"] * usual)
    _produce_with_header(topics, topic, b"value", b"bad\xff\xfename")

    (run,) = KafkaSource(servers=topics.servers, topic=topic).read(Slice("0", 0, usual + 1))

    assert [list(run.details(at).headers) for at in range(usual)] == [[]] * usual
    for _ in range(2):  # a route and a dead letter may both ask
        assert list(run.details(usual).headers) == [("penstock.unreadable", None)]
        assert run.details(usual).timestamp


def _produce_with_header(topics: Topics, topic: str, value: bytes, name: bytes) -> None:
    """The Python client makes text of names, so ask the library below it."""
    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    lib = ctypes.CDLL(str(next(folder.glob("librdkafka-*.so.1"))))
    for make in (lib.rd_kafka_conf_new, lib.rd_kafka_new, lib.rd_kafka_headers_new):
        make.restype = ctypes.c_void_p
    settings, why = ctypes.c_void_p(lib.rd_kafka_conf_new()), ctypes.create_string_buffer(512)
    lib.rd_kafka_conf_set(settings, b"bootstrap.servers", topics.servers.encode(), why, 512)
    producer = ctypes.c_void_p(lib.rd_kafka_new(0, settings, why, 512))
    headers = ctypes.c_void_p(lib.rd_kafka_headers_new(1))
    lib.rd_kafka_header_add(headers, name, ctypes.c_ssize_t(len(name)), b"v", ctypes.c_ssize_t(1))
    of_topic, of_value, of_flags, of_headers, end, copied = 1, 4, 7, 10, 0, 2
    what = (of_topic, topic.encode(), of_value, value, ctypes.c_size_t(len(value)), of_flags, copied)
    assert lib.rd_kafka_producev(producer, *what, of_headers, headers, end) == 0
    assert lib.rd_kafka_flush(producer, 30_000) == 0
    lib.rd_kafka_destroy(producer)


def test_a_source_travels_to_workers_with_its_secrets_and_shows_them_to_nobody(topics: Topics) -> None:
    source = KafkaSource(servers=topics.servers, topic="t", settings={"sasl.password": SecretStr("canary-1")})
    source.model_copy()
    again = pickle.loads(pickle.dumps(source))

    assert again.settings["sasl.password"].get_secret_value() == "canary-1"
    assert "canary-1" not in f"{source!r} {source} {source.model_dump()} {source.model_dump_json()}"


@pytest.mark.parametrize(
    "name", ["enable.auto.commit", "isolation.level", "plugin.library.paths", "group.id", "nonsense", "client.id"]
)
def test_settings_that_are_not_the_users_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        KafkaSource(servers="s", topic="t", settings={name: SecretStr("v")})
