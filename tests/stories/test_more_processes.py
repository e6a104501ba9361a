"""Driver and workers that share nothing but the table location: executors in processes of their own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pyspark
import pytest

from penstock import audit, load
from tests.support.journal import Journal
from tests.support.lake import count
from tests.support.pipelines import write_pipeline
from tests.support.process import Process, command_lines, eventually, penstock
from tests.support.topics import Topics

CLUSTER = "local-cluster[2,1,1024]"

pytestmark = pytest.mark.timeout(400)


def _spark_home(folder: Path) -> dict[str, str]:
    """Spark as it is installed, with a place of its own for what executors leave behind."""
    home = folder / "spark"
    home.mkdir()
    for part in Path(pyspark.__file__).parent.iterdir():
        (home / part.name).symlink_to(part)
    return {"SPARK_HOME": str(home)}


def _executors(process: Process) -> list[int]:
    """The executor JVMs of a run."""
    named = [pid for pid, line in command_lines().items() if "CoarseGrainedExecutorBackend" in line]
    return [pid for pid in named if _group(pid) == process.pid]


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


def test_separate_executors_land_everything_once_though_one_is_killed_half_way(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(partitions=4)
    journal = Journal(topics, topic, 4)
    journal.send(20_000)
    path = write_pipeline(tmp_path, topics.servers, topic, messages=1_000)
    running = Process("run", path, "--until-caught-up", "--master", CLUSTER, env=_spark_home(tmp_path))
    eventually(lambda: (tmp_path / "lake/alpha/_delta_log").exists(), 120)
    first = _executors(running)

    os.kill(first[0], signal.SIGKILL)
    before = count(tmp_path / "lake" / "alpha")
    ended = running.wait(240)

    assert ended.status == 0, ended.err
    assert len(first) == 2
    assert before < 3_000  # it was in the middle
    journal.assert_all_landed_once(tmp_path / "lake")
    assert audit(load(path)).wrong == []


def test_a_worker_that_dies_while_it_writes_leaves_no_row_twice(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(partitions=2)
    journal = Journal(topics, topic, 2)
    journal.send(2_000)
    path = write_pipeline(tmp_path, topics.servers, topic)
    dies = "spark.executorEnv.PENSTOCK_CRASH=land.written"

    done = penstock(
        *("run", path, "--until-caught-up", "--master", CLUSTER, "--conf", dies),
        seconds=200,
        env=_spark_home(tmp_path),
    )

    assert done.status == 0, done.err
    executors = [file.read_text() for file in (tmp_path / "spark" / "work").rglob("stderr")]
    assert any("killed at land.written" in printed for printed in executors)
    journal.assert_all_landed_once(tmp_path / "lake")
