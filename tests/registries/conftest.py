"""Registries for tests: a small one that can be told to misbehave, and a real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.registries.confluent import ConfluentRegistry
from penstock.registries.shelf import Shelf, forget
from tests.registries.hostile import Small, small


@pytest.fixture
def server() -> Iterator[Small]:
    """A small registry."""
    with small() as running:
        yield running


@pytest.fixture(autouse=True)
def new_process() -> None:
    """A process that knows no schemas yet."""
    forget()


@pytest.fixture
def kept(tmp_path: Path) -> Shelf:
    """An empty shelf."""
    return Shelf(str(tmp_path), {"secret": "hush"})


@pytest.fixture
def registry(server: Small) -> ConfluentRegistry:
    """A registry that knows one schema, which refers to another."""
    server.holds(7, '"orders"', "AVRO", [{"name": "money", "subject": "money", "version": 1}])
    server.holds_version("money", 1, "money's text")
    return ConfluentRegistry(url=server.url, timeout=5.0)
