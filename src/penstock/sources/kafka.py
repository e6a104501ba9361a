"""A Kafka topic as a source: what it holds (on the driver), and exactly one slice of it (on a worker)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicDescription
from pydantic import Field

from penstock.contracts import Bound, Identity, Positions, ShortRead, Slice
from penstock.declared import Declared
from penstock.errors import broker_away, topic_missing
from penstock.messages import NEVER, Details, Messages, Times
from penstock.sources.kafka_group import Group
from penstock.sources.kafka_settings import OURS, QUICK, Servers, Settings
from penstock.sources.kafka_start import Start

RUN, RUN_BYTES = 20_000, 32 * 2**20  # messages handed on together, and about how much of them
FETCH = 1_000  # messages asked of the client at once: more costs more per message
POLL = 0.02  # seconds: `consume` waits for the full number, and the last ones may be transaction markers
PATIENCE = 60.0  # seconds without any sign of life before a task gives up
ANSWER = 15.0  # seconds for an administrative question

_GONE = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
_OUT_OF_RANGE = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}

T = TypeVar("T")

_log = logging.getLogger("penstock.kafka")
_log.addHandler(logging.NullHandler())
_clients: dict[tuple[str, ...], Any] = {}


class KafkaSource(Declared):
    """One topic. Only committed records are seen; group offsets are published, never followed."""

    servers: Servers = Field(min_length=1)
    """The brokers to ask first: `host:port`, separated by commas."""
    topic: str = Field(min_length=1)
    """The topic's name."""
    start: Start = "earliest"
    """Where a first start begins: `earliest`, `latest`, a time with its zone, or the first position to read by
    partition (`{0: 11, 1: 5}`; the others from their earliest). Offsets of kafka-delta-ingest in tables come first."""
    group: str | None = None
    """The consumer group under which positions are published. Not set, it is the app's name."""
    settings: Settings = Field(default_factory=dict)
    """Settings for the Kafka client, mostly `security.protocol`, `sasl.*` and `ssl.*`."""

    # --- on the driver

    def identity(self) -> Identity:
        home = self._ask(self._admin().describe_cluster(request_timeout=ANSWER).result).cluster_id
        return Identity(name=f"kafka:{self.topic}", home=str(home), incarnation=str(self._describe().topic_id))

    def bounds(self) -> Mapping[str, Bound]:
        places = [TopicPartition(self.topic, partition.id) for partition in self._describe().partitions]
        first = self._offsets(places, OffsetSpec.earliest())
        ends = self._offsets(places, OffsetSpec.latest())
        begin = self._begin(places, first, ends)
        return {str(p): Bound(first[p], ends[p], begin[p]) for p in sorted(ends)}

    def publish(self, app: str, positions: Positions) -> None:
        places = [TopicPartition(self.topic, int(p), offset) for p, offset in positions.items()]
        group: Group = self._client(Group, {"group.id": self.group or app, **OURS})
        self._ask(lambda: group.tell(places))

    def _describe(self) -> TopicDescription:
        asked = self._admin().describe_topics(TopicCollection([self.topic]), request_timeout=ANSWER)
        return self._ask(asked[self.topic].result)

    @property
    def named(self) -> Positions:
        return self.start if isinstance(self.start, dict) else {}

    def _begin(self, places: list[TopicPartition], first: dict[int, int], ends: dict[int, int]) -> dict[int, int]:
        if isinstance(self.start, dict):
            return {p: self.start.get(str(p), offset) for p, offset in first.items()}
        if self.start in ("earliest", "latest"):
            return first if self.start == "earliest" else ends
        since = OffsetSpec.for_timestamp(int(datetime.fromisoformat(self.start).timestamp() * 1000))
        found = self._offsets(places, since, least=-1)
        return {p: offset if offset >= 0 else ends[p] for p, offset in found.items()}  # -1: nothing that late

    def _offsets(self, places: list[TopicPartition], spec: OffsetSpec, least: int = 0) -> dict[int, int]:
        asked = self._admin().list_offsets(
            dict.fromkeys(places, spec), isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ANSWER
        )
        found = {place.partition: self._ask(answer.result).offset for place, answer in asked.items()}
        if min(found.values(), default=0) < least:  # told without an error while a broker comes back
            raise broker_away(self.servers, "a partition has no leader just now")
        return found

    # --- on a worker

    def read(self, piece: Slice) -> Iterator[Messages]:
        consumer = self._consumer()
        try:
            consumer.assign([TopicPartition(self.topic, int(piece.partition), piece.start)])
            at = piece.start
            while at < piece.end:
                run, at = self._run(consumer, piece, at)
                if run:
                    yield self._messages(piece.partition, run)
        except KafkaException as cause:
            self._forget(consumer)
            raise self._meaning(cause.args[0]) from cause
        except BaseException:
            self._forget(consumer)
            raise
        consumer.unassign()  # stop reading ahead; the connection stays for the worker's next task

    def _run(self, consumer: Consumer, piece: Slice, at: int) -> tuple[list[Message], int]:
        """Messages of the slice from a position on, up to a run of them, and the position after it."""
        run: list[Message] = []
        size, deadline = 0, time.monotonic() + PATIENCE
        while at < piece.end and len(run) < RUN and size < RUN_BYTES:
            got = consumer.consume(min(FETCH, piece.end - at), POLL)
            if not got:
                if time.monotonic() > deadline:
                    raise broker_away(self.servers, f"partition {piece.partition} stands still at {at}")
                continue
            if any(map(Message.error, got)):
                got, at = self._events(got, at)
            if got:
                at = max(at, got[-1].offset() + 1)
                run += got if at <= piece.end else [m for m in got if m.offset() < piece.end]
                size += sum(map(Message.__len__, got))
                deadline = time.monotonic() + PATIENCE
        return run, at

    def _events(self, got: list[Message], at: int) -> tuple[list[Message], int]:
        """Take the client's own events out of what it gave. The end of the log counts as a place
        reached: what lies between the last message and it are markers and aborted records."""
        for message in got:
            error = message.error()
            if error is None:
                continue
            if error.code() == KafkaError._PARTITION_EOF:
                at = max(at, message.offset())
            elif error.code() in _GONE | _OUT_OF_RANGE:
                raise ShortRead(f"partition {message.partition()} at {at}: {error.str()}")
            elif not (error.retriable() or error.code() in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)):
                raise self._meaning(error)
        return [message for message in got if message.error() is None], at

    def _messages(self, partition: str, run: list[Message]) -> Messages:
        def details(at: int) -> Details:
            kind, stamp = run[at].timestamp()
            try:  # through `map`, because a plain call, once it is hot, does not look for the client's error
                headers = next(map(Message.headers, [run[at]])) or []
            except (SystemError, UnicodeError):  # a name is not UTF-8: asked again, the client gives a null pointer
                run[at].set_headers(headers := [("penstock.unreadable", None)])
            return Details(run[at].key(), headers, stamp if kind else None, kind - 1)

        @cache
        def clock() -> Times:
            found = [(kind - 1, stamp if kind else NEVER) for kind, stamp in map(Message.timestamp, run)]
            return np.array(found, np.int64)

        positions = np.fromiter(map(Message.offset, run), np.int64, len(run))
        values = list(map(Message.value, run))
        return Messages(self.topic, partition, positions, pa.array(values, pa.binary()), details, values, clock)

    def _client(self, make: type[Any], extra: Mapping[str, Any]) -> Any:
        given = {name: value.get_secret_value() for name, value in self.settings.items()}
        config = {"bootstrap.servers": self.servers, "log.connection.close": False, **extra, **given}
        key = (make.__name__, *(f"{name}={value}" for name, value in sorted(config.items())))
        if key not in _clients:
            _clients[key] = make(config, logger=_log)
        return _clients[key]

    def _admin(self) -> AdminClient:
        return self._client(AdminClient, {})

    def _consumer(self) -> Consumer:
        return self._client(Consumer, {"group.id": "penstock-reader", **QUICK, **OURS})

    def _forget(self, consumer: Consumer) -> None:
        for key in [key for key, client in _clients.items() if client is consumer]:
            del _clients[key]
        consumer.close()

    def _ask(self, question: Callable[[], T]) -> T:
        try:
            return question()
        except KafkaException as cause:
            raise self._meaning(cause.args[0]) from cause

    def _meaning(self, error: KafkaError) -> Exception:
        gone = error.code() in _GONE
        return topic_missing(self.topic, self.servers) if gone else broker_away(self.servers, error.str())
