"""How much a message unfolds to, found without unfolding it.

Two bytes can stand for a message of a thousand fields, and every parser makes room for all of them. So messages
that could unfold to too many values are walked first, field by field, and refused when they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from google.protobuf.descriptor import Descriptor, FieldDescriptor

MAX_DEPTH = 100
_VARINT, _FIXED64, _BYTES, _GROUP, _END, _FIXED32 = range(6)
_TEXTS = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)

_F = FieldDescriptor
_SIZES = {_F.TYPE_DOUBLE: 8, _F.TYPE_FIXED64: 8, _F.TYPE_SFIXED64: 8} | {
    _F.TYPE_FLOAT: 4,
    _F.TYPE_FIXED32: 4,
    _F.TYPE_SFIXED32: 4,
}


@dataclass(frozen=True)
class Limits:
    """What one message may be: bytes, and values that these unfold to. The fields of each message in it count,
    absent or not, the elements of each repeated field, and what is unknown."""

    bytes: int = 8 * 2**20
    values: int = 250_000


class Malformed(Exception):
    """The walk met bytes that no parser goes on from, or the limit."""


def widest(descriptor: Descriptor) -> int:
    """The most fields of any message type that a message of this type can hold."""
    seen: dict[str, int] = {}
    waiting = [descriptor]
    while waiting:
        one = waiting.pop()
        if one.full_name not in seen:
            seen[one.full_name] = len(one.fields)
            waiting += [field.message_type for field in one.fields if field.message_type]
    return max(seen.values())


def bound(length: int, widest: int) -> int:
    """More values than a message of this length can unfold to: an element takes a byte, a field or a message two."""
    return length + (length // 2 + 1) * (widest + 1)


class Weighing:
    """One walk over the bytes of a message, until its values are counted or too many."""

    def __init__(self, body: bytes, limit: int) -> None:
        self.body, self.left = body, limit

    def fits(self, descriptor: Descriptor) -> bool:
        """Does the message, as far as it is one, unfold to no more values than the limit?"""
        with suppress(Malformed):
            self._message(descriptor, 0, len(self.body), 0)
        return self.left >= 0

    def _message(self, descriptor: Descriptor | None, at: int, end: int, depth: int) -> int:
        """Count a message, or a group if it ends before `end`, and say where it ended."""
        if depth > MAX_DEPTH:
            raise Malformed
        fields: Mapping[int, FieldDescriptor] = descriptor.fields_by_number if descriptor else {}
        self.left -= len(fields)
        while at < end:
            if self.left < 0:
                raise Malformed
            tag, at = self._varint(at, end)
            if tag & 7 == _END:
                return at
            field = fields.get(tag >> 3)
            message = field.message_type if field else None
            self.left -= 1
            if tag & 7 == _GROUP:
                at = self._message(message, at, end, depth + 1)
            else:
                start, at = self._skip(tag & 7, at, end)
                if tag & 7 == _BYTES and message is not None:
                    self._message(message, start, at, depth + 1)
                elif tag & 7 == _BYTES and field is not None and field.is_repeated and field.type not in _TEXTS:
                    self.left -= (at - start) // _SIZES.get(field.type, 1)  # packed, at least so large each
        return at

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        value = 0
        for shift in range(0, 70, 7):
            if at >= end:
                raise Malformed
            byte = self.body[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
        raise Malformed

    def _skip(self, wire: int, at: int, end: int) -> tuple[int, int]:
        """Where the content of a field starts and ends."""
        if wire == _VARINT:
            return at, self._varint(at, end)[1]
        if wire == _BYTES:
            size, at = self._varint(at, end)
        elif wire in (_FIXED32, _FIXED64):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise Malformed
        if at + size > end:
            raise Malformed
        return at, at + size
