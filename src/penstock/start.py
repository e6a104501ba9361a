"""What a start looks at before it claims the app, and what it must not go on with."""

from __future__ import annotations

from collections.abc import Mapping

import re2

from penstock.catalog import Catalog
from penstock.contracts import Bound, Named, TableState
from penstock.errors import TableRefused, Transient, ledger_behind, ledger_missing, refused
from penstock.ledger import Hint, Ledger
from penstock.pipeline import Pipeline
from penstock.places import LETTERS
from penstock.protocol.entry import Entry, Known
from penstock.protocol.takeover import Found
from penstock.tables.names import type_name

PARTITIONS_BEYOND = 32
"""How many partitions a topic may have lost since a table was written, for that to be noticed."""

States = Mapping[str, TableState | None]


def look(catalog: Catalog, last: Entry | None) -> dict[str, TableState | None]:
    """One look at every table that is ours or could become ours. A first start is strict; later on, a
    table that cannot be read or written is one table's trouble, and the others go on."""
    heads = last.heads if last else {}
    states = {}
    for name in sorted({*heads, *catalog.folders(), LETTERS}):
        try:
            state = catalog.open(name).state()
        except (Transient, TableRefused):
            if last is None:  # it may carry batches of a ledger that is lost
                raise
            continue  # what it carries is known from the ledger, and looked at again before it is written
        if state is not None and state.unwritable and last is None:
            raise refused(
                "table.unwritable",
                f"penstock cannot write to table '{name}': {state.unwritable}",
                "choose another base, or rewrite the table without it",
            )
        if state is not None or name in heads:
            states[name] = state
    return states


def is_newest(ledger: Ledger, app: str, last: Entry | None, states: States) -> bool:
    """Does the ledger reach as far as the tables? False: another instance went on meanwhile; look again.
    A table carries only what was decided before, so a ledger that ends earlier is lost, or an old copy."""
    ours = {name: state.carried for name, state in states.items() if state is not None and state.carried}
    name = max(ours, key=lambda name: ours[name], default="")
    if ours.get(name, 0) <= (last.number if last else 0):
        return True
    now = ledger.head()
    if now is None:
        raise ledger_missing(app, ledger.location, sorted(ours))
    if now.number < ours[name]:
        raise ledger_behind(app, name, ours[name], now.number)
    return False


def tables_moved_too(catalog: Catalog, last: Entry, states: States) -> None:
    """Raise if an app that moved left its tables behind."""
    if left := sorted(name for name in last.heads if states.get(name) is None):
        raise refused(
            "config.tables-left",
            f"app '{catalog.app}' now writes to {catalog.base} and {catalog.letters_location}, "
            f"and these tables of it are not there: {', '.join(left)}",
            "move their folders there and run again with --adopt, or give the pipeline another app name",
        )


def found(pipeline: Pipeline, last: Entry | None, states: States, bounds: Mapping[str, Bound]) -> Found:
    """What a start must know beside the ledger: positions that the source names, and how far tables were
    written under this app's name, by whomever. A type that is not wanted says nothing; neither does a
    table that got nothing since positions began anew: what it shows are positions of another log."""
    source = pipeline.source
    allow = re2.compile(pipeline.route.allow) if pipeline.route.allow else None
    stored, pending = {}, set()
    for name, state in states.items():
        if state is None or name == LETTERS or (last is not None and state.carried < last.anew):
            continue
        if (allow is None or allow.search(type_name(name))) and (positions := state.stored(bounds)):
            stored[name] = {**positions, **state.stored(_beyond(bounds))}
            pending |= {name} if last is not None and state.carried < last.heads.get(name, 0) else set()
    return Found(pipeline.app, dict(source.named) if isinstance(source, Named) else {}, stored, frozenset(pending))


def _beyond(bounds: Mapping[str, Bound]) -> list[str]:
    """Partitions that the source does not have, and may have had."""
    numbers = [int(p) for p in bounds if p.isdecimal()]
    return [str(number) for number in range(max(numbers) + 1, max(numbers) + 1 + PARTITIONS_BEYOND)] if numbers else []


def seen(last: Entry | None, hint: Hint, states: States) -> Known:
    """Everything that is known of the tables at a start: by the last entry, the hint, and the look just taken."""
    before = (last.known if last else Known()) | hint.known
    ours = {name: state for name, state in states.items() if state is not None and state.carried}
    same = {name: state for name, state in ours.items() if before.ids.get(name, state.id) == state.id}
    now = Known({name: s.id for name, s in same.items()}, {name: s.carried for name, s in same.items()})
    return before | now
