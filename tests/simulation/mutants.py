"""The mistakes that people make with this protocol, each put into the shipped code.

A simulation that does not notice them proves nothing. Where penstock has two guards against the same
mistake, a mutant takes both away.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from penstock import chores, commit, instance, ledger
from penstock.batch import LandedBatch
from penstock.commit import Commits, Line
from penstock.contracts import File, Share, TableState
from penstock.errors import Unavailable, fenced
from penstock.landing.recipe import Account, Landed, Piece, Recipe
from penstock.landing.routing import Routing, pack
from penstock.ledger import Ledger
from penstock.places import LETTERS
from penstock.protocol import begin
from penstock.protocol.commits import Carried, Commit, Create, Park, Step
from penstock.protocol.entry import Counts, Entry, decode, encode
from tests.simulation.oracle import StoredFile
from tests.simulation.outside import SimulatedEngine, SimulatedStorage, Table

Mutant = Callable[[pytest.MonkeyPatch], None]


def _without_chain(state: TableState | None, share: Share, expected_id: str | None) -> Step:
    """The right decision, but for the check that the table carries exactly the batch before."""
    if state is None:
        return Create() if share.is_new else Park("x", "gone")
    if expected_id is not None and state.id != expected_id:
        return Park("x", "another table")
    if state.restored:
        return Park("x", "restored")
    return Carried() if state.carried >= share.batch else Commit()


def blind_retry_on_a_table(patch: pytest.MonkeyPatch) -> None:
    """An unknown outcome is settled by writing again, on the newest version."""
    right = Table.commit

    def commit_again(self: Table, state: TableState, share: Share) -> None:
        try:
            right(self, state, share)
        except Unavailable:
            newest = self.state()
            assert newest is not None
            right(self, newest, share)

    patch.setattr(Table, "commit", commit_again)


def blind_retry_on_the_ledger(patch: pytest.MonkeyPatch) -> None:
    """An unknown put is repeated under the next number."""

    def decide(self: Ledger, entry: Entry, pause: Callable[[], None]) -> None:
        while True:
            try:
                if self._storage.create(ledger._path(entry.number), encode(entry)):
                    return
                raise fenced(entry.app, "?", entry.number)
            except Unavailable:
                entry = msgspec.structs.replace(entry, number=entry.number + 1)

    patch.setattr(Ledger, "decide", decide)


def decided_before_durable(patch: pytest.MonkeyPatch) -> None:
    """The entry is put while files are still being written."""
    unwritten: list[StoredFile] = []
    right = instance.Instance.decide

    def write(self: SimulatedEngine, table: str, records: list[Any]) -> File:
        path = self.world.name("file")
        self.world.files[path] = StoredFile(table, tuple(records), self.world.now, there=False)
        unwritten.append(self.world.files[path])
        return File(path, 1, len(records))

    def decide(self: instance.Instance, slices: Any, landed: Any) -> Entry:
        mine, unwritten[:] = list(unwritten), []
        entry = right(self, slices, landed)
        for file in mine:
            self.around.crew.wait(0.05)
            file.there = True
        return entry

    patch.setattr(SimulatedEngine, "write", write)
    patch.setattr(instance.Instance, "decide", decide)
    patch.setattr(Commits, "_missing", lambda self, name, files: [], raising=False)
    patch.setattr(Commits, "__init__", _without_file_checks(Commits.__init__))


def _without_file_checks(right: Any) -> Any:
    def start(self: Commits, *args: Any) -> None:
        right(self, *args)
        self._missing = lambda name, files: []

    return start


def committed_before_decided(patch: pytest.MonkeyPatch) -> None:
    """Tables get the files first, the ledger hears of it later."""
    right = instance.Instance.decide

    def decide(self: instance.Instance, slices: Any, landed: Any) -> Entry:
        number = self.head.number + 1
        for name, portion in landed.portions(self.catalog, self.head.heads).items():
            entry = msgspec.structs.replace(self.head, number=number, tables={name: portion})
            table = self.catalog.open(name)
            try:
                state = table.state()
                if state is None:
                    table.create(entry.share(name))
                elif state.carried < number:
                    table.commit(state, entry.share(name))
            except Unavailable:
                continue
        return right(self, slices, landed)

    patch.setattr(instance.Instance, "decide", decide)


def no_skip_of_what_is_carried(patch: pytest.MonkeyPatch) -> None:
    def step(state: TableState | None, share: Share, expected_id: str | None) -> Step:
        found = _without_chain(state, share, expected_id)
        return Commit() if isinstance(found, Carried) else found

    patch.setattr(commit, "next_step", step)


def compared_without_condition(patch: pytest.MonkeyPatch) -> None:
    """The table is looked at, but the commit does not depend on nothing having moved since."""

    def unconditional(self: Table, state: TableState, share: Share) -> None:
        def effect() -> None:
            table = self.world.tables[self.name]
            self._change(share, (table.id, table.version))

        self.world.call(effect, writes=True)

    patch.setattr(Table, "commit", unconditional)


def out_of_order_per_table(patch: pytest.MonkeyPatch) -> None:
    right = Commits._advance

    def advance(self: Commits, line: Line) -> None:
        line.chain.rotate(random.Random(len(line.chain)).randrange(len(line.chain) or 1))
        right(self, line)

    patch.setattr(Commits, "_advance", advance)
    patch.setattr(commit, "next_step", _without_chain)
    patch.setattr(Commits, "_prove", lambda self, line: setattr(line, "unproven", False))


def position_from_the_tables(patch: pytest.MonkeyPatch) -> None:
    """A restart goes on where the tables end, not where the ledger does."""
    right = begin.beginning

    def beginning(head: Entry | None, *rest: Any) -> Any:
        found = right(head, *rest)
        if head is None or not head.carried:
            return found
        newest = max(head.carried.values())
        entry = POSITIONS["ledger"].get(newest) if newest else None
        return replace(found, ends=entry.ends) if entry else found

    POSITIONS: dict[str, Any] = {}
    start = Ledger.__init__

    def remember(self: Ledger, storage: Any) -> None:
        start(self, storage)
        POSITIONS["ledger"] = self

    patch.setattr(Ledger, "__init__", remember)
    patch.setattr(instance, "beginning", beginning)


def zombie_commits_from_memory(patch: pytest.MonkeyPatch) -> None:
    """No look at the table before committing."""

    def advance(self: Commits, line: Line) -> None:
        line.unproven = False
        if not line.chain:
            return
        share = self.entry(line.chain[0]).share(line.name)

        def effect() -> None:
            table = line.table.world.tables[line.name]  # type: ignore[attr-defined]
            line.table._change(share, (table.id, table.version) if table.exists else None)  # type: ignore[attr-defined]

        line.table.world.call(effect, writes=True)  # type: ignore[attr-defined]
        line.took(share.batch)

    patch.setattr(Commits, "_advance", advance)


def dead_letters_outside_the_entry(patch: pytest.MonkeyPatch) -> None:
    right = LandedBatch.portions

    def portions(self: Any, *args: Any) -> Any:
        return {name: portion for name, portion in right(self, *args).items() if name != LETTERS}

    patch.setattr(LandedBatch, "portions", portions)


def ledger_without_condition(patch: pytest.MonkeyPatch) -> None:
    def create(self: SimulatedStorage, path: str, content: bytes) -> bool:
        def effect() -> bool:
            self.world.objects[path] = content
            entry = decode(content)
            self.world.decide(entry.number, entry)
            return True

        return bool(self.world.call(effect, writes=True))

    patch.setattr(SimulatedStorage, "create", create)


def compaction_drops_what_is_parked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chores.Chores, "_may_go", lambda self, entry: True)
    patch.setattr(commit, "next_step", _without_chain)


def recovery_ignores_what_is_parked(patch: pytest.MonkeyPatch) -> None:
    """A restart takes up only what the newest entry lists."""

    def pending(head: Entry, name: str, state: TableState | None, entry: Any) -> list[int]:
        number = head.heads[name]
        return [number] if state is None or (state.carried < number and number >= head.number - 1) else []

    patch.setattr(commit, "pending", pending)
    patch.setattr(commit, "next_step", _without_chain)


def files_deleted_on_an_unknown_put(patch: pytest.MonkeyPatch) -> None:
    def decide(self: Ledger, entry: Entry, pause: Callable[[], None]) -> None:
        try:
            if self._storage.create(ledger._path(entry.number), encode(entry)):
                return
        except Unavailable:
            _delete_files(self, entry)
        raise fenced(entry.app, "?", entry.number)

    patch.setattr(Ledger, "decide", decide)
    patch.setattr(Commits, "__init__", _without_file_checks(Commits.__init__))


def files_deleted_when_the_number_is_taken(patch: pytest.MonkeyPatch) -> None:
    """…without looking whether it was taken by our own, delayed put."""

    def decide(self: Ledger, entry: Entry, pause: Callable[[], None]) -> None:
        while True:
            try:
                if self._storage.create(ledger._path(entry.number), encode(entry)):
                    return
            except Unavailable:
                continue
            _delete_files(self, entry)
            raise fenced(entry.app, "?", entry.number)

    patch.setattr(Ledger, "decide", decide)
    patch.setattr(Commits, "__init__", _without_file_checks(Commits.__init__))


def _delete_files(book: Ledger, entry: Entry) -> None:
    paths = [file.path for portion in entry.tables.values() for file in portion.files or ()]
    while paths:
        try:
            book._storage.delete(paths)
            return
        except Unavailable:
            continue


def short_read_is_trusted(patch: pytest.MonkeyPatch) -> None:
    """What the source no longer holds is passed over as if it had never been."""
    right = SimulatedEngine._task

    def task(self: SimulatedEngine, pieces: list[Piece], recipe: Recipe) -> Landed:
        found = right(self, pieces, recipe)
        if not found.short:
            return found
        accounts = [Account(piece.slice, Counts(), pack(Routing(piece.slice))) for piece in pieces]
        return Landed(accounts=accounts)

    patch.setattr(SimulatedEngine, "_task", task)


def entries_are_deleted(patch: pytest.MonkeyPatch) -> None:
    """Compaction frees numbers, and a zombie wins one of them again."""

    def strip(self: Ledger, upto: int, may_go: Any, limit: int = 50) -> int:
        for number in range(1, upto - 1):
            entry = self.get(number)
            if entry is not None and may_go(entry):
                self._storage.delete([ledger._path(number)])
        return 0

    patch.setattr(Ledger, "strip", strip)


def restored_tables_are_not_noticed(patch: pytest.MonkeyPatch) -> None:
    right = Table._look

    def look(self: Table) -> TableState | None:
        found = right(self)
        return found and replace(found, restored=False)

    patch.setattr(Table, "_look", look)


def restore_is_not_in_the_condition(patch: pytest.MonkeyPatch) -> None:
    """A RESTORE is looked for, but one that comes after the look does not make the commit fail."""
    right = Table._change

    def change(self: Table, share: Share, token: Any) -> None:
        table = self.world.tables[self.name]
        if token is not None and table.exists and token[0] == table.id:
            token = (table.id, table.version)
        right(self, share, token)

    patch.setattr(Table, "_change", change)


def another_table_is_not_noticed(patch: pytest.MonkeyPatch) -> None:
    """Ids are not compared, and neither is the chain."""

    def step(state: TableState | None, share: Share, expected_id: str | None) -> Step:
        return _without_chain(state, share, None)

    patch.setattr(commit, "next_step", step)
    patch.setattr(commit, "another", lambda state, carried, expected_id: None)


def chain_is_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(commit, "next_step", _without_chain)
    patch.setattr(commit, "another", lambda state, carried, expected_id: None)


def files_are_not_looked_for_again(patch: pytest.MonkeyPatch) -> None:
    def prove(self: Commits, line: Line) -> None:
        line.unproven = line.unseen = False

    patch.setattr(Commits, "_prove", prove)


def decoded_again_when_landed_again(patch: pytest.MonkeyPatch) -> None:
    right = SimulatedEngine.choose

    def choose(self: SimulatedEngine, record: Any, piece: Piece) -> str:
        return right(self, record, replace(piece, forced=None))

    patch.setattr(SimulatedEngine, "choose", choose)


def skips_are_forgotten_at_a_restart(patch: pytest.MonkeyPatch) -> None:
    right = begin.beginning

    def beginning(head: Entry | None, *rest: Any) -> Any:
        found = right(head, *rest)
        return found if head is None else replace(found, skips={})

    patch.setattr(instance, "beginning", beginning)


def skips_end_with_the_first_batch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(instance, "left", lambda skips, ends: {})


def skips_never_end(patch: pytest.MonkeyPatch) -> None:
    """What tables tell their former writer does not move on any more."""
    patch.setattr(instance, "left", lambda skips, ends: skips)


def table_furthest_ahead_says_where_to_begin(patch: pytest.MonkeyPatch) -> None:
    def starts(bounds: Any, found: Any) -> dict[str, int]:
        stored = found.stored.values()
        return {p: max((at[p] for at in stored if p in at), default=bound.begin) for p, bound in bounds.items()}

    patch.setattr(begin, "starts", starts)


def stored_offset_is_taken_for_the_next_one(patch: pytest.MonkeyPatch) -> None:
    """kafka-delta-ingest stores the last offset, penstock the one after it."""
    right = Table._look

    def look(self: Table) -> TableState | None:
        found = right(self)
        if found is None:
            return None
        told = found.stored
        return replace(found, stored=lambda ps: {p: at - 1 for p, at in told(ps).items()})

    patch.setattr(Table, "_look", look)


def tables_are_taken_back(patch: pytest.MonkeyPatch) -> None:
    """A table that is ahead of the app gets the app's positions."""
    right = Entry.share
    patch.setattr(Entry, "share", lambda self, name: replace(right(self, name), ends=self.ends))


