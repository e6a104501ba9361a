"""The loop: plan, land, decide, commit. Read this first; everything else is called by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.adopting import Adopting
from penstock.batch import LandedBatch, land_batch
from penstock.chores import Chores
from penstock.contracts import Bound, ShortRead, Slice
from penstock.crashpoints import reach
from penstock.errors import PenstockError, Transient, parked_tables, too_many_dead_letters
from penstock.instance import Instance, Stopped, Surroundings
from penstock.observe import BatchReport
from penstock.pipeline import Pipeline
from penstock.protocol.begin import Accepted, same_stream
from penstock.protocol.plan import Limits, Pressure, backlog, lost, plan, workers

GUARD_EVERY = 5.0  # seconds between looks for a rival
TEND_EVERY = 1.0  # and at tables that wait, also while the source keeps us waiting


@dataclass
class Until:
    """When to stop: when told to, and if wanted after so many batches or at the end seen at start."""

    caught_up: bool = False
    batches: int | None = None
    done: int = field(default=0, init=False)
    target: dict[str, int] | None = field(default=None, init=False)

    def reached(self, ends: dict[str, int]) -> bool:
        if self.batches is not None and self.done >= self.batches:
            return True
        return self.target is not None and all(ends.get(p, 0) >= end for p, end in self.target.items())


def run(pipeline: Pipeline, around: Surroundings, until: Until, accepted: Accepted) -> None:
    """Move messages from the source into their tables until told to stop."""
    instance = Instance(pipeline, around, accepted)
    try:
        instance.claim()
        around.observer.claimed(instance.head)
        around.crew.every(GUARD_EVERY, instance.look_for_rival)
        Loop(instance, until).run()
    except Stopped:
        return  # nothing was in hand


class Loop:
    """One instance at work, until it is told to stop."""

    def __init__(self, instance: Instance, until: Until) -> None:
        self.instance, self.until, self.around = instance, until, instance.around
        self.commits, self.chores = instance.commits, Chores(instance)
        self.adopting = Adopting(instance, self.chores)
        batch = instance.pipeline.batch
        self.limits = Limits(batch.messages, batch.bytes, batch.latency, batch.min_file_bytes)
        self.lag_since: float | None = None
        self.stretch = self._jitter()
        self.lag, self.asked = 0, 0.0

    def run(self) -> None:
        self.around.crew.every(TEND_EVERY, self.chores.look_after_tables)
        while not (self.around.stop() or (self.until.reached(self.instance.head.ends) and not self.adopting.waits)):
            self._tend()
            if self.commits.behind():
                self.around.crew.wait(self.commits.next_retry())
            elif not self.adopting.tend() and (slices := self._plan()):
                self._batch(slices)
        self._finish()

    def _batch(self, slices: list[Slice]) -> None:
        """One batch: land it, decide it, hand it to its tables."""
        began = self.around.crew.now()
        reach("plan.after")
        try:
            self.instance.catalog.look_again()
            cores = workers(slices, self.limits, self.instance.measure, self.around.engine.cores)
            landed = land_batch(slices, self.around.engine, self.instance.recipe(), self.instance.catalog, cores)
            same_stream(self.instance.head, self.instance.pipeline.source.identity())
        except ShortRead:
            self.instance.pause()  # the source gave less than it said: look again
            return
        except Transient as why:
            self.around.observer.waiting(why)
            self.instance.pause(6)
            return
        except PenstockError:
            self.instance.check()  # whoever was fenced had its job cancelled: that is the cause to tell
            raise
        reach("land.after")
        self.instance.check()
        self._refuse_a_flood(landed)
        landed_at = self.around.crew.now()
        entry = self.instance.decide(slices, landed)
        self.chores.decided(entry)
        self.commits.take(entry)
        self.until.done += 1
        seconds = {"plan": began - self.asked, "land": landed_at - began, "decide": self.around.crew.now() - landed_at}
        size = sum(file.size for files in landed.files.values() for file in files)
        self.around.observer.batch(BatchReport(entry, self.lag - entry.total.read, seconds, size, self.commits.parked))

    def _plan(self) -> list[Slice]:
        """The next batch if it is due; otherwise wait a little and return nothing."""
        self.asked = self.around.crew.now()
        bounds, ends = self.instance.patiently(self._bounds), self.instance.head.ends
        if self.until.caught_up and self.until.target is None:
            self.until.target = {p: bound.next for p, bound in bounds.items()}
        waiting = backlog(ends, bounds)
        if self.until.target is not None:
            capped = {p: (start, min(end, self.until.target.get(p, 0))) for p, (start, end) in waiting.items()}
            waiting = {p: (start, end) for p, (start, end) in capped.items() if end > start}
        now = self.around.crew.now()
        self.lag = sum(end - start for start, end in waiting.values())
        self.lag_since = None if not self.lag else self.lag_since if self.lag_since is not None else now
        waited = now - self.lag_since if self.lag_since is not None else 0.0
        limits = self.limits if self.instance.catalog.existing else self.limits.at_first()
        pressure = Pressure(waited, self.instance.measure, self.until.caught_up, self.around.engine.cores)
        slices = plan(waiting, limits.stretched(self.stretch), pressure)
        if slices:
            self.lag_since, self.stretch = None, self._jitter()
        elif not self.until.reached(ends):
            self.around.crew.wait(min(1.0, max(0.02, self.limits.latency / 10), self.commits.next_retry() or 0.02))
        return slices

    def _jitter(self) -> float:
        most = self.instance.pipeline.batch.jitter
        return most * self.around.crew.chance() if most else 0.0

    def _bounds(self) -> Mapping[str, Bound]:
        bounds: Mapping[str, Bound] = self.instance.pipeline.source.bounds()
        lost(self.instance.head.ends, bounds, {}, self.instance.head.reached)
        self.around.observer.looked(bounds, self.instance.head.ends)
        return bounds

    def _refuse_a_flood(self, landed: LandedBatch) -> None:
        """Stop before a schema accident buries a day: nothing of this batch is decided yet."""
        total, rule = landed.total, self.instance.pipeline.dead_letters
        share = total.dead / max(1, total.read)
        if total.read >= rule.min_messages and share > rule.max_share:
            raise too_many_dead_letters(share, rule.max_share, total.read, landed.reasons, landed.example)

    def _tend(self) -> None:
        self.instance.check()
        self.chores.look_after_tables()
        self.chores.tend()

    def _finish(self) -> None:
        """Wait until every table that is not parked has what was decided."""
        while self.commits.busy:
            self._tend()
            self.around.crew.wait(min(0.5, self.commits.next_retry() or 0.05))
        self.chores.finish()
        if self.until.caught_up and self.commits.parked:
            raise parked_tables(self.commits.parked)
