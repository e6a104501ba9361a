"""A type that nobody declared: its messages are kept, the operator adopts it, processes die, all is there once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from penstock import audit, load
from tests.support.lake import rows
from tests.support.pipelines import write_pipeline
from tests.support.process import Process, eventually, penstock
from tests.support.topics import Topics

DECLARED = "  types: {login: {schema: {n: long}}}"


class Lake:
    """A topic with logins, which have a table, and orders, which are kept; every tenth order is bad."""

    def __init__(self, topics: Topics, folder: Path) -> None:
        self.topics, self.topic, self.folder = topics, topics.create(partitions=2), folder / "lake"
        self.path = write_pipeline(folder, topics.servers, self.topic, tables=DECLARED, latency="100ms")
        keep = self.path.read_text().replace("by: {field: type}\n", "by: {field: type}\n  unrouted: keep\n")
        self.path.write_text(keep + 'transforms: {first: "substr(word, `0`, `1`)"}\n')
        self.sent: Counter[int] = Counter()

    def send(self, count: int) -> None:
        start = sum(self.sent.values())
        orders = range(start, start + count)
        self.sent.update(orders)
        values = [{"type": "order", "n": n, "word": ["no text"] if n % 10 == 9 else "abc"} for n in orders]
        login = {"type": "login", "n": start, "word": "x"}
        self.topics.produce(self.topic, [json.dumps(each).encode() for each in [*values, login]], partitions=2)

    def kept(self) -> Counter[int]:
        return self._texts("_unrouted")

    def _texts(self, table: str) -> Counter[int]:
        if not (self.folder / table / "_delta_log").exists():
            return Counter()
        return Counter(json.loads(row["json_string"])["n"] for row in rows(self.folder / table, "json_string"))

    def orders(self) -> Counter[int]:
        if not (self.folder / "order" / "_delta_log").exists():
            return Counter()
        return Counter(row["n"] for row in rows(self.folder / "order", "n"))

    def assert_adopted(self) -> None:
        bad = {n for n in self.sent if n % 10 == 9}
        assert self.kept() == Counter()
        assert self._texts("dead_letters") == Counter(bad)
        assert self.orders() == Counter(self.sent.keys() - bad)
        assert audit(load(self.path)).wrong == []


@pytest.fixture
def lake(topics: Topics, tmp_path: Path) -> Lake:
    return Lake(topics, tmp_path)


@pytest.mark.timeout(300)
def test_killed_before_and_after_the_decision_everything_moves_once(lake: Lake) -> None:
    lake.send(40)
    assert penstock("run", lake.path, "--until-caught-up").status == 0
    assert lake.kept() == lake.sent

    wished = penstock("adopt", lake.path, "order", "--no-wait")
    assert (wished.status, wished.out) == (0, "order: wished; the running instance does it, or the next one\n")
    for point in ("adopt.before", "adopt.after"):
        lake.send(10)
        died = penstock("run", lake.path, "--until-caught-up", crash=f"{point}@group")
        assert (died.status, f"killed at {point}" in died.err) == (-9, True), died.err

    done = penstock("run", lake.path, "--until-caught-up")

    assert done.status == 0, done.err
    lake.assert_adopted()
    proved = penstock("audit", lake.path)
    assert (proved.status, "40 kept messages of type order moved" in " ".join(proved.out.split())) == (0, True)


@pytest.mark.timeout(300)
def test_running_pipeline_adopts_while_orders_keep_coming(lake: Lake) -> None:
    lake.send(30)
    running = Process("run", lake.path)
    try:
        eventually(lambda: lake.kept() == lake.sent, tell=lambda: running.printed()[1][-2000:])
        adopting = Process("adopt", lake.path, "order")
        while adopting.process.poll() is None:
            lake.send(10)
        done = adopting.wait()
        assert done.status == 0, done.err
        assert "doing it here" not in done.err
        eventually(lambda: sum(lake.orders().values()) == sum(n % 10 != 9 for n in lake.sent))
    finally:
        running.kill()

    assert penstock("run", lake.path, "--until-caught-up").status == 0
    lake.assert_adopted()


@pytest.mark.timeout(300)
def test_where_nobody_runs_the_command_does_it_itself(lake: Lake) -> None:
    lake.send(20)
    assert penstock("run", lake.path, "--until-caught-up").status == 0
    lake.send(10)  # not for the command to land

    done = penstock("adopt", lake.path, "order")

    assert done.status == 0, done.err
    assert done.out == "order: 18 rows moved to table order, 2 dead letters\n"
    assert "nobody answers: doing it here" in done.err
    assert sum(lake.orders().values()) == 18
    assert penstock("run", lake.path, "--until-caught-up").status == 0
    lake.assert_adopted()
