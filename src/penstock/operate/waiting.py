"""What a table has not taken yet: batches that a ledger has decided, and whose files the table does not know.

To a vacuum such files are garbage. Whoever deletes files of a table must ask here first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.ledger import Ledger
from penstock.places import HOME, LETTERS
from penstock.protocol.commits import pending
from penstock.protocol.entry import Entry
from penstock.storage import Storage, child
from penstock.tables.delta import DeltaTable


@dataclass(frozen=True)
class Waiting:
    """A decided batch that a table does not carry."""

    app: str
    batch: int
    time: str
    files: frozenset[str]


def ledgers_beside(location: str, options: Mapping[str, str]) -> list[str]:
    """The ledgers that are where an app keeps its own unless it is told otherwise: beside its tables."""
    parent = location.rpartition("/")[0] or "/"
    if HOME not in Storage(parent, options).folders():
        return []
    home = child(parent, HOME)
    return [child(home, app) for app in Storage(home, options).folders()]


def open_ledger(location: str, options: Mapping[str, str]) -> tuple[Ledger, Entry] | None:
    """A ledger and its newest entry; None if there is none. Looking for it must not make its folder."""
    if "://" not in location and not Path(location).is_dir():
        return None
    book = Ledger(Storage(location, options))
    head = book.head()
    return (book, head) if head is not None else None


def waiting(book: Ledger, head: Entry, location: str, options: Mapping[str, str]) -> Iterator[Waiting]:
    """The batches of a ledger that the table at this location does not carry yet, oldest first."""
    names = [name for name in _names(head, location) if name in head.heads]
    state = DeltaTable(location, head.app, options).state() if names else None
    for name in names:
        for number in pending(head, name, state, book.entry):
            entry = book.entry(number)
            files = frozenset(file.path for file in entry.tables[name].files or ())
            if files:
                yield Waiting(entry.app, number, entry.time, files)


def _names(head: Entry, location: str) -> list[str]:
    """What the ledger may call the table. Folders count, not whole paths: a place can be spelled in several ways."""
    folder = location.rpartition("/")[2]
    return [folder, *([LETTERS] if head.place.dead_letters.rpartition("/")[2] == folder else [])]
