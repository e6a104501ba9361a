"""Values as Avro has them, rendered as the plain values of a message."""

from __future__ import annotations

import base64
import math
import re
import struct
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from penstock.formats.avro.model import AvroType, Entries, Enum, Fixed, Items, Logical, Primitive, Record, Union, kind
from penstock.formats.avro.reference import Branch, refuse
from penstock.merging import MAX_DIGITS
from penstock.values.fit import FIRST_MOMENT, LAST_MOMENT
from penstock.values.plain import Number

DAY = 86_400_000_000
FIRST_DATE, LAST_DATE = FIRST_MOMENT // DAY, LAST_MOMENT // DAY

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)


def rendered(value: Any, type: AvroType) -> dict[str, Any]:
    """The message that a value makes: a record's fields, or one column `value` for anything else."""
    found = plain(value, type)
    return found if isinstance(type, Record) else {"value": found}


def plain(value: Any, type: AvroType) -> Any:
    """A value as plain ones; a `Refusal` if it is none of its logical type."""
    if isinstance(type, Primitive):
        return _LOGICAL[type.logical.name](value, type.logical) if type.logical else _primitive(value, type.name)
    if isinstance(type, Fixed):
        return _LOGICAL[type.logical.name](value, type.logical) if type.logical else _base64(value)
    if isinstance(type, Enum):
        return value
    if isinstance(type, Record):
        return {field.name: plain(value[field.name], field.type) for field in type.fields}
    if isinstance(type, Items):
        return [plain(element, type.of) for element in value]
    if isinstance(type, Entries):
        return {key: plain(element, type.of) for key, element in value.items()}
    return _union(value, type)


def _union(value: Branch, union: Union) -> Any:
    branch = union.branches[value.index]
    if kind(branch) == "null":
        return None
    if len(union.filled) == 1:
        return plain(value.value, branch)
    if union.wide:
        return _primitive(value.value, union.wide)  # a float that stands in a column of doubles is one
    return {union.names[value.index]: plain(value.value, branch)}


def _primitive(value: Any, name: str) -> Any:
    if name in ("int", "long"):
        return Number(value)
    if name == "bytes":
        return _base64(value)
    if name in ("float", "double"):
        return _fraction(value)
    return value


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _fraction(value: float) -> Any:
    """Exactly what it is: a 32-bit number too, which in a wider column is what it was."""
    return Number(repr(value)) if math.isfinite(value) else value


def _decimal(value: bytes, logical: Logical) -> Any:
    if not value:
        raise refuse("decimal", "a decimal has no bytes")
    unscaled, precision = int.from_bytes(value, "big", signed=True), logical.precision
    if abs(unscaled) >= 10**precision:
        raise refuse("decimal", f"a decimal has more than the {precision} digits that its schema allows")
    digits = str(abs(unscaled)).rjust(logical.scale + 1, "0")
    whole, part = digits[: len(digits) - logical.scale], digits[len(digits) - logical.scale :]
    text = ("-" if unscaled < 0 else "") + whole + (f".{part}" if part else "")
    return Number(text) if precision <= MAX_DIGITS else text


def _date(value: int, _: Logical) -> str:
    if not FIRST_DATE <= value <= LAST_DATE:
        raise refuse("time", "a date is not in the years 1 to 9999")
    return (date(1970, 1, 1) + timedelta(days=value)).isoformat()


def _time_of_day(value: int, logical: Logical) -> str:
    micros = value * 1_000 if logical.name == "time-millis" else value
    if not 0 <= micros < DAY:
        raise refuse("time", "a time of day is not between 0 and 24 hours")
    return (datetime.min + timedelta(microseconds=micros)).time().isoformat("microseconds")


def _timestamp(value: int, logical: Logical) -> str:
    unit = logical.name.rpartition("-")[2]
    micros = value * 1_000 if unit == "millis" else value // 1_000 if unit == "nanos" else value
    if not FIRST_MOMENT <= micros <= LAST_MOMENT:
        raise refuse("time", "a time is not in the years 1 to 9999")
    text = (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None).isoformat("T", "microseconds")
    return text if logical.name.startswith("local-") else text + "Z"


def _uuid(value: str | bytes, _: Logical) -> str:
    if isinstance(value, bytes):
        return str(uuid.UUID(bytes=value))
    if not _UUID.fullmatch(value):
        raise refuse("uuid", "a text that should be a UUID is none")
    return value.lower()


def _duration(value: bytes, _: Logical) -> dict[str, Number]:
    months, days, milliseconds = struct.unpack("<III", value)
    return {"months": Number(months), "days": Number(days), "milliseconds": Number(milliseconds)}


_LOGICAL: dict[str, Callable[[Any, Logical], Any]] = {
    "date": _date,
    "time-millis": _time_of_day,
    "time-micros": _time_of_day,
    "timestamp-millis": _timestamp,
    "timestamp-micros": _timestamp,
    "timestamp-nanos": _timestamp,
    "local-timestamp-millis": _timestamp,
    "local-timestamp-micros": _timestamp,
    "local-timestamp-nanos": _timestamp,
    "decimal": _decimal,
    "uuid": _uuid,
    "duration": _duration,
}
