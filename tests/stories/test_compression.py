"""Producers and topics that compress: every codec that Kafka has, and all messages land."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock import audit
from tests.stories.shop import Shop
from tests.support.topics import Topics

CODECS = ["zstd", "lz4", "snappy", "gzip"]


def _send(shop: Shop, numbers: range, codec: str) -> None:
    """As a producer with this setting does: many messages together, so that there is something to compress."""
    producer = Producer(
        {
            "bootstrap.servers": shop.topics.servers,
            "compression.type": codec,
            "linger.ms": 50,
            "batch.num.messages": 500,
        }
    )
    failures: list[object] = []
    for n in numbers:
        value = json.dumps({"type": "order", "n": n, "note": "the same words again and again " * 5}).encode()
        producer.produce(shop.topic, value, on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(60) == 0
    assert not failures


def _assert_landed(shop: Shop, number: int) -> None:
    assert Counter(row["n"] for row in shop.rows("order", "n")) == Counter(range(number))
    found = audit(shop.pipeline)
    assert found.ok, found.wrong


@pytest.mark.parametrize("codec", CODECS)
def test_messages_of_a_producer_that_compresses_land(topics: Topics, tmp_path: Path, codec: str) -> None:
    shop = Shop(topics, tmp_path)
    _send(shop, range(2_000), codec)

    shop.land()

    _assert_landed(shop, 2_000)


@pytest.mark.parametrize("codec", CODECS)
def test_messages_of_a_topic_that_compresses_land(topics: Topics, tmp_path: Path, codec: str) -> None:
    """The broker does it, whatever the producer sent."""
    shop = Shop(topics, tmp_path)
    compressing = topics.create(config={"compression.type": codec})
    shop.rewrite(shop.topic, compressing)
    shop.topic = compressing
    _send(shop, range(500), "none")

    shop.land()

    _assert_landed(shop, 500)


def test_producers_with_different_codecs_share_a_topic(topics: Topics, tmp_path: Path) -> None:
    shop = Shop(topics, tmp_path)
    for at, codec in enumerate(["none", *CODECS]):
        _send(shop, range(at * 300, (at + 1) * 300), codec)

    shop.land()

    _assert_landed(shop, 1_500)
