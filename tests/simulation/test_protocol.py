"""The promise under seeded crashes, pauses, lost replies and zombies; and the mistakes it must notice."""

from __future__ import annotations

import pickle

import pytest

from penstock import adopting, chores, commit, instance
from penstock.contracts import TableState
from penstock.kept import Waiting
from penstock.landing.routing import Routing
from tests.simulation.mutants import MUTANTS
from tests.simulation.oracle import Profile, Violation
from tests.simulation.world import World

PROFILES = {
    "core": Profile(),
    "parked": Profile(refuse_for_ever="b"),
    "vacuum": Profile(vacuum_pending=True),
    "restore": Profile(restore=True),
    "recreate": Profile(recreate=True),
    "retention": Profile(retention=True),
    "takeover": Profile(takeover=True, vacuum_pending=True),
    "adopt": Profile(adopts=True),
}
CHUNK = 500
SCHEDULES = {
    "core": 7_000,
    "parked": 1_500,
    "vacuum": 2_500,
    "restore": 2_500,
    "recreate": 2_000,
    "retention": 1_500,
    "takeover": 1_500,
    "adopt": 1_500,
}
"""20,000 schedules on every run."""

LATEST_CATCH = 1_500
"""A mutant that survives so many schedules is not caught."""


@pytest.fixture(autouse=True)
def small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chores come often, and the side file and kept messages are not Parquet: that is not what is tested here."""
    monkeypatch.setattr(chores, "HINT_EVERY", 4)
    monkeypatch.setattr(chores, "STRIP_EVERY", 5)
    monkeypatch.setattr(instance, "to_parquet", lambda rs: pickle.dumps([(r.slice, r.names, r.codes) for r in rs]))
    monkeypatch.setattr(instance, "from_parquet", lambda content: [Routing(*parts) for parts in pickle.loads(content)])
    monkeypatch.setattr(adopting, "waiting", _all_that_is_kept)


def _all_that_is_kept(state: TableState, storage: object, type: str, source: str) -> Waiting:
    return Waiting(tuple(state.holds({"type": type})))


def _chunks() -> list[tuple[str, int]]:
    return [(name, start) for name, count in SCHEDULES.items() for start in range(0, count, CHUNK)]


@pytest.mark.parametrize(("name", "start"), _chunks())
def test_no_schedule_breaks_the_promise(name: str, start: int) -> None:
    for seed in range(start, start + CHUNK):
        try:
            World(PROFILES[name], seed).run()
        except Violation as broken:
            pytest.fail(f"profile {name}, seed {seed}: {broken}")


def test_the_promise_holds_without_pipelining_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit.Commits.behind, "__defaults__", (1,))
    for seed in range(CHUNK):
        World(PROFILES["core"], seed).run()


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    profile, mutate = MUTANTS[name]
    mutate(monkeypatch)
    for seed in range(1, LATEST_CATCH + 1):
        try:
            World(PROFILES[profile], seed).run()
        except Violation:
            return
    pytest.fail(f"{name} survived {LATEST_CATCH} schedules")


def test_vanished_files_are_landed_again() -> None:
    """The vacuum profile really reaches the code that lands files again."""
    worlds = [World(PROFILES["vacuum"], seed) for seed in range(60)]
    for world in worlds:
        world.run()
    assert sum(world.relandings for world in worlds) > 20


def test_tables_that_are_taken_over_skip_what_they_had() -> None:
    """The take-over profile really has something to skip, and tables that are not equally far behind."""
    worlds = [World(PROFILES["takeover"], seed) for seed in range(40)]
    for world in worlds:
        world.run()
    assert sum(world.skipped for world in worlds) > 40


def test_kept_records_are_adopted() -> None:
    """The profile really has records that move, also while others put their files together."""
    worlds = [World(PROFILES["adopt"], seed) for seed in range(40)]
    for world in worlds:
        world.run()
    assert sum(len(world.moved) for world in worlds) > 20
