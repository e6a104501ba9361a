"""A topic with many kinds of message, some broken, arrives in one table per kind, every message accounted for."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions
from deltalake import DeltaTable
from pyspark import SparkContext

from penstock import Until, audit, load, run
from tests.support.lake import count, rows
from tests.support.pipelines import write_pipeline
from tests.support.topics import Topics

KINDS = ("order.v1", "page.viewed", "page.clicked", "cart", "login")


def _message(number: int) -> bytes:
    kind = KINDS[number % len(KINDS)]
    body = {
        "type": kind,
        "n": number,
        "who": f"user-{number % 7}",
        "price": number / 4,
        "tags": ["a", "b"][: number % 3],
    }
    return json.dumps(body | ({"day": f"2026-11-{1 + number % 3:02d}"} if kind == "order.v1" else {})).encode()


def test_every_message_ends_in_exactly_one_place(topics: Topics, spark: SparkContext, tmp_path: Path) -> None:
    good = [_message(number) for number in range(20_000)]
    poison = [b"{broken", b'{"type": "order.v1", "n": "many"}', b"\xff\xfe", b'{"n": 1}']
    unwanted = [b'{"type": "debug", "n": 1}'] * 50
    values = [*good, *poison * 5, *unwanted, *[None] * 30]
    topic = topics.create(partitions=4)
    topics.produce(topic, values, partitions=4)
    settings = "  types: {order.v1: {partition_by: [day], schema: {n: long}}}"
    path = write_pipeline(tmp_path, topics.servers, topic, messages=6_000, tables=settings)
    path.write_text(
        path.read_text().replace("by: {field: type}", "by: {field: type}\n  allow: '^(order|page|cart|login)'")
    )
    pipeline = load(path)

    run(pipeline, until=Until(caught_up=True))

    lake = tmp_path / "lake"
    for place, kind in enumerate(KINDS):
        landed = Counter((row["n"], row["who"], row["price"], tuple(row["tags"])) for row in rows(lake / kind))
        sent = [json.loads(value) for value in good[place :: len(KINDS)]]
        assert landed == Counter((m["n"], m["who"], m["price"], tuple(m["tags"])) for m in sent)
    letters = rows(lake / "dead_letters")
    assert Counter(letter["json_string"] or base64.b64decode(letter["base64_bytes"]) for letter in letters) == Counter(
        {"{broken": 5, '{"type": "order.v1", "n": "many"}': 5, b"\xff\xfe": 5, '{"n": 1}': 5}
    )
    assert not (lake / "debug").exists()
    found = audit(pipeline)
    assert found.wrong == []
    total = [line.counts for line in found.partitions.values()]
    assert sum(c.filtered for c in total) == 50
    assert sum(c.tombstones for c in total) == 30


def test_tables_carry_batch_numbers_and_the_ids_of_kafka_delta_ingest(
    topics: Topics, spark: SparkContext, tmp_path: Path
) -> None:
    topic = topics.create(partitions=2)
    topics.produce(topic, [_message(number) for number in range(100)], partitions=2)
    pipeline = load(write_pipeline(tmp_path, topics.servers, topic))

    run(pipeline, until=Until(caught_up=True))

    for kind in KINDS:
        table = DeltaTable(tmp_path / "lake" / kind)
        assert table.transaction_version("penstock:shop") == 2
        assert [table.transaction_version(f"shop-{p}") for p in (0, 1)] == [49, 49]
        assert table.history(1)[0]["penstock.batch"] == 2


def test_group_offsets_are_published_for_lag_tools(topics: Topics, spark: SparkContext, tmp_path: Path) -> None:
    topic = topics.create(partitions=2)
    topics.produce(topic, [_message(number) for number in range(100)], partitions=2)
    pipeline = load(write_pipeline(tmp_path, topics.servers, topic, app="lagged"))

    run(pipeline, until=Until(caught_up=True))

    asked = topics.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("lagged")])
    published = {place.partition: place.offset for place in asked["lagged"].result(30).topic_partitions}
    assert published == {0: 50, 1: 50}


def test_running_again_with_nothing_new_changes_no_table(topics: Topics, spark: SparkContext, tmp_path: Path) -> None:
    topic = topics.create()
    topics.produce(topic, [_message(number) for number in range(10)])
    pipeline = load(write_pipeline(tmp_path, topics.servers, topic))
    run(pipeline, until=Until(caught_up=True))
    versions = {kind: DeltaTable(tmp_path / "lake" / kind).version() for kind in KINDS}

    run(pipeline, until=Until(caught_up=True))

    assert {kind: DeltaTable(tmp_path / "lake" / kind).version() for kind in KINDS} == versions
    assert sum(count(tmp_path / "lake" / kind) for kind in KINDS) == 10
