"""Land: what one task does with its slices. Read → identify → parse → fit → write.

This is the worker's whole story, in plain Arrow: no Spark, so it is tested without it. Rows go to
files; what goes back to the driver is an account of what became of every message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.arrow import arrow_schema
from penstock.contracts import ShortRead
from penstock.crashpoints import reach
from penstock.errors import Transient
from penstock.formats.admission import UNROUTED
from penstock.formats.registered import unknown_fields
from penstock.landing.files import Files
from penstock.landing.identify import identify
from penstock.landing.kept_again import kept_again
from penstock.landing.letters import Letters, coordinates
from penstock.landing.own_columns import completed, empty_partition_values
from penstock.landing.reading import reading
from penstock.landing.recipe import Account, Landed, Piece, Recipe, Target
from penstock.landing.routing import FILTERED, SKIPPED, TOMBSTONE, WAITING, Routing, pack, unmask
from penstock.landing.skips import needed, still_rejected
from penstock.landing.unsettled import unsettled
from penstock.messages import Indices, Messages, Reject, Row
from penstock.protocol.entry import Counts
from penstock.schema import Schema

PILED_BYTES, PILED_RUNS = 32 * 2**20, 8
"""How much is kept as bytes before it becomes columns: enough to make columns by the thousand
when there are a hundred types, little enough to bound a worker's memory."""


def land(pieces: Sequence[Piece], recipe: Recipe) -> Landed:
    """Read slices, make rows of their messages, write them to files, and account for every message."""
    landing = _Landing(recipe)
    try:
        for piece in pieces:
            landing.slice(piece)
        return landing.finish()
    except ShortRead as why:
        return Landed(files=landing.files.written, short=str(why))
    except Transient as why:
        return Landed(files=landing.files.written, away=str(why))


