"""Writing: rows of many tables into Parquet files, one per task, table and partition value."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.contracts import File
from penstock.crashpoints import reach
from penstock.errors import PenstockError
from penstock.landing.recipe import Target
from penstock.landing.stats import Nulls, statistics
from penstock.storage import Storage, child
from penstock.tables.names import DEFAULT_PARTITION

ROW_GROUP = 32 * 2**20  # bytes of Arrow data
BUFFERED = 96 * 2**20  # over all open files of a task
OPEN_FILES = 1_000
LARGEST = 256 * 2**20  # bytes of a file: past that, another is begun
LONGEST_SEGMENT = 200

Values = tuple[str | None, ...]

_worthy: dict[str, tuple[pa.Schema, list[str]]] = {}


class Files:
    """The open files of one task. Nothing is visible to anybody until its table commits it."""

    def __init__(self, storage: Mapping[str, str], *, held: str = "", fsync: bool) -> None:
        self._options, self._held, self._fsync = storage, held, fsync
        self._stores: dict[str, Storage] = {}
        self._open: dict[tuple[str, Values], _OpenFile] = {}
        self._buffered = 0
        self.written: dict[str, list[File]] = {}

    def add(self, target: Target, rows: pa.RecordBatch) -> None:
        for values, part in split(rows, target.partition_by):
            file = self._file(target, values, part)
            file.add(part)
            self._buffered += part.nbytes
            if file.buffered >= ROW_GROUP:
                self._buffered -= file.flush()
                if file.size > LARGEST:
                    self._finish((target.name, values))
        while self._buffered > BUFFERED:
            largest = max(self._open.values(), key=lambda file: file.buffered)
            self._buffered -= largest.flush()

    def _file(self, target: Target, values: Values, part: pa.RecordBatch) -> _OpenFile:
        key = target.name, values
        if key not in self._open:
            if len(self._open) >= OPEN_FILES:  # the one longest unused is finished; its value may open another
                self._finish(next(iter(self._open)))
            self._open[key] = _OpenFile(target, values, part.schema)
        self._open[key] = self._open.pop(key)
        return self._open[key]

    def _finish(self, key: tuple[str, Values]) -> None:
        file = self._open.pop(key)
        self._buffered -= file.flush()
        receipt, content = file.close()
        try:
            self._store(file.target.location).put(receipt.path, content)
        except PenstockError:  # one table's trouble: its files wait where the others of the app are
            if not self._held:
                raise
            self._store(child(self._held, file.target.name)).put(receipt.path, content)
        self.written.setdefault(file.target.name, []).append(receipt)

    def _store(self, location: str) -> Storage:
        if location not in self._stores:
            self._stores[location] = Storage(location, self._options, fsync=self._fsync)
        return self._stores[location]

    def finish(self) -> dict[str, list[File]]:
        """Write everything out. When this returns, the files are durable."""
        for key in list(self._open):
            self._finish(key)
        reach("land.written")
        return self.written


class _OpenFile:
    """One Parquet file in the making, compressed in memory until it is whole."""

    def __init__(self, target: Target, values: Values, schema: pa.Schema) -> None:
        self.target, self.values = target, values
        self.buffered = 0
        self._batches: list[pa.RecordBatch] = []
        self._schema, self._nulls = schema, Nulls(schema)
        self._out = pa.BufferOutputStream()
        self._footer: list[pq.FileMetaData] = []
        self._writer: pq.ParquetWriter | None = None

    def add(self, rows: pa.RecordBatch) -> None:
        self._batches.append(rows)
        self._nulls.add(rows)
        self.buffered += rows.nbytes

    @property
    def size(self) -> int:
        """Bytes that wait in memory, compressed."""
        return int(self._out.tell())

    def flush(self) -> int:
        """Compress what is buffered into a row group; returns how many bytes that freed."""
        freed, self.buffered = self.buffered, 0
        if self._batches:
            rows = pa.Table.from_batches(self._batches, self._schema)
            if self._writer is None:
                self._writer = self._start(rows)
            self._writer.write_table(rows, row_group_size=rows.num_rows)
            self._batches = []
        return freed

    def _start(self, rows: pa.Table) -> pq.ParquetWriter:
        return pq.ParquetWriter(
            self._out,
            self._schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=_dictionaries(self.target, rows),
            metadata_collector=self._footer,
            write_page_index=False,
        )

    def close(self) -> tuple[File, memoryview]:
        assert self._writer is not None
        self._writer.close()
        content = self._out.getvalue()
        named = dict(zip(self.target.partition_by, self.values, strict=True))
        folders = [segment(name, value) for name, value in named.items()]
        path = "/".join([*folders, f"part-{time.time_ns() // 10**6:x}-{uuid.uuid4()}.zstd.parquet"])
        footer = self._footer[0]
        file = File(path, content.size, footer.num_rows, named, statistics(footer, self._nulls))
        return file, memoryview(content).cast("B")


def _dictionaries(target: Target, rows: pa.Table) -> list[str]:
    """The Parquet columns worth a dictionary, as a table's first file on this worker told."""
    known = _worthy.get(target.location)
    if known is None or known[0] != rows.schema:
        if len(_worthy) > OPEN_FILES:
            _worthy.clear()
        known = _worthy[target.location] = rows.schema, _repeating(rows)
    return known[1]


