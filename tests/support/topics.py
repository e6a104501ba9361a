"""Making topics and filling them, with the real client."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

Headers = list[tuple[str, bytes]]


class Topics:
    """The topics of one broker."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.admin = AdminClient({"bootstrap.servers": servers})

    def create(self, partitions: int = 1, config: Mapping[str, str] | None = None, name: str = "") -> str:
        topic = name or f"topic-{uuid.uuid4().hex[:12]}"
        made = self.admin.create_topics([NewTopic(topic, partitions, 1, config=dict(config or {}))])
        made[topic].result(30)
        self._await(topic, partitions)
        return topic

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result(30)

    def widen(self, topic: str, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)
        self._await(topic, partitions)

    def _await(self, topic: str, partitions: int) -> None:
        """Until every partition has a leader."""
        while True:
            known = self.admin.list_topics(topic, timeout=30).topics[topic]
            if known.error is None and [p.leader >= 0 for p in known.partitions.values()].count(True) == partitions:
                return

    def produce(
        self,
        topic: str,
        values: Iterable[bytes | None],
        *,
        partition: int | None = None,
        partitions: int = 1,
        key: bytes | None = None,
        headers: Headers | None = None,
    ) -> None:
        """Send values and wait until all are acknowledged: to one partition, or to several in turn."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5, "enable.idempotence": True})
        failures: list[object] = []
        for number, value in enumerate(values):
            place = partition if partition is not None else number % partitions
            while True:
                try:
                    producer.produce(
                        topic,
                        value,
                        key=key,
                        headers=headers,
                        partition=place,
                        on_delivery=lambda error, _: failures.append(error) if error else None,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0
        assert not failures, failures[:3]
