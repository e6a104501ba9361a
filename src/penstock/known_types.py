"""Types that a registry knows, with their columns: asked for again before each batch, and remembered, so that a
registry that is away or was emptied does not look like one that knows nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from penstock.errors import PenstockError, Transient
from penstock.registries.listing import Found, kept, missing
from penstock.registries.spark_json import from_spark, to_spark
from penstock.schema import Schema
from penstock.storage import Storage

MAX_COMPLAINTS = 5  # told at once: a database of other use may have thousands of keys, and new ones all the time

_FILE = "schemas/types.json"


class Types(Protocol):
    """A registry of types: each has a name, and the columns of its messages."""

    def types(self) -> Found:
        """All that there are, now. Raises `Transient` if that cannot be told."""
        ...


class KnownTypes:
    """What a registry said last, and whether that is what it says now."""

    def __init__(self, registry: Types | None, storage: Storage) -> None:
        self._registry, self._storage = registry, storage
        self._last: dict[str, Schema] | None = None
        self._told: Mapping[str, str] = {}
        self._gone: list[str] = []
        self._news: list[Transient] = []
        self.is_current = True

    def refresh(self) -> Mapping[str, Schema]:
        """The types to go on with. Raises `Transient` if none were ever known and the registry is away."""
        if self._registry is None:
            return {}
        if self._last is None:
            self._last = _read(self._storage.get(_FILE))
        try:
            found = self._registry.types()
        except Transient as away:
            if self._last is None:
                raise
            if self.is_current:
                self._news.append(Transient(away.code, f"{away.what}; types are as it said last", away.remedy))
            self.is_current = False
            return self._last
        self.is_current = True
        self._complain(found.complaints)
        self._heed(found)
        return self._last or {}

    def _complain(self, complaints: Mapping[str, str]) -> None:
        """Tell what there was no complaint of before."""
        new = [why for name, why in complaints.items() if self._told.get(name) != why]
        self._told = dict(complaints)
        for why in new[:MAX_COMPLAINTS]:
            self._news.append(Transient("registry.bad-type", why, "register it again, or remove it"))
        if more := len(new[MAX_COMPLAINTS:]):
            what = f"the registry has {more} more that are not types"
            self._news.append(Transient("registry.bad-type", what, "give types a place of their own"))

    def _heed(self, found: Found) -> None:
        last = self._last or {}
        gone = missing(last, found)
        if gone and gone != self._gone:
            what = f"the registry no longer has {', '.join(gone[:5])}{' and more' if gone[5:] else ''}"
            remedy = "what was known of them stays in use; register them again"
            self._news.append(Transient("registry.types-gone", what, remedy))
        self._gone = gone
        now = kept(last, found.types)
        if now != self._last:
            self._storage.put(_FILE, json.dumps({name: to_spark(now[name]) for name in sorted(now)}).encode())
            self._last = now

    def news(self) -> list[Transient]:
        """What should be told, and was not yet."""
        news, self._news = self._news, []
        return news


def _read(content: bytes | None) -> dict[str, Schema] | None:
    """What was remembered; None if nothing was, or it is damaged: the registry will be asked."""
    try:
        return {name: from_spark(text) for name, text in json.loads(content or b"").items()}
    except (ValueError, AttributeError, TypeError, PenstockError):
        return None
