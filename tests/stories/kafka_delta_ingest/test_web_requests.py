"""The example of kafka-delta-ingest: a hundred web requests, four transforms, a table that is there already."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark import SparkContext

from tests.support.ingest import typed
from tests.support.kdi import offsets
from tests.support.lake import rows
from tests.support.topics import Topics

# The entry point takes what the shell gave, and so must the tests.
pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

PARTITIONS = 3
METHODS = {"DELETE": 24, "PUT": 23, "POST": 19, "GET": 17, "HEAD": 17}
STATUSES = {500: 21, 200: 15, 404: 10, 202: 10, 401: 9, 302: 8, 400: 7, 204: 6, 201: 6, 301: 6, 403: 2}
KAFKA = pa.struct([("offset", pa.int64()), ("topic", pa.string()), ("partition", pa.int32())])
COLUMNS = pa.schema(
    [
        ("meta", pa.struct([("producer", pa.struct([("timestamp", pa.string())])), ("kafka", KAFKA)])),
        ("method", pa.string()),
        ("session_id", pa.string()),
        ("status", pa.int32()),
        ("url", pa.string()),
        ("uuid", pa.string()),
        ("date", pa.string()),
    ]
)
# As the original's example starts it, but for the places.
UPSTREAM = """penstock ingest web_requests {base}/web_requests \
  -l 60 \
  -a web_requests \
  -K "auto.offset.reset=earliest" \
  -t 'date: substr(meta.producer.timestamp, `0`, `10`)' \
      'meta.kafka.offset: kafka.offset' \
      'meta.kafka.partition: kafka.partition' \
      'meta.kafka.topic: kafka.topic' \
  -s "localhost:8125" -k {servers} -e"""
FORK = """penstock ingest --table_base_uri {base} --topic web_requests -l 60 -a web_requests -k {servers} -e \
  -t 'date: substr(meta.producer.timestamp, `0`, `10`)^meta.kafka.offset: kafka.offset' \
  -t 'meta.kafka.partition: kafka.partition^meta.kafka.topic: kafka.topic'"""


def web_requests() -> list[dict[str, Any]]:
    """A hundred of them, in no order of method or status, the last four in one session."""
    methods = list(Counter(METHODS).elements())
    statuses = list(Counter(STATUSES).elements())
    return [
        {
            "meta": {"producer": {"timestamp": f"2021-03-24T15:06:17.{321_710 + 17 * n:06d}+00:00"}},
            "method": methods[n * 37 % 100],
            "session_id": f"session-{min(n, 96)}",
            "status": statuses[n * 73 % 100],
            "url": f"http://www.example.com/{n % 40}",
            "uuid": f"uuid-{n}",
        }
        for n in range(100)
    ]


@pytest.fixture(scope="module")
def servers(topics: Topics) -> Iterator[str]:
    topics.create(PARTITIONS, name="web_requests")
    sent = [json.dumps(request).encode() for request in web_requests()]
    topics.produce("web_requests", sent, partitions=PARTITIONS)
    yield topics.servers
    topics.delete("web_requests")


@pytest.mark.parametrize("line", [UPSTREAM, FORK], ids=["upstream", "fork"])
def test_web_requests_replay(line: str, servers: str, tmp_path: Path, spark: SparkContext) -> None:
    table = tmp_path / "web_requests"
    DeltaTable.create(table, COLUMNS, partition_by=["date"])
    command = line.format(base=tmp_path, servers=servers)

    assert typed(command) == 0

    found = sorted(rows(table), key=lambda row: int(row["uuid"].removeprefix("uuid-")))
    assert [{**row, "meta": {"producer": row["meta"]["producer"]}} for row in found] == [
        {**request, "date": "2021-03-24"} for request in web_requests()
    ]
    assert [row["meta"]["kafka"] for row in found] == [
        {"offset": n // PARTITIONS, "topic": "web_requests", "partition": n % PARTITIONS} for n in range(100)
    ]
    assert Counter(row["method"] for row in found) == METHODS
    assert Counter(row["status"] for row in found) == STATUSES
    assert len({row["session_id"] for row in found}) == 97
    assert [path.name for path in table.glob("date=*")] == ["date=2021-03-24"]
    assert offsets(table, "web_requests", PARTITIONS) == {0: 33, 1: 32, 2: 32}
    assert DeltaTable(table).schema().to_arrow() == DeltaTable(table, version=0).schema().to_arrow()

    assert typed(command) == 0
    assert len(rows(table)) == 100
