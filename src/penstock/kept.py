"""Kept messages, as files of the table in which they wait: which of them are ours, and that they are still there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.catalog import Catalog
from penstock.contracts import File, Share, Source, TableState
from penstock.errors import TableRefused
from penstock.places import UNROUTED
from penstock.protocol.entry import Entry
from penstock.sources.kept import KeptSource
from penstock.storage import Storage

AT_ONCE = 16  # files that are looked at together


@dataclass(frozen=True)
class Waiting:
    """The kept messages of one type: files of one source, and how many rows of others are beside them."""

    files: tuple[File, ...]
    others: int = 0

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


def waiting(state: TableState, storage: Storage, type: str, source: str) -> Waiting:
    """What waits for a type's table. Several apps may keep messages in one table: those of another source stay."""
    files = state.holds({"type": type})
    with ThreadPoolExecutor(AT_ONCE) as readers:
        looked = list(readers.map(lambda file: _looked_at(storage, file), files))
    if mixed := [file.path for file, sources in looked if source in sources and len(sources) > 1]:
        raise TableRefused(
            "table.mixed-sources",
            f"somebody put messages of type '{type}' from several sources into one file, {mixed[0]}",
            "rewrite that partition with one file per source",
        )
    return Waiting(
        tuple(file for file, sources in looked if sources == {source}),
        sum(file.rows for file, sources in looked if source not in sources),
    )


def source_of(entry: Entry, catalog: Catalog, usual: Source) -> Source:
    """Where the messages of a batch came from."""
    if not entry.adopted:
        return usual
    return KeptSource(
        catalog.location(UNROUTED), tuple(entry.tables[UNROUTED].removed), entry.source, dict(catalog.options)
    )


def still_held(state: TableState, share: Share) -> Share:
    """The share, if the table still has the files that it takes out. Somebody may have put them together since: then
    it takes out the new ones, if they hold just as many rows."""
    removed = share.removed
    if not removed or len(state.refers([file.path for file in removed])) == len(removed):
        return share
    now = state.holds({name: value for name, value in removed[0].partition.items() if value is not None})
    rows, found = sum(file.rows for file in removed), sum(file.rows for file in now)
    if rows != found:
        raise TableRefused(
            "table.kept-changed",
            f"batch {share.batch} moved {rows} kept messages, and {found} are there now: somebody changed them since",
            "the moved ones are in their table: what must stay here is whatever else there is",
        )
    return replace(share, removed=tuple(now))


def _looked_at(storage: Storage, file: File) -> tuple[File, set[str]]:
    """The file with its rows counted again, and the sources that they came from."""
    footer = _footer(storage, file)
    found = set(_told(footer)) if footer.num_rows else set()
    if None in found:  # it does not say
        column = pq.read_table(pa.BufferReader(storage.get(file.path) or b""), columns=["source"]).column("source")
        found = set(pc.unique(column).to_pylist())
    return File(file.path, file.size, int(footer.num_rows), file.partition), {str(source) for source in found}


def _told(footer: pq.FileMetaData) -> Iterator[str | None]:
    """For each row group the one source that it holds; None where it does not tell."""
    names: Sequence[str] = footer.schema.to_arrow_schema().names
    for group in range(footer.num_row_groups):
        stats = footer.row_group(group).column(names.index("source")).statistics
        exact = stats is not None and stats.has_min_max and stats.min == stats.max and stats.null_count == 0
        yield stats.min if exact else None


def _footer(storage: Storage, file: File, guess: int = 65_536) -> pq.FileMetaData:
    missing = storage.missing([file.path])
    if missing:
        raise TableRefused("table.files-vanished", f"{file.path} is gone although the table refers to it")
    tail = storage.tail(file.path, guess)
    length = int.from_bytes(tail[-8:-4], "little") + 8
    if length > len(tail):
        tail = storage.tail(file.path, length)
    return pq.read_metadata(pa.BufferReader(tail))
