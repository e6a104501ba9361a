"""Telling a Kafka consumer group where we are, for tools that measure lag. Nothing of ours depends on it.

A consumer that never joins the group does this. The administrative call made for it ends the whole process
when the group's coordinator dies before it has answered, and a commit that is waited for waits for ever.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from logging import Logger
from threading import Lock
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

PATIENCE = 5.0  # seconds
# So long a client that ends still waits for the coordinator, busily. It never has a session.
_SESSION = {"session.timeout.ms": 1_000, "heartbeat.interval.ms": 500}


class Group:
    """A consumer group as seen by one who is not its member."""

    def __init__(self, config: Mapping[str, Any], logger: Logger) -> None:
        self._answers: list[tuple[KafkaError | None, list[TopicPartition]]] = []
        self._one_at_a_time = Lock()
        self._consumer = Consumer({**config, **_SESSION, "on_commit": self._answered}, logger=logger)

    def tell(self, places: Sequence[TopicPartition]) -> None:
        """Raises `KafkaException` if the group did not take it, or did not answer."""
        with self._one_at_a_time:
            self._answers.clear()
            self._consumer.commit(offsets=list(places), asynchronous=True)
            deadline = time.monotonic() + PATIENCE
            while not self._answers:
                if time.monotonic() > deadline:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the group's coordinator does not answer"))
                self._consumer.poll(0.02)
            error, answered = self._answers[-1]
        for failed in filter(None, [error, *(place.error for place in answered)]):
            raise KafkaException(failed)

    def _answered(self, error: KafkaError | None, places: list[TopicPartition]) -> None:
        self._answers.append((error, places))
