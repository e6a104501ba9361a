"""What a running instance does beside the loop, when it has time: nothing here is needed for the promise."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from penstock.contracts import Positions
from penstock.crashpoints import reach
from penstock.errors import PenstockError, Transient
from penstock.instance import Instance
from penstock.protocol.entry import Entry

HINT_EVERY, STRIP_EVERY = 16, 64
PUBLISH_EVERY = 1.0


class Chores:
    """Group offsets for lag tools, hints for the next start, old entries emptied, parked tables reported."""

    def __init__(self, instance: Instance) -> None:
        self._instance, self._around = instance, instance.around
        self._ends = {instance.head.number: instance.head.ends}
        self._published = instance.head.number
        self._told = self._hinted = self._stripped = 0
        self._publish_at = 0.0
        self._busy: set[str] = set()
        self._untold = False  # nobody could be told where we are, and that was said
        self._parked: dict[str, str] = {}

    def decided(self, entry: Entry) -> None:
        self._ends[entry.number] = entry.ends

    def tend(self) -> None:
        """Start what is due."""
        head = self._instance.head.number
        if head - self._hinted >= HINT_EVERY:
            self._hinted = head
            self._start("hint", self._instance.note)
        if head - self._stripped >= STRIP_EVERY:
            self._stripped = head
            self._start("strip", partial(self._instance.ledger.strip, head, self._may_go))
        now = self._around.crew.now()
        if now >= self._publish_at and (number := self._settled()) > self._published:
            self._publish_at = now + PUBLISH_EVERY
            self._start("publish", partial(self._publish, number, self._ends[number]))

    def finish(self) -> None:
        """Leave things in order for the next start and for lag tools."""
        self._tell_parked()
        settled = self._settled()
        for work in (self._instance.note, partial(self._publish, settled, self._ends.get(settled, {}))):
            with suppress(PenstockError):
                work()

    def _settled(self) -> int:
        """The newest batch that every table took, parked ones aside. What came before it is forgotten."""
        limit = self._instance.commits.oldest or self._instance.head.number + 1
        settled = max((number for number in self._ends if number < limit), default=0)
        self._ends = {number: ends for number, ends in self._ends.items() if number >= settled}
        if settled > self._told:
            self._told = settled
            self._around.observer.settled(self._ends[settled])
        return settled

    def _publish(self, number: int, ends: Positions) -> None:
        if number <= self._published:
            return
        reach("publish.before")
        try:
            self._instance.pipeline.source.publish(self._instance.pipeline.app, ends)
        except Transient as why:
            if not self._untold:
                self._around.observer.waiting(why)
            self._untold = True
            raise
        self._published, self._untold = number, False

    def _may_go(self, entry: Entry) -> bool:
        """Old enough, and every table it lists surely carries it, with its files."""
        age = self._around.now() - datetime.fromisoformat(entry.time)
        old = age > timedelta(seconds=self._instance.pipeline.ledger.keep)
        return old and all(self._instance.commits.surely_carries(name, entry.number) for name in entry.tables)

    def _start(self, name: str, work: Callable[[], object]) -> None:
        if name in self._busy:
            return
        self._busy.add(name)

        def go() -> None:
            with suppress(Exception):  # it can wait for the next time
                work()
            self._busy.discard(name)

        self._around.crew.spawn(go)

    def look_after_tables(self) -> None:
        """See to it that tables get what waits for them, and tell which of them cannot take it."""
        self._instance.commits.tend()
        self._tell_parked()

    def _tell_parked(self) -> None:
        before, self._parked = self._parked, self._instance.commits.parked
        for name in self._parked.keys() - before.keys():
            self._around.observer.parked(name, self._parked[name])
        for name in before.keys() - self._parked.keys():
            self._around.observer.healed(name)
