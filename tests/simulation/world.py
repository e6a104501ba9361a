"""A world for the loop to run in: storage, tables, a source and a scheduler, all from one seed.

The code under test is the shipped loop itself (`loop`, `instance`, `commit`, `ledger`, `batch`, `chores`);
only what is outside of it is made up here. Every call to the outside is a step at which the scheduler
may run somebody else, pause the caller, or kill it. A call answers, fails without effect, takes effect
with the reply lost, or takes effect later, after the caller has read again.

An oracle watches: it knows every record, what was decided for it, and where it is visible.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

from penstock.errors import PenstockError, Unavailable
from penstock.instance import Instance, Surroundings
from penstock.loop import Loop, Until
from penstock.observe import Silence
from penstock.pipeline import Batch, LedgerSpec, Pipeline, Tables, TableSpec
from penstock.places import UNROUTED
from penstock.protocol.begin import Accepted
from penstock.route import Route
from tests.simulation.oracle import PARTITIONS, TICK, Profile, Stores, Violation
from tests.simulation.outside import SimulatedCrew, SimulatedEngine, SimulatedSource, SimulatedStorage, Table


@dataclass
class Task:
    run: greenlet
    member: Member
    wake_at: float = 0.0
    sleeping: bool = False
    frozen_until: float = 0.0


class Member:
    """One instance of the app: its tasks, and whether it is still alive."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.tasks: list[Task] = []
        self.instance: Instance | None = None
        self.woken = False
        self.dead = False
        self.entries_read = self.reads_to_start = 0


