"""Landing on a real Spark: the session that is there, retries, and a JVM that dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext

from penstock.engine.session import jvm_pid
from tests.support.lake import count
from tests.support.pipelines import write_pipeline
from tests.support.process import Process, eventually
from tests.support.topics import Topics

pytestmark = pytest.mark.timeout(200)


def _listening(pids: set[int]) -> dict[str, str]:
    """Where these processes listen: address and port, as the kernel writes them, by socket."""
    inodes = {
        target.removeprefix("socket:[").rstrip("]")
        for pid in pids
        for target in _links(Path(f"/proc/{pid}/fd"))
        if target.startswith("socket:[")
    }
    found = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:  # 0A: it listens
                found[fields[9]] = fields[1]
    return found


def _links(folder: Path) -> Iterator[str]:
    for link in folder.iterdir():
        try:
            yield str(link.readlink())
        except OSError:
            continue


def _group(leader: int) -> set[int]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(process.name)) == leader:
                found.add(int(process.name))
        except ProcessLookupError:
            continue
    return found


def _alone(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Python that has a Spark to itself: a process has one context, and here the tests share theirs."""
    line = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


OWN_SESSION = """
import os, sys
from pyspark.sql import SparkSession
from penstock import Until, load, run

os.environ["PYSPARK_PYTHON"] = sys.executable  # as who starts a session of their own must do
session = SparkSession.builder.master("local[1]").appName("mine").config("spark.ui.enabled", "false").getOrCreate()
settings = dict(session.sparkContext.getConf().getAll())

run(load(sys.argv[1]), until=Until(caught_up=True), spark=session)

assert dict(session.sparkContext.getConf().getAll()) == settings
print(session.range(3).count(), "from", settings["spark.app.name"])
session.stop()
"""


def test_session_that_exists_is_used_as_it_is_and_left_running(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    topics.produce(topic, [json.dumps({"type": "event", "n": n}).encode() for n in range(10)])

    ended = _alone(OWN_SESSION, write_pipeline(tmp_path, topics.servers, topic))

    assert (ended.returncode, ended.stdout) == (0, "3 from mine\n"), ended.stderr
    assert count(tmp_path / "lake" / "event") == 10


def test_everything_listens_on_loopback_only(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    topics.produce(topic, [b'{"type": "event", "n": 1}'])
    running = Process("run", write_pipeline(tmp_path, topics.servers, topic, latency="100ms"))
    eventually(lambda: (tmp_path / "lake/event/_delta_log").exists())

    places = _listening(_group(running.pid))
    running.signal(signal.SIGTERM)

    assert running.wait(60).status == 0
    assert places, "Spark listens somewhere"
    loopback = ("0100007F:", "0000000000000000FFFF00000100007F:", "00000000000000000000000001000000:")
    assert [place for place in places.values() if not place.startswith(loopback)] == []


def test_jvm_that_dies_is_noticed_within_seconds(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    topics.produce(topic, [b'{"type": "event", "n": 1}'])
    running = Process("run", write_pipeline(tmp_path, topics.servers, topic, latency="100ms"))
    eventually(lambda: (tmp_path / "lake/event/_delta_log").exists())
    (jvm,) = [pid for pid in _group(running.pid) if Path(f"/proc/{pid}/comm").read_text() == "java\n"]

    os.kill(jvm, signal.SIGKILL)
    died = time.monotonic()
    ended = running.wait(30)

    assert ended.status == 1
    assert "engine.spark-gone" in ended.err
    assert time.monotonic() - died < 5


NOWHERE = """
from penstock.engine.session import open_context
from penstock.errors import PenstockError
from penstock.pipeline import Spark

try:
    open_context("test", Spark(master="nowhere://x"))
except PenstockError as refused:
    print(refused.code, refused, sep="\\n")
"""


def test_master_that_makes_no_sense_is_told_in_a_sentence() -> None:
    ended = _alone(NOWHERE)

    code, said, advice = ended.stdout.splitlines()
    assert code == "engine.no-spark"
    assert "did not start with master nowhere://x" in said
    assert "--master" in advice


def test_process_of_the_jvm_is_known_where_we_started_it(spark: SparkContext) -> None:
    pid = jvm_pid(spark)

    assert pid is not None
    assert Path(f"/proc/{pid}/comm").read_text() == "java\n"


CLOSING = """
import threading, time
from penstock.engine.session import open_context
from penstock.engine.spark import SparkEngine
from penstock.pipeline import Spark

def work(context, group):
    context.setJobGroup(group, "test", interruptOnCancel=True)
    try:
        context.parallelize(range(4), 4).foreach(lambda _: time.sleep(600))
    except Exception:
        print("ended")

for _ in range(4):
    engine = SparkEngine(lambda: open_context("test", Spark(master="local[4]")))
    engine.cores
    context = engine._opening().result()
    job = threading.Thread(target=work, args=(context, engine._group))
    job.start()
    while not context.statusTracker().getActiveStageIds():
        time.sleep(0.01)
    engine.cancel()
    job.join()
    engine.close()
"""


def test_tasks_that_are_cancelled_when_spark_stops_end_without_a_word() -> None:
    ended = _alone(CLOSING)

    assert ended.stdout == "ended\n" * 4
    assert ended.stderr == ""
