"""Will it run here? Every answer with a real broker and a real folder, and every complaint in one run."""

from __future__ import annotations

import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from penstock import load
from penstock.cli import commands
from penstock.operate.check import Finding, check
from penstock.sources import kafka
from penstock.testing import land_all
from tests.support.pipelines import write_pipeline
from tests.support.topics import Topics

ASKED = [
    "Java for Spark",
    "source",
    "write to the table location",
    "write the ledger, exactly one winner",
    "tables that are there",
    "where it would go on",
]


def _findings(path: Path) -> dict[str, Finding]:
    """What was tried, by its first words."""
    found = list(check(load(path)))
    assert [finding.what.split(" topic-")[0] for finding in found] == ASKED
    return dict(zip(ASKED, found, strict=True))


def _failed(path: Path) -> dict[str, str]:
    """What does not work, and what was said of it; the command ends with status 1."""
    assert commands.check(path) == 1
    return {what: finding.told for what, finding in _findings(path).items() if not finding.ok}


@pytest.fixture
def topic(topics: Topics) -> str:
    """A topic with ten messages."""
    made = topics.create(partitions=2)
    topics.produce(made, [json.dumps({"type": "order", "n": n}).encode() for n in range(10)], partitions=2)
    return made


def test_everything_is_well_before_the_first_start(topics: Topics, topic: str, tmp_path: Path) -> None:
    path = write_pipeline(tmp_path, topics.servers, topic)

    found = _findings(path)

    assert [finding for finding in found.values() if not finding.ok] == []
    assert found["source"].told.startswith("2 partitions, 10 positions held; cluster ")
    assert found["tables that are there"].told == "none yet: they are created at need"
    assert found["where it would go on"].told == "at its first start: 10 positions to read"
    assert commands.check(path) == 0


def test_everything_is_well_while_it_runs(topics: Topics, topic: str, tmp_path: Path) -> None:
    path = write_pipeline(tmp_path, topics.servers, topic)
    land_all(load(path))
    topics.produce(topic, [b'{"type": "order", "n": 10}'])

    found = _findings(path)

    assert all(finding.ok for finding in found.values())
    assert found["tables that are there"].told == "order (batch 2)"
    assert found["where it would go on"].told == "after entry 2: 1 positions to read"


def test_checking_leaves_no_file_behind(topics: Topics, topic: str, tmp_path: Path) -> None:
    path = write_pipeline(tmp_path, topics.servers, topic)

    commands.check(path)

    assert [left for left in tmp_path.rglob("*") if left.is_file()] == [path]


def test_every_answer_is_printed_with_its_mark(
    topics: Topics, topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.check(write_pipeline(tmp_path, topics.servers, topic))

    told = capsys.readouterr().out
    assert told.startswith("✓ shop.yaml: every setting is known and makes sense\n")
    assert [f"✓ {what}" in told for what in ASKED] == [True] * len(ASKED)


# --- what does not work --------------------------------------------------------------------------


def test_unknown_topic_is_named(topics: Topics, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = _failed(write_pipeline(tmp_path, topics.servers, "topic-that-nobody-made"))

    assert failed.keys() == {"source", "where it would go on"}
    assert "topic 'topic-that-nobody-made' does not exist" in failed["source"]
    assert "create it, or correct source.kafka.topic" in failed["source"]
    assert "✗ source topic-that-nobody-made" in capsys.readouterr().out


def test_dead_broker_is_told_and_the_rest_is_looked_at_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "ANSWER", 0.3)

    failed = _failed(write_pipeline(tmp_path, "127.0.0.1:1", "topic-x"))

    assert failed.keys() == {"source", "where it would go on"}
    assert "no answer from the Kafka brokers at 127.0.0.1:1" in failed["source"]
    assert "[source.unavailable]" in failed["source"]


def test_folder_that_cannot_be_written_is_named(topics: Topics, topic: str, tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file where the lake should be")

    failed = _failed(write_pipeline(tmp_path, topics.servers, topic))

    assert failed.keys() == {*ASKED} - {"Java for Spark", "source"}
    assert f"cannot use {tmp_path}/lake" in failed["write to the table location"]
    assert "[storage.unusable]" in failed["write to the table location"]


def test_table_that_cannot_be_written_is_named_with_its_reason(topics: Topics, topic: str, tmp_path: Path) -> None:
    for name in ("order", "page"):
        made = deltalake.DeltaTable.create(tmp_path / "lake" / name, pa.schema({"n": pa.int64()}))
        made.alter.add_constraint({"positive": "n > 0"})

    failed = _failed(write_pipeline(tmp_path, topics.servers, topic))

    assert failed.keys() == {"tables that are there"}
    told = failed["tables that are there"]
    assert "order: its setting delta.constraints.positive = n > 0" in told
    assert "page: its setting" in told  # all of them at once
    assert "[table.unwritable]" in told


def test_damaged_ledger_is_told(topics: Topics, topic: str, tmp_path: Path) -> None:
    path = write_pipeline(tmp_path, topics.servers, topic)
    land_all(load(path))
    (tmp_path / "lake/_penstock/shop/ledger" / f"{2:020d}.json").write_text("{")

    failed = _failed(path)

    assert failed.keys() == {"where it would go on"}
    assert "entry 2 of the ledger" in failed["where it would go on"]


def test_another_topic_under_the_same_app_is_told_before_a_start_is_tried(topics: Topics, tmp_path: Path) -> None:
    first, second = topics.create(), topics.create()
    path = write_pipeline(tmp_path, topics.servers, first)
    topics.produce(first, [b'{"type": "order", "n": 1}'])
    land_all(load(path))
    path.write_text(path.read_text().replace(first, second))

    failed = _failed(path)

    assert failed.keys() == {"where it would go on"}
    assert "[config.source-changed]" in failed["where it would go on"]
