"""Messages written in formats that say more of a value than JSON does, each with a schema of its own."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import fastavro

MARK = bytes(range(16))


def container(message: Mapping[str, Any]) -> bytes:
    """A whole Avro container with one record, whose schema has just the fields of the message."""
    written = io.BytesIO()
    schema = fastavro.parse_schema(_record(message, "message"))
    fastavro.writer(written, schema, [dict(message)], sync_marker=MARK)
    return written.getvalue()


def _record(message: Mapping[str, Any], name: str) -> dict[str, Any]:
    fields = [{"name": field, "type": _kind(value, f"{name}_{field}")} for field, value in message.items()]
    return {"type": "record", "name": name, "fields": fields}


def _kind(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return _record(value, name)
    if isinstance(value, list):
        return {"type": "array", "items": _kind(value[0], name) if value else "string"}
    names = {bool: "boolean", int: "long", float: "double", str: "string", type(None): "null"}
    return names[type(value)]


def item(message: Mapping[str, Any]) -> bytes:
    """A DynamoDB item."""
    return json.dumps({name: _attribute(value) for name, value in message.items()}).encode()


def _attribute(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {"M": {name: _attribute(inner) for name, inner in value.items()}}
    if isinstance(value, list):
        return {"L": [_attribute(each) for each in value]}
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    return {"S": value} if isinstance(value, str) else {"N": str(value)}
