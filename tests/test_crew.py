"""Threads beside the loop: started, woken, repeated, and stopped."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from penstock.crew import Crew, Threads

LONG = 60.0  # seconds: nobody waits so long unless something is broken


@pytest.fixture
def crew() -> Iterator[Threads]:
    threads = Threads(size=2)
    yield threads
    threads.close()


def test_threads_are_a_crew(crew: Threads) -> None:
    found: Crew = crew
    assert found.now() <= found.now()
    assert all(0 <= found.chance() < 1 for _ in range(100))


def test_spawned_work_is_done_beside_us(crew: Threads) -> None:
    done: list[str] = []
    finished = threading.Event()

    def work() -> None:
        done.append(threading.current_thread().name)
        finished.set()

    crew.spawn(work)
    assert finished.wait(LONG)
    assert done != [threading.current_thread().name]
    assert done[0].startswith("penstock")


def test_spawned_works_go_on_at_the_same_time(crew: Threads) -> None:
    meeting, met = threading.Barrier(2, timeout=LONG), threading.Semaphore(0)

    def work() -> None:
        meeting.wait()
        met.release()

    crew.spawn(work)
    crew.spawn(work)
    assert met.acquire(timeout=LONG)
    assert met.acquire(timeout=LONG)


def test_waiting_ends_when_somebody_wakes_us(crew: Threads) -> None:
    before = crew.now()
    crew.spawn(crew.wake)
    crew.wait(LONG)
    assert crew.now() - before < LONG


def test_waking_before_the_wait_is_not_lost_and_counts_once(crew: Threads) -> None:
    before = crew.now()
    crew.wake()
    crew.wake()
    crew.wait(LONG)
    assert crew.now() - before < LONG
    before = crew.now()
    crew.wait(0.05)
    assert crew.now() - before >= 0.05


def test_waiting_ends_by_itself(crew: Threads) -> None:
    before = crew.now()
    crew.wait(0.02)
    assert 0.02 <= crew.now() - before < LONG


def test_repeated_work_is_done_again_and_again_until_the_crew_is_closed() -> None:
    crew = Threads()
    beats = threading.Semaphore(0)
    crew.every(0.001, beats.release)
    assert all(beats.acquire(timeout=LONG) for _ in range(3))
    guards = [thread for thread in threading.enumerate() if thread.name == "penstock-guard"]
    crew.close()
    for guard in guards:
        guard.join(LONG)
    assert not any(guard.is_alive() for guard in guards)


def test_closing_waits_for_work_in_hand_and_drops_what_has_not_begun() -> None:
    crew = Threads(size=1)
    begun, may_end, done = threading.Event(), threading.Event(), list[str]()

    def first() -> None:
        begun.set()
        assert may_end.wait(LONG)
        done.append("first")

    crew.spawn(first)
    crew.spawn(lambda: done.append("second"))
    assert begun.wait(LONG)
    closing = threading.Thread(target=crew.close)
    closing.start()
    crew.wait(0.02)
    assert closing.is_alive()
    may_end.set()
    closing.join(LONG)
    assert done == ["first"]


def test_closed_crew_takes_no_more_work(crew: Threads) -> None:
    crew.close()
    with pytest.raises(RuntimeError):
        crew.spawn(lambda: None)