class _Landing:
    """One task at work. Messages that are rows as they are wait in piles, over all its slices, until
    there are enough of them to make columns of."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.reading = reading(recipe)
        self.letters = Letters(recipe)
        self.files = Files(recipe.storage, held=recipe.held, fsync=recipe.fsync)
        self.seen: dict[str, Schema] = {}
        self.reasons: Counter[str] = Counter()
        self.example, self._unknown_before = "", unknown_fields()
        self._slices: list[_Slice] = []
        self._piles: dict[str, list[tuple[_Slice, Messages]]] = {}
        self._piled = self._runs = 0

    def slice(self, piece: Piece) -> None:
        work = _Slice(self, piece)
        self._slices.append(work)
        for messages in self.recipe.source.read(piece.slice):
            reach("land.read")
            work.take(work.wanted(messages))
            self._runs += 1
            if self._piled > PILED_BYTES or self._runs >= PILED_RUNS:
                self._flush()

    def pile(self, work: _Slice, name: str, messages: Messages) -> None:
        self._piles.setdefault(name, []).append((work, messages))
        self._piled += messages.values.nbytes

    def _flush(self) -> None:
        for name, runs in self._piles.items():
            self._make_columns(name, _joined(runs))
        self._piles, self._piled, self._runs = {}, 0, 0

    def _make_columns(self, name: str, runs: list[tuple[_Slice, Messages]]) -> None:
        made = self.reading.columns(name, [messages for _, messages in runs])
        start = taken = 0
        for work, messages in runs:
            declined = made.declined[start : start + len(messages)]
            start += len(messages)
            kept = messages.only(np.flatnonzero(~declined))
            if made.rows is not None and len(kept):
                work.write(self.recipe.targets[name], kept, made.rows.slice(taken, len(kept)))
                taken += len(kept)
            if len(kept) < len(messages):
                work.one_by_one(name, messages.only(np.flatnonzero(declined)))

    def finish(self) -> Landed:
        self._flush()
        return Landed(
            files=self.files.finish(),
            accounts=[work.account() for work in self._slices],
            seen=self.seen,
            reasons=dict(self.reasons),
            example=self.example,
            unknown_fields=max(0, unknown_fields() - self._unknown_before),
        )


class _Slice:
    """The messages of one slice, from bytes to files."""

    def __init__(self, landing: _Landing, piece: Piece) -> None:
        self.landing, self.recipe, self.piece = landing, landing.recipe, piece
        self.routing = Routing(piece.slice)
        self.read = self.bytes = self.dead = 0

    def wanted(self, messages: Messages) -> Messages:
        if self.piece.only is None:
            return messages
        span = self.piece.slice.end - self.piece.slice.start
        chosen = unmask(self.piece.only, span) + self.piece.slice.start
        return messages.only(np.flatnonzero(np.isin(messages.positions, chosen)))

    def take(self, messages: Messages) -> None:
        """Say what each message of a run is, and put it where such messages go."""
        self.read += len(messages)
        self.bytes += messages.values.nbytes
        messages = self._without_tombstones(messages)
        if self.piece.forced is not None:
            self._force(messages, self.piece.forced)
            return
        messages, types, rejects = identify(messages, self.recipe.by)
        self._reject(*rejects)
        found = self.landing.reading.sort(messages, types)
        self.routing.mark(messages.positions[found.filtered], FILTERED)
        self._reject(messages, found.rejects)
        for name, indices in found.waiting.items():
            self._wait(name, messages.only(indices))
        for name, rows in found.rows.items():
            self._write_rows(name, messages, rows)
        for name, chosen in messages.grouped(found.clean).items():
            self.landing.pile(self, name, chosen)

    def _without_tombstones(self, messages: Messages) -> Messages:
        if not messages.values.null_count:
            return messages
        null = pc.is_null(messages.values).to_numpy(zero_copy_only=False)
        self.routing.mark(messages.positions[null], TOMBSTONE)
        return messages.only(np.flatnonzero(~null))

    def _wait(self, name: str, messages: Messages) -> None:
        """These messages need columns that their table does not have: tell the driver which."""
        if self.recipe.settled:
            told = self.landing.reading.infer(name, messages)
            self._reject(messages, unsettled(name, len(messages), told, self.recipe.max_columns))
            return
        if self.recipe.skips and name in self.recipe.targets:
            messages = messages.only(needed(messages, self.recipe.targets[name].name, self.recipe, self.routing))
            if not len(messages):
                return
        self.routing.mark(messages.positions, WAITING)
        self.landing.seen[name] = self.landing.reading.infer(name, messages)

    def _force(self, messages: Messages, name: str) -> None:
        """Land messages where they were decided to go, whatever a decoder says of them today."""
        if self.recipe.kept and name == self.recipe.kept.name:
            self._reject(messages, kept_again(messages, self.recipe))
            return
        if name == self.recipe.letters.name:
            text = "landed again; the reason is with the batch's first landing"
            self._reject(messages, [Reject(at, "reland", "reland", text) for at in range(len(messages))])
            return
        type_of = {target.name: type for type, target in self.recipe.targets.items()}
        self.one_by_one(type_of[name], messages)

    # --- rows to files

    def one_by_one(self, name: str, messages: Messages) -> None:
        found = self.landing.reading.rows(name, messages)
        self._reject(messages, found.rejects)
        for waiting in found.waiting.values():
            self._wait(name, messages.only(waiting))
        self._write_rows(name, messages, found.rows[name])

    def _write_rows(self, name: str, messages: Messages, rows: list[Row]) -> None:
        if rows:
            target = self.recipe.targets[name]
            made = pa.RecordBatch.from_pylist([row.values for row in rows], arrow_schema(target.shape.columns))
            self.write(target, messages.only(np.array([row.at for row in rows])), made)

    def write(self, target: Target, messages: Messages, rows: pa.RecordBatch) -> None:
        if self.recipe.skips:
            kept = needed(messages, target.name, self.recipe, self.routing)
            messages, rows = messages.only(kept), rows.take(pa.array(kept))
        empty = empty_partition_values(rows, target.partition_by)
        if len(empty):
            text = "an empty text cannot be a partition value: it would read back as null"
            self._reject(messages, [Reject(int(at), "write", "partition.empty", text, target.name) for at in empty])
            kept = np.setdiff1d(np.arange(len(messages)), empty)
            messages, rows = messages.only(kept), rows.take(pa.array(kept))
        if rows.num_rows:
            self.routing.mark_table(messages.positions, target.name)
            self.landing.files.add(target, completed(rows, target, messages, self.recipe.source_name))

    def _reject(self, messages: Messages, rejects: Sequence[Reject]) -> None:
        if self.recipe.skips:
            rejects = still_rejected(messages, rejects, self.recipe, self.routing)
        rejects = self._keep(messages, rejects)
        if not rejects:
            return
        self.dead += len(rejects)
        self.landing.reasons.update(reject.code for reject in rejects)
        self.landing.example = self.landing.example or coordinates(messages, rejects[0])
        self.landing.files.add(self.recipe.letters, self.landing.letters.of(messages, rejects))
        places: Indices = messages.positions[np.array([reject.at for reject in rejects])]
        self.routing.mark_table(places, self.recipe.letters.name)

    def _keep(self, messages: Messages, rejects: Sequence[Reject]) -> Sequence[Reject]:
        """Messages whose type has no table yet go where they wait for one. Returns the others."""
        kept = [reject for reject in rejects if reject.stage == UNROUTED]
        if kept and self.recipe.kept is not None:
            self.landing.files.add(self.recipe.kept, self.landing.letters.kept(messages, kept))
            self.routing.mark_table(messages.positions[np.array([reject.at for reject in kept])], self.recipe.kept.name)
        return [reject for reject in rejects if reject.stage != UNROUTED] if kept else rejects

    def account(self) -> Account:
        waiting = self.routing.count(WAITING)
        filtered, tombstones, skipped = map(self.routing.count, (FILTERED, TOMBSTONE, SKIPPED))
        rows = self.read - waiting - self.dead - filtered - tombstones - skipped
        counts = Counts(self.read, rows, self.dead, filtered, tombstones, skipped, self.bytes)
        return Account(self.piece.slice, counts, pack(self.routing), waiting)


def _joined(runs: list[tuple[_Slice, Messages]]) -> list[tuple[_Slice, Messages]]:
    """The runs of each slice as one; kept messages of several partitions come in one slice."""
    found = [list(group) for _, group in groupby(runs, key=lambda run: (id(run[0]), run[1].partition))]
    return [(group[0][0], Messages.joined([messages for _, messages in group])) for group in found]
