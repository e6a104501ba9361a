"""Watching a run from outside: a scrape while it lands from a real topic, through a process as users start it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.metrics.pages import free_port, problems, scrape, value
from tests.support.journal import Journal
from tests.support.pipelines import write_pipeline
from tests.support.process import Process, eventually
from tests.support.topics import Topics

pytestmark = pytest.mark.timeout(400)


def _page(port: int) -> str:
    try:
        return scrape(port)
    except OSError:
        return ""


def test_prometheus_sees_a_running_process_land_a_topic(topics: Topics, tmp_path: Path) -> None:
    topic, port = topics.create(partitions=2), free_port()
    journal = Journal(topics, topic, 2)
    journal.send(90)
    more = f"metrics: {{prometheus: {port}}}\n"
    path = write_pipeline(tmp_path, topics.servers, topic, latency="100ms", messages=40, more=more)
    running = Process("run", path)

    def told(name: str, **labels: str) -> float | None:
        return value(_page(port), name, app="shop", **labels)

    eventually(lambda: told("penstock_messages_read_total") == 90, tell=lambda: running.printed()[1])
    eventually(lambda: [told("penstock_lag_write", partition=p) for p in "01"] == [0, 0], tell=lambda: _page(port))
    text = _page(port)
    assert list(problems(text)) == []
    assert value(text, "buffer_lag_num_partitions") == 2
    assert (value(text, "penstock_phase_duration_seconds_sum", app="shop", phase="land") or 0) > 0

    journal.send(10)
    eventually(lambda: told("penstock_messages_read_total") == 100, tell=lambda: _page(port))
    running.signal(signal.SIGTERM)
    ended = running.wait(60)

    assert ended.status == 0, ended.err
    assert _page(port) == ""
    journal.assert_all_landed_once(tmp_path / "lake")
