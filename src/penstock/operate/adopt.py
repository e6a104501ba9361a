"""Adopt a type: wish for it, wait until a running instance has done it, or do it where nobody runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.catalog import Catalog
from penstock.errors import ConfigError, Fenced, PenstockError, refused, shown
from penstock.ledger import Ledger
from penstock.loop import Until
from penstock.pipeline import Pipeline
from penstock.places import UNROUTED
from penstock.protocol.entry import Counts, Entry
from penstock.running import catalog_of
from penstock.running import run as run_here
from penstock.tables.names import table_name
from penstock.wishes import Wish, Wishes

PATIENCE = 10.0  # seconds without a sign before nobody is taken to run
POLL = 0.2

Run = Callable[[Pipeline], None]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What became of a type's kept messages. `is_done` is false where nobody waited for it."""

    type: str
    table: str
    counts: Counts = field(default_factory=Counts)
    is_done: bool = True


def only_adopt(pipeline: Pipeline) -> None:
    """An instance that does what is wished, lands nothing else, and stops."""
    run_here(pipeline, until=Until(batches=0), handle_signals=True)


def adopt(
    pipeline: Pipeline,
    type: str,
    *,
    wait: bool = True,
    run: Run = only_adopt,
    tell: Tell = lambda _: None,
    patience: float = PATIENCE,
) -> Outcome:
    """Give a type its table, with the messages that were kept for it."""
    table = _table(type)
    catalog = catalog_of(pipeline)
    storage = catalog.storage(catalog.ledger_location)
    ledger, wishes = Ledger(storage), Wishes(storage)
    head = ledger.head()
    if not _is_kept(type, catalog, head) and wishes.get(type) is None:
        if catalog.open(table).state() is None:
            raise _nothing_kept(type, pipeline)
        return Outcome(type, table)
    after = head.number if head is not None else 0
    wish = wishes.make(type, after)
    if not wait:
        return Outcome(type, table, is_done=False)
    tell(f"waiting for the running instance of app '{pipeline.app}'")
    _until_done(wish, wishes, pipeline, patience, lambda: _here(pipeline, run, tell))
    return Outcome(type, table, _moved(ledger, type, min(after, wish.after)))


def _table(type: str) -> str:
    try:
        return table_name(type)
    except ValueError as why:
        raise refused("usage.type", f"type '{shown(type, 60)}' can have no table: {why}", "check its name") from None


def _is_kept(type: str, catalog: Catalog, head: Entry | None) -> bool:
    """Is there, or may there be, a message of this type that waits?"""
    if head is None or UNROUTED not in head.heads:
        return False
    state = catalog.open(UNROUTED).state()
    return state is None or state.carried < head.heads[UNROUTED] or bool(state.holds({"type": type}))


def _until_done(wish: Wish, wishes: Wishes, pipeline: Pipeline, patience: float, here: Callable[[], bool]) -> None:
    sign, since = wishes.sign(), time.monotonic()
    while (now := wishes.get(wish.type)) is not None:
        if now.refused:
            wishes.drop(wish.type)
            raise PenstockError(
                "adopt.refused",
                f"type '{shown(wish.type, 60)}' was not adopted: {now.refused}",
                "its messages stay where they are kept; mend the cause and adopt it again",
            )
        if (seen := wishes.sign()) != sign:
            sign, since = seen, time.monotonic()
        if time.monotonic() - since >= patience:
            ended = here()
            left = wishes.get(wish.type)
            if ended and left is not None and not left.refused:
                raise _still_waits(wish.type, pipeline)
            since = time.monotonic()
        else:
            time.sleep(POLL)


def _here(pipeline: Pipeline, run: Run, tell: Tell) -> bool:
    """Do it in this process. False if another instance began to run meanwhile."""
    tell("nobody answers: doing it here")
    try:
        run(pipeline)
    except Fenced:
        tell("another instance has taken over, and will do it")
        return False
    return True


def _moved(ledger: Ledger, type: str, after: int) -> Counts:
    entries = (ledger.entry(number) for number in ledger.numbers(after=after))
    return sum((entry.adopted[type] for entry in entries if type in entry.adopted), Counts())


def _nothing_kept(type: str, pipeline: Pipeline) -> ConfigError:
    remedy = "only `route.unrouted: keep` keeps messages; a type that is declared or has a table is landed directly"
    return refused("adopt.nothing-kept", f"app '{pipeline.app}' keeps no message of type '{shown(type, 60)}'", remedy)


def _still_waits(type: str, pipeline: Pipeline) -> PenstockError:
    return PenstockError(
        "adopt.waits",
        f"type '{shown(type, 60)}' was not adopted yet: the table of kept messages of app '{pipeline.app}' is parked, "
        "or the run was told to stop",
        "the wish stays, and the next run does it; a table that is parked must be mended first",
    )
