"""Avro's encoding by hand, also where no library would write it."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro


def number(value: int) -> bytes:
    """A zigzag number."""
    return unsigned(((value << 1) ^ (value >> 63)) & (2**64 - 1))


def unsigned(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def text(value: str | bytes) -> bytes:
    letters = value.encode() if isinstance(value, str) else value
    return number(len(letters)) + letters


def array(*items: bytes) -> bytes:
    return number(len(items)) * bool(items) + b"".join(items) + b"\0"


def sized(*items: bytes) -> bytes:
    """A block that tells its size, and nothing after it."""
    inner = b"".join(items)
    return number(-len(items)) + number(len(inner)) + inner


def record(*fields: Any, name: str = "R") -> dict[str, Any]:
    """A record's schema, its fields named a, b, c and so on."""
    return {"type": "record", "name": name, "fields": [{"name": chr(97 + i), "type": f} for i, f in enumerate(fields)]}


def logical(base: str, name: Any, **more: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **more}


def fixed(size: int, name: str = "F", **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **more}


def enum(*symbols: str, name: str = "E") -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols)}


def written(schema: Any, value: Any) -> bytes:
    """A value as fastavro writes it."""
    found = io.BytesIO()
    fastavro.schemaless_writer(found, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return found.getvalue()
