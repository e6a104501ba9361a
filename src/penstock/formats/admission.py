"""Which types are wanted, and which may get a table: the same for every format."""

from __future__ import annotations

import re2

from penstock.contracts import Shapes
from penstock.errors import Transient, shown
from penstock.values.plain import Refusal

MAX_TYPE_NAME = 1_000
MAX_KEPT_TYPES = 500
UNROUTED = "unrouted"
"""The stage of messages that are kept until somebody says what becomes of their type."""


class Admission:
    """What a route says of types, in one task."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self._allow = re2.compile(shapes.allow) if shapes.allow else None
        self._new: set[str] = set()
        self._kept: set[str] = set()

    def wants(self, name: str) -> bool:
        """Is the type wanted? What is not is filtered, whatever is in it."""
        if self._shapes.unrouted == "filter" and not self._is_routed(name):
            return False
        return self._allow is None or self._allow.search(name) is not None

    def admit(self, name: str) -> None:
        """Let a type that has no table get one, or raise the `Refusal` that says why not."""
        if len(name) > MAX_TYPE_NAME:
            raise Refusal("identify", "type.name", f"the type's name has {len(name)} characters")
        if not self._is_routed(name):
            if self._shapes.unrouted == "wait":
                what = f"type '{shown(name, 60)}' is new, and the registry that would know it is away"
                raise Transient("registry.away", what, "penstock waits until it is back")
            stage = UNROUTED if self._shapes.unrouted == "keep" and self._may_keep(name) else "identify"
            raise Refusal(stage, "type.unrouted", "no table is made for types that nobody declared")
        if name not in self._new and len(self._new) >= self._shapes.room:
            raise Refusal("identify", "type.limit", "there are as many tables as tables.limit allows")
        self._new.add(name)

    def _may_keep(self, name: str) -> bool:
        """Each type that is kept has files of its own: a task keeps only so many."""
        if name and len(self._kept) < MAX_KEPT_TYPES:
            self._kept.add(name)
        return name in self._kept

    def _is_routed(self, name: str) -> bool:
        return self._shapes.unrouted == "create" or name in self._shapes.routed
