"""Commit: give each table the decided batches it does not carry yet, in order.

That one rule covers a crash, a fenced instance, a parked table and a lost reply. Tables are
independent: one that refuses keeps its own growing chain, nobody waits for it, and it catches up
by itself when it is well again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from penstock.contracts import File, Share, Table, TableState, Tidy
from penstock.crashpoints import reach
from penstock.crew import Crew
from penstock.errors import PenstockError, TableRefused
from penstock.kept import still_held
from penstock.ledger import Ledger
from penstock.observe import Observer, Silence, TableReport
from penstock.protocol.commits import Carried, Commit, Create, Evolve, Park, another, next_step, pending
from penstock.protocol.entry import Entry, Known

DEPTH = 4  # batches that may be decided before a table that is not parked has taken them
SLOWEST_RETRY = 15.0
CACHED = 64  # entries kept while chains are walked

Missing = Callable[[str, Iterable[File]], list[str]]
Reland = Callable[[Entry, str], list[File]]


@dataclass
class Line:
    """One table and the batches that wait in line for it."""

    name: str
    table: Table
    id: str | None = None
    carried: int = 0
    chain: deque[int] = field(default_factory=deque)
    busy: bool = False
    failing_since: float | None = None
    retry_at: float = 0.0
    attempts: int = 0
    refused: bool = False
    reason: str = ""
    unproven: bool = False  # nobody has looked yet whether the files of the carried batch are there
    unseen: bool = False  # nor, since the start, whether it is still the table that was left

    @property
    def first(self) -> int | None:
        """The batch that is next; looked at from other threads than the one that takes it away."""
        try:
            return self.chain[0]
        except IndexError:
            return None

    @property
    def waits(self) -> bool:
        return bool(self.chain) or self.unproven

    def took(self, number: int) -> None:
        if self.chain and self.chain[0] == number:
            self.chain.popleft()
        self.carried = max(self.carried, number)
        self.unproven = True
        self.recovered()

    def recovered(self) -> None:
        self.failing_since, self.attempts, self.refused, self.reason = None, 0, False, ""


class Commits:
    """The tables of an app, each with its own chain of pending batches."""

    def __init__(
        self, ledger: Ledger, crew: Crew, open_table: Callable[[str], Table], missing: Missing, reland: Reland
    ) -> None:
        self._ledger, self._crew = ledger, crew
        self._open, self._missing, self._reland = open_table, missing, reland
        self._entries: dict[int, Entry] = {}
        self._tending = threading.Lock()
        self.lines: dict[str, Line] = {}
        self.park_after = 120.0
        self.observer: Observer = Silence()

    # --- what there is to do

    def recover(self, head: Entry, states: Mapping[str, TableState | None]) -> None:
        """Find what every table lacks: the start of a run needs nothing else. A table that could not be
        looked at lacks what nobody has ever seen it carry."""
        for name in head.heads:
            line = self._line(name)
            line.id = head.ids.get(name)
            state = states.get(name)
            line.chain = deque(pending(head, name, state, self.entry))
            if len(self._entries) > CACHED:  # a table that was parked for long has a long chain
                self._entries.clear()
            known = state is not None and line.id in (None, state.id)
            line.carried = max(head.carried.get(name, 0), state.carried if state is not None and known else 0)
            line.unproven = line.carried > 0
            line.unseen = line.unproven and another(state, line.carried, line.id) is not None
        for line in self._snapshot():  # not before: whoever could not read the ledger begins anew
            self.observer.table(TableReport(line.name, "owes", len(line.chain)))

    def take(self, entry: Entry) -> None:
        """A batch was decided: it is next in line for every table it lists."""
        with self._tending:
            self._entries[entry.number] = entry
            for name in entry.tables:
                self._line(name).chain.append(entry.number)
                self.observer.table(TableReport(name, "owes"))
        self.tend()

    def _line(self, name: str) -> Line:
        if name not in self.lines:
            self.lines[name] = Line(name, self._open(name))
        return self.lines[name]

    def entry(self, number: int) -> Entry:
        """An entry of the ledger, read once while somebody needs it."""
        found = self._entries.get(number)
        if found is None:
            found = self._entries[number] = self._ledger.entry(number)
        return found

    def tend(self) -> None:
        """Start work on every table that has some and whose time has come. Anybody may call it."""
        with self._tending:
            for line in self._snapshot():
                if line.waits and not line.busy and self._crew.now() >= line.retry_at:
                    line.busy = True
                    self._crew.spawn(partial(self._settle, line))
            self._forget()

    def _forget(self) -> None:
        """Keep the entries that are needed next. Those that a parked table will need are in the ledger."""
        needed: set[int] = set()
        for line in self._snapshot():
            needed.update(tuple(line.chain)[: 1 if self.is_parked(line) else DEPTH])
            needed.update([line.carried] if line.unproven else [])
        for number in [number for number in tuple(self._entries) if number not in needed]:
            self._entries.pop(number, None)

    def _snapshot(self) -> list[Line]:
        """The lines as they are now: others may add some meanwhile."""
        return list(self.lines.values())

    # --- how the tables are doing

    def is_parked(self, line: Line) -> bool:
        since = line.failing_since
        return line.refused or (since is not None and self._crew.now() - since >= self.park_after)

    @property
    def parked(self) -> dict[str, str]:
        return {line.name: line.reason for line in self._snapshot() if line.waits and self.is_parked(line)}

    def surely_carries(self, name: str, number: int) -> bool:
        """Was it read back that the table carries this batch, is the table well, are the files there?"""
        line = self.lines.get(name)
        if line is None or line.refused or line.failing_since is not None:
            return False
        return line.carried > number or (line.carried == number and not line.unproven)

    @property
    def busy(self) -> bool:
        """Does a table that is not parked still have something to take or to prove?"""
        return any(line.waits and not self.is_parked(line) for line in self._snapshot())

    def behind(self, depth: int = DEPTH) -> bool:
        """Is a table that is not parked so many batches behind that deciding more must wait?"""
        return any(len(line.chain) >= depth and not self.is_parked(line) for line in self._snapshot())

    @property
    def oldest(self) -> int | None:
        """The oldest batch that a table which is not parked still has to take."""
        return min((n for line in self._snapshot() if (n := line.first) and not self.is_parked(line)), default=None)

    @property
    def known(self) -> Known:
        """What this instance has seen of the tables."""
        lines = self._snapshot()
        return Known({line.name: line.id for line in lines if line.id}, {line.name: line.carried for line in lines})

    def next_retry(self) -> float:
        """Seconds until a table wants to be tended again."""
        times = [line.retry_at for line in self._snapshot() if line.waits and not line.busy]
        return max(0.0, min(times, default=self._crew.now() + 60.0) - self._crew.now())

    # --- doing it

    def _settle(self, line: Line) -> None:
        try:
            while line.waits:
                self._advance(line)
        except Exception as why:
            self._stumble(line, why)
        line.busy = False
        self._crew.wake()

    def _advance(self, line: Line) -> None:
        """One look at the table, and the one thing to do about what was seen."""
        if line.unproven:
            self._prove(line)
            return
        state = line.table.state()
        entry = self.entry(line.chain[0])
        share = entry.share(line.name)
        match next_step(state, share, line.id):
            case Park(code, reason):
                raise TableRefused(code, reason)
            case Carried() if state is not None:
                line.id = state.id
                line.took(share.batch)
                self.observer.table(TableReport(line.name, "took"))
            case Evolve(schema) if state is not None:
                line.table.evolve(state, schema)
                reach("evolve.after")
            case Create():
                self._give(line, entry, share, line.table.create)
            case Commit() if state is not None:
                found = state
                self._give(line, entry, still_held(found, share), lambda whole: line.table.commit(found, whole))
                line.id = found.id

    def _give(self, line: Line, entry: Entry, share: Share, give: Callable[[Share], None]) -> None:
        if self._missing(line.name, share.files):
            share = replace(share, files=tuple(self._reland(entry, line.name)), is_relanded=True)
        began = self._crew.now()
        self.observer.table(TableReport(line.name, "gives"))
        reach("commit.before")
        give(share)
        reach("commit.after")
        line.took(share.batch)
        self.observer.table(TableReport(line.name, "took", seconds=self._crew.now() - began))
        if isinstance(line.table, Tidy) and line.table.is_untidy:
            self._crew.spawn(lambda: self._tidy(line))

    def _prove(self, line: Line) -> None:
        """Is the newest carried batch really in the table? An operator may have taken the table back
        while nobody ran; a vacuum may strike between the look and the commit."""
        files = self.entry(line.carried).tables[line.name].files or ()
        gone = self._missing(line.name, files)
        if gone or line.unseen:
            state = line.table.state()
            if why := another(state, line.carried, line.id):
                raise TableRefused(why.code, why.reason)
            if state is not None and (dangling := state.refers(gone)):
                told = f"{len(dangling)} files of batch {line.carried} are gone although it refers to them"
                raise TableRefused("table.files-vanished", f"{told}, such as {dangling[0]}")
        line.unproven = line.unseen = False
        line.recovered()

    def _stumble(self, line: Line, why: Exception) -> None:
        """Remember that the table failed; try again later, and ever more rarely."""
        now = self._crew.now()
        line.failing_since = now if line.failing_since is None else line.failing_since
        line.refused = isinstance(why, TableRefused)
        line.reason = f"{why.what} [{why.code}]" if isinstance(why, PenstockError) else f"{type(why).__name__}: {why}"
        line.attempts += 1
        self.observer.table(TableReport(line.name, "fails"))
        line.retry_at = now + min(SLOWEST_RETRY, 0.05 * 2 ** min(line.attempts, 12)) * (0.5 + self._crew.chance() / 2)

    def _tidy(self, line: Line) -> None:
        try:
            reach("tidy.before")
            if isinstance(line.table, Tidy):
                line.table.tidy()
        except Exception:
            return  # it can wait for the next time
