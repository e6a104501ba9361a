"""Adopting: kept messages of a type get their table, exactly once.

One ledger entry decides it: the type's table takes files with the rows, and `_unrouted` loses the files in which
they were kept. Both are shares of one batch like any others, so whoever dies, each is given once. What is read
is what is removed: every earlier batch of `_unrouted` is in it by then, and nothing is decided in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.batch import LandedBatch, discard, land_batch
from penstock.chores import Chores
from penstock.contracts import File, ShortRead, Slice, TableState
from penstock.crashpoints import reach
from penstock.errors import PenstockError, TableRefused, Transient, shown
from penstock.instance import Instance
from penstock.kept import Waiting, waiting
from penstock.observe import BatchReport
from penstock.places import UNROUTED
from penstock.protocol.commits import another
from penstock.route import ConstantRoute
from penstock.sources.kept import KEPT, KeptSource
from penstock.wishes import Sign, Wish, Wishes

LOOK_EVERY = 2.0  # seconds between looks for wishes
TRY_AGAIN = 60.0  # and between attempts at one that has failed for as long as a table may fail


class _Refused(Exception):
    """It cannot be done as things are: the operator is told, and the messages stay where they are."""


class Adopting:
    """What a running instance does about wishes, between two batches."""

    def __init__(self, instance: Instance, chores: Chores) -> None:
        self._instance, self._chores, self._around = instance, chores, instance.around
        self._wishes = Wishes(instance.storage)
        self._open: dict[str, Wish] = {}
        self._beat = 0
        self._failing_since: float | None = None
        self._not_before = 0.0
        if instance.pipeline.route.unrouted == "keep" or UNROUTED in instance.head.heads:
            instance.patiently(self._look)
            self._around.crew.every(LOOK_EVERY, self.look)

    def look(self) -> None:
        """Find wishes, and show whoever made them that somebody is at work, also while a batch is landed."""
        try:
            self._look()
        except PenstockError:
            return  # it can wait for the next time

    def _look(self) -> None:
        self._open = {wish.type: wish for wish in self._wishes if not wish.refused}
        if self._open:
            self._beat += 1
            self._wishes.give_sign(Sign(self._instance.name, self._beat))

    @property
    def waits(self) -> bool:
        """Is there a wish that can be done soon? While `_unrouted` is parked there is none: the others go on."""
        is_time = self._around.crew.now() >= self._not_before
        return bool(self._open) and is_time and UNROUTED not in self._instance.commits.parked

    def tend(self) -> bool:
        """Do a wish if its time has come. True: there was one, and nothing else may be decided just now."""
        wishes, commits = self._open, self._instance.commits
        if not self.waits or not wishes:
            return False
        line = commits.lines.get(UNROUTED)
        if line is not None and (line.waits or line.busy):
            self._around.crew.wait(min(0.5, commits.next_retry() or 0.02))
            return True
        wish = wishes[min(wishes)]
        try:
            self._adopt(wish)
            self._failing_since = None
        except _Refused as why:
            self._refuse(wish, str(why))
        except Transient as why:
            self._stumble(why)
        except TableRefused as why:
            self._refuse(wish, why.what)
        except PenstockError:
            self._instance.check()  # whoever was fenced had its job cancelled: that is the cause to tell
            raise
        return True

    def _stumble(self, why: Transient) -> None:
        """Try again soon, as long as a table may fail before nobody waits for it; then ever so often."""
        self._around.observer.waiting(why)
        now = self._around.crew.now()
        self._failing_since = now if self._failing_since is None else self._failing_since
        if now - self._failing_since >= self._instance.commits.park_after:
            self._not_before = now + TRY_AGAIN
        else:
            self._instance.pause()

    def _adopt(self, wish: Wish) -> None:
        began = self._around.crew.now()
        found = self._waiting(wish.type)
        if not found.files:
            if wish.type not in self._instance.catalog.targets:
                raise _Refused(_nobody(wish.type, found))
            self._done(wish)  # it was decided before, or never needed
            return
        self._instance.catalog.look_again()
        landed = self._land(wish.type, found)
        reach("adopt.before")
        self._instance.check()
        landed_at = self._around.crew.now()
        entry = self._instance.decide([], landed)
        reach("adopt.after")
        self._chores.decided(entry)
        self._instance.commits.take(entry)
        self._done(wish)
        seconds = {"land": landed_at - began, "decide": self._around.crew.now() - landed_at}
        size = sum(file.size for files in landed.files.values() for file in files)
        self._around.observer.batch(BatchReport(entry, 0, seconds, size, self._instance.commits.parked))

    def _waiting(self, type: str) -> Waiting:
        """The kept messages, from a table that carries everything that was decided for it."""
        head, catalog = self._instance.head, self._instance.catalog
        if UNROUTED not in head.heads:
            return Waiting(())
        state: TableState | None = catalog.open(UNROUTED).state()
        known = (head.known | self._instance.commits.known).ids.get(UNROUTED)
        if why := another(state, head.heads[UNROUTED], known):
            raise TableRefused(why.code, f"the table of kept messages is not as it was left: {why.reason}")
        assert state is not None
        return waiting(state, catalog.storage(catalog.location(UNROUTED)), type, head.source.name)

    def _land(self, type: str, found: Waiting) -> LandedBatch:
        """An ordinary landing job, with the kept messages for a source and the type given."""
        instance, catalog = self._instance, self._instance.catalog
        source = KeptSource(catalog.location(UNROUTED), found.files, instance.head.source, dict(catalog.options))
        usual = instance.recipe()
        if usual.room <= 0 and type not in usual.targets:
            raise _Refused("there are as many tables as tables.limit allows")
        recipe = replace(
            usual, source=source, by=ConstantRoute(constant=type), allow=None, unrouted="create", kept=None, skips={}
        )
        try:
            landed = land_batch([Slice(KEPT, 0, found.rows)], self._around.engine, recipe, catalog)
        except ShortRead as why:
            raise _Refused(str(why)) from why
        if why_not := self._objection(type, landed):
            discard(catalog, landed.files)
            raise _Refused(why_not)
        files: Mapping[str, list[File]] = {**landed.files, UNROUTED: []}
        return replace(landed, files=files, counts={}, adopted={type: landed.total}, removed=found.files)

    def _objection(self, type: str, landed: LandedBatch) -> str:
        """Why what was landed had better not be decided; empty if nothing speaks against it."""
        total, rule = landed.total, self._instance.pipeline.dead_letters
        if type in landed.growth.refused:
            return landed.growth.refused[type][1]
        has_table = type in self._instance.catalog.targets
        if not total.rows and not has_table:
            return f"none of its {total.read} kept messages can be a row: {landed.example}"
        share = total.dead / max(1, total.read)
        if total.read >= rule.min_messages and share > rule.max_share:
            return f"{share:.0%} of its {total.read} kept messages would be dead letters, such as {landed.example}"
        return ""

    def _done(self, wish: Wish) -> None:
        self._forget(wish)
        self._instance.patiently(lambda: self._wishes.drop(wish.type))

    def _forget(self, wish: Wish) -> None:
        """A look that is under way may find it once more: then there is nothing left to do."""
        self._open = {type: other for type, other in self._open.items() if type != wish.type}

    def _refuse(self, wish: Wish, why: str) -> None:
        self._forget(wish)
        self._instance.patiently(lambda: self._wishes.refuse(wish, why))
        what = f"type '{shown(wish.type, 60)}' was not adopted: {shown(why, 500)}"
        self._around.observer.warned(Transient("adopt.refused", what, "its messages stay where they are kept"))


def _nobody(type: str, found: Waiting) -> str:
    told = f"no message of type '{shown(type, 60)}' is kept"
    return f"{told}; {found.others} messages of it from other sources are theirs to adopt" if found.others else told