def kept_records_are_removed_first(patch: pytest.MonkeyPatch) -> None:
    """Kept records are taken away by a commit of their own, which carries no batch number, before the batch's."""
    right = Table.commit

    def commit_apart(self: Table, state: TableState, share: Share) -> None:
        gone = {file.path for file in share.removed}
        table = self.world.tables[self.name]
        if gone:
            live = {path: records for path, records in table.live.items() if path not in gone}
            self.world.call(lambda: self.world._foreign(table, live), writes=True)
            state = replace(state, token=(table.id, table.version))
        right(self, state, replace(share, removed=()))

    patch.setattr(Table, "commit", commit_apart)


def kept_records_are_removed_later(patch: pytest.MonkeyPatch) -> None:
    """Kept records are taken away after the batch's commit: whoever dies in between never does it."""
    right_change, right_commit = Table._change, Table.commit

    def change(self: Table, share: Share, token: Any) -> None:
        judged = self.world.committed
        if share.removed:  # what is there between the two is not yet judged
            self.world.committed = lambda *_: None  # type: ignore[method-assign]
        try:
            right_change(self, replace(share, removed=()), token)
        finally:
            self.world.committed = judged  # type: ignore[method-assign]

    def commit_apart(self: Table, state: TableState, share: Share) -> None:
        right_commit(self, state, share)
        gone = {file.path for file in share.removed}

        def remove() -> None:
            table = self.world.tables[self.name]
            self.world._foreign(table, {path: records for path, records in table.live.items() if path not in gone})

        if gone:
            self.world.call(remove, writes=True)

    patch.setattr(Table, "_change", change)
    patch.setattr(Table, "commit", commit_apart)


