"""What a data file tells its readers, so that they can skip it: rows, smallest and largest values, nulls.

Values come from the Parquet footer, where the writer has them already. Long strings are cut, the
largest upwards; times are cut to milliseconds, the largest upwards; lists and maps have only
their null counts.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = 32  # readers of Delta tables look at the first 32 columns
LETTERS = 32
_AFTER_ALL = "\U0010ffff"

_encode = msgspec.json.Encoder(decimal_format="number").encode  # decimals to the last digit


class Nulls:
    """Null counts of list and map columns: a Parquet footer counts their elements instead."""

    def __init__(self, schema: pa.Schema) -> None:
        self.leaves = list(_leaves(schema, ()))
        self.counts = {f.name: 0 for f in schema if _is_many(f.type)}

    def add(self, batch: pa.RecordBatch) -> None:
        for name in self.counts:
            self.counts[name] += batch.column(name).null_count


def _is_many(kind: pa.DataType) -> bool:
    return pa.types.is_nested(kind) and not pa.types.is_struct(kind)


def _leaves(fields: Iterable[pa.Field], path: tuple[str, ...]) -> Iterator[tuple[str, ...] | None]:
    """The path of every Parquet column, in order; None for those inside lists and maps."""
    for field in fields:
        here = (*path, field.name)
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type.fields, here)
        elif _is_many(field.type):
            inner = [field.type.field(at) for at in range(field.type.num_fields)]
            yield from (None for _ in _leaves(inner, here))
        else:
            yield here


def statistics(footer: pq.FileMetaData, nulls: Nulls) -> str:
    """The statistics of a file as Delta's log has them."""
    smallest: dict[str, Any] = {}
    largest: dict[str, Any] = {}
    empty: dict[str, Any] = dict(nulls.counts)
    told = [(at, path) for at, path in enumerate(nulls.leaves) if path is not None]
    for at, path in told[:COLUMNS]:
        low, high, count = _range(footer, at)
        _set(empty, path, count)
        if low is not None and high is not None:
            _set(smallest, path, low)
            _set(largest, path, high)
    found = {"numRecords": footer.num_rows, "minValues": smallest, "maxValues": largest, "nullCount": empty}
    return _encode(found).decode()


def _set(tree: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _range(footer: pq.FileMetaData, column: int) -> tuple[Any, Any, int]:
    found = [footer.row_group(at).column(column).statistics for at in range(footer.num_row_groups)]
    nulls = sum(s.null_count for s in found if s is not None and s.has_null_count)
    known = [s for s in found if s is not None and s.has_min_max]
    valued = [s for s in found if s is None or s.num_values]
    if not known or len(known) != len(valued):
        return None, None, nulls
    return _shown(min(s.min for s in known), up=False), _shown(max(s.max for s in known), up=True), nulls


def _shown(value: Any, *, up: bool) -> Any:
    if isinstance(value, str):
        return _cut(value, up=up)
    if isinstance(value, datetime):
        return _moment(value, up=up)
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, bool | int | float | decimal.Decimal) else None


def _cut(value: str, *, up: bool) -> str:
    if len(value) <= LETTERS:
        return value
    if not up:
        return value[:LETTERS]
    rest = value[LETTERS:].lstrip(_AFTER_ALL)  # what is not cut must itself come before the last letter there is
    return value[: len(value) - len(rest)] + (_AFTER_ALL if rest else "")


def _moment(value: datetime, *, up: bool) -> str | None:
    cut = value.replace(microsecond=value.microsecond // 1000 * 1000)
    if up and cut != value:
        if cut > datetime.max.replace(tzinfo=cut.tzinfo) - timedelta(milliseconds=1):
            return None  # nothing comes after it
        cut += timedelta(milliseconds=1)
    if cut.tzinfo is None:
        return cut.isoformat(timespec="milliseconds")
    return cut.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
