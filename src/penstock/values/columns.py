"""Columns into a table's columns: what `fit` does for one message, for a whole batch at once.

It agrees with `fit` or declines. Rows of which it cannot be sure are marked, and decided one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.arrow import arrow_schema, arrow_type
from penstock.contracts import Shape
from penstock.merging import wider
from penstock.schema import Array, Decimal, Scalar, Schema, Struct, Type
from penstock.values.fit import FIRST_MOMENT, LAST_MOMENT

Mask = npt.NDArray[np.bool_]
Converted = tuple[pa.Array, Mask]

# Exactly the days that exist, so that one that does not makes no other row slow.
_YEAR = r"(?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})"
_LEAP_DAY = r"\d\d(?:0[48]|[2468][048]|[13579][26])-02-29"
_MONTHS = r"(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8])"
_DAY = rf"(?:{_LEAP_DAY}|{_YEAR}-(?:{_MONTHS}))"
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)"
_DATE, _TIME = f"^{_DAY}$", f"^{_DAY}[T ]{_CLOCK}$"

_EXACT = {"double": 2**53, "float": 2**24}
_WIDTHS = {"byte": 8, "short": 16, "int": 32, "long": 64}


def conform(rows: pa.RecordBatch, have: Schema, shape: Shape) -> tuple[pa.RecordBatch, Mask]:
    """The rows with their table's columns, and which of them `fit` must decide: those may lack what no
    row may lack."""
    conforming = _Conforming(shape)
    made, declined = conforming.fields(rows.columns, have, shape.schema, rows.num_rows)
    schema = arrow_schema(shape.columns)
    made += [pa.nulls(rows.num_rows, field.type) for field in schema][len(made) :]  # what was rescued: nothing
    return pa.RecordBatch.from_arrays(made, schema=schema), declined


def _nobody(rows: int) -> Mask:
    return np.zeros(rows, np.bool_)


def _has(column: pa.Array) -> Mask:
    found: Mask = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return found


def _holds(column: pa.Array, kind: Type) -> Mask:
    """Where is there more than nothing? An object without any value is nothing, as in `fit.is_hollow`."""
    if not isinstance(kind, Struct):
        return _has(column)
    inner = [_holds(inside, field.type) for inside, field in zip(column.flatten(), kind, strict=True)]
    return np.logical_or.reduce(inner) if inner else _nobody(len(column))


class _Conforming:
    """Columns on their way into one table, under its policy."""

    def __init__(self, shape: Shape) -> None:
        self._adds, self._ignores, self._coerce = shape.evolve == "add", shape.evolve == "ignore", shape.coerce

    def fields(self, columns: Sequence[pa.Array], have: Struct, into: Struct, rows: int) -> tuple[list[pa.Array], Mask]:
        given = {field.name: (field, column) for field, column in zip(have, columns, strict=True)}
        made, declined = [], _nobody(rows)
        for field in into:
            found, column = given.pop(field.name, (None, None))
            if found is None or column is None:
                column, bad = pa.nulls(rows, arrow_type(field.type)), _nobody(rows)
            else:
                column, bad = self._value(column, found.type, field.type)
            if field.required:
                bad = bad | ~_has(column)
            made.append(column)
            declined |= bad
        if not self._ignores:
            for field, column in given.values():  # the table has no such column
                declined |= _holds(column, field.type) if self._adds else _has(column)
        return made, declined

    def _value(self, column: pa.Array, have: Type, into: Type) -> Converted:
        if have == into:
            return column, _nobody(len(column))
        if isinstance(have, Struct) and isinstance(into, Struct):
            return self._struct(column, have, into)
        if isinstance(have, Array) and isinstance(into, Array):
            return self._array(column, have.of, into)
        if isinstance(have, Scalar) and isinstance(into, Scalar):
            if convert := self._conversion(have.name, into.name):
                return convert(column, into)
        elif isinstance(have, Decimal) and wider(have, into) == into:
            return column.cast(arrow_type(into)), _nobody(len(column))
        return pa.nulls(len(column), arrow_type(into)), _has(column)

    def _struct(self, column: pa.StructArray, have: Struct, into: Struct) -> Converted:
        is_there = _has(column)
        made, bad = self.fields(column.flatten(), have, into, len(column))
        kind = arrow_type(into)
        return pa.StructArray.from_arrays(made, fields=list(kind), mask=pa.array(~is_there)), bad & is_there

    def _array(self, column: pa.ListArray, have: Type, into: Array) -> Converted:
        made, bad = self._value(column.flatten(), have, into.of)
        lengths = pc.fill_null(pc.list_value_length(column), pa.scalar(0, pa.int32()))
        offsets = np.concatenate([[0], np.cumsum(lengths.to_numpy())]).astype(np.int32)
        rows = _nobody(len(column))
        rows[pc.list_parent_indices(column).to_numpy()[bad]] = True
        kept = pa.array(~_has(column))
        return pa.ListArray.from_arrays(pa.array(offsets), made, type=arrow_type(into), mask=kept), rows

    def _conversion(self, have: str, into: str) -> Callable[[pa.Array, Scalar], Converted] | None:
        if into == "json" or (into == "string" and self._coerce):
            return _as_it_is if have in ("string", "json") else _to_text if have in (*_WIDTHS, "boolean") else None
        if into == "timestamp":
            return {"string": _to_moment, "long": _count_to_moment if self._coerce else None}.get(have)
        if into in _WIDTHS and have in _WIDTHS:
            return _to_narrow if _WIDTHS[have] > _WIDTHS[into] else _to_wide
        return _CONVERSIONS.get((have, into))


def _as_it_is(column: pa.Array, _: Scalar) -> Converted:
    return column, _nobody(len(column))


def _to_text(column: pa.Array, _: Scalar) -> Converted:
    return column.cast(pa.string()), _nobody(len(column))


def _kept(column: pa.Array, good: pa.Array) -> Converted:
    """The values that are good, and which rows have one that is not."""
    good = pc.fill_null(good, pa.scalar(value=True))
    return pc.if_else(good, column, pa.scalar(None, column.type)), ~good.to_numpy(zero_copy_only=False)


def _within(column: pa.Array, least: float, most: float) -> pa.Array:
    edges = (pa.scalar(least, column.type), pa.scalar(most, column.type))
    return pc.and_(pc.greater_equal(column, edges[0]), pc.less_equal(column, edges[1]))


def _to_narrow(column: pa.Array, into: Scalar) -> Converted:
    edge = 2 ** (_WIDTHS[into.name] - 1)
    kept, bad = _kept(column, _within(column, -edge, edge - 1))
    return kept.cast(arrow_type(into)), bad


def _to_wide(column: pa.Array, into: Scalar) -> Converted:
    return column.cast(arrow_type(into)), _nobody(len(column))


def _to_fraction(column: pa.Array, into: Scalar) -> Converted:
    exact = _EXACT[into.name]
    column = column.cast(pa.int64()) if pa.types.is_integer(column.type) else column
    kept, bad = _kept(column, _within(column, -exact, exact))
    return kept.cast(arrow_type(into), safe=False), bad


def _parsed(column: pa.Array, pattern: str, into: Scalar) -> Converted:
    kept, bad = _kept(column, pc.match_substring_regex(column, pattern))
    try:
        return kept.cast(arrow_type(into)), bad
    except pa.ArrowInvalid:  # whatever it dislikes, the reference path decides
        return pa.nulls(len(column), arrow_type(into)), _has(column)


def _to_date(column: pa.Array, into: Scalar) -> Converted:
    return _parsed(column, _DATE, into)


def _to_moment(column: pa.Array, into: Scalar) -> Converted:
    micros = pc.replace_substring_regex(column, r"(\.\d{6})\d{1,3}", r"\1")  # what is finer is cut off
    moments, bad = _parsed(micros, _TIME, into)
    kept, outside = _kept(moments, _within(moments.cast(pa.int64()), FIRST_MOMENT, LAST_MOMENT))
    return kept, bad | outside


def _count_to_moment(column: pa.Array, into: Scalar) -> Converted:
    kept, bad = _kept(column, _within(column, FIRST_MOMENT, LAST_MOMENT))
    return kept.cast(arrow_type(into)), bad


_CONVERSIONS: dict[tuple[str, str], Callable[[pa.Array, Scalar], Converted]] = {
    ("string", "date"): _to_date,
    ("float", "double"): _to_wide,
    ("double", "float"): _to_fraction,
    **{(name, into): _to_fraction for name in _WIDTHS for into in _EXACT},
}
