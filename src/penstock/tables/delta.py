"""A Delta table, through delta-rs: one look, one conditional commit.

The batch number is the table's transaction `penstock:<app>`. With no retries a commit succeeds
only as the version right after the one that was looked at, so whatever anybody did meanwhile (an
append, an OPTIMIZE, a RESTORE, a drop) makes it fail, and the caller looks again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import deltalake
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import CommitProperties, PostCommitHookProperties, Transaction, create_table_with_add_actions

from penstock.contracts import Positions, Share, TableState
from penstock.errors import TableRefused, Unavailable, in_one_line
from penstock.schema import Field, Schema, Struct
from penstock.tables.delta_files import adding, held, removing
from penstock.tables.delta_obstacles import obstacle
from penstock.tables.delta_schema import fields_to_delta, from_delta, to_delta

CHECKPOINT_EVERY = 10
_LATER = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


def transaction(app: str) -> str:
    """The transaction id under which a table carries an app's batch number."""
    return f"penstock:{app}"


def offset_id(app: str, partition: str) -> str:
    """The transaction id under which kafka-delta-ingest keeps the last offset of a partition."""
    return f"{app}-{partition}"


class DeltaTable:
    """One table at one place, as one app sees it."""

    def __init__(self, location: str, app: str, options: Mapping[str, str] | None = None) -> None:
        self.location, self.app = location, app
        self._options = dict(options or {})
        self._ours = -1  # the version that our newest commit made, if it was made here
        self._clean = -1  # a version up to which nobody took the table back

    # --- looking

    def state(self) -> TableState | None:
        """Opened anew each time: a handle that is kept does not notice that the table was dropped
        and made again, and would commit into the middle of another table's log."""
        try:
            return self._read(deltalake.DeltaTable(self.location, storage_options=self._options))
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as cause:
            raise self._unavailable("read", cause) from cause

    def _read(self, handle: deltalake.DeltaTable) -> TableState:
        carried = handle.transaction_version(transaction(self.app)) or 0
        schema, foreign = from_delta(handle.schema())
        unwritable = f"it has columns of type {', '.join(foreign)}, which penstock does not write" if foreign else ""
        return TableState(
            id=str(handle.metadata().id),
            version=handle.version(),
            carried=carried,
            schema=schema,
            partition_by=tuple(handle.metadata().partition_columns),
            restored=bool(carried) and self._is_restored(handle),
            unwritable=unwritable or obstacle(handle),
            refers=lambda paths: sorted(set(paths) & {relative(uri, self.location) for uri in handle.file_uris()}),
            holds=lambda values: held(handle, values),
            stored=lambda partitions: self._stored(handle, partitions),
            token=handle,
        )

    def _stored(self, handle: deltalake.DeltaTable, partitions: Iterable[str]) -> Positions:
        """By the ids of kafka-delta-ingest, which are the last offset included."""
        try:
            newest = {commit["version"]: commit.get("penstock.app") for commit in handle.history(1)}
            if newest.get(handle.version()) == self.app:  # not every writer says who it is
                return {}
            told = {p: handle.transaction_version(offset_id(self.app, p)) for p in partitions}
        except (DeltaError, OSError) as cause:
            raise self._unavailable("read", cause) from cause
        return {p: offset + 1 for p, offset in told.items() if offset is not None}

    def _is_restored(self, handle: deltalake.DeltaTable) -> bool:
        """Was the table taken back since our newest batch? Its log says so, newest first."""
        version = handle.version()
        if version in (self._ours, self._clean):
            return False
        for commit in _newest_first(handle):
            if commit["operation"] == "RESTORE":
                return True
            if commit.get("penstock.app") == self.app or commit["version"] <= self._clean:
                break
        self._clean = version
        return False

    # --- changing

    def create(self, share: Share) -> None:
        try:
            create_table_with_add_actions(
                self.location,
                to_delta(share.schema),
                [adding(file) for file in share.files],
                mode="error",
                partition_by=list(share.partition_by),
                storage_options=self._options,
                commit_properties=_properties(share),
                post_commithook_properties=_LATER,
            )
        except (DeltaError, OSError) as cause:
            raise self._unavailable("create", cause) from cause

    def evolve(self, state: TableState, schema: Schema) -> None:
        added = Struct(tuple(Field(f.name, f.type) for f in schema if state.schema.get(f.name) != f))
        properties = CommitProperties(custom_metadata={"penstock.evolves": self.app}, max_commit_retries=0)
        try:
            state.token.alter.add_columns(
                fields_to_delta(added), commit_properties=properties, post_commithook_properties=_LATER
            )
        except (DeltaError, OSError) as cause:
            raise self._unavailable("add columns to", cause) from cause

    def commit(self, state: TableState, share: Share) -> None:
        try:
            state.token.create_write_transaction(
                [*map(adding, share.files), *map(removing, share.removed)],
                "append",
                to_delta(state.schema),
                list(state.partition_by),
                commit_properties=_properties(share),
                post_commithook_properties=_LATER,
            )
        except (DeltaError, OSError) as cause:
            raise self._unavailable("commit to", cause) from cause
        self._ours = state.version + 1

    @property
    def is_untidy(self) -> bool:
        return self._ours > 0 and self._ours % CHECKPOINT_EVERY == 0

    def tidy(self) -> None:
        """Checkpoint the log when it has grown, and drop what its retention allows to drop."""
        handle = deltalake.DeltaTable(self.location, storage_options=self._options)
        handle.create_checkpoint()
        handle.cleanup_metadata()

    def _unavailable(self, verb: str, cause: Exception) -> Unavailable | TableRefused:
        text = in_one_line(cause)
        if "Unsupported" in text:
            return TableRefused("table.unwritable", f"delta-rs cannot {verb} {self.location}: {text}")
        return Unavailable("table.unavailable", f"could not {verb} {self.location}: {text}")


def relative(uri: str, location: str) -> str:
    """A data file's path inside its table: what follows the table's own folders, which may be escaped in a URI."""
    return uri.removeprefix("file://").split("/", location.removeprefix("file://").count("/") + 1)[-1]


def _newest_first(handle: deltalake.DeltaTable) -> Iterator[dict[str, Any]]:
    """The table's history, a little at first: what is looked for is mostly near."""
    done = 0
    for limit in (10, 1_000, None):
        commits = handle.history(limit)
        yield from commits[done:]
        done = len(commits)
        if limit is None or done < limit:
            return


def _properties(share: Share) -> CommitProperties:
    """Everything that rides in a batch's commit: its number, kafka-delta-ingest's own ids (the last
    offset of every partition, included), and the manifest."""
    ids = [Transaction(transaction(share.app), share.batch)]
    ids += [Transaction(offset_id(share.app, p), end - 1) for p, end in sorted(share.ends.items()) if end > 0]
    told = {
        "penstock.app": share.app,
        "penstock.batch": share.batch,
        **({"penstock.relanded": True} if share.is_relanded else {}),
        "penstock.manifest": json.dumps(share.manifest, separators=(",", ":")),
    }
    return CommitProperties(custom_metadata=told, max_commit_retries=0, app_transactions=ids)
