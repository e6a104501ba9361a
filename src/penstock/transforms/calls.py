"""The functions of expressions, for all rows of a batch at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.schema import BOOLEAN, DOUBLE, LONG, NOTHING, STRING, Array
from penstock.transforms import functions
from penstock.transforms.cells import (
    NUMBERS,
    Cells,
    Mask,
    array_of,
    as_double,
    constant,
    either,
    filled,
    inexact,
    mask_of,
    nothing,
    nulls,
)
from penstock.transforms.expressions import EPOCHS, Call, Constant, Declines, Listed, bounds
from penstock.transforms.moments import iso8601, micros

_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
_DECIMAL = r"^-?(0|[1-9][0-9]{0,17})\.[0-9]{1,30}$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_MOST_MICROS = (2**63 - 1) // 1_000


def call(it: Call, given: list[Cells], count: int) -> Cells:
    """What a function gives for each row, from what its arguments are there."""
    if it.name == "now_epoch_seconds":
        return constant(int(functions.clock()), count)
    if it.name in EPOCHS:
        return _moment(given[0], it.name)
    found = _CALLS[it.name](it, given)
    declined = either(found.declined, *(cells.declined for cells in given))
    return Cells(found.kind, found.values, declined)


def _fails(name: str, why: str) -> Declines:
    return Declines(f"{name}() {why}: it fails for every message")


# --- text ----------------------------------------------------------------------------------------


def _substr(it: Call, given: list[Cells]) -> Cells:
    text = _text(it, given[0])
    start, stop = bounds(it)
    return Cells(STRING, pc.utf8_slice_codeunits(text.values, start, stop), nulls(text.values))


def _text(it: Call, cells: Cells) -> Cells:
    if cells.kind != STRING:
        raise _fails(it.name, f"takes text, and is given {cells.kind}")
    return cells


def _pattern(it: Call, at: int) -> str:
    argument = it.arguments[at]
    if not isinstance(argument, Constant):
        raise Declines(f"{it.name}() whose argument {at + 1} is not a literal")
    if not isinstance(argument.value, str):
        raise _fails(it.name, f"takes text as argument {at + 1}")
    return argument.value


def _starts_with(it: Call, given: list[Cells]) -> Cells:
    text = _text(it, given[0])
    look = pc.starts_with if it.name == "starts_with" else pc.ends_with
    return Cells(BOOLEAN, look(text.values, _pattern(it, 1)), nulls(text.values))


def _length(_: Call, given: list[Cells]) -> Cells:
    cells = given[0]
    if isinstance(cells.kind, Array):
        lengths = pc.list_value_length(cells.values)
    elif cells.kind == STRING:
        lengths = pc.utf8_length(cells.values)
    else:
        raise Declines(f"length() of {cells.kind}")
    return Cells(LONG, lengths.cast(pa.int64()), nulls(cells.values))


def _join(it: Call, given: list[Cells]) -> Cells:
    separator = pa.scalar(_pattern(it, 0))
    if isinstance(it.arguments[1], Listed):
        parts = [_text(it, cells).values for cells in given[1:]]
        joined = pc.binary_join_element_wise(*parts, separator, null_handling="emit_null")
    elif given[1].kind == Array(STRING):
        joined = pc.binary_join(given[1].values, separator)
    else:
        raise Declines(f"join() of {given[1].kind}")
    return Cells(STRING, joined, nulls(joined))


def _to_string(_: Call, given: list[Cells]) -> Cells:
    cells = given[0]
    if cells.kind == NOTHING:
        return constant("null", len(cells.values))
    if cells.kind == DOUBLE:
        return _fraction_to_string(cells)
    if cells.kind not in (STRING, LONG, BOOLEAN):
        raise Declines(f"to_string() of {cells.kind}")
    return Cells(STRING, pc.fill_null(cells.values.cast(pa.string()), "null"))


def _fraction_to_string(cells: Cells) -> Cells:
    """A whole number in a column of fractions may have been written with or without `.0`."""
    numbers = filled(cells.values)
    without = nulls(cells.values)
    whole = (numbers == np.trunc(numbers)) if without is None else (numbers == np.trunc(numbers)) & ~without
    texts = pa.array(list(map(repr, numbers.tolist())), pa.string())
    return Cells(STRING, texts if without is None else pc.if_else(pa.array(without), "null", texts), whole)


# --- numbers -------------------------------------------------------------------------------------


def _to_number(_: Call, given: list[Cells]) -> Cells:
    cells = given[0]
    if cells.kind in NUMBERS:
        return cells
    if cells.kind != STRING:
        return nothing(len(cells.values))
    try:
        whole = cells.values.cast(pa.int64())
        if pc.all(pc.equal(whole.cast(pa.string()), cells.values)).as_py() is not False:
            return Cells(LONG, whole)
    except pa.ArrowInvalid:
        pass  # some are not integers
    return _mixed_to_number(cells.values)


def _mixed_to_number(texts: pa.Array) -> Cells:
    """Some texts are integers, some fractions, some no numbers at all, and some odd enough to decline."""
    integers = pc.match_substring_regex(texts, _INTEGER)
    whole = pc.if_else(integers, texts, pa.scalar(None, pa.string())).cast(pa.int64())
    others = pc.and_not(pc.match_substring_regex(texts, _NUMBER), integers)
    fractions = pc.and_(others, pc.match_substring_regex(texts, _DECIMAL))
    odd = mask_of(pc.fill_null(pc.and_not(others, fractions), False))
    declined = odd if odd.any() else None
    if not pc.any(fractions).as_py():
        return Cells(LONG, whole, declined)
    doubles = pc.if_else(fractions, texts, pa.scalar(None, pa.string())).cast(pa.float64())
    also, unsure = as_double(Cells(LONG, whole))
    return Cells(DOUBLE, pc.coalesce(doubles, also), either(declined, unsure))


def _whole(name: str, cells: Cells) -> tuple[npt.NDArray[np.int64], Mask | None, Mask | None]:
    """Numbers cut off to integers, the rows without any, and the rows to decline: those too."""
    if cells.kind not in NUMBERS:
        raise _fails(name, f"takes a number, and is given {cells.kind}")
    numbers, without = filled(cells.values), nulls(cells.values)
    if cells.kind == LONG:
        return numbers, without, either(cells.declined, without)
    unsure = inexact(cells)
    if unsure is not None:
        numbers = np.where(unsure, 0, numbers)
    return np.trunc(numbers).astype(np.int64), without, either(cells.declined, without, unsure)


def _moment(cells: Cells, name: str) -> Cells:
    epochs, without, declined = _whole(name, cells)
    moments, outside = micros(epochs, EPOCHS[name])
    return Cells(STRING, iso8601(moments, either(without, outside)), either(declined, outside))


def _millis_to_micro(it: Call, given: list[Cells]) -> Cells:
    millis, without, declined = _whole(it.name, given[0])
    outside = (millis > _MOST_MICROS) | (millis < -_MOST_MICROS)
    if outside.any():
        millis, declined = np.where(outside, 0, millis), either(declined, outside)
    return Cells(LONG, array_of(millis * 1_000, LONG, without), declined)


# --- looking for something -----------------------------------------------------------------------


def _contains(it: Call, given: list[Cells]) -> Cells:
    subject, search = given
    if subject.kind == STRING:
        pattern = _pattern(it, 1)
        found = pc.match_substring(subject.values, pattern) if pattern else subject.values.is_valid()
        return Cells(BOOLEAN, found, nulls(subject.values))
    if not isinstance(subject.kind, Array):
        raise _fails("contains", f"takes text or an array, and is given {subject.kind}")
    return _element(subject, subject.kind, search)


def _element(lists: Cells, kind: Array, search: Cells) -> Cells:
    """Is the value one of the list's? Null is looked for by the reference path."""
    if not ({kind.of, search.kind} <= {LONG, DOUBLE} or kind.of == search.kind in (STRING, BOOLEAN)):
        raise Declines(f"contains() of {search.kind} in {kind}")
    rows = pc.list_parent_indices(lists.values)
    elements = Cells(kind.of, pc.list_flatten(lists.values))
    wanted = Cells(search.kind, search.values.take(rows))
    unsure: Any = None
    if DOUBLE in (kind.of, search.kind):
        (one, big), (other, big_too) = as_double(elements), as_double(wanted)
        unsure = either(big, big_too)
    else:
        one, other = elements.values, wanted.values
    where = rows.to_numpy()
    count = len(lists.values)
    found, declined = np.zeros(count, bool), np.zeros(count, bool)
    found[where[mask_of(pc.fill_null(pc.equal(one, other), False))]] = True
    if unsure is not None:
        declined[where[unsure]] = True
    return Cells(BOOLEAN, pa.array(found), either(declined, nulls(lists.values), nulls(search.values)))


_CALLS: dict[str, Callable[[Call, list[Cells]], Cells]] = {
    "substr": _substr,
    "starts_with": _starts_with,
    "ends_with": _starts_with,
    "length": _length,
    "join": _join,
    "to_string": _to_string,
    "to_number": _to_number,
    "epoch_millis_to_micro": _millis_to_micro,
    "contains": _contains,
}
