"""Fitting a parsed message into the columns of its table: the reference path's second half."""

from __future__ import annotations

import base64
import binascii
import decimal
import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from penstock.contracts import Shape
from penstock.messages import RESCUED
from penstock.schema import JSON, NOTHING, Array, Decimal, Field, Map, Scalar, Schema, Struct, Type
from penstock.values.plain import Number, Refusal, infer, integer, kind_of, shown, text, under

_INTEGERS = {"byte": 8, "short": 16, "int": 32, "long": 64}
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:?\d{2})", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
FIRST_MOMENT = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
LAST_MOMENT = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
"""The years 1 to 9999 in UTC, in microseconds: what lies outside breaks readers that are not prepared for it."""


class Waits(Exception):
    """The message has fields that its table does not have yet, and may get: these columns."""

    def __init__(self, columns: Schema) -> None:
        super().__init__(columns)
        self.columns = columns


def fit(message: dict[str, Any], shape: Shape) -> dict[str, object]:
    """The row that a message makes. Raises `Refusal` if it makes none, `Waits` if its table must
    get columns first."""
    fitting = _Fitting(shape.evolve, shape.coerce)
    row, left = fitting.struct(message, shape.schema, "")
    if shape.evolve == "rescue":
        row[RESCUED] = text(left) if left else None
    elif left and shape.evolve == "add":
        raise Waits(_addable(left, shape))
    return row


def lacking(message: dict[str, Any], shape: Shape | None) -> Type:
    """The columns that a message has and its table lacks: all of them where there is no table, none where it is a
    row. Raises `Refusal` if it will never be one."""
    if shape is None:
        return infer(message)
    try:
        fit(message, shape)
    except Waits as lacks:
        return lacks.columns
    return NOTHING


def _addable(left: dict[str, Any], shape: Shape) -> Schema:
    """What is left over, as columns; a `Refusal` if it could not become that."""
    for name in (name for name in left if name.lower() in shape.reserved):
        raise Refusal("fit", "column.reserved", f"the key {shown(name)} is a column of penstock's own in this table")
    found = infer(left)
    assert isinstance(found, Struct)
    return found


def is_hollow(value: Any) -> bool:
    """Is there nothing but nulls in it? An empty array is something: it has a column."""
    return value is None or (isinstance(value, dict) and all(map(is_hollow, value.values())))


class _Fitting:
    """One message on its way into a table's columns, under one policy."""

    def __init__(self, evolve: str, coerce: bool) -> None:
        self.evolve, self.coerce = evolve, coerce

    def struct(self, value: dict[str, Any], into: Struct, path: str) -> tuple[dict[str, object], dict[str, Any]]:
        """The fields that the table has, and what is left over."""
        row: dict[str, object] = {}
        left: dict[str, Any] = {}
        for field in into:
            given = value.get(field.name)
            row[field.name], rest = self._field(given, field, under(path, field.name))
            if rest is not None:
                left[field.name] = rest
        for name, given in value.items():
            if name not in row and not self._is_nothing(given):
                self._unknown(name, into, path)
                left[name] = given
        return row, left

    def _is_nothing(self, given: Any) -> bool:
        """Is nothing lost if a field without a column goes? Nothing but nulls makes no column."""
        return given is None or self.evolve == "ignore" or (self.evolve == "add" and is_hollow(given))

    def _unknown(self, name: str, into: Struct, path: str) -> None:
        if self.evolve == "freeze":
            where = f"{path}.{shown(name)}" if path else shown(name)
            raise Refusal("fit", "schema.unknown-field", f"the table has no column {where} and may not get one")
        if self.evolve == "add" and (twin := into.twin(name)):
            raise Refusal(
                "fit",
                "column.case-clash",
                f"the key {shown(name)} differs from column '{under(path, twin.name)}' only in case",
            )

    def _field(self, given: Any, field: Field, path: str) -> tuple[object, Any]:
        if given is None:
            if field.required:
                raise misfit(path, given, field.type)
            return None, None
        try:
            return self._value(given, field.type, path)
        except Refusal:
            if self.evolve != "rescue" or field.required:
                raise
            return None, given

    def _value(self, given: Any, into: Type, path: str) -> tuple[object, Any]:
        """The value as its column wants it, and what of it is left over."""
        if isinstance(into, Struct) and isinstance(given, dict):
            row, left = self.struct(given, into, path)
            return row, left or None
        if isinstance(into, Array) and isinstance(given, list):
            pairs = [self._field(element, Field("", into.of), f"{path}[{i}]") for i, element in enumerate(given)]
            if any(left is not None for _, left in pairs):
                if self.evolve == "rescue":
                    return None, given
                return [fitted for fitted, _ in pairs], [left for _, left in pairs]
            return [fitted for fitted, _ in pairs], None
        if isinstance(into, Map) and isinstance(given, dict):
            items = {
                name: self._field(element, Field("", into.of), under(path, name)) for name, element in given.items()
            }
            if any(left is not None for _, left in items.values()):
                if self.evolve != "rescue":
                    raise Refusal("fit", "schema.unknown-field", f"{path}: a map's values cannot get new fields")
                return None, given
            return [(name, fitted) for name, (fitted, _) in items.items()], None
        if isinstance(into, Decimal) and isinstance(given, Number):
            return _decimal(given, into, path), None
        if isinstance(into, Scalar):
            return _scalar(_coerced(given, into) if self.coerce else given, into, path), None
        raise misfit(path, given, into)


