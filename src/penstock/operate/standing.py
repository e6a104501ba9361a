"""Where an app stands: what a start would find, and whether it would go on. Nothing is claimed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.catalog import Catalog
from penstock.contracts import Bound, Identity, TableState
from penstock.errors import ConfigError, PenstockError, SourceLost, TableRefused, Transient
from penstock.ledger import Ledger
from penstock.merging import extended
from penstock.pipeline import Pipeline
from penstock.places import LETTERS
from penstock.protocol.begin import Accepted, Beginning, beginning
from penstock.protocol.commits import another, pending
from penstock.protocol.entry import Entry, Known, Place
from penstock.protocol.plan import Measure
from penstock.schema import Schema
from penstock.start import found, is_newest, look

LOOKS = 5  # an app that runs goes on while it is looked at

_REFUSALS = (ConfigError, SourceLost, TableRefused)


@dataclass
class Standing:
    """What was found. Without a beginning, a start would be refused."""

    head: Entry | None = None
    states: dict[str, TableState | None] = field(default_factory=dict)
    source: Identity | None = None
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    begin: Beginning | None = None
    known: Known = field(default_factory=Known)
    like: Measure = field(default_factory=Measure)
    refused: list[str] = field(default_factory=list)
    columns: dict[str, Schema] = field(default_factory=dict)  # table → those that it has, or was decided to have
    parked: dict[str, str] = field(default_factory=dict)  # table → why it would not take its batches

    def refuse(self, why: PenstockError) -> None:
        self.refused.append(str(why))


def stand(pipeline: Pipeline, catalog: Catalog, ledger: Ledger) -> Standing:
    """Look at everything that a start looks at, and let the catalog know the tables that are there."""
    standing = Standing()
    _look_at_tables(pipeline, catalog, ledger, standing)
    try:
        standing.source, standing.bounds = pipeline.source.identity(), pipeline.source.bounds()
        beside = found(pipeline, standing.head, standing.states, standing.bounds)
        place = Place(pipeline.tables.format, catalog.base, catalog.letters_location)
        begin = beginning(standing.head, standing.source, place, standing.bounds, Accepted(), beside)
        standing.begin = None if standing.refused else begin
    except _REFUSALS as why:
        standing.refuse(why)
    for name, state in standing.states.items():
        catalog.know(name, state)
        if state is not None:
            standing.columns[name] = state.schema
    if standing.begin is not None and standing.head is not None:
        _take_over(standing.head, standing, catalog, ledger)
    return standing


def _look_at_tables(pipeline: Pipeline, catalog: Catalog, ledger: Ledger, standing: Standing) -> None:
    for _ in range(LOOKS):
        standing.head = ledger.head()
        try:
            standing.states = look(catalog, standing.head)
            if is_newest(ledger, pipeline.app, standing.head, standing.states):
                break
        except _REFUSALS as why:
            standing.refuse(why)
            standing.states = standing.states or _readable(catalog)
            break
    standing.known = (standing.head.known if standing.head else Known()) | ledger.hint.known


def _readable(catalog: Catalog) -> dict[str, TableState | None]:
    """The tables that can be read, where a start would have given up."""
    states = {}
    for name in (*catalog.folders(), LETTERS):
        with suppress(PenstockError):
            states[name] = catalog.open(name).state()
    return {name: state for name, state in states.items() if state is not None}


def _take_over(head: Entry, standing: Standing, catalog: Catalog, ledger: Ledger) -> None:
    """What tables do not show: columns that were decided and not committed yet, and how large messages are."""
    for name, number in head.heads.items():
        state = standing.states.get(name)
        if why := _parked(head, name, standing, catalog, ledger):
            standing.parked[name] = why
        if state is None or state.carried < number:
            share = ledger.entry(number).share(name)
            catalog.expect(name, share, state)
            standing.columns[name] = extended(state.schema, share.schema) if state else share.schema
    if head.heads:
        standing.like = standing.like.after(ledger.entry(max(head.heads.values())))


def _parked(head: Entry, name: str, standing: Standing, catalog: Catalog, ledger: Ledger) -> str:
    """Why a table of the app is not the one that was left; empty if it is."""
    if name not in standing.states:
        try:
            catalog.open(name).state()
        except (Transient, TableRefused) as why:
            return f"{why.what} [{why.code}]"
    state, known = standing.states.get(name), standing.known
    if state is None and pending(head, name, None, ledger.entry) and not known.carried.get(name):
        return ""  # its first batch waits
    wrong = another(state, known.carried.get(name, 0), known.ids.get(name))
    return f"{wrong.reason} [{wrong.code}]" if wrong else ""
