"""Finding parts by name: built-in ones and anybody's plugins alike, through entry points."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any


def known(kind: str) -> dict[str, EntryPoint]:
    """The parts of a kind (`sources`, `formats`, `tables`) that are installed."""
    return {point.name: point for point in entry_points(group=f"penstock.{kind}")}


def part(kind: str, name: str) -> Any:
    """The class of a part. KeyError if there is none of that name."""
    return known(kind)[name].load()
