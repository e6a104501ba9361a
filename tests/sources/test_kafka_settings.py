"""What a pipeline may tell the Kafka client, and what must not stand in an address."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from penstock.sources.kafka import KafkaSource
from penstock.sources.kafka_settings import open_servers


@pytest.mark.parametrize("servers", ["h:9092", "a:1,b:2", "SASL_SSL://h:9092", "[::1]:9092"])
def test_addresses_are_taken_as_they_are(servers: str) -> None:
    assert open_servers(servers) == servers


@pytest.mark.parametrize("servers", ["SASL_SSL://bob:c4n4ry@h:9092", "h:1,bob@h:2", "c4n4ry@"])
def test_addresses_must_not_hold_a_user(servers: str) -> None:
    with pytest.raises(ValueError, match=r"settings sasl\.username and sasl\.password") as refused:
        open_servers(servers)

    assert "c4n4ry" not in str(refused.value)
    assert "bob" not in str(refused.value)


def test_a_source_does_not_take_a_password_with_its_servers() -> None:
    with pytest.raises(ValidationError, match=r"sasl\.password") as caught:
        KafkaSource(servers="SASL_SSL://bob:hunter2@broker:9092", topic="t")

    assert "hunter2" not in str(caught.value)
