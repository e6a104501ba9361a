"""The loop at its edges; that it keeps the promise is what the simulation shows."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from deltalake import DeltaTable

from penstock.batch import LandedBatch, _accounted
from penstock.catalog import Growth
from penstock.contracts import File, Positions
from penstock.errors import PenstockError, Transient, Unavailable
from penstock.instance import Stopped
from penstock.loop import Loop, Until
from penstock.observe import Silence
from penstock.protocol.entry import Counts
from penstock.storage import Storage
from penstock.testing import MemorySource, land_all
from tests.memory_shop import event, instance, shop

TYPES = [f"type-{number}" for number in range(5)]


class _NobodyListens(MemorySource):
    """A source whose owner does not let us publish positions."""

    def publish(self, app: str, positions: Positions) -> None:
        raise Transient("source.unavailable", "GROUP_AUTHORIZATION_FAILED")


def test_memory_does_not_grow_while_a_table_is_parked_and_nobody_listens(tmp_path: Path) -> None:
    source = _NobodyListens()
    pipeline = shop(source, tmp_path / "lake", tables={"park_after": 0}, batch={"latency": "10ms", "messages": 5})
    source.add(*(event(type, 0) for type in TYPES))
    land_all(pipeline)
    DeltaTable(tmp_path / "lake" / TYPES[0]).alter.add_constraint({"closed": "n >= 0"})
    source.add(*(event(type, n) for n in range(30) for type in TYPES))

    with instance(pipeline) as running:
        running.claim()
        loop = Loop(running, Until(batches=30))
        loop.run()

        assert list(running.commits.parked) == [TYPES[0]]
        assert len(running.commits._entries) <= 2 * len(TYPES)  # next and newest of each, not all thirty
        assert len(loop.chores._ends) <= len(TYPES)


def test_batch_whose_files_do_not_hold_what_was_counted_is_not_decided() -> None:
    counts = {"0": Counts(read=3, rows=2, dead=1)}
    good = {"order": [File("a", 1, 2)], "_dead_letters": [File("b", 1, 1)]}
    _accounted(LandedBatch(good, counts, [], {}, "", Growth({}, {})))

    for files in ({}, {"order": [File("a", 1, 3)]}, good | {"order": [File("a", 1, 1)]}):
        with pytest.raises(PenstockError) as refused:
            _accounted(LandedBatch(files, counts, [], {}, "", Growth({}, {})))
        assert refused.value.code == "landing.miscounted"


def test_ledger_that_takes_no_entries_is_told_and_does_not_keep_us_from_stopping(tmp_path: Path) -> None:
    closed = threading.Event()

    class Closing(Storage):
        def create(self, path: str, content: bytes) -> bool:
            if closed.is_set():
                raise Unavailable("storage.unavailable", "closed")
            return super().create(path, content)

    class Watch(Silence):
        def waiting(self, why: Transient) -> None:
            told.append(why.code)

    told: list[str] = []
    source = MemorySource()
    source.add(event("order", 1))
    with instance(shop(source, tmp_path / "lake"), Watch(), lambda location: Closing(location, {})) as running:
        running.claim()
        closed.set()
        object.__setattr__(running.around, "stop", lambda: bool(told))
        with pytest.raises(Stopped):
            Loop(running, Until(caught_up=True)).run()

    assert told == ["ledger.unavailable"]
    closed.clear()
    land_all(shop(source, tmp_path / "lake"))
    assert DeltaTable(tmp_path / "lake" / "order").count() == 1


@pytest.mark.parametrize(("smallest", "taken"), [("1MB", 0), ("20B", 5)])
def test_trickle_waits_until_it_makes_a_file_of_some_size(tmp_path: Path, smallest: str, taken: int) -> None:
    source, settings = MemorySource(), {"latency": "1h", "messages": 5, "min_file_bytes": smallest}
    source.add(event("order", 0))
    land_all(shop(source, tmp_path / "lake"))
    source.add(*(event("order", n) for n in range(1, 9)))

    with instance(shop(source, tmp_path / "lake", batch=settings)) as running:
        running.claim()
        planned = Loop(running, Until())._plan()

    assert sum(piece.end - piece.start for piece in planned) == taken


def test_jitter_is_drawn_anew_for_every_batch(tmp_path: Path) -> None:
    source = MemorySource()
    with instance(shop(source, tmp_path / "lake", batch={"latency": "10ms", "jitter": 0.1})) as running:
        running.claim()
        loop = Loop(running, Until())
        drawn = {loop.stretch}
        for number in range(3):
            source.add(event("order", number))
            while not (slices := loop._plan()):
                continue
            loop._batch(slices)
            drawn.add(loop.stretch)

    assert len(drawn) == 4
    assert all(0 <= share <= 0.1 for share in drawn)
    with instance(shop(source, tmp_path / "lake")) as running:
        running.claim()
        assert Loop(running, Until()).stretch == 0
