"""Observers: several at once are all told everything."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from penstock.errors import Transient
from penstock.observe import BatchReport, Observer, Silence, TableReport, Together
from tests.entries import batch, claim

EVENTS: dict[str, tuple[Any, ...]] = {
    "claimed": (claim(1),),
    "looked": ({}, {"0": 1}),
    "batch": (BatchReport(batch(2), 0, {}, 0),),
    "table": (TableReport("order", "gives"),),
    "settled": ({"0": 1},),
    "waiting": (Transient("a.b", "away"),),
    "warned": (Transient("a.b", "away"),),
    "parked": ("order", "gone"),
    "healed": ("order",),
}


class _Notes:
    """Notes every event under its name."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self.noted.append((name, given))


def test_every_event_is_known_here() -> None:
    assert {name for name, _ in inspect.getmembers(Observer, inspect.isfunction) if name[0] != "_"} == set(EVENTS)


@pytest.mark.parametrize("name", EVENTS)
def test_each_of_several_observers_is_told(name: str) -> None:
    first, second = _Notes(), _Notes()
    getattr(Together(first, Silence(), second), name)(*EVENTS[name])

    assert first.noted == second.noted == [(name, EVENTS[name])]
