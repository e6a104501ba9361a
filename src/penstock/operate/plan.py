"""Plan: what a run would do, from a sample of live messages. Everything is done for real in a private folder that is
gone afterwards; ledger, tables, source and registry are only looked at."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from penstock.batch import LandedBatch, land_batch
from penstock.catalog import Catalog
from penstock.config.load import fingerprint
from penstock.config.parts import part
from penstock.contracts import Share, ShortRead, Slice
from penstock.errors import Transient, too_many_dead_letters
from penstock.landing.recipe import Target
from penstock.ledger import Ledger
from penstock.operate.arrival import Arrival, arrival, rate
from penstock.operate.ddl import Added, lacking
from penstock.operate.looking import Looking
from penstock.operate.plan_letters import Letter, Unmade, letters
from penstock.operate.sampling import PrivateEngine, last_ones, next_ones
from penstock.operate.standing import Standing, stand
from penstock.pipeline import Pipeline
from penstock.places import LETTERS, UNROUTED, storage_options
from penstock.protocol.begin import Beginning
from penstock.protocol.commits import Park, next_step
from penstock.protocol.entry import Counts, Entry, Place, Portion
from penstock.protocol.plan import Measure, backlog
from penstock.recipes import recipe
from penstock.schema import Schema, columns
from penstock.transforms.program import ways
from penstock.transforms.rules import rules


@dataclass(frozen=True)
class TablePlan:
    """One table: what it is, what it would get and what that costs."""

    name: str
    location: str
    is_new: bool
    columns: Schema
    partition_by: tuple[str, ...]
    added: tuple[Added, ...] = ()  # to a table that is there
    rows: int = 0
    bytes: int = 0
    values: int = 1  # partition values in the sample
    slow: int = 0  # rows that were made one by one
    refused: str = ""  # why it would not take them


@dataclass(frozen=True)
class Plan:
    """What a run would do."""

    app: str
    source: str
    format: str
    entry: int  # the ledger's newest; 0: it would be the first start
    ran_with: str | None  # the fingerprint of the configuration that wrote it
    config: str
    refused: tuple[str, ...]  # why it would not start, or stop
    slices: tuple[Slice, ...] = ()
    waiting: int = 0  # positions that a run would read
    counts: Counts = field(default_factory=Counts)
    tables: tuple[TablePlan, ...] = ()
    letters: tuple[Letter, ...] = ()
    unmade: tuple[Unmade, ...] = ()
    transforms: tuple[tuple[str, str], ...] = ()
    arrival: Arrival | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_past(self) -> bool:
        """Is the sample of what was read before, because nothing waits?"""
        return bool(self.slices) and not self.waiting

    @property
    def is_config_new(self) -> bool | None:
        """None: nobody can tell."""
        return self.ran_with != self.config if self.ran_with else None

    @property
    def ok(self) -> bool:
        return not self.refused and not any(table.refused for table in self.tables)

    @property
    def is_strictly_ok(self) -> bool:
        """Does nothing become a dead letter, and does every table stay as it is?"""
        return self.ok and not self.counts.dead and not any(table.added for table in self.tables)


def plan(pipeline: Pipeline, messages: int = 10_000, tell: Callable[[str], None] = lambda _: None) -> Plan:
    """What a run would do with the next messages, so many at most. Raises `Transient` if the outside is away."""
    with tempfile.TemporaryDirectory(prefix="penstock-plan-") as folder:
        return _Planning(pipeline, messages, Path(folder), tell).plan()


@dataclass(frozen=True)
class _Planning:
    pipeline: Pipeline
    messages: int
    folder: Path
    tell: Callable[[str], None] = field(repr=False)

    @cached_property
    def catalog(self) -> Catalog:
        empty = self.folder / "empty"
        empty.mkdir()
        options = storage_options(self.pipeline)
        open_table = part("tables", self.pipeline.tables.format)
        return Catalog(self.pipeline, open_table, lambda location: Looking(location, options, empty))

    @cached_property
    def engine(self) -> PrivateEngine:
        return PrivateEngine(self.folder)

    def plan(self) -> Plan:
        self.tell("looking at the ledger, the tables and the source")
        standing = stand(self.pipeline, self.catalog, Ledger(self.catalog.storage(self.catalog.ledger_location)))
        self.catalog.look_again()
        head = standing.head
        bare = Plan(
            app=self.pipeline.app,
            source=standing.source.name if standing.source else "",
            format=self.pipeline.tables.format,
            entry=head.number if head else 0,
            ran_with=head.config if head else None,
            config=fingerprint(self.pipeline),
            refused=tuple(standing.refused),
            transforms=tuple(ways(rules(self.pipeline.transforms, self.pipeline.transform_nulls))),
            notes=tuple(map(str, self.catalog.known.news())),
        )
        waiting = backlog(standing.begin.ends, standing.bounds) if standing.begin else {}
        limits = self.messages, self.pipeline.batch.bytes, standing.like
        slices = tuple(next_ones(waiting, *limits) if waiting else last_ones(standing.bounds, *limits))
        bare = replace(bare, slices=slices, waiting=sum(end - start for start, end in waiting.values()))
        if not slices:
            return replace(bare, tables=tuple(self._tables(None, standing)))
        self.tell(f"reading up to {sum(s.end - s.start for s in slices):,} messages")
        return self._sampled(bare, standing)

    def _sampled(self, bare: Plan, standing: Standing) -> Plan:
        claim = self._claim(bare, standing)
        told = recipe(self.pipeline, self.catalog, claim, bare.config, datetime.now(UTC))
        try:
            landed = land_batch(bare.slices, self.engine, told, self.catalog)
        except ShortRead as why:
            what = f"the source no longer held all of the sample when it was read: {why}"
            raise Transient("source.sample-gone", what, "run it again") from why
        self.tell("adding up")
        total, tables = landed.total, tuple(self._tables(landed, standing))
        place = Path(self.engine.place(LETTERS))
        first, unmade = letters((place / file.path for file in landed.files.get(LETTERS, ())), landed.reasons)
        return replace(
            bare,
            counts=total,
            tables=tables,
            letters=tuple(first),
            unmade=tuple(unmade),
            arrival=self._arrival(bare, standing, landed),
            refused=(*bare.refused, *self._flood(bare, landed)),
        )

    def _claim(self, bare: Plan, standing: Standing) -> Entry:
        """The entry with which a start would claim the app, as far as it says how to land."""
        assert standing.source is not None
        begin = standing.begin or Beginning(ends={})
        return Entry(
            number=bare.entry + 1,
            id="",
            app=bare.app,
            instance="",
            time="",
            config=bare.config,
            source=standing.source,
            place=Place(bare.format, self.catalog.base, self.catalog.letters_location),
            ends=dict(begin.ends),
            skips=begin.skips,
        )

    # --- tables

    def _tables(self, landed: LandedBatch | None, standing: Standing) -> list[TablePlan]:
        """The tables that get something, change, or are in the way."""
        heads = standing.head.heads if standing.head and standing.begin else {}
        portions = landed.portions(self.catalog, heads) if landed else {}
        targets = landed.growth.targets if landed else self.catalog.targets
        found = []
        own = self.catalog.unrouted, self.catalog.letters
        for target in (*sorted(targets.values(), key=lambda target: target.name), *own):
            table = self._table(target, portions.get(target.name), standing)
            if target.name in portions or table.added or table.refused:
                found.append(table)
        return found

    def _table(self, target: Target, portion: Portion | None, standing: Standing) -> TablePlan:
        name, files = target.name, (portion.files if portion else None) or []
        wanted = columns(portion.schema) if portion else self.catalog.schema(target)
        have = standing.columns.get(name)
        return TablePlan(
            name=name,
            location=target.location,
            is_new=have is None,
            columns=wanted,
            partition_by=target.partition_by,
            added=() if have is None else tuple(lacking(have, wanted)),
            rows=sum(file.rows for file in files),
            bytes=sum(file.size for file in files),
            values=max(1, len({tuple(file.partition.items()) for file in files})),
            slow=self.engine.slow[name] if name not in (LETTERS, UNROUTED) else 0,
            refused=standing.parked.get(name) or (_refusal(name, portion, standing) if portion else ""),
        )

    # --- what it comes to

    def _arrival(self, bare: Plan, standing: Standing, landed: LandedBatch) -> Arrival | None:
        ends = {p: bound.next for p, bound in standing.bounds.items()}
        found = rate(self.engine.spans, bare.slices, ends, time.time_ns() // 1_000_000)
        total, files = landed.total, [file for each in landed.files.values() for file in each]
        if found is None or not total.read:
            return None
        written = sum(file.size for file in files) / total.read if files else standing.like.written
        like = Measure(max(1.0, total.bytes / total.read), max(1.0, written), len(landed.files) or 1)
        return arrival(self.pipeline, found, like)

    def _flood(self, bare: Plan, landed: LandedBatch) -> list[str]:
        """Would a run stop over dead letters? A sample that is a part of what waits stands for a larger batch."""
        total, rule = landed.total, self.pipeline.dead_letters
        share, is_part = total.dead / max(1, total.read), bare.waiting > total.read
        if share <= rule.max_share or not (is_part or total.read >= rule.min_messages):
            return []
        return [str(too_many_dead_letters(share, rule.max_share, total.read, landed.reasons, landed.example))]


def _refusal(name: str, portion: Portion, standing: Standing) -> str:
    """Why a table that is there would not take this; empty if it would."""
    state, head = standing.states.get(name), standing.head
    if state is None:
        return ""
    if state.carried < portion.previous:  # what was decided before comes first, and is not in it yet
        state = replace(state, carried=portion.previous, schema=standing.columns[name])
    share = Share(
        app=head.app if head else "",
        batch=head.number + 1 if head else 1,
        previous=portion.previous,
        schema=columns(portion.schema),
        partition_by=tuple(portion.partition_by),
        files=(),
        ends={},
        manifest={},
    )
    step = next_step(state, share, standing.known.ids.get(name))
    return f"{step.reason} [{step.code}]" if isinstance(step, Park) else ""
