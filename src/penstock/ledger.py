"""The ledger: the app's numbered log, and the commit point of the whole system.

One small JSON file per number beside the tables, written with put-if-absent. Before an entry is
there, its batch never happened; once it is, the batch will be in its tables, whoever dies.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import msgspec

from penstock.errors import PenstockError, Unavailable, fenced
from penstock.protocol.entry import Entry, Known, decode, encode, strip
from penstock.storage import Storage

HINT = "hint.json"
ENTRIES = "ledger"


class Hint(msgspec.Struct, frozen=True):
    """What was surely true at some time: the ledger had reached this number, was emptied up to that one,
    and tables carried these batches. It may be stale: that costs a longer look, never safety."""

    number: int = 0
    stripped: int = 0
    known: Known = Known()


class Ledger:
    """Numbered entries under one folder. Numbers are 1, 2, 3 … and are never freed."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.hint = Hint()

    @property
    def location(self) -> str:
        return self._storage.location

    def get(self, number: int) -> Entry | None:
        text = self._storage.get(_path(number))
        try:
            return None if text is None else decode(text)
        except msgspec.DecodeError as cause:
            raise self._damaged(number, f"cannot be read: {cause}") from cause

    def entry(self, number: int) -> Entry:
        """An entry that must be there."""
        found = self.get(number)
        if found is None:
            raise self._damaged(number, "is gone, although later ones refer to it")
        return found

    def _damaged(self, number: int, what: str) -> PenstockError:
        return PenstockError(
            "ledger.damaged",
            f"entry {number} of the ledger at {self.location} {what}",
            "put the newest copy of the ledger's folder back, no older one will do: nothing may be decided on it",
        )

    def head(self) -> Entry | None:
        """The newest entry: read the hint, list what came after it, read one entry."""
        with suppress(msgspec.DecodeError):  # a damaged hint is as good as none
            self.hint = msgspec.json.decode(self._storage.get(HINT) or b"{}", type=Hint)
        later = self.numbers(after=self.hint.number)
        newest = later[-1] if later else self.hint.number
        return self.entry(newest) if newest else None

    def numbers(self, after: int = 0) -> list[int]:
        names = self._storage.names(ENTRIES, after=_name(after) if after else "")
        return [int(name[:-5]) for name in names if name.endswith(".json")]

    def decide(self, entry: Entry, pause: Callable[[], None]) -> None:
        """Append the entry under its number, or raise `Fenced` if another has taken that number.

        An unknown outcome is settled by reading: the same bytes may be put again, another
        number or another content may not. "Exists" may be our own, delayed put.
        """
        text = encode(entry)
        while True:
            try:
                if self._storage.create(_path(entry.number), text):
                    return
            except Unavailable:
                pause()
            winner = self._winner(entry.number, pause)
            if winner is not None and winner.id == entry.id:
                return
            if winner is not None:
                raise fenced(entry.app, winner.instance, winner.number)

    def _winner(self, number: int, pause: Callable[[], None]) -> Entry | None:
        while True:
            try:
                return self.get(number)
            except Unavailable:
                pause()

    def note(self, number: int, known: Known) -> None:
        """Leave a hint for the next start. Losing it costs nothing but a longer look."""
        self.hint = Hint(number, self.hint.stripped, known)
        self._storage.put(HINT, msgspec.json.encode(self.hint))

    def strip(self, upto: int, may_go: Callable[[Entry], bool], limit: int = 50) -> int:
        """Empty old entries whose files every listed table surely carries, oldest first, and
        stop at the first that must stay whole. Returns how many were emptied."""
        done = 0
        for number in range(self.hint.stripped + 1, upto):
            entry = self.entry(number)
            if done == limit or not may_go(entry):
                break
            if not entry.stripped and entry.tables:
                self._storage.put(_path(number), encode(strip(entry)))
                if entry.routing:
                    self._storage.delete([entry.routing])
            self.hint = msgspec.structs.replace(self.hint, stripped=number)
            done += 1
        return done


def _name(number: int) -> str:
    return f"{number:020d}.json"


def _path(number: int) -> str:
    return f"{ENTRIES}/{_name(number)}"
