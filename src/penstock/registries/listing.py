"""What a registry of types lists, and what of it stays known when it lists less."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from penstock.schema import Schema

T = TypeVar("T")


class Found(NamedTuple):
    """What there was found to be."""

    types: dict[str, Schema]
    complaints: dict[str, str]
    """Why something is not a type: by the name that it would have."""


def kept(previous: Mapping[str, T], found: Mapping[str, T]) -> dict[str, T]:
    """The types to go on with: what was found replaces and adds, and what is missing stays as it was last seen.

    A registry that was emptied, wholly or by one type, must not turn the messages of its types into dead letters."""
    return {**previous, **found}


def missing(previous: Mapping[str, object], found: Found) -> list[str]:
    """The types that are only `kept`: known from before, and now no longer listed. For telling so."""
    return sorted(previous.keys() - found.types.keys() - found.complaints.keys())
