"""Where reading begins and ends. More of it, with the tables of others, is in `test_takeover.py`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import SparkContext

from penstock.errors import ConfigError
from tests.support import kdi
from tests.support.ingest import Ingest, Watch
from tests.support.topics import Topics

COLORS = pa.schema([("id", pa.int32()), ("color", pa.string())])


@pytest.fixture
def ingest(topics: Topics, tmp_path: Path, spark: SparkContext) -> Ingest:
    return Ingest(topics, tmp_path, partitions=3)


def colored(first: int, last: int) -> list[dict[str, object]]:
    return [{"id": number, "color": "red"} for number in range(first, last + 1)]


@pytest.mark.parametrize("options", [(), ("-o", "earliest"), ("-K", "auto.offset.reset=earliest")])
def test_start_from_earliest(ingest: Ingest, options: tuple[str, ...]) -> None:
    ingest.make(COLORS, ["color"])
    ingest.send(colored(1, 10))

    ingest.run("-m", "10", "-b", "10", *options, "-e")

    assert ingest.ids() == list(range(1, 11))
    assert ingest.version == 1


def test_end_at_initial_offsets(ingest: Ingest) -> None:
    """Nobody sends one more message to make it end, and what comes after the start is left for the next."""
    ingest.make(COLORS, ["color"])
    ingest.send(colored(1, 15))
    after_start = Watch(on_look=lambda: ingest.send(colored(16, 30)))

    ingest.run("-e", observer=after_start)

    assert ingest.ids() == list(range(1, 16))
    assert ingest.version == 1
    assert ingest.offsets() == {0: 4, 1: 4, 2: 4}

    ingest.run("--ends_at_latest_offsets")

    assert ingest.ids() == list(range(1, 31))
    assert ingest.version == 2


def test_write_offsets_to_delta_test(topics: Topics, tmp_path: Path, spark: SparkContext) -> None:
    """Sought offsets are kept in the ledger and reach a table with its first rows: there is no commit without
    rows. Offsets that a table has already come first, and one that lags behind what is sought is refused."""
    ingest = Ingest(topics, tmp_path, partitions=2, app="test")
    ingest.make(COLORS)
    ingest.send(colored(0, 5), partition=0)
    ingest.send(colored(100, 110), partition=1)
    seek = ("--seek_offsets", '{"0": 5, "1": 10}', "-e")
    for _ in range(2):
        ingest.run(*seek)
        head = ingest.ledger.head()
        assert (ingest.version, head and head.ends) == (0, {"0": 6, "1": 11})

    ingest.send(colored(6, 6), partition=0)
    ingest.run(*seek)
    assert (ingest.version, ingest.ids(), ingest.offsets()) == (1, [6], {0: 6, 1: 10})


def test_write_offsets_to_delta_test_over_stored_offsets(topics: Topics, tmp_path: Path, spark: SparkContext) -> None:
    ingest = Ingest(topics, tmp_path, partitions=2, app="test")
    ingest.send(colored(0, 19), partition=0)
    ingest.send(colored(100, 111), partition=1)
    kdi.ingest(ingest.table, "test", {0: 5, 1: 10}, colored(0, 5) + colored(100, 110), COLORS)

    with pytest.raises(ConfigError) as refused:
        ingest.run("--seek_offsets", '{"0": 15, "1": 10}', "-e")
    assert "[test-0:stored=5/seek=15]" in str(refused.value)
    assert ingest.version == 0

    ingest.run("--seek_offsets", '{"0": 5, "1": 10}', "-e")
    assert ingest.ids() == [*range(20), *range(100, 112)]
    assert ingest.offsets() == {0: 19, 1: 11}