class World(Stores):
    """One schedule: who runs when, what fails, who dies."""

    def __init__(self, profile: Profile, seed: int) -> None:
        super().__init__(profile, seed)
        self.faults, self.steps, self.started = True, 0, 0
        self.members: list[Member] = []
        self.in_flight: list[Callable[[], object]] = []
        self.hub = getcurrent()
        self.pipeline = _pipeline(self)

    # --- steps

    def pause(self) -> None:
        self.hub.switch()

    def call(self, effect: Callable[[], Any], *, writes: bool) -> Any:
        """One call to the outside, by whoever runs now."""
        self.pause()
        chance = self.rng.random() if self.faults else 1.0
        p = self.profile
        if chance < p.fails:
            raise Unavailable("simulated", "it failed")
        if chance < p.fails + p.loses_reply:
            effect()
            raise Unavailable("simulated", "the reply was lost")
        if writes and chance < p.fails + p.loses_reply + p.late:
            self.in_flight.append(effect)
            raise Unavailable("simulated", "it will happen later")
        return effect()

    # --- scheduling

    def start(self) -> Member:
        self.started += 1
        member = Member(self.started)
        self.members.append(member)
        self.spawn(member, lambda: self._live(member))
        return member

    def _live(self, member: Member) -> None:
        crew = SimulatedCrew(self, member)
        around = Surroundings(
            engine=SimulatedEngine(self),
            crew=crew,
            open_table=lambda location, app, options: Table(self, location.rpartition("/")[2]),
            open_storage=lambda location: SimulatedStorage(self, member, location),  # type: ignore[arg-type,return-value]
            observer=Silence(),
            now=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now),
        )
        instance = Instance(self.pipeline, around, self._operators_word())
        try:
            instance.claim()
            member.instance, member.reads_to_start = instance, member.entries_read
            crew.every(5.0, instance.look_for_rival)
            Loop(instance, Until()).run()
        except PenstockError:
            pass  # fenced, or the source lost something: the process ends
        self.kill(member)

    def _operators_word(self) -> Accepted:
        """What the source lost for good is given up at the next start, in so many words."""
        lost = {p: (self.position[p], self.first[p]) for p in PARTITIONS if self.first[p] > self.position[p]}
        return Accepted(gaps=lost)

    def spawn(self, member: Member, work: Callable[[], None]) -> None:
        member.tasks.append(Task(greenlet(work, parent=self.hub), member))

    def kill(self, member: Member) -> None:
        member.dead = True
        if member in self.members:
            self.members.remove(member)
        me = getcurrent()
        for task in member.tasks:
            if task.run is not me and task.run:
                task.run.throw(GreenletExit)

    def tick(self) -> None:
        """Run somebody up to their next call."""
        self.now += TICK
        self.steps += 1
        ready = [t for m in self.members for t in m.tasks if self._is_ready(t)]
        if not ready:
            times = [max(t.wake_at, t.frozen_until) for m in self.members for t in m.tasks if not t.run.dead]
            if times:
                self.now = max(self.now, min(times))
            return
        task = ready[int(self.rng.random() * len(ready))]
        task.sleeping, task.member.woken = False, task.member.woken and not task.sleeping
        task.run.switch()
        if task.run.dead and task in task.member.tasks:
            task.member.tasks.remove(task)
        if self.faults and self.rng.random() < 0.02:
            task.frozen_until = self.now + self.rng.uniform(0.2, 8.0)

    def _is_ready(self, task: Task) -> bool:
        if task.run.dead or task.frozen_until > self.now:
            return False
        return not task.sleeping or task.wake_at <= self.now or (task.member.woken and task is task.member.tasks[0])

    def land_late(self) -> None:
        if self.in_flight:
            with suppress(Unavailable):  # it comes too late to have any effect
                self.in_flight.pop(self.rng.randrange(len(self.in_flight)))()

    # --- the whole schedule

    def run(self) -> None:
        try:
            self._disturbed()
            self._quiet()
        finally:
            for member in list(self.members):
                self.kill(member)

    def _disturbed(self) -> None:
        for _ in range(self.profile.steps):
            chance = self.rng.random()
            if chance < 0.82:
                self.tick()
            elif chance < 0.95:
                self.event()
            elif chance < 0.965 and self.members:
                self.kill(self.rng.choice(self.members))
            elif chance < 0.98 and self.members:
                pause = self.now + self.rng.uniform(0.5, 8.0)
                for task in self.rng.choice(self.members).tasks:
                    task.frozen_until = pause
            elif len(self.members) < 3:
                self.start()
            if not self.members and self.rng.random() < 0.3:
                self.start()
            if self.rng.random() < 0.05:
                self.land_late()

    def _quiet(self) -> None:
        """Faults and events stop, every zombie wakes up, and everything must come to its end."""
        self.faults = False
        for table in self.tables.values():
            table.refuses = False
        for member in self.members:
            for task in member.tasks:
                task.frozen_until = 0.0
        while self.in_flight:
            self.land_late()
            for _ in range(self.rng.randrange(30)):
                self.tick()
        if self.profile.refuse_for_ever:
            self.tables[self.profile.refuse_for_ever].refuses = True
            self._settle()
            self.finished(self._parked(), skip=self.profile.refuse_for_ever)
            self.tables[self.profile.refuse_for_ever].refuses = False
        self._settle()
        self.finished(self._parked())
        for member in list(self.members):
            self.kill(member)
        last = self.start()
        self._settle()
        self.finished(self._parked(), restarted=True)
        undisturbed = not self._parked() and not any(table.touched for table in self.tables.values())
        if last.reads_to_start > 1 + len(self.names) and undisturbed:
            raise Violation(f"a restart with nothing pending read {last.reads_to_start} entries")

    def _parked(self) -> dict[str, str]:
        found = [m.instance for m in self.members if m.instance is not None]
        return found[-1].commits.parked if found else {}

    def _settle(self) -> None:
        limit = self.steps + 3_000 + 60 * (sum(self.next.values()) + 10 * len(self.decided))
        while not self._is_idle():
            if not self.members:
                self.start()
            self.tick()
            if self.steps > limit:
                raise Violation(f"not live: still busy after {self.steps} steps")

    def _is_idle(self) -> bool:
        found = [m.instance for m in self.members if m.instance is not None]
        if len(found) != 1 or len(self.members) != 1:
            return False
        instance = found[0]
        if self.is_wished and UNROUTED not in instance.commits.parked:
            return False
        return all(instance.head.ends.get(p, 0) == self.next[p] for p in PARTITIONS) and all(
            not (line.chain or line.unproven) or line.refused or self.tables[line.name].refuses
            for line in instance.commits.lines.values()
        )


def _pipeline(world: World) -> Pipeline:
    spec = TableSpec(schema={"x": "long"})
    return Pipeline(
        app="sim",
        source=SimulatedSource(world),
        format=object(),
        tables=Tables(base="/sim", types={"a": spec, "b": spec}, park_after=2.0),
        batch=Batch(latency=2.0, messages=3),
        ledger=LedgerSpec(path="/ledger", keep=0.5),
        route=Route(unrouted="keep" if world.profile.adopts else "create"),
    )
