"""The demonstration, as a stranger sees it: it ends well, goes on after a kill, and leaves nothing running."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from penstock import audit, load
from tests.support.process import Finished, Process, command_lines, eventually

pytestmark = pytest.mark.timeout(300)


def _left_running(folder: Path) -> list[str]:
    """Processes that have something to do with this folder."""
    return [line for pid, line in command_lines().items() if str(folder) in line and pid != os.getpid()]


def _demo(folder: Path) -> Finished:
    return Process("demo", "--folder", folder, "--messages", "4000").wait(200)


def test_the_demo_tells_its_story_and_goes_on_after_it_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "shown"

    first = _demo(folder)

    assert first.status == 0, first.err
    for told in ("order.v1", "page.viewed", "page.clicked", "json.malformed", "value.misfit", "nothing lost"):
        assert told in first.out
    assert "debug.trace" not in first.out  # nobody asked for it
    assert _left_running(folder) == []

    killed = Process("demo", "--folder", folder, "--messages", "4000")
    ledger = folder / "lake/_penstock/shop/ledger"
    before = len(list(ledger.iterdir()))
    eventually(lambda: len(list(ledger.iterdir())) > before, 120)  # it has claimed, and is about to land
    killed.kill()
    killed.process.wait()
    eventually(lambda: _left_running(folder) == [])  # the broker too

    again = _demo(folder)

    assert again.status == 0, again.err
    assert "going on" in again.out
    assert audit(load(folder / "shop.yaml")).ok
    assert sum(line.counts.read for line in audit(load(folder / "shop.yaml")).partitions.values()) == 12_000


def test_ctrl_c_ends_the_demo_and_its_broker(tmp_path: Path) -> None:
    folder = tmp_path / "shown"
    running = Process("demo", "--folder", folder, "--messages", "4000")
    eventually(lambda: (folder / "shop.yaml").exists(), 120)

    running.signal(signal.SIGINT)
    ended = running.wait(60)

    assert "Traceback" not in ended.err
    assert _left_running(folder) == []
