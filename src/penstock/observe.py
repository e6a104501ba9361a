"""What a run tells whoever watches it: values, one per event. How they are shown is not its business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from penstock.errors import Transient
from penstock.protocol.entry import Entry


@dataclass(frozen=True)
class BatchReport:
    """One batch, from plan to decision, and how things stand after it."""

    entry: Entry
    lag: int
    seconds: Mapping[str, float]  # phase → how long it took
    bytes_written: int
    parked: Mapping[str, str] = field(default_factory=dict)


class Observer(Protocol):
    def claimed(self, entry: Entry) -> None:
        """This instance is now the one."""
        ...

    def batch(self, report: BatchReport) -> None: ...

    def waiting(self, why: Transient) -> None:
        """Something is away; the run goes on when it is back."""
        ...

    def parked(self, name: str, reason: str) -> None:
        """A table cannot take its batches; the others go on."""
        ...

    def healed(self, name: str) -> None: ...


class Silence:
    """An observer that says nothing."""

    def claimed(self, entry: Entry) -> None: ...
    def batch(self, report: BatchReport) -> None: ...
    def waiting(self, why: Transient) -> None: ...
    def parked(self, name: str, reason: str) -> None: ...
    def healed(self, name: str) -> None: ...
