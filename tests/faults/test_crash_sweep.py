"""Every crash point, with a real SIGKILL: after a restart every message is in exactly one place, once.

The runs of a sweep form a chain on one pipeline: each recovers from the death before it and then dies at
the next point. Faults 1 to 6 and 9 of the matrix.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import audit, load
from penstock.crashpoints import POINTS
from tests.support.journal import Journal
from tests.support.pipelines import write_pipeline
from tests.support.process import penstock
from tests.support.topics import Topics

TABLES = 4  # three types and the dead letters

DRIVER = [
    "claim.before",
    "claim.after",
    "hint.after",
    "plan.after",
    "land.after",
    "routing.after",
    "decide.after",
    "commit.before:1",
    f"commit.before:{TABLES}",
    "evolve.after",
    "commit.after:1",
    f"commit.after:{TABLES}",
    "publish.before",
    "tidy.before",
]
WORKER = ["land.read", "land.written"]
ADOPTING = ["adopt.before", "adopt.after"]  # swept where messages are kept: tests/test_adopting.py
# There is no JVM yet when the claim is put; later on these places are passed again.
WITH_JVM = ["plan.after", *DRIVER[4:], "hint.after"]


def test_every_crash_point_is_swept() -> None:
    assert {point.partition(":")[0] for point in [*DRIVER, *WORKER, *ADOPTING]} == set(POINTS)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("whom", "points"), [("group", DRIVER), ("python", DRIVER), ("jvm", WITH_JVM)], ids=["group", "python", "jvm"]
)
def test_killed_at_every_point_nothing_is_lost_or_doubled(
    whom: str, points: list[str], topics: Topics, tmp_path: Path
) -> None:
    topic = topics.create(partitions=2)
    journal = Journal(topics, topic, 2)
    for link, point in enumerate(points):
        many_batches = point in ("tidy.before", "plan.after")
        path = write_pipeline(tmp_path, topics.servers, topic, messages=5 if many_batches else 100_000)
        journal.send(60, new_field=f"seen_{link}")
        died = penstock("run", path, "--until-caught-up", crash=f"{point}@{whom}")
        assert f"killed at {point.partition(':')[0]}" in died.err, (point, died.err)
        if whom == "jvm":  # what was landed before goes on without it; what was not needs another run
            assert died.status == 0 or "engine.spark-gone" in died.err, (point, died.err)
        else:
            assert died.status == -9, (point, died.status, died.err)
        journal.assert_none_landed_twice(tmp_path / "lake")

    recovered = penstock("run", path, "--until-caught-up")

    assert recovered.status == 0, recovered.err
    journal.assert_all_landed_once(tmp_path / "lake")
    assert audit(load(path)).wrong == []


@pytest.mark.timeout(300)
def test_a_worker_that_dies_is_sparks_to_replace(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(partitions=2)
    journal = Journal(topics, topic, 2)
    for point in WORKER:
        journal.send(60)
        path = write_pipeline(tmp_path, topics.servers, topic)
        done = penstock("run", path, "--until-caught-up", crash=point)
        assert done.status == 0, (point, done.err)
        journal.assert_all_landed_once(tmp_path / "lake")