def kept_files_are_not_looked_for(patch: pytest.MonkeyPatch) -> None:
    """Files that others put together since are taken away by their old names."""
    patch.setattr(commit, "still_held", lambda _, share: share)


MUTANTS: dict[str, tuple[str, Mutant]] = {
    mutant.__name__: (profile, mutant)
    for profile, mutant in (
        ("core", blind_retry_on_a_table),
        ("core", blind_retry_on_the_ledger),
        ("core", decided_before_durable),
        ("core", committed_before_decided),
        ("core", no_skip_of_what_is_carried),
        ("core", compared_without_condition),
        ("core", out_of_order_per_table),
        ("core", position_from_the_tables),
        ("core", zombie_commits_from_memory),
        ("core", dead_letters_outside_the_entry),
        ("core", ledger_without_condition),
        ("core", compaction_drops_what_is_parked),
        ("core", recovery_ignores_what_is_parked),
        ("core", files_deleted_on_an_unknown_put),
        ("core", files_deleted_when_the_number_is_taken),
        ("retention", short_read_is_trusted),
        ("core", entries_are_deleted),
        ("restore", restored_tables_are_not_noticed),
        ("restore", restore_is_not_in_the_condition),
        ("recreate", another_table_is_not_noticed),
        ("restore", chain_is_not_compared),
        ("vacuum", files_are_not_looked_for_again),
        ("vacuum", decoded_again_when_landed_again),
        ("takeover", skips_are_forgotten_at_a_restart),
        ("takeover", skips_end_with_the_first_batch),
        ("takeover", skips_never_end),
        ("takeover", table_furthest_ahead_says_where_to_begin),
        ("takeover", stored_offset_is_taken_for_the_next_one),
        ("takeover", tables_are_taken_back),
        ("adopt", kept_records_are_removed_first),
        ("adopt", kept_records_are_removed_later),
        ("adopt", kept_files_are_not_looked_for),
    )
}