def _coerced(given: Any, into: Scalar) -> Any:
    """A value made to fit its column: its JSON text for a text, and an integer as the microsecond it counts."""
    is_text = isinstance(given, str) and not isinstance(given, Number)
    if into.name == "string" and not is_text:
        return text(given)
    if into.name == "timestamp" and isinstance(given, Number) and integer(given) is not None:
        return _moment(given)
    return given


def _moment(given: Number) -> Any:
    """The time that so many microseconds after the epoch is, as text; the number itself if there is no such time."""
    micros = integer(given) or 0
    if not FIRST_MOMENT <= micros <= LAST_MOMENT:
        return given
    return (_EPOCH + micros * _MICROSECOND).isoformat()


def misfit(path: str, given: Any, into: Type) -> Refusal:
    return Refusal("fit", "value.misfit", f"{path}: {kind_of(given)} does not fit a column of type {into}")


def _scalar(given: Any, into: Scalar, path: str) -> object:
    if into == JSON:
        return str(given) if isinstance(given, str) and not isinstance(given, Number) else text(given)
    if into.name in _INTEGERS:
        return _integer(given, into, path)
    if into.name in ("double", "float"):
        return _fraction(given, into, path)
    if into.name == "boolean" and isinstance(given, bool):
        return given
    if isinstance(given, str) and not isinstance(given, Number):
        return _from_text(given, into, path)
    raise misfit(path, given, into)


def _integer(given: Any, into: Scalar, path: str) -> int:
    whole = integer(given) if isinstance(given, Number) else None
    if whole is None:
        raise misfit(path, given, into)
    edge = 2 ** (_INTEGERS[into.name] - 1)
    if not -edge <= whole < edge:
        raise Refusal("fit", "number.range", f"{path}: the integer is beyond what {into} holds")
    return whole


def _fraction(given: Any, into: Scalar, path: str) -> float:
    if isinstance(given, float):
        return given
    if not isinstance(given, Number):
        raise misfit(path, given, into)
    whole, exact = integer(given), 2 ** (53 if into.name == "double" else 24)
    if whole is not None and abs(whole) > exact:
        raise Refusal("fit", "number.range", f"{path}: the integer cannot be held exactly by a {into}")
    number = float(given)
    try:
        narrow = number if into.name == "double" else struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        narrow = math.inf
    if not math.isfinite(narrow):
        raise Refusal("fit", "number.range", f"{path}: the number is beyond what a {into} holds")
    return float(narrow)


def _decimal(given: Number, into: Decimal, path: str) -> decimal.Decimal:
    """The number with the column's digits, if not one has to be given up for that."""
    exactly = decimal.Context(prec=into.precision, traps=[decimal.Inexact, decimal.InvalidOperation])
    try:
        with decimal.localcontext(exactly):
            return decimal.Decimal(given).quantize(decimal.Decimal(1).scaleb(-into.scale))
    except (decimal.Inexact, decimal.InvalidOperation):
        raise Refusal("fit", "number.range", f"{path}: the number does not fit {into} exactly") from None


def _from_text(given: str, into: Scalar, path: str) -> object:
    convert = _FROM_TEXT.get(into.name)
    try:
        if convert is not None:
            return convert(given)
    except (ValueError, OverflowError, binascii.Error):
        pass
    raise misfit(path, given, into)


def _date(given: str) -> date:
    if not _DATE.fullmatch(given):
        raise ValueError
    return date.fromisoformat(given)


def _timestamp(given: str) -> int:
    """Microseconds since the epoch, from RFC 3339 with its zone. What is finer is cut off."""
    found = _TIME.fullmatch(given)
    if not found:
        raise ValueError
    moment = datetime.fromisoformat(found[1].upper().replace(" ", "T") + ("+00:00" if found[3] in "Zz" else found[3]))
    micros = (moment - _EPOCH) // _MICROSECOND + int((found[2] or "").ljust(6, "0")[:6])
    if not FIRST_MOMENT <= micros <= LAST_MOMENT:
        raise ValueError
    return micros


def _timestamp_ntz(given: str) -> int:
    return _timestamp(given + "Z")  # with a zone of its own it is no longer a time


def _binary(given: str) -> bytes:
    return base64.b64decode(given, validate=True)


_FROM_TEXT: dict[str, Callable[[str], object]] = {
    "string": str,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp_ntz,
    "binary": _binary,
}
