"""What both paths say about messages, in a form that can be compared."""

from __future__ import annotations

import base64
import decimal
import math
import struct
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from penstock.arrow import arrow_schema
from penstock.formats.avro.decoder import AvroDecoder
from penstock.schema import Array, Decimal, Map, Scalar, Struct, Type
from penstock.values.plain import Refusal, text

COPIES = 16
"""So many messages of a kind are read side by side; fewer may be left to the reference path."""


def referred(decoder: AvroDecoder, body: bytes) -> Any:
    """The row that the reference path makes of a message, or the code under which it is refused."""
    try:
        message = decoder.plain(body)
    except Refusal as why:
        return why.code if why.stage == "parse" else why
    return {field.name: typed(message[field.name], field.type) for field in decoder.schema}


def fast(decoder: AvroDecoder, bodies: Sequence[bytes], copies: int = COPIES) -> list[Any]:
    """The rows that the fast path makes of messages, None where it declines. The copies of each must fare alike."""
    many = pa.array([body for body in bodies for _ in range(copies)], pa.binary())
    rows, declined = decoder.columns(many)
    rows.validate(full=True)
    assert rows.schema == arrow_schema(decoder.schema)
    assert rows.num_rows == (~declined).sum()
    listed = iter(rows.to_pylist())
    found = [None if is_declined else shown(next(listed)) for is_declined in declined]
    groups = [found[at : at + copies] for at in range(0, len(found), copies)]
    assert all(group == [group[0]] * copies for group in groups)
    return [group[0] for group in groups]


def typed(value: Any, kind: Type) -> Any:
    """A plain value as a column shows it."""
    if value is None:
        return None
    if isinstance(kind, Struct):
        return {field.name: typed(value.get(field.name), field.type) for field in kind}
    if isinstance(kind, Array):
        return [typed(element, kind.of) for element in value]
    if isinstance(kind, Map):
        return [(key, typed(element, kind.of)) for key, element in value.items()]
    if isinstance(kind, Decimal):
        return shown(decimal.Decimal(value))
    return shown(_scalar(value, kind))


def _scalar(value: Any, kind: Scalar) -> Any:
    match kind.name:
        case "int" | "long":
            return int(value)
        case "float":
            return struct.unpack("<f", struct.pack("<f", float(value)))[0]
        case "double":
            return float(value)
        case "date":
            return date.fromisoformat(value)
        case "timestamp" | "timestamp_ntz":
            return datetime.fromisoformat(value)
        case "binary":
            return base64.b64decode(value, validate=True)
        case "json":
            return text(value)
    return value


def shown(value: Any) -> Any:
    """A value of a column so that equal ones are equal: also those that are no number, and never 1 and true."""
    if isinstance(value, dict):
        return {name: shown(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return value.__class__(shown(inner) for inner in value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value.hex()
    if isinstance(value, datetime):
        return value.isoformat()
    return f"{value!r}" if isinstance(value, bool | decimal.Decimal) else value
