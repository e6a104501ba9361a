"""Running it at night: signals, two instances, a broker that goes away, floods, and what the log says."""

from __future__ import annotations

import json
import signal
import time
from datetime import datetime
from pathlib import Path

import pytest

from penstock import audit, load
from penstock.demo.broker import LocalBroker
from tests.support.journal import Journal
from tests.support.lake import count
from tests.support.pipelines import write_pipeline
from tests.support.process import Process, command_lines, eventually, penstock
from tests.support.topics import Topics

pytestmark = pytest.mark.timeout(400)


def _entries(folder: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in sorted((folder / "lake/_penstock/shop/ledger").glob("*.json"))]


def _has_landed(folder: Path, table: str, rows: int) -> bool:
    return (folder / "lake" / table / "_delta_log").exists() and count(folder / "lake" / table) >= rows


def test_sigterm_finishes_the_batch_in_hand_and_ends_well(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(partitions=2)
    journal = Journal(topics, topic, 2)
    journal.send(90)
    path = write_pipeline(tmp_path, topics.servers, topic, latency="100ms", messages=10)
    running = Process("run", path)
    eventually(lambda: _has_landed(tmp_path, "alpha", 1))

    running.signal(signal.SIGTERM)
    ended = running.wait(60)

    assert ended.status == 0, ended.err
    assert audit(load(path)).wrong == []  # nothing is left half done
    batches = [event for event in ended.events if event["event"] == "batch"]
    assert batches
    assert all(
        e["read"] == e["rows"] + e["dead_letters"] + e["filtered"] + e["tombstones"] + e["skipped"] for e in batches
    )
    assert penstock("run", path, "--until-caught-up").status == 0
    journal.assert_all_landed_once(tmp_path / "lake")


def test_second_signal_ends_at_once(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    path = write_pipeline(tmp_path, "127.0.0.1:1", topic)  # nobody answers there: it waits
    running = Process("run", path)
    eventually(lambda: "source.unavailable" in running.printed()[1])

    running.signal(signal.SIGTERM)
    running.signal(signal.SIGINT)

    assert running.wait(5).status in (130, 143)


def test_the_newer_of_two_instances_goes_on_and_the_other_ends_with_status_3(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(partitions=2)
    journal = Journal(topics, topic, 2)
    journal.send(30)
    path = write_pipeline(tmp_path, topics.servers, topic, latency="100ms")
    older = Process("run", path)
    eventually(lambda: _has_landed(tmp_path, "alpha", 1))

    newer = Process("run", path)
    fenced = older.wait(60)
    claim = [entry for entry in _entries(tmp_path) if "ranges" not in entry][-1]
    taken_over = time.time()

    assert fenced.status == 3, fenced.err
    assert "app.fenced" in fenced.err
    assert str(claim["instance"]) in fenced.err
    assert taken_over - _moment(claim) < 30
    journal.send(60)
    eventually(lambda: _has_landed(tmp_path, "alpha", 27))
    newer.signal(signal.SIGTERM)
    assert newer.wait(60).status == 0
    assert penstock("run", path, "--until-caught-up").status == 0
    journal.assert_all_landed_once(tmp_path / "lake")


def _moment(entry: dict[str, object]) -> float:
    return datetime.fromisoformat(str(entry["time"])).timestamp()


def test_a_broker_that_dies_and_comes_back_is_waited_for(tmp_path: Path) -> None:
    quick = {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "200"}
    broker = LocalBroker(tmp_path / "broker", settings=quick).start()
    topics = Topics(broker.servers)
    topic = topics.create(partitions=2)
    journal = Journal(topics, topic, 2)
    journal.send(30)
    path = write_pipeline(tmp_path, broker.servers, topic, latency="100ms")
    running = Process("run", path)
    eventually(lambda: _has_landed(tmp_path, "alpha", 9))

    broker.kill()
    again = LocalBroker(tmp_path / "broker", port=broker.port, settings=quick).start()
    journal.send(30)
    eventually(lambda: _has_landed(tmp_path, "alpha", 18), tell=lambda: running.printed()[1])

    running.signal(signal.SIGTERM)
    assert running.wait(60).status == 0
    again.stop()
    journal.assert_all_landed_once(tmp_path / "lake")


def test_a_flood_of_bad_messages_stops_the_app_before_anything_is_written(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    topics.produce(topic, [b'{"type": "event", "n": 1}'] * 60 + [b"broken"] * 140)
    path = write_pipeline(tmp_path, topics.servers, topic)

    stopped = penstock("run", path, "--until-caught-up")

    assert stopped.status == 5
    assert "70.0%" in stopped.err
    assert "json.malformed 140" in stopped.err
    assert f"{topic} partition 0 position 60" in stopped.err
    assert "dead_letters.max_share" in stopped.err
    assert not (tmp_path / "lake" / "event" / "_delta_log").exists()
    path.write_text(path.read_text() + "dead_letters: {max_share: 0.9}\n")
    assert penstock("run", path, "--until-caught-up").status == 0
    assert count(tmp_path / "lake" / "dead_letters") == 140


def test_secrets_reach_no_log_no_error_and_no_process_list(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    topics.produce(topic, [b'{"type": "event", "n": 1}', b"poison"])
    canary = "canary-7f3a"
    spark = 'spark: {conf: {spark.hadoop.fs.s3a.secret.key: "${env:SECRET}"}}'
    path = write_pipeline(tmp_path, topics.servers, topic, latency="100ms", more=spark)
    settings = 'settings: {sasl.password: "${env:SECRET}", ssl.key.password: "${env:SECRET}"}'
    text = path.read_text().replace("start: earliest}", f"start: earliest, {settings}}}")
    path.write_text(text + "tables_storage_is_not_a_field: ${env:SECRET}\n")
    env = {"SECRET": canary}

    refused = penstock("run", path, env=env)
    assert refused.status == 2
    assert canary not in refused.out + refused.err
    path.write_text(text)
    running = Process("run", path, env=env)
    eventually(lambda: _has_landed(tmp_path, "event", 1))
    listed = command_lines().values()
    running.signal(signal.SIGTERM)
    ended = running.wait(60)

    assert ended.status == 0, ended.err
    assert any("java" in line for line in listed)
    assert not [line for line in listed if canary in line]
    assert canary not in ended.out + ended.err
    for file in (tmp_path / "lake").rglob("*"):
        assert file.is_dir() or canary.encode() not in file.read_bytes(), file


def test_runs_that_end_well_write_nothing_but_log_lines(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(partitions=2)
    path = write_pipeline(tmp_path, topics.servers, topic)
    for run in range(3):
        topics.produce(topic, [b'{"type": "event", "n": 1}'] * 12_000)  # enough for more than one worker

        ended = penstock("run", path, "--until-caught-up")

        assert ended.status == 0, ended.err
        assert count(tmp_path / "lake" / "event") == (run + 1) * 12_000
        assert [line for line in ended.err.splitlines() if not line.startswith("{")] == []
        assert ended.events[-1]["event"] == "stopped"
