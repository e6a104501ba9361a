"""What reads the values of an Avro type from many messages at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.arrow import arrow_type
from penstock.formats.avro import leaves, meanings
from penstock.formats.avro.blocks import Blocks, repeated_keys
from penstock.formats.avro.lanes import Lanes, Marks
from penstock.formats.avro.mapping import column_of
from penstock.formats.avro.model import AvroType, Entries, Enum, Fixed, Items, Primitive, Record, Union, least_size
from penstock.formats.avro.reference import Limits
from penstock.schema import JSON, Type
from penstock.values.plain import text

Reader = Callable[[Lanes], Any]
"""Moves the lanes over one value each and returns their column, or None for what is always null."""

MAX_CONSTANT = 1_000
"""How long a text may be that stands for each of many empty records."""

_PRIMITIVES: dict[str, Reader] = {
    "null": leaves.blank,
    "boolean": leaves.boolean,
    "int": leaves.integer,
    "long": leaves.long,
    "float": leaves.single,
    "double": leaves.double,
    "bytes": leaves.binary,
    "string": leaves.string,
}


class Unfit(Exception):
    """The type has values that are only read one at a time."""


def fields(type: AvroType, limits: Limits) -> Callable[[Lanes], list[pa.Array]]:
    """What reads the columns of whole messages; `Unfit` if they are only read one at a time."""
    types = [field.type for field in type.fields] if isinstance(type, Record) else [type]
    readers = [reader(inner, limits) for inner in types]
    return lambda lanes: [column for read in readers if (column := read(lanes)) is not None]


def reader(type: AvroType, limits: Limits) -> Reader:
    if isinstance(type, Primitive | Fixed):
        return _leaf(type)
    if isinstance(type, Enum):
        return leaves.symbol(type.symbols)
    if isinstance(type, Record):
        return _record(type, limits)
    if isinstance(type, Union):
        return _union(type, limits)
    return _list(type, limits) if isinstance(type, Items) else _map(type, limits)


def _leaf(type: Primitive | Fixed) -> Reader:
    if type.logical:
        found = meanings.reader(type, type.logical)
        if found is None:
            raise Unfit
        return found
    return leaves.fixed(type.size) if isinstance(type, Fixed) else _PRIMITIVES[type.name]


def _record(type: Record, limits: Limits) -> Reader:
    inner, column = fields(type, limits), column_of(type)
    if column == JSON:
        always = text(_hollow(type))
        if len(always) > MAX_CONSTANT:
            raise Unfit

        def read_nothing(lanes: Lanes) -> pa.Array:
            inner(lanes)
            return pa.repeat(always, len(lanes))

        return read_nothing
    assert column is not None
    kinds = list(arrow_type(column))
    return lambda lanes: pa.StructArray.from_arrays(inner(lanes), fields=kinds)


def _hollow(type: AvroType) -> Any:
    """The value of a type that has but one."""
    return {field.name: _hollow(field.type) for field in type.fields} if isinstance(type, Record) else None


def _union(type: Union, limits: Limits) -> Reader:
    readers = [(place, reader(type.branches[place], limits)) for place in type.filled]
    column, most = column_of(type), len(type.branches) - 1
    if column is None:

        def read_null(lanes: Lanes) -> None:
            leaves.within(lanes, lanes.integer(), 0, most)

        return read_null
    arrow, is_single, wide = arrow_type(column), len(readers) == 1, type.wide
    kinds = [] if is_single or wide else list(arrow)

    def read(lanes: Lanes) -> pa.Array:
        chosen = leaves.within(lanes, lanes.integer(), 0, most)
        parts = [_chosen(lanes, chosen == place, inner) for place, inner in readers]
        if is_single:
            return parts[0]
        if wide:
            return pc.coalesce(*(part.cast(arrow) for part in parts))
        absent: Marks = ~np.isin(chosen, [place for place, _ in readers])
        return pa.StructArray.from_arrays(parts, fields=kinds, mask=pa.array(absent))

    return read


def _chosen(lanes: Lanes, marks: Marks, read: Reader) -> pa.Array:
    """A column of what only some of the messages have, null for the others."""
    if marks.all():
        return read(lanes)
    places = np.flatnonzero(marks)
    some = lanes.only(places)
    found = read(some)
    lanes.put(places, some)
    return found.take(pa.array(np.cumsum(marks) - 1, mask=~marks))


def _items(of: AvroType, limits: Limits) -> tuple[Reader, Type]:
    """What reads the items of an array or map, and their column: there is one even if they are always null."""
    inner, column = reader(of, limits), column_of(of)
    if column is None:
        return lambda lanes: (inner(lanes), pa.nulls(len(lanes), pa.string()))[1], JSON
    return inner, column


def _list(type: Items, limits: Limits) -> Reader:
    least = least_size(type.of)
    if not least:
        raise Unfit  # any number of items in a few bytes
    (inner, _), arrow = _items(type.of, limits), arrow_type(column_of(type) or JSON)
    blocks = Blocks((inner,), least, type.width, limits)

    def read(lanes: Lanes) -> pa.Array:
        edges, (items,) = blocks.read(lanes)
        return pa.ListArray.from_arrays(edges, items, type=arrow)

    return read


def _map(type: Entries, limits: Limits) -> Reader:
    (inner, _), arrow = _items(type.of, limits), arrow_type(column_of(type) or JSON)
    blocks = Blocks((leaves.string, inner), 1 + least_size(type.of), type.width, limits)

    def read(lanes: Lanes) -> pa.Array:
        edges, (keys, items) = blocks.read(lanes)
        lanes.fail(repeated_keys(edges, keys))
        return pa.MapArray.from_arrays(edges, keys, items, type=arrow)

    return read
