"""Values of many rows at once, each row's own or none, and what is told of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.arrow import arrow_type
from penstock.schema import BOOLEAN, DOUBLE, LONG, NOTHING, STRING, Array, Struct, Type
from penstock.transforms.expressions import Declines

Mask = npt.NDArray[np.bool_]
EXACT = float(2**53)
"""From here on a double may stand for an integer that it is not."""

NUMBERS = (LONG, DOUBLE)


@dataclass(frozen=True)
class Cells:
    """A value for each row; null is both null and absent. Of the rows in `declined` nothing is said:
    the expression fails there, or it is not sure to give exactly this."""

    kind: Type
    values: pa.Array
    declined: Mask | None = None


def nothing(count: int) -> Cells:
    return Cells(NOTHING, pa.nulls(count))


def constant(value: Any, count: int) -> Cells:
    if value is None:
        return nothing(count)
    kinds = {bool: BOOLEAN, int: LONG, float: DOUBLE, str: STRING}
    kind = kinds[type(value)]
    return Cells(kind, pa.repeat(pa.scalar(value, arrow_type(kind)), count))


def either(*masks: Mask | None) -> Mask | None:
    """The rows that are in any of these."""
    found: Mask | None = None
    for mask in masks:
        if mask is not None:
            found = mask if found is None else found | mask
    return found


def mask_of(truths: pa.Array) -> Mask:
    found: Mask = truths.to_numpy(zero_copy_only=False)
    return found


def nulls(values: pa.Array) -> Mask | None:
    """The rows that have no value; None if all have."""
    return mask_of(pc.is_null(values)) if values.null_count else None


def filled(values: pa.Array) -> npt.NDArray[Any]:
    """Numbers as numpy has them, 0 where there is none."""
    found: npt.NDArray[Any] = (values.fill_null(0) if values.null_count else values).to_numpy()
    return found


def array_of(found: npt.NDArray[Any], kind: Type, without: Mask | None) -> pa.Array:
    return pa.array(found, arrow_type(kind), mask=without)


def inexact(cells: Cells) -> Mask | None:
    """The rows whose number may not be the one that was written."""
    if cells.kind == DOUBLE:
        large = np.abs(filled(cells.values)) >= EXACT
        return large if large.any() else None
    return None


def as_double(cells: Cells) -> tuple[pa.Array, Mask | None]:
    """Numbers as doubles, and the rows where that is not exact."""
    if cells.kind == DOUBLE:
        return cells.values, inexact(cells)
    doubles = cells.values.cast(pa.float64(), safe=False)
    return doubles, inexact(Cells(DOUBLE, doubles))


def chosen(where: Mask, one: Cells, other: Cells) -> Cells:
    """The values of one where it is so, of the other elsewhere; `Declines` if they do not go together."""
    declined = either(
        where & one.declined if one.declined is not None else None,
        ~where & other.declined if other.declined is not None else None,
    )
    kind = together(one.kind, other.kind)
    if kind is None:
        raise Declines("values of different types where either may be the result")
    if kind == NOTHING:
        return Cells(NOTHING, one.values, declined)
    (first, unsure), (second, unsure_too) = as_kind(one, kind), as_kind(other, kind)
    lost = either(None if unsure is None else where & unsure, None if unsure_too is None else ~where & unsure_too)
    return Cells(kind, pc.if_else(pa.array(where), first, second), either(declined, lost))


def as_kind(cells: Cells, kind: Type) -> tuple[pa.Array, Mask | None]:
    """Values as a type that holds them, and the rows whose integer would not be the same as a double."""
    if cells.kind == LONG and kind == DOUBLE:
        return as_double(cells)
    return (cells.values if cells.kind == kind else cells.values.cast(arrow_type(kind))), None


def together(one: Type, other: Type) -> Type | None:
    """The type of a column that holds both; None if it would have to be text."""
    if one == other or other == NOTHING:
        return one
    if one == NOTHING:
        return other
    return DOUBLE if one in NUMBERS and other in NUMBERS else None


def false(cells: Cells) -> Mask:
    """The rows whose value counts as false: none, an empty text, an empty array, or false itself."""
    count, values = len(cells.values), cells.values
    found = nulls(values)
    if cells.kind == STRING:
        empty = mask_of(pc.fill_null(pc.equal(pc.binary_length(values), 0), True))
    elif cells.kind == BOOLEAN:
        empty = ~mask_of(pc.fill_null(values, False))
    elif isinstance(cells.kind, Array):
        empty = mask_of(pc.fill_null(pc.equal(pc.list_value_length(values), 0), True))
    elif isinstance(cells.kind, Struct):
        raise Declines("an object taken as true or false")
    else:
        empty = np.zeros(count, bool) if found is None else found
    return empty
