"""The columns that a table's rows are partitioned by."""

from __future__ import annotations

from penstock.pipeline import TableSpec
from penstock.schema import INT, JSON, LONG, STRING, Field, Scalar, Schema, Struct, Type

_PARTITIONABLE = {STRING, JSON, LONG, INT, Scalar("short"), Scalar("byte"), Scalar("boolean"), Scalar("date")}


def partitioned(columns: Schema, spec: TableSpec, *, explicit: bool) -> tuple[Schema, tuple[str, ...]]:
    """The columns with those that rows are partitioned by. A type's own partition columns are
    there from the start; the defaults' only where the type has them. What cannot name a folder
    (a fraction, an object) is kept as its JSON text."""
    wanted = spec.partition_by or ()
    chosen = tuple(name for name in wanted if explicit or name in columns)
    if not columns.without(chosen).fields:
        return columns, ()  # a file needs at least one column of its own
    fields = [Field(f.name, _partition_type(f.type), f.required) if f.name in chosen else f for f in columns]
    fields += [Field(name, STRING) for name in chosen if name not in columns]
    return Struct(tuple(fields)), chosen


def _partition_type(kind: Type) -> Type:
    return kind if kind in _PARTITIONABLE else JSON
