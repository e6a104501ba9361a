"""Landing a whole batch: one job for everything, and a second, small one for messages that had to
wait until the driver knew the columns of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from penstock.catalog import Catalog, Growth
from penstock.contracts import File, ShortRead, Slice
from penstock.errors import PenstockError, Transient
from penstock.landing.recipe import Landed, Piece, Recipe
from penstock.landing.routing import WAITING, Routing, unpack
from penstock.new_columns import merged
from penstock.places import LETTERS, UNROUTED
from penstock.protocol.entry import Counts, Portion
from penstock.protocol.plan import covers, tasks
from penstock.schema import Schema, Struct, written


class Engine(Protocol):
    """Where tasks run. Spark, or in this process for tests."""

    @property
    def cores(self) -> int: ...

    def land(self, tasks: Sequence[Sequence[Piece]], recipe: Recipe) -> list[Landed]:
        """Run every task to its end, again if its worker dies, and return one answer for each."""
        ...

    def cancel(self) -> None:
        """Give up what runs now: somebody else has taken over."""
        ...

    def ensure(self) -> None:
        """Raise if the engine is gone for good."""
        ...


@dataclass(frozen=True)
class LandedBatch:
    """A batch whose files are durable, and that nobody has decided yet."""

    files: Mapping[str, list[File]]
    counts: Mapping[str, Counts]
    routings: Sequence[Routing]
    reasons: Mapping[str, int]
    example: str
    growth: Growth
    adopted: Mapping[str, Counts] = field(default_factory=dict)  # type → what became of its kept messages
    removed: Sequence[File] = ()  # the files in which they were kept
    unknown_fields: int = 0

    @property
    def total(self) -> Counts:
        return sum(self.counts.values(), Counts())

    def portions(self, catalog: Catalog, heads: Mapping[str, int]) -> dict[str, Portion]:
        """What each table gets of it, as the entry says it."""
        targets = {target.name: target for target in self.growth.targets.values()} | {
            LETTERS: catalog.letters,
            UNROUTED: catalog.unrouted,
        }
        return {
            name: Portion(
                rows=sum(file.rows for file in files),
                previous=heads.get(name, 0),
                schema=written(catalog.schema(targets[name])),
                partition_by=list(targets[name].partition_by),
                is_new=name not in catalog.existing and name not in heads,
                files=files,
                removed=list(self.removed) if name == UNROUTED else [],
            )
            for name, files in sorted(self.files.items())
        }


def land_batch(
    slices: Sequence[Slice], engine: Engine, recipe: Recipe, catalog: Catalog, cores: int | None = None
) -> LandedBatch:
    """Land exactly these slices, on all cores or so many. Raises `ShortRead` if the source gave less,
    `Transient` if it was away."""
    first = _run(engine, [[Piece(s) for s in task] for task in tasks(slices, cores or engine.cores)], recipe, catalog)
    if not covers([account.slice for landed in first for account in landed.accounts], slices):
        raise ShortRead("a task accounted for other positions than were planned")
    growth = catalog.grow(_seen(first))
    waiting = [
        [Piece(a.slice, only=unpack(a.routing).mask(WAITING)) for a in landed.accounts if a.waiting] for landed in first
    ]
    second: list[Landed] = []
    if any(waiting):
        settled = replace(recipe, targets=growth.targets, refused=growth.refused, settled=True)
        second = _run(engine, [pieces for pieces in waiting if pieces], settled, catalog)
        if sum(a.waiting for landed in first for a in landed.accounts) != sum(
            a.counts.read for landed in second for a in landed.accounts
        ):
            raise ShortRead("the messages that waited were not all there when they were read again")
    landed = _together(first, second, growth)
    _accounted(landed)
    return landed


def _accounted(landed: LandedBatch) -> None:
    """Raise rather than decide a batch whose files do not hold what was counted."""
    held = {name: sum(file.rows for file in files) for name, files in landed.files.items()}
    dead = held.pop(LETTERS, 0)
    if (sum(held.values()), dead) != (landed.total.rows, landed.total.dead):
        raise PenstockError(
            "landing.miscounted",
            f"{landed.total.rows} rows and {landed.total.dead} dead letters were counted, "
            f"the files hold {sum(held.values())} and {dead}",
            "nothing was decided; this is a mistake in penstock or in a part of it: please report it",
        )


def reland(pieces: Sequence[Piece], engine: Engine, recipe: Recipe, catalog: Catalog, name: str) -> list[File]:
    """Land again what was decided for one table and vanished before the table took it."""
    landed = _run(engine, [list(pieces)], recipe, catalog)
    return [file for answer in landed for file in answer.files.get(name, [])]


def _run(engine: Engine, work: Sequence[Sequence[Piece]], recipe: Recipe, catalog: Catalog) -> list[Landed]:
    landed = engine.land(work, recipe)
    if any(answer.away or answer.short for answer in landed):
        for answer in landed:
            discard(catalog, answer.files)
    for answer in landed:
        if answer.away:
            raise Transient("landing.away", answer.away)
        if answer.short:
            raise ShortRead(answer.short)
    return landed


def discard(catalog: Catalog, landed: Mapping[str, list[File]]) -> None:
    """Files of a job that failed, which nothing refers to or ever will: another attempt has others. While
    one place refuses, attempts would otherwise fill the other places."""
    for name, files in landed.items():
        for place in (catalog.location(name), catalog.held(name)):
            with suppress(PenstockError):
                catalog.storage(place).delete([file.path for file in files])


def _seen(landed: Sequence[Landed]) -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for answer in landed:
        for type, schema in answer.seen.items():
            found[type] = merged(found.get(type, Struct()), schema)
    return found


def _together(first: Sequence[Landed], second: Sequence[Landed], growth: Growth) -> LandedBatch:
    files: dict[str, list[File]] = {}
    counts: dict[str, Counts] = {}
    reasons: Counter[str] = Counter()
    routings = {account.slice: unpack(account.routing) for landed in first for account in landed.accounts}
    for landed in (*first, *second):
        for name, written_files in landed.files.items():
            files.setdefault(name, []).extend(written_files)
        reasons.update(landed.reasons)
        for account in landed.accounts:
            partition = account.slice.partition
            counts[partition] = counts.get(partition, Counts()) + account.counts
    for landed in second:  # read twice, counted once
        for account in landed.accounts:
            routings[account.slice] = routings[account.slice].completed(unpack(account.routing))
            again = Counts(read=-account.counts.read, bytes=-account.counts.bytes)
            counts[account.slice.partition] = counts[account.slice.partition] + again
    example = next((landed.example for landed in (*first, *second) if landed.example), "")
    unknown = sum(landed.unknown_fields for landed in (*first, *second))
    routed = list(routings.values())
    return LandedBatch(files, counts, routed, reasons, example, growth, unknown_fields=unknown)
