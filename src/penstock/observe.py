"""What a run tells whoever watches it: values, one per event. How they are shown is not its business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from penstock.contracts import Bound, Positions
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


@dataclass(frozen=True)
class TableReport:
    """One table and the batches it has to take: it `owes` them, is given one (`gives`), `took` it, or `fails`."""

    name: str
    step: Literal["owes", "gives", "took", "fails"]
    batches: int = 1
    seconds: float | None = None  # how long taking it took; None where the table had it already


class Observer(Protocol):
    """Told from the loop's thread; `table` and `warned` from others too."""

    def claimed(self, entry: Entry) -> None:
        """This instance is now the one."""
        ...

    def looked(self, bounds: Mapping[str, Bound], ends: Positions) -> None:
        """The source said what it holds; `ends` is how far this app has decided."""
        ...

    def batch(self, report: BatchReport) -> None: ...

    def table(self, report: TableReport) -> None: ...

    def settled(self, ends: Positions) -> None:
        """Every table that is not parked carries everything up to here."""
        ...

    def waiting(self, why: Transient) -> None:
        """Something is away; the run goes on when it is back."""
        ...

    def warned(self, why: Transient) -> None:
        """Something beside the run does not work; the run goes on without it."""
        ...

    def parked(self, name: str, reason: str) -> None:
        """A table cannot take its batches; the others go on."""
        ...

    def healed(self, name: str) -> None: ...


class Silence:
    """An observer that says nothing."""

    def claimed(self, entry: Entry) -> None: ...
    def looked(self, bounds: Mapping[str, Bound], ends: Positions) -> None: ...
    def batch(self, report: BatchReport) -> None: ...
    def table(self, report: TableReport) -> None: ...
    def settled(self, ends: Positions) -> None: ...
    def waiting(self, why: Transient) -> None: ...
    def warned(self, why: Transient) -> None: ...
    def parked(self, name: str, reason: str) -> None: ...
    def healed(self, name: str) -> None: ...


class Together:
    """Several observers as one: each is told everything, in the order in which they are given."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def claimed(self, entry: Entry) -> None:
        for observer in self._observers:
            observer.claimed(entry)

    def looked(self, bounds: Mapping[str, Bound], ends: Positions) -> None:
        for observer in self._observers:
            observer.looked(bounds, ends)

    def batch(self, report: BatchReport) -> None:
        for observer in self._observers:
            observer.batch(report)

    def table(self, report: TableReport) -> None:
        for observer in self._observers:
            observer.table(report)

    def settled(self, ends: Positions) -> None:
        for observer in self._observers:
            observer.settled(ends)

    def waiting(self, why: Transient) -> None:
        for observer in self._observers:
            observer.waiting(why)

    def warned(self, why: Transient) -> None:
        for observer in self._observers:
            observer.warned(why)

    def parked(self, name: str, reason: str) -> None:
        for observer in self._observers:
            observer.parked(name, reason)

    def healed(self, name: str) -> None:
        for observer in self._observers:
            observer.healed(name)
