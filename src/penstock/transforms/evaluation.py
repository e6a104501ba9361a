"""Expressions computed for all rows of a batch at once. What is said of a row is what the reference
path would say; where that is not sure, the row is declined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.arrow import arrow_type
from penstock.schema import BOOLEAN, DOUBLE, LONG, NOTHING, STRING, Array, Schema, Struct, Type
from penstock.transforms.calls import call
from penstock.transforms.cells import (
    NUMBERS,
    Cells,
    Mask,
    as_double,
    chosen,
    constant,
    either,
    false,
    mask_of,
)
from penstock.transforms.expressions import (
    Call,
    Comparison,
    Constant,
    Declines,
    Expression,
    Listed,
    Logic,
    Negation,
    Steps,
)

_MAX_INDEX = 2**31
_ORDERS = {"lt": pc.less, "lte": pc.less_equal, "gt": pc.greater, "gte": pc.greater_equal}


@dataclass(frozen=True)
class _Place:
    """Somewhere in the messages: values, and which of them each row has, if not one after the other."""

    kind: Type
    values: pa.Array
    rows: pa.Array | None = None
    declined: Mask | None = None

    def materialized(self) -> pa.Array:
        return self.values if self.rows is None else pc.take(self.values, self.rows, boundscheck=False)


class Evaluation:
    """The rows of one batch. Places that several expressions go through are looked for once."""

    def __init__(self, rows: pa.RecordBatch, schema: Schema) -> None:
        self._rows, self._schema, self._count = rows, schema, rows.num_rows
        self._places: dict[tuple[str | int, ...], _Place] = {}

    def cells(self, expression: Expression) -> Cells:
        match expression:
            case Steps():
                return self._steps(expression)
            case Constant(value):
                return constant(value, self._count)
            case Call():
                return call(expression, self._arguments(expression), self._count)
            case Comparison(sign, left, right):
                return compared(sign, self.cells(left), self.cells(right))
            case Logic(sign, left, right):
                return _decided(sign, self.cells(left), self.cells(right))
            case Negation(inner):
                cells = self.cells(inner)
                return Cells(BOOLEAN, pa.array(false(cells)), cells.declined)
        raise Declines("an array made of expressions")

    def _arguments(self, expression: Call) -> list[Cells]:
        found: list[Cells] = []
        for argument in expression.arguments:
            parts = argument.items if isinstance(argument, Listed) else (argument,)
            found += [self.cells(part) for part in parts]
        return found

    def _steps(self, expression: Steps) -> Cells:
        if expression.into is None:
            place = self._place(expression.steps)
        else:
            inside = self.cells(expression.into)
            place = _Place(inside.kind, inside.values, None, inside.declined)
            for step in expression.steps:
                place = _next(place, step, self._count)
        if _is_opaque(place.kind):
            place = _unknown(place, self._count)
        return Cells(place.kind, place.materialized(), place.declined)

    def _place(self, steps: tuple[str | int, ...]) -> _Place:
        known = self._places.get(steps)
        if known is None:
            if not steps:
                known = _Place(self._schema, self._rows.to_struct_array())
            elif len(steps) == 1:
                known = self._column(steps[0])
            else:
                known = _next(self._place(steps[:-1]), steps[-1], self._count)
            self._places[steps] = known
        return known

    def _column(self, name: str | int) -> _Place:
        for at, field in enumerate(self._schema):
            if field.name == name:
                return _Place(field.type, self._rows.column(at))
        return _Place(NOTHING, pa.nulls(self._count))


def _is_opaque(kind: Type) -> bool:
    """Is it a type of which the value that was written cannot be told?"""
    return not isinstance(kind, Struct | Array) and kind not in (LONG, DOUBLE, STRING, BOOLEAN, NOTHING)


def _unknown(place: _Place, count: int) -> _Place:
    """Nothing, for the rows that have nothing there; of the others nothing can be said."""
    valid = place.materialized().is_valid()
    return _Place(NOTHING, pa.nulls(count), None, either(place.declined, mask_of(valid)))


def _next(place: _Place, step: str | int, count: int) -> _Place:
    if _is_opaque(place.kind):
        return _unknown(place, count)
    if isinstance(step, str) and isinstance(place.kind, Struct):
        for at, field in enumerate(place.kind):
            if field.name == step:
                values = place.values
                inner = pc.struct_field(values, [at]) if values.null_count else values.field(at)
                return _Place(field.type, inner, place.rows, place.declined)
    elif isinstance(step, int) and isinstance(place.kind, Array) and abs(step) < _MAX_INDEX:
        lists = place.materialized()
        return _Place(place.kind.of, lists.values, _elements(lists, step), place.declined)
    return _Place(NOTHING, pa.nulls(count), None, place.declined)


def _elements(lists: pa.Array, index: int) -> pa.Array:
    """Where the element of this index is, for each list that has it."""
    ends = lists.offsets.to_numpy().astype(np.int64)
    first, last = ends[:-1], ends[1:]
    at = (first if index >= 0 else last) + index
    there = (at >= first) & (at < last)
    if lists.null_count:
        there &= mask_of(lists.is_valid())
    return pa.array(at, pa.int64(), mask=~there)


# --- comparing -----------------------------------------------------------------------------------


def _family(kind: Type) -> str:
    if kind in NUMBERS:
        return "number"
    return "array" if isinstance(kind, Array) else "object" if isinstance(kind, Struct) else str(kind)


def compared(sign: str, left: Cells, right: Cells) -> Cells:
    declined = either(left.declined, right.declined)
    if sign in ("eq", "ne"):
        equal, unsure = _equal(left, right)
        return Cells(BOOLEAN, equal if sign == "eq" else pc.invert(equal), either(declined, unsure))
    families = {_family(left.kind), _family(right.kind)}
    if not families <= {"number", "string"}:
        return Cells(NOTHING, pa.nulls(len(left.values)), declined)
    if len(families) == 2:  # one is a number, the other text: that fails
        fails = mask_of(pc.and_(left.values.is_valid(), right.values.is_valid()))
        return Cells(BOOLEAN, pa.nulls(len(left.values), pa.bool_()), either(declined, fails))
    one, other, unsure = _alike(left, right)
    return Cells(BOOLEAN, _ORDERS[sign](one, other), either(declined, unsure))


def _alike(left: Cells, right: Cells) -> tuple[pa.Array, pa.Array, Mask | None]:
    """Values of one family as one type, and the rows where that is not exact."""
    if DOUBLE not in (left.kind, right.kind):
        return left.values, right.values, None
    (one, unsure), (other, unsure_too) = as_double(left), as_double(right)
    return one, other, either(unsure, unsure_too)


def _equal(left: Cells, right: Cells) -> tuple[pa.Array, Mask | None]:
    families = {_family(left.kind), _family(right.kind)}
    neither = pc.and_(left.values.is_null(), right.values.is_null())
    if len(families) == 2 or families == {"nothing"}:
        return neither, None
    if families & {"array", "object"}:
        raise Declines("arrays or objects compared")
    one, other, unsure = _alike(left, right)
    return pc.or_(pc.fill_null(pc.equal(one, other), False), neither), unsure


# --- deciding ------------------------------------------------------------------------------------


def _decided(sign: str, left: Cells, right: Cells) -> Cells:
    """Where the left value decides, it is the result, and the right one is not even looked at."""
    decides = false(left) if sign == "&&" else ~false(left)
    if left.declined is not None:
        decides = decides | left.declined  # nothing is said of those rows anyway
    if sign == "&&" and left.kind != right.kind and right.kind != NOTHING:
        unlike = decides & mask_of(left.values.is_valid())
        values = pa.nulls(len(left.values), arrow_type(right.kind))
        left = Cells(right.kind, values, either(left.declined, unlike if unlike.any() else None))
    return chosen(decides, left, right)
