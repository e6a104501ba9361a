"""Type names come from messages, so they are hostile; table names are folders, so they must be safe.

A name is one path segment of `[A-Za-z0-9._-]` that begins with neither `.` nor `_`. Anything else
is escaped as `@2F`, byte by byte and reversibly, so no two types ever share a folder. Not as `%2F`:
that is a slash to whoever takes a location for a URL, and some layers below do so twice.
"""

from __future__ import annotations

import re

LONGEST = 200
DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The value in the name of a partition's folder where there is none."""

_SAFE = re.compile(rb"[A-Za-z0-9._-]")
_ESCAPED = re.compile(rb"@([0-9A-F]{2})")


def table_name(type: str) -> str:
    """The folder of a type's table. Raises ValueError where there can be none."""
    if not type:
        raise ValueError("an empty type has no table")
    raw = type.encode("utf-8", "surrogatepass")
    escaped = "".join(
        chr(byte) if _SAFE.fullmatch(bytes([byte])) and not (at == 0 and byte in b"._") else f"@{byte:02X}"
        for at, byte in enumerate(raw)
    )
    if len(escaped) > LONGEST:
        raise ValueError(f"the type's name makes a folder name of {len(escaped)} characters, the limit is {LONGEST}")
    return escaped


def type_name(table: str) -> str:
    """The type whose table has this name: the inverse of `table_name`. A folder that cannot be ours is itself."""
    raw = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), table.encode("utf-8", "surrogatepass"))
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return table
