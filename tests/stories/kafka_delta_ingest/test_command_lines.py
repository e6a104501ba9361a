"""The command lines of kafka-delta-ingest's own documentation, with another first word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from deltalake import DeltaTable
from pyspark import SparkContext

from penstock.config.ingest_options import OPTIONS
from tests.support.ingest import typed
from tests.support.kdi import offsets
from tests.support.lake import rows
from tests.support.topics import Topics

# The entry point takes what the shell gave, and so must the tests.
pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

TRANSFORMS = "-t 'modified_date: substr(modified,`0`,`10`)' 'kafka_offset: kafka.offset'"
DLQ = (
    "--dlq_table_location {lake}/dlq --dlq_transform 'date: substr(epoch_micros_to_iso8601(timestamp),`0`,`10`)' "
    "'where: partition'"
)
EVERY_OPTION = (
    "penstock ingest --table_base_uri {lake} --message_type_whitelist '.*' --topic {topic} -k {servers} "
    "-g kafka_delta_ingest -a kafka_delta_ingest -o earliest -l 300 -m 1000000 --housekeeping_loop_iteration 5000 "
    "--deserialization_workers 10 --num_arrow_writer_threads 4 -b 134217728 --partition_columns modified_date,absent "
    + TRANSFORMS
    + f" {DLQ} "
    "-c -s localhost:8125 --seconds_idle_kafka_read_before_flush 180 --worker_to_messages_multiplier 10000 "
    "--num_converting_workers 4 --json '' -e"
)


@pytest.fixture(autouse=True)
def without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {env for option in OPTIONS for env in option.env}:
        monkeypatch.delenv(name, raising=False)


class Line:
    """Command lines as they are written, with the places filled in."""

    def __init__(self, topics: Topics, lake: Path) -> None:
        self.topics, self.lake, self.topic = topics, lake, topics.create()

    def typed(self, line: str) -> int:
        return typed(line.format(lake=self.lake, topic=self.topic, servers=self.topics.servers, table=self.table))

    @property
    def table(self) -> Path:
        return self.lake / self.topic

    def send(self, *values: bytes) -> None:
        self.topics.produce(self.topic, values)


@pytest.fixture
def line(topics: Topics, tmp_path: Path) -> Line:
    return Line(topics, tmp_path)


def modified(day: int) -> bytes:
    return json.dumps({"id": day, "modified": f"2021-03-{day:02d}T10:00:00Z"}).encode()


# --- ingest --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dlq", ["", DLQ], ids=["without-dlq", "with-dlq"])
def test_transforms_of_the_reference(line: Line, dlq: str, spark: SparkContext) -> None:
    line.send(modified(1), b"\xff no text", modified(2))

    start = "penstock ingest --table_base_uri {lake} --topic {topic} -k {servers} -e "
    assert line.typed(f"{start} {TRANSFORMS} {dlq}") == 0

    assert sorted((row["id"], row["modified_date"], row["kafka_offset"]) for row in rows(line.table)) == [
        (1, "2021-03-01", 0),
        (2, "2021-03-02", 2),
    ]
    (letter,) = rows(line.lake / ("dlq" if dlq else "dead_letters"))
    assert letter["base64_bytes"] == "/yBubyB0ZXh0"
    assert letter.get("where") == ("0" if dlq else None)
    assert offsets(line.table, "kafka_delta_ingest") == {0: 2}


def test_every_option_of_the_reference_in_one_line(
    line: Line, spark: SparkContext, capsys: pytest.CaptureFixture[str]
) -> None:
    line.send(modified(1), modified(2))

    assert line.typed(EVERY_OPTION) == 0

    assert sorted(path.name for path in line.table.glob("modified_date=*")) == [
        "modified_date=2021-03-01",
        "modified_date=2021-03-02",
    ]
    told = capsys.readouterr().err
    assert told.count("accepted, without effect here") == 1


def test_sought_offsets_of_the_reference(topics: Topics, tmp_path: Path, spark: SparkContext) -> None:
    """The first message is the one after the offset, in both partitions."""
    line = Line(topics, tmp_path)
    topics.widen(line.topic, 2)
    for partition, sent in ((0, 125), (1, 323)):
        topics.produce(line.topic, [b'{"n": %d}' % n for n in range(sent)], partition=partition)

    start = "penstock ingest --table_base_uri {lake} --topic {topic} -k {servers} -e --seek_offsets "
    assert line.typed(start + """'{{"0":123, "1":321}}'""") == 0

    assert sorted(row["n"] for row in rows(line.table)) == [124, 322]


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(capsys.readouterr().out)["source"]["kafka"]["settings"]
    return found


def test_tls_of_the_reference(line: Line, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = '-K "security.protocol=SSL" "ssl.certificate.location=kafka.crt" "ssl.key.location=kafka.key"'

    assert line.typed("penstock ingest --table_base_uri {lake} --topic {topic} --print-config " + settings) == 0

    assert printed(capsys) == {
        "security.protocol": "SSL",
        "ssl.certificate.location": "kafka.crt",
        "ssl.key.location": "kafka.key",
    }


def test_tls_from_variables(line: Line, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("KAFKA_DELTA_INGEST_CERT", "-----BEGIN CERTIFICATE-----")
    monkeypatch.setenv("KAFKA_DELTA_INGEST_KEY", "-----BEGIN PRIVATE KEY-----")

    start = "penstock ingest --table_base_uri {lake} --topic {topic} --print-config "
    assert line.typed(start + "-K security.protocol=SSL") == 0

    told = printed(capsys)
    assert told["security.protocol"] == "SSL"
    assert set(told) == {"security.protocol", "ssl.certificate.pem", "ssl.key.pem"}
    assert "PRIVATE KEY" not in str(told)


# --- repair --------------------------------------------------------------------------------------


def test_repair_of_the_reference(line: Line, spark: SparkContext, capsys: pytest.CaptureFixture[str]) -> None:
    """A lifecycle rule has deleted a file of a table that was ingested; the rest becomes one file, and
    ingestion goes on after the last offset."""
    start = f"penstock ingest --table_base_uri {{lake}} --topic {{topic}} -k {{servers}} -e {TRANSFORMS}"
    for day in (1, 2, 3):
        line.send(modified(day))
        assert line.typed(start) == 0
    (gone,) = [file for file in line.table.glob("*.parquet") if pq.read_table(file)["id"].to_pylist() == [1]]
    gone.unlink()

    assert line.typed("penstock repair --table_url {table} --optimize_target_size 100000000") == 0

    assert gone.name in capsys.readouterr().out.replace("\n", "")
    table = DeltaTable(line.table)
    assert [commit["operation"] for commit in table.history(2)] == ["OPTIMIZE", "FSCK"]
    assert len(table.file_uris()) == 1
    line.send(modified(4))
    assert line.typed(start) == 0
    assert sorted(row["id"] for row in rows(line.table)) == [2, 3, 4]


def test_repair_of_one_partition(line: Line, spark: SparkContext) -> None:
    start = "penstock ingest --table_base_uri {lake} --topic {topic} -k {servers} -e --partition_columns modified_date "
    for _ in range(2):
        line.send(modified(1), modified(2))
        assert line.typed(start + TRANSFORMS) == 0

    chosen = "--optimize_partition modified_date --optimize_partition_predicate 2021-03-01"
    assert line.typed("penstock repair --table_url {table} " + chosen) == 0

    files = [Path(uri).parent.name for uri in DeltaTable(line.table).file_uris()]
    assert sorted(files) == ["modified_date=2021-03-01"] + ["modified_date=2021-03-02"] * 2


@pytest.mark.parametrize("command", ["repair", "ingest"])
def test_help_as_it_is_asked_for(line: Line, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert line.typed(f"penstock help {command}") == 0

    shown = capsys.readouterr().out
    assert f"penstock {command}" in shown
    assert ("--table_url" if command == "repair" else "--table_base_uri") in shown
