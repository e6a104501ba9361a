"""From kafka-delta-ingest to penstock and back: every message once in its table, whoever wrote it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition
from deltalake import DeltaTable

from penstock import audit
from penstock.batch import land_batch
from penstock.errors import ConfigError, SourceLost
from penstock.ledger import Ledger
from penstock.loop import Loop, Until
from penstock.protocol.begin import Accepted
from penstock.protocol.entry import Counts
from penstock.protocol.plan import Measure, Pressure, backlog, plan
from penstock.storage import Storage
from tests.memory_shop import instance
from tests.stories.shop import Shop
from tests.support.kdi import ingest, offsets
from tests.support.lake import rows
from tests.support.topics import Topics

NOW = Pressure(0.0, Measure(), hurry=True)
EVENTS = pa.schema([("type", pa.string()), ("n", pa.int64())])
COLORS = pa.schema([("color", pa.string()), ("id", pa.int32())])


class Lake(Shop):
    """A shop whose tables kafka-delta-ingest has written so far."""

    def ingested(self, table: str, numbers: Iterable[int], *, upto: int) -> None:
        """It wrote these messages, and has read up to that offset."""
        found = [{"type": table, "n": n} for n in numbers]
        ingest(self.lake / table, "shop", {0: upto}, found, EVENTS)

    def numbers(self, table: str) -> list[int]:
        return [row["n"] for row in self.rows(table)]

    def total(self) -> Counts:
        found = audit(self.pipeline)
        assert found.wrong == []
        return sum((line.counts for line in found.partitions.values()), Counts())

    def expire(self, upto: int) -> None:
        for answer in self.topics.admin.delete_records([TopicPartition(self.topic, 0, upto)]).values():
            answer.result(30)

    def entries(self) -> list[Any]:
        ledger = Ledger(Storage(str(self.lake / "_penstock/shop"), {}))
        return [ledger.entry(number) for number in ledger.numbers()]


@pytest.fixture
def shop(topics: Topics, tmp_path: Path) -> Lake:
    return Lake(topics, tmp_path)


def events(numbers: Iterable[int]) -> list[dict[str, Any]]:
    """Every tenth message is a refund, the others are orders."""
    return [{"type": "refund" if n % 10 == 9 else "order", "n": n} for n in numbers]


def of(table: str, numbers: Iterable[int]) -> list[int]:
    return [event["n"] for event in events(numbers) if event["type"] == table]


# --- taking over ---------------------------------------------------------------------------------


def test_zero_offset_issue(topics: Topics, tmp_path: Path) -> None:
    """A table that holds offset 0 gets 1 and 2: nought is an offset, and not the same as none."""
    shop = Shop(topics, tmp_path, app="zero_offset")
    shop.rewrite("route:\n  by: {field: type}\n", "")
    ingest(shop.lake / shop.topic, "zero_offset", {0: 0}, [{"color": "red", "id": 0}], COLORS)

    shop.land(*({"color": "red", "id": number} for number in range(3)))

    assert sorted(row["id"] for row in rows(shop.lake / shop.topic)) == [0, 1, 2]
    assert DeltaTable(shop.lake / shop.topic).version() == 1
    assert offsets(shop.lake / shop.topic, "zero_offset") == {0: 2}
    assert audit(shop.pipeline).ok


def test_rarely_written_table_begins_where_it_was_and_the_others_skip(shop: Lake) -> None:
    shop.ingested("order", of("order", range(50)), upto=48)
    shop.ingested("refund", of("refund", range(10)), upto=9)

    shop.land(*events(range(60)))

    assert shop.numbers("order") == of("order", range(60))
    assert shop.numbers("refund") == of("refund", range(60))
    total = shop.total()
    assert (total.read, total.rows, total.skipped) == (50, 14, 36)
    assert [entry.skips for entry in shop.entries()] == [{"order": {"0": 49}}, {}]
    assert "skipped" in " ".join(audit(shop.pipeline).notes)


def test_skips_outlive_crashes_and_end_when_they_are_passed(shop: Lake) -> None:
    """Each batch is decided by another process; some of them die with their tables not committed."""
    shop.ingested("order", of("order", range(40)), upto=38)
    shop.ingested("refund", of("refund", range(10)), upto=9)
    shop.rewrite("messages: 1000000", "messages: 12")
    shop.send(*events(range(60)))

    for commits in (True, False, False):
        with instance(shop.pipeline) as running:
            running.claim()
            loop = Loop(running, Until(batches=1))
            if commits:
                loop.run()
            else:
                slices = plan(backlog(running.head.ends, running.pipeline.source.bounds()), loop.limits, NOW)
                landed = land_batch(slices, running.around.engine, running.recipe(), running.catalog)
                running.decide(slices, landed)
    shop.land()

    assert shop.numbers("order") == of("order", range(60))
    assert shop.numbers("refund") == of("refund", range(60))
    skips = [entry.skips for entry in shop.entries()]
    assert skips[0] == {"order": {"0": 39}}
    assert skips[-1] == {}
    assert shop.total().skipped == len(of("order", range(10, 39)))


def test_partitions_without_an_offset_begin_by_the_start_policy(topics: Topics, tmp_path: Path) -> None:
    shop = Lake(topics, tmp_path)
    topics.widen(shop.topic, 3)
    for partition in range(3):
        sent = [json.dumps({"type": "order", "n": 10 * partition + n}).encode() for n in range(5)]
        topics.produce(shop.topic, sent, partition=partition)
    ingest(
        shop.lake / "order",
        "shop",
        {0: 1, 2: 4},
        [{"type": "order", "n": n} for n in (0, 1, 20, 21, 22, 23, 24)],
        EVENTS,
    )

    shop.land()

    assert shop.numbers("order") == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24]
    assert offsets(shop.lake / "order", "shop", 3) == {0: 4, 1: 4, 2: 4}


def test_message_of_unknown_type_is_a_dead_letter_again_and_one_that_did_not_fit_is_not(shop: Lake) -> None:
    shop.ingested("order", [0, 5], upto=5)
    shop.ingested("refund", [], upto=0)
    bad = [
        b"{",
        json.dumps({"type": "order", "n": "x"}).encode(),
        json.dumps({"n": 3}).encode(),
        b'{"type":"new","n":4}',
    ]
    shop.send({"type": "order", "n": 0})
    shop.topics.produce(shop.topic, bad)
    shop.send({"type": "order", "n": 5}, {"type": "order", "n": "y"}, {"type": "order", "n": 7})

    shop.land()

    assert shop.numbers("order") == [0, 5, 7]
    assert shop.numbers("new") == [4]
    letters = rows(shop.lake / "dead_letters", "position, code")
    assert {row["position"] for row in letters} == {1, 3, 6}  # and not 2, which had reached its table's writer
    assert shop.total().skipped == 2


def test_type_that_is_not_wanted_does_not_hold_the_others_back(shop: Lake) -> None:
    shop.rewrite("by: {field: type}", "by: {field: type}\n  allow: order")
    shop.ingested("order", of("order", range(40)), upto=38)
    shop.ingested("refund", [9], upto=9)

    shop.land(*events(range(50)))

    assert shop.numbers("order") == of("order", range(50))
    assert shop.numbers("refund") == [9]
    assert (shop.total().read, shop.total().filtered) == (11, 2)


def test_what_the_topic_no_longer_holds_of_a_table_is_told(shop: Lake) -> None:
    shop.ingested("order", of("order", range(40)), upto=38)
    shop.ingested("refund", [9], upto=9)
    shop.send(*events(range(50)))
    shop.expire(20)

    with pytest.raises(SourceLost, match=r"positions 10 to 19\. What refund stored ends there"):
        shop.land()
    shop.land(accepted=Accepted(gaps={"0": (10, 20)}))

    assert shop.numbers("order") == of("order", range(50))
    assert shop.numbers("refund") == [9, 29, 39, 49]
    assert any("10 to 19 of partition 0 were given up" in note for note in audit(shop.pipeline).notes)


def test_offsets_of_a_topic_that_was_made_again_are_refused(shop: Lake) -> None:
    shop.ingested("order", range(3), upto=70)

    with pytest.raises(ConfigError, match=r"table order .* shop-0 at offset 70") as refused:
        shop.land(*events(range(50)))

    assert refused.value.code == "table.another-source"
    assert not (shop.lake / "_penstock/shop/ledger").exists()
    shop.rewrite("app: shop", "app: shop-2")
    shop.land()
    assert len(shop.rows("order")) == 3 + len(of("order", range(50)))


def test_offsets_of_partitions_that_are_gone_are_refused(shop: Lake) -> None:
    ingest(shop.lake / "order", "shop", {0: 1, 4: 7}, [], EVENTS)

    with pytest.raises(ConfigError, match="partition 4 is not there"):
        shop.land(*events(range(5)))


# --- start positions -----------------------------------------------------------------------------


@pytest.mark.parametrize("written", ['{"0": 4}', "{0: 4}"])
def test_start_from_explicit(shop: Lake, written: str) -> None:
    """`--seek_offsets {"0": 3}` is `start: {0: 4}`; a batch of ten leaves the fifteenth waiting."""
    shop.rewrite("start: earliest", f"start: {written}")
    shop.rewrite("messages: 1000000", "messages: 10, min_file_bytes: 20")
    shop.rewrite("latency: 500ms", "latency: 1h")
    shop.send(*({"type": "order", "n": n} for n in range(1, 16)))

    with instance(shop.pipeline) as running:
        running.claim()
        loop = Loop(running, Until(batches=1))
        loop.run()
        assert loop._plan() == []

    assert shop.numbers("order") == list(range(5, 15))


def test_start_from_latest(shop: Lake) -> None:
    shop.rewrite("start: earliest", "start: latest")
    shop.land(*events(range(5)))
    shop.land(*events(range(5, 9)))

    assert shop.numbers("order") == [5, 6, 7, 8]


def test_offsets_in_tables_come_before_named_positions(shop: Lake) -> None:
    """`write_offsets_to_delta_test`: stored 5 is behind seek 15 and refused, stored 20 is ahead and stays."""
    shop.rewrite("start: earliest", "start: {0: 16}")
    shop.ingested("order", range(6), upto=5)
    with pytest.raises(ConfigError) as refused:
        shop.land(*({"type": "order", "n": n} for n in range(30)))
    assert "[shop-0:stored=5/seek=15]" in str(refused.value)
    assert DeltaTable(shop.lake / "order").version() == 0

    shop.ingested("order", range(6, 21), upto=20)
    shop.land()
    assert shop.numbers("order") == list(range(30))


def test_named_position_that_expired_is_a_loss(shop: Lake) -> None:
    shop.rewrite("start: earliest", "start: {0: 2}")
    shop.send(*events(range(9)))
    shop.expire(6)

    with pytest.raises(SourceLost, match="partition 0 positions 2 to 5"):
        shop.land()
    shop.land(accepted=Accepted(gaps={"0": (2, 6)}))
    assert shop.numbers("order") == [6, 7, 8]


# --- handing back --------------------------------------------------------------------------------


def test_tables_can_be_handed_back_at_any_time(topics: Topics, tmp_path: Path) -> None:
    """Their ids are current whenever they get rows. One that got none since has older ids, and only
    messages of other types lie between them and the end."""
    shop = Lake(topics, tmp_path)
    topics.widen(shop.topic, 3)
    topics.produce(shop.topic, [json.dumps(event).encode() for event in events(range(20))], partition=1)
    shop.land()
    assert offsets(shop.lake / "order", "shop", 3) == {1: 19}
    assert offsets(shop.lake / "refund", "shop", 3) == {1: 19}

    topics.produce(shop.topic, [json.dumps({"type": "order", "n": 30}).encode()], partition=2)
    shop.land()
    assert offsets(shop.lake / "order", "shop", 3) == {1: 19, 2: 0}
    assert offsets(shop.lake / "refund", "shop", 3) == {1: 19}


def test_table_that_is_ahead_is_not_taken_back_while_the_app_catches_up(shop: Lake) -> None:
    """Handed back in the middle of a take-over, it would otherwise get everything again."""
    shop.topics.widen(shop.topic, 2)
    shop.topics.produce(shop.topic, [json.dumps(event).encode() for event in events(range(40))], partition=0)
    shop.topics.produce(shop.topic, [json.dumps({"type": "order", "n": 100}).encode()], partition=1)
    shop.ingested("order", of("order", range(40)), upto=38)
    shop.ingested("refund", [9], upto=9)
    shop.rewrite("messages: 1000000", "messages: 4")

    with instance(shop.pipeline) as running:
        running.claim()
        Loop(running, Until(batches=1)).run()
        assert running.head.ends["0"] < 38

    assert 100 in shop.numbers("order")
    assert offsets(shop.lake / "order", "shop", 2) == {0: 38, 1: 0}


def test_tables_that_were_handed_back_and_written_are_taken_again_on_the_operators_word(shop: Lake) -> None:
    shop.land(*events(range(20)))
    shop.send(*events(range(20, 40)))
    shop.ingested("order", of("order", range(20, 40)), upto=38)

    with pytest.raises(ConfigError, match="order has shop-0 at offset 38") as refused:
        shop.land()
    assert refused.value.code == "table.written-elsewhere"
    shop.land(accepted=Accepted(adopt=True))
    shop.land(*events(range(40, 50)))

    assert shop.numbers("order") == of("order", range(50))
    assert shop.numbers("refund") == of("refund", range(50))
    assert audit(shop.pipeline).ok
