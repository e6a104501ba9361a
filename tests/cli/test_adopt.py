"""`penstock adopt`: what it says and how it ends."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from penstock import load
from penstock.cli.adopt import told
from penstock.operate.adopt import Outcome
from penstock.protocol.entry import Counts
from penstock.testing import land_all
from tests.kept_shop import numbers
from tests.memory_shop import event
from tests.support.command_line import Call, caller
from tests.support.pipelines import write_pipeline
from tests.support.topics import Topics


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


@pytest.fixture
def path(topics: Topics, tmp_path: Path) -> Path:
    """A pipeline that has kept three orders."""
    topic = topics.create()
    made = write_pipeline(tmp_path, topics.servers, topic)
    made.write_text(made.read_text().replace("by: {field: type}\n", "by: {field: type}\n  unrouted: keep\n"))
    topics.produce(topic, [event("order", n) for n in range(3)])
    land_all(load(made))
    return made


def test_wish_is_left_to_the_next_run(path: Path, tmp_path: Path, call: Call) -> None:
    for _ in range(2):  # it can be wished more than once
        ended = call("adopt", str(path), "order", "--no-wait")
        assert (ended.status, ended.err) == (0, "")
        assert ended.out == "order: wished; the running instance does it, or the next one\n"

    land_all(load(path))

    assert numbers(tmp_path / "lake" / "order") == Counter(range(3))
    assert numbers(tmp_path / "lake" / "_unrouted") == Counter()
    again = call("adopt", str(path), "order")
    assert (again.status, again.out) == (0, "order: no message is kept, and it has its table: order\n")


@pytest.mark.parametrize(
    ("type", "status", "why"),
    [
        ("page", 2, "app 'shop' keeps no message of type 'page'"),
        ("", 2, "type '' can have no table"),
        ("x" * 400, 2, "can have no table"),
        ("\x1b[31mred", 2, "keeps no message of type"),
    ],
)
def test_type_that_cannot_be_adopted(type: str, status: int, why: str, path: Path, call: Call) -> None:
    ended = call("adopt", str(path), type)

    assert ended.status == status
    assert why in ended.words
    assert "\x1b" not in ended.err


def test_pipeline_that_never_ran_keeps_nothing(topics: Topics, tmp_path: Path, call: Call) -> None:
    path = write_pipeline(tmp_path, topics.servers, topics.create())

    ended = call("adopt", str(path), "order")

    assert (ended.status, "adopt.nothing-kept" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (Counts(read=1_200, rows=1_200), "order: 1,200 rows moved to table order, 0 dead letters"),
        (
            Counts(read=3, rows=1, dead=1, filtered=1),
            "order: 1 rows moved to table order, 1 dead letters, 1 were neither",
        ),
    ],
)
def test_what_moved_is_told(counts: Counts, text: str) -> None:
    assert told(Outcome("order", "order", counts)) == text
