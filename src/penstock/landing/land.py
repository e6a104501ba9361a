"""Land: what one task does with its slices. Read → identify → parse → fit → write.

This is the worker's whole story, in plain Arrow: no Spark, so it is tested without it. Rows go to
files; what goes back to the driver is an account of what became of every message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.arrow import arrow_schema
from penstock.contracts import ShortRead
from penstock.crashpoints import reach
from penstock.errors import Transient
from penstock.landing.files import Files
from penstock.landing.identify import identify
from penstock.landing.letters import letters, moment
from penstock.landing.recipe import Account, Landed, Piece, Recipe, Target
from penstock.landing.routing import FILTERED, TOMBSTONE, WAITING, Routing, pack, unmask
from penstock.messages import RESCUED, SOURCE_COLUMNS, Details, Indices, Messages, Reject, Row
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
        return Landed(short=str(why))
    except Transient as why:
        return Landed(away=str(why))


class _Landing:
    """One task at work."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.reader = recipe.format.reader(recipe.shapes())
        self.files = Files(recipe.storage, fsync=recipe.fsync)
        self.accounts: list[Account] = []
        self.seen: dict[str, Schema] = {}
        self.reasons: Counter[str] = Counter()
        self.example = ""

    def slice(self, piece: Piece) -> None:
        work = _Slice(self, piece)
        for messages in self.recipe.source.read(piece.slice):
            reach("land.read")
            work.take(work.wanted(messages))
        work.flush()
        self.accounts.append(work.account())

    def finish(self) -> Landed:
        return Landed(
            files=self.files.finish(),
            accounts=self.accounts,
            seen=self.seen,
            reasons=dict(self.reasons),
            example=self.example,
        )