def _repeating(rows: pa.Table, sample: int = 1_000) -> list[str]:
    """The columns whose values repeat. On others a dictionary is pure loss."""
    head = rows.slice(0, sample).combine_chunks().to_batches()[0]
    leaves = (
        leaf for name, values in zip(head.schema.names, head.columns, strict=True) for leaf in _leaves(name, values)
    )
    return [path for path, values in leaves if pc.count_distinct(values, mode="all").as_py() * 2 <= len(values)]


def _leaves(path: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """The columns that Parquet makes of one column, under the names it gives them."""
    if pa.types.is_struct(values.type):
        for field, inner in zip(values.type.fields, values.flatten(), strict=True):
            yield from _leaves(f"{path}.{field.name}", inner)
    elif pa.types.is_map(values.type):
        yield from _leaves(f"{path}.key_value.key", values.keys)
        yield from _leaves(f"{path}.key_value.value", values.items)
    elif pa.types.is_list(values.type):
        yield from _leaves(f"{path}.list.element", values.flatten())
    else:
        yield path, values


def split(rows: pa.RecordBatch, partition_by: tuple[str, ...]) -> list[tuple[Values, pa.RecordBatch]]:
    """Rows by the values of their partition columns, which then leave them."""
    if not partition_by:
        return [((), rows)]
    keys = np.zeros(rows.num_rows, np.int64)
    encoded = []
    for name in partition_by:
        column = rows.column(name).dictionary_encode(null_encoding="encode")
        encoded.append(column)
        keys = keys * len(column.dictionary) + column.indices.to_numpy()
    rest = rows.select([name for name in rows.schema.names if name not in partition_by])
    order = np.argsort(keys, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)
    found = []
    for group in groups:
        values = tuple(_written(column[int(group[0])].as_py()) for column in encoded)
        found.append((values, rest if len(groups) == 1 else rest.take(pa.array(group))))
    return found


def _written(value: object) -> str | None:
    """A partition value as table formats write it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    return value.isoformat() if isinstance(value, date) else str(value)


def segment(name: str, value: str | None) -> str:
    """`column=value` as a folder name that no value can break out of, and that file systems take."""
    folder = f"{quote(name, safe='')}={DEFAULT_PARTITION if value is None else quote(value, safe='')}"
    if len(folder) > LONGEST_SEGMENT:
        folder = f"{folder[:LONGEST_SEGMENT]}~{uuid.uuid5(uuid.NAMESPACE_URL, folder)}"
    return folder
