"""One running instance of an app: how it comes to be the one, and what it knows while it is."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import msgspec

from penstock.batch import Engine, LandedBatch, reland
from penstock.catalog import Catalog, OpenTable
from penstock.commit import Commits
from penstock.contracts import Bound, File, Identity, ShortRead, Slice, TableState
from penstock.crashpoints import reach
from penstock.crew import Crew
from penstock.errors import Fenced, PenstockError, TableRefused, Transient, fenced
from penstock.kept import source_of
from penstock.landing.recipe import Piece, Recipe
from penstock.landing.routing import from_parquet, to_parquet
from penstock.ledger import Ledger
from penstock.observe import Observer
from penstock.pipeline import Pipeline
from penstock.places import OpenStorage
from penstock.protocol.begin import Accepted, Beginning, beginning, same_stream
from penstock.protocol.entry import Entry, Known, Place
from penstock.protocol.plan import Measure
from penstock.protocol.takeover import left
from penstock.recipes import recipe
from penstock.start import found, is_newest, look, seen, tables_moved_too

T = TypeVar("T")


class Stopped(Exception):
    """The operator asked to stop while we were waiting for somebody else."""


@dataclass(frozen=True)
class Surroundings:
    """Everything outside that an instance needs: passed in, so that a simulator can be it."""

    engine: Engine
    crew: Crew
    open_table: OpenTable
    open_storage: OpenStorage
    observer: Observer
    config: str = ""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    stop: Callable[[], bool] = lambda: False


class Instance:
    """This process, as the ledger knows it."""

    def __init__(self, pipeline: Pipeline, around: Surroundings, accepted: Accepted) -> None:
        self.pipeline, self.around, self.accepted = pipeline, around, accepted
        self.name = uuid.uuid4().hex
        self.catalog = Catalog(pipeline, around.open_table, around.open_storage)
        self.storage = self.catalog.storage(self.catalog.ledger_location)
        self.ledger = Ledger(self.storage)
        self.commits = Commits(self.ledger, around.crew, self.catalog.open, self._missing, self._reland)
        self.commits.park_after, self.commits.observer = pipeline.tables.park_after, around.observer
        self.rival: Fenced | None = None
        self.head: Entry
        self.measure = Measure()  # what messages are like, until something was read

    # --- becoming the one

    def claim(self) -> None:
        """Put a claim: from here on this instance is the one, and every other notices."""
        while True:
            last = self.patiently(self.ledger.head)
            source = self.patiently(self.pipeline.source.identity)
            states = self.patiently(partial(look, self.catalog, last))
            if not self.patiently(partial(is_newest, self.ledger, self.pipeline.app, last, states)):
                continue
            bounds: Mapping[str, Bound] = self.patiently(self.pipeline.source.bounds)
            beside = self.patiently(partial(found, self.pipeline, last, states, bounds))
            begin = beginning(last, source, self._place(), bounds, self.accepted, beside)
            if last is not None and last.place != self._place():
                tables_moved_too(self.catalog, last, states)
            try:
                self._put_claim(last, source, begin, seen(last, self.ledger.hint, states))
            except Fenced:
                continue  # another decided something meanwhile: look again, and claim after it
            break
        for name, state in states.items():
            self.catalog.know(name, state)
        self.patiently(partial(self.commits.recover, self.head, states))
        self.patiently(partial(self._remember, states))
        self.commits.tend()
        with suppress(PenstockError):  # nothing depends on a hint
            self.note()

    def _remember(self, states: Mapping[str, TableState | None]) -> None:
        """Take over from the ledger what tables do not show: columns that were decided and not committed
        yet, and how large messages are."""
        for name, line in self.commits.lines.items():
            if line.chain or states.get(name) is None:
                self.catalog.expect(name, self.commits.entry(self.head.heads[name]).share(name), states.get(name))
        if self.head.heads:
            self.measure = self.measure.after(self.commits.entry(max(self.head.heads.values())))

    def _place(self) -> Place:
        return Place(self.pipeline.tables.format, self.catalog.base, self.catalog.letters_location)

    def _put_claim(self, last: Entry | None, source: Identity, begin: Beginning, known: Known) -> None:
        number = last.number + 1 if last else 1
        claim = Entry(
            number=number,
            id=uuid.uuid4().hex,
            app=self.pipeline.app,
            instance=self.name,
            time=self._time(),
            config=self.around.config,
            source=source,
            place=self._place(),
            ends=dict(begin.ends),
            gaps=dict(begin.gaps),
            rebased=dict(begin.rebased),
            anew=number if begin.rebased else last.anew if last else 0,
            skips=begin.skips,
            heads=last.heads if last else {},
            ids=known.ids,
            carried=known.carried,
        )
        reach("claim.before")
        self.ledger.decide(claim, self._ledger_away)
        reach("claim.after")
        self.head = claim

    # --- deciding

    def decide(self, slices: list[Slice], landed: LandedBatch) -> Entry:
        """Make the batch happen: from here on it will be in its tables."""
        number, id = self.head.number + 1, uuid.uuid4().hex
        routing = f"routing/{number:020d}-{id}.parquet"
        content = to_parquet(landed.routings)
        self.patiently(lambda: self.storage.put(routing, content))
        reach("routing.after")
        tables = landed.portions(self.catalog, self.head.heads)
        ranges: dict[str, tuple[int, int]] = {piece.partition: (piece.start, piece.end) for piece in slices}
        known = self.head.known | self.commits.known
        ends = self.head.ends | {p: end for p, (_, end) in ranges.items()}
        entry = msgspec.structs.replace(
            self.head,
            number=number,
            id=id,
            instance=self.name,
            time=self._time(),
            config=self.around.config,
            ends=ends,
            ranges=ranges,
            gaps={},
            rebased={},
            skips=left(self.head.skips, ends),
            counts=dict(landed.counts),
            reasons=dict(landed.reasons),
            unknown_fields=landed.unknown_fields,
            adopted=dict(landed.adopted),
            tables=tables,
            routing=routing,
            heads=self.head.heads | dict.fromkeys(tables, number),
            ids=known.ids,
            carried=known.carried,
        )
        self.ledger.decide(entry, self._ledger_away)
        reach("decide.after")
        self.head = entry
        self.catalog.settle(landed.growth, tables)
        self.measure = self.measure.after(entry)
        return entry

    def recipe(self) -> Recipe:
        """What tasks need to know, as things stand."""
        for why in self.catalog.known.news():
            self.around.observer.warned(why)
        return recipe(self.pipeline, self.catalog, self.head, self.around.config, self.around.now())

    def _missing(self, name: str, files: Iterable[File]) -> list[str]:
        """Those of a table's files that are nowhere. What was held while its place could not be written is
        brought there now."""
        return [path for path in self.catalog.missing(name, files) if not self._brought(name, path)]

    def _brought(self, name: str, path: str) -> bool:
        held = self.catalog.storage(self.catalog.held(name))
        content = held.get(path)
        if content is not None:
            self.catalog.storage(self.catalog.location(name)).put(path, content)
            held.delete([path])
        return content is not None

    def _reland(self, entry: Entry, name: str) -> list[File]:
        """Files of a decided batch vanished before their table took them: land exactly the recorded
        positions again. They are not routed again, and the batch keeps its number."""
        content = self.storage.get(entry.routing)
        if content is None:
            raise TableRefused(
                "table.files-lost", f"files of batch {entry.number} are gone, and so is the record of what was in them"
            )
        source = source_of(entry, self.catalog, self.pipeline.source)
        same_stream(entry, self.patiently(source.identity))
        pieces = [
            Piece(r.slice, only=r.mask_of(name), forced=name) for r in from_parquet(content) if len(r.positions(name))
        ]
        recipe = replace(self.recipe(), source=source, settled=True, skips={})
        try:
            files = reland(pieces, self.around.engine, recipe, self.catalog, name)
        except ShortRead as why:
            raise TableRefused(
                "table.files-lost",
                f"files of batch {entry.number} are gone, and the source no longer holds what was in them: {why}",
            ) from why
        if sum(file.rows for file in files) != entry.tables[name].rows:
            raise TableRefused(
                "table.files-lost",
                f"batch {entry.number} held {entry.tables[name].rows} rows, and landing it again gave another number",
            )
        return files

    # --- while it runs

    def look_for_rival(self) -> None:
        """Has another instance claimed the app? Called at least every few seconds."""
        try:
            entry = self.ledger.get(self.head.number + 1)
        except PenstockError:
            return
        if entry is not None and entry.instance != self.name:
            self.rival = fenced(self.pipeline.app, entry.instance, entry.number)
            self.around.engine.cancel()
            self.around.crew.wake()

    def check(self) -> None:
        if self.rival is not None:
            raise self.rival
        self.around.engine.ensure()

    def pause(self, attempt: int = 3) -> None:
        self.check()
        self.around.crew.wait(min(10.0, 0.05 * 2**attempt) * (0.5 + self.around.crew.chance() / 2))

    def _ledger_away(self) -> None:
        """Storage did not say whether it took an entry. Who stops here leaves that to the next start."""
        if self.around.stop():
            raise Stopped
        what = f"the ledger at {self.ledger.location} does not take an entry just now"
        self.around.observer.waiting(Transient("ledger.unavailable", what, "penstock waits; look at the storage"))
        self.pause()

    def patiently(self, ask: Callable[[], T]) -> T:
        """Ask until there is an answer. What is only away for now never stops an app."""
        attempt = 0
        while True:
            try:
                return ask()
            except Transient as why:
                if self.around.stop():
                    raise Stopped from why
                self.around.observer.waiting(why)
                attempt = min(attempt + 1, 12)
                self.pause(attempt)

    def note(self) -> None:
        """Leave a hint for the next start."""
        self.ledger.note(self.head.number, self.head.known | self.commits.known)
        reach("hint.after")

    def _time(self) -> str:
        return self.around.now().isoformat(timespec="milliseconds")
