"""Real components for tests that need them, started once per test process, on loopback, on free ports."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext

from penstock.demo.broker import LocalBroker
from penstock.engine.session import open_context
from penstock.pipeline import Spark
from tests.support.registry import LocalRegistry
from tests.support.topics import Topics


@pytest.fixture(scope="session")
def broker() -> Iterator[LocalBroker]:
    """A real Kafka broker."""
    with tempfile.TemporaryDirectory(prefix="penstock-broker-") as folder, LocalBroker(Path(folder)) as running:
        yield running


@pytest.fixture(scope="session")
def topics(broker: LocalBroker) -> Topics:
    """Topics on the broker: each test makes its own."""
    return Topics(broker.servers)


@pytest.fixture(scope="session")
def apicurio() -> Iterator[LocalRegistry]:
    """A real schema registry."""
    with tempfile.TemporaryDirectory(prefix="penstock-registry-") as folder, LocalRegistry(Path(folder)) as running:
        yield running


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkContext]:
    """A Spark context that `run` finds and uses."""
    context = open_context("tests", Spark())
    yield context
    context.stop()
