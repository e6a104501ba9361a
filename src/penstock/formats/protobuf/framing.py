"""Which message type of a schema file a message is of, as Confluent's serializers say it before the message.

After the magic byte and the schema's number stands a list of indexes, as zigzag varints: how many, then the index of
a top-level type, of a type in that, and so on. The list [0], of nearly all messages, is a single zero byte.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.descriptor import Descriptor, FileDescriptor

from penstock.formats.protobuf.reference import refuse
from penstock.values.plain import Refusal

MAX_INDEXES = 64
FIRST = (0,)


def indexes(body: bytes, at: int = 0) -> tuple[tuple[int, ...], int]:
    """The indexes that stand at this place, and where the message starts; a `Refusal` if there are none."""
    count, at = _varint(body, at)
    if not count:
        return FIRST, at
    if not 0 < count <= MAX_INDEXES:
        raise refuse("framing", f"the message names its type by {count} indexes, 1 to {MAX_INDEXES} are possible")
    found = []
    for _ in range(count):
        index, at = _varint(body, at)
        found.append(index)
    return tuple(found), at


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(body):
            raise refuse("framing", "the message ends before the indexes of its type do")
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise refuse("framing", "an index of the message's type is longer than five bytes")


def message_at(file: FileDescriptor, path: Sequence[int]) -> Descriptor:
    """The message type that indexes lead to, or a `Refusal`. Types are counted in the order of the source text."""
    types: Sequence[Descriptor] = list(file.message_types_by_name.values())
    found: Descriptor | None = None
    for index in path:
        if not 0 <= index < len(types):
            raise _nowhere(file, path)
        found = types[index]
        types = list(found.nested_types)
    if found is None or found.GetOptions().map_entry:
        raise _nowhere(file, path)
    return found


def _nowhere(file: FileDescriptor, path: Sequence[int]) -> Refusal:
    return refuse("framing", f"the schema {file.name} has no message type at {list(path)[:10]}")