class _Slice:
    """The messages of one slice, from bytes to files."""

    def __init__(self, landing: _Landing, piece: Piece) -> None:
        self.landing, self.recipe, self.piece = landing, landing.recipe, piece
        self.routing = Routing(piece.slice)
        self.read = self.bytes = self.dead = 0
        self._piles: dict[str, list[Messages]] = {}
        self._rows: dict[str, list[tuple[Messages, list[Row]]]] = {}
        self._piled = self._runs = 0

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
        found = self.landing.reader.sort(messages, types)
        self.routing.mark(messages.positions[found.filtered], FILTERED)
        self._reject(messages, found.rejects)
        for name, indices in found.waiting.items():
            self._wait(name, messages.only(indices))
        for name, rows in found.rows.items():
            self._rows.setdefault(name, []).append((messages, rows))
        for name, indices in found.clean.items():
            chosen = messages.only(indices)
            self._piles.setdefault(name, []).append(chosen)
            self._piled += chosen.values.nbytes
        self._runs += 1
        if self._piled > PILED_BYTES or self._runs >= PILED_RUNS:
            self.flush()

    def _without_tombstones(self, messages: Messages) -> Messages:
        if not messages.values.null_count:
            return messages
        null = pc.is_null(messages.values).to_numpy(zero_copy_only=False)
        self.routing.mark(messages.positions[null], TOMBSTONE)
        return messages.only(np.flatnonzero(~null))

    def _wait(self, name: str, messages: Messages) -> None:
        """These messages need columns that their table does not have: tell the driver which."""
        if self.recipe.settled:
            text = "the table still lacks columns of this message after they were added"
            self._reject(messages, [Reject(at, "fit", "schema.unsettled", text, name) for at in range(len(messages))])
            return
        self.routing.mark(messages.positions, WAITING)
        self.landing.seen[name] = self.landing.reader.infer(name, messages.values)

    def _force(self, messages: Messages, name: str) -> None:
        """Land messages where they were decided to go, whatever a decoder says of them today."""
        if name == self.recipe.letters.name:
            text = "landed again; the reason is with the batch's first landing"
            self._reject(messages, [Reject(at, "reland", "reland", text) for at in range(len(messages))])
            return
        type_of = {target.name: type for type, target in self.recipe.targets.items()}
        self._one_by_one(type_of[name], messages)

    # --- rows to files

    def flush(self) -> None:
        for name, runs in self._piles.items():
            self._columns(name, _joined(runs))
        for name, made in self._rows.items():
            for messages, rows in made:
                self._write_rows(name, messages, rows)
        self._piles, self._rows = {}, {}
        self._piled = self._runs = 0

    def _columns(self, name: str, messages: Messages) -> None:
        rows = self.landing.reader.columns(name, messages.values)
        if rows is None:
            self._one_by_one(name, messages)
        else:
            self._write(self.recipe.targets[name], messages, rows)

    def _one_by_one(self, name: str, messages: Messages) -> None:
        found = self.landing.reader.rows(name, messages.values)
        self._reject(messages, found.rejects)
        self._write_rows(name, messages, found.rows[name])

    def _write_rows(self, name: str, messages: Messages, rows: list[Row]) -> None:
        if rows:
            target = self.recipe.targets[name]
            made = pa.RecordBatch.from_pylist([row.values for row in rows], arrow_schema(target.shape.columns))
            self._write(target, messages.only(np.array([row.at for row in rows])), made)

    def _write(self, target: Target, messages: Messages, rows: pa.RecordBatch) -> None:
        empty = _empty_partition_values(rows, target.partition_by)
        if len(empty):
            text = "an empty text cannot be a partition value: it would read back as null"
            self._reject(messages, [Reject(int(at), "write", "partition.empty", text, target.name) for at in empty])
            kept = np.setdiff1d(np.arange(len(messages)), empty)
            messages, rows = messages.only(kept), rows.take(pa.array(kept))
        if target.shape.evolve == "rescue" and RESCUED not in rows.schema.names:
            rows = rows.append_column(RESCUED, pa.nulls(rows.num_rows, pa.string()))
        if target.source_columns:
            rows = _with_source_columns(rows, messages, self.recipe.source_name)
        if rows.num_rows:
            self.routing.mark_table(messages.positions, target.name)
            self.landing.files.add(target, rows)

    def _reject(self, messages: Messages, rejects: Sequence[Reject]) -> None:
        if not rejects:
            return
        self.dead += len(rejects)
        self.landing.reasons.update(reject.code for reject in rejects)
        self.landing.example = self.landing.example or _coordinates(messages, rejects[0])
        self.landing.files.add(self.recipe.letters, letters(messages, rejects, self.recipe))
        places: Indices = messages.positions[np.array([reject.at for reject in rejects])]
        self.routing.mark_table(places, self.recipe.letters.name)

    def account(self) -> Account:
        waiting = self.routing.count(WAITING)
        tombstones, filtered = self.routing.count(TOMBSTONE), self.routing.count(FILTERED)
        rows = self.read - waiting - tombstones - filtered - self.dead
        counts = Counts(
            read=self.read, rows=rows, dead=self.dead, filtered=filtered, tombstones=tombstones, bytes=self.bytes
        )
        return Account(self.piece.slice, counts, pack(self.routing), waiting)


def _joined(runs: list[Messages]) -> Messages:
    if len(runs) == 1:
        return runs[0]
    starts = np.cumsum([0, *(len(run) for run in runs)])

    def details(at: int) -> Details:
        run = int(np.searchsorted(starts, at, side="right")) - 1
        return runs[run].details(at - int(starts[run]))

    values = pa.concat_arrays([run.values for run in runs])
    return Messages(runs[0].source, runs[0].partition, np.concatenate([run.positions for run in runs]), values, details)


def _empty_partition_values(rows: pa.RecordBatch, partition_by: tuple[str, ...]) -> Indices:
    found = np.zeros(rows.num_rows, bool)
    for name in partition_by:
        if pa.types.is_string(rows.schema.field(name).type):
            found |= pc.fill_null(pc.equal(rows.column(name), ""), False).to_numpy(zero_copy_only=False)
    return np.flatnonzero(found)


def _with_source_columns(rows: pa.RecordBatch, messages: Messages, source: str) -> pa.RecordBatch:
    stamps = [moment(messages.details(at).timestamp) for at in range(len(messages))]
    for field, values in zip(
        arrow_schema(SOURCE_COLUMNS),
        (
            pa.array([source] * len(messages)),
            pa.array([int(messages.partition)] * len(messages)),
            pa.array(messages.positions),
            pa.array(stamps, pa.int64()),
        ),
        strict=True,
    ):
        rows = rows.append_column(field, values.cast(field.type))
    return rows


def _coordinates(messages: Messages, reject: Reject) -> str:
    where = f"{messages.source} partition {messages.partition} position {int(messages.positions[reject.at])}"
    return f"{where}: {reject.code}, {reject.text}"
