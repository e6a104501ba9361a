"""Topics to read: messages from a seed, about 320 bytes of JSON each, made and sent fast.

Every message has an id of its own; the rest of it comes from a pool that is made once. The types
share their columns, so that a plan which parses all of them with one schema has no disadvantage.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS = 8
POOL = 99_991  # a prime: every type meets every entry in every partition
CLEAN_START = 20_000
SCHEMA = (
    "eventType string, id string, at string, user bigint, session string, country string, url string, "
    "referrer string, agent string, amount double, quantity bigint, returning boolean, note string"
)
"""The columns of every message, as Spark's `from_json` wants them told up front."""


@dataclass(frozen=True)
class Topic:
    """What is in a topic: so many messages, in turn of so many types, some share of them broken."""

    name: str
    messages: int
    types: int = 5
    bad: float = 0.0
    pool: int = POOL
    books: bool = False  # order books instead of events: arrays of objects

    def type_names(self) -> list[str]:
        return [f"event.t{number:03d}" for number in range(self.types)]

    def rows(self) -> dict[str, int]:
        """How many rows each table must have in the end."""
        counts = Counter({name: len(range(at, self.messages, self.types)) for at, name in enumerate(self.type_names())})
        counts.subtract(self.type_names()[place % self.types] for place in self._bad_places())
        return dict(counts)

    def _bad_places(self) -> set[int]:
        """The beginning is clean, so that what is broken later cannot make columns what they are not."""
        places, chosen = range(CLEAN_START, self.messages), random.Random(f"{self.name} is broken here")
        return set(chosen.sample(places, round(self.messages * self.bad))) if self.bad else set()

    def values(self) -> Iterator[bytes]:
        pool, heads = (
            _pool(self.pool, _book if self.books else _tail),
            [f'{{"eventType":"{name}","id":"'.encode() for name in self.type_names()],
        )
        bad, types = self._bad_places(), self.types
        for number in range(self.messages):
            id = number * 0x9E3779B97F4A7C15 & (2**64 - 1)
            value = b"%b%016x%b" % (heads[number % types], id, pool[number % self.pool])
            yield _broken(value, number) if number in bad else value


class Feed:
    """Makes a topic and sends its messages, uncompressed: all at once, or a few at a time."""

    def __init__(self, servers: str, topic: Topic, values: Iterable[bytes] | None = None) -> None:
        self._topic, self._values = topic, enumerate(topic.values() if values is None else values)
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic(topic.name, PARTITIONS, 1)])[topic.name].result()
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "compression.type": "none",
                "linger.ms": 5,
                "batch.size": 2**20,
                "queue.buffering.max.messages": 500_000,
                "queue.buffering.max.kbytes": 2**18,
            }
        )

    def send(self, count: int | None = None) -> int:
        """The next messages, or all that are left; returns how many bytes they hold once the broker has them."""
        total = 0
        for number, value in islice(self._values, count):
            total += len(value)
            self._send(value, number // self._topic.types % PARTITIONS)  # every partition has every type
        self._producer.flush()
        return total

    def _send(self, value: bytes, partition: int) -> None:
        while True:
            try:
                self._producer.produce(self._topic.name, value, partition=partition)
                return
            except BufferError:
                self._producer.poll(0.05)


def _broken(value: bytes, number: int) -> bytes:
    """The message as no table can take it, in one of eight ways."""
    return (
        value[:200],
        value + b"}",
        value + value,
        value.replace(b'"country":"', b'"country":"\xff'),
        value.replace(b'"quantity":', b'"quantity":NaN,"q":'),
        value.replace(b'"amount":', b'"amount":"a lot","was":'),
        value.replace(b"eventType", b"eventKind"),
        b"[" + value + b"]",
    )[number % 8]


def _pool(size: int, tail: Callable[[random.Random], bytes]) -> list[bytes]:
    """What follows the id in a message."""
    rng = random.Random(320)
    return [tail(rng) for _ in range(size)]


def _tail(rng: random.Random) -> bytes:
    rest = {
        "at": f"2026-11-{rng.randrange(1, 29):02d}T{rng.randrange(24):02d}:00:00.{rng.randrange(1000):03d}Z",
        "user": rng.randrange(10_000_000),
        "session": f"{rng.getrandbits(64):016x}",
        "country": rng.choice(["DE", "FR", "CZ", "US", "JP", "BR"]),
        "url": f"/shop/category-{rng.randrange(40)}/product-{rng.randrange(20_000)}",
        "referrer": rng.choice(["https://search.example/", "https://mail.example/", "https://news.example/"]),
        "agent": rng.choice(["Mozilla/5.0 Firefox", "Mozilla/5.0 Chrome", "Mozilla/5.0 Safari"]),
        "amount": round(rng.random() * 500, 2),
        "quantity": rng.randrange(1, 9),
        "returning": rng.random() < 0.4,
        "note": " ".join(rng.choice(_WORDS) for _ in range(4)),
    }
    return b'",' + json.dumps(rest, separators=(",", ":")).encode()[1:]


def _book(rng: random.Random) -> bytes:
    mid = rng.randrange(1_000, 90_000)
    sides = {
        side: [{"px": (mid + sign * level) / 100, "qty": rng.randrange(1, 500)} for level in range(1, 6)]
        for side, sign in (("bids", -1), ("offers", 1))
    }
    rest = {
        "time": f"2026-11-{rng.randrange(1, 29):02d}T{rng.randrange(24):02d}:00:00.{rng.randrange(1000):03d}Z",
        "instrument": f"SYM{rng.randrange(400):03d}",
        "sequence": rng.randrange(2**40),
        "id_context_id_uuid": f"{rng.getrandbits(128):032x}",
        **sides,
    }
    return b'",' + json.dumps(rest, separators=(",", ":")).encode()[1:]


_WORDS = ("gift", "express", "winter", "sale", "voucher", "second", "attempt", "basket", "mobile", "quiet")
