"""The reference path: one message at a time, in plain Python, written to be obviously right.

It defines what is correct. The fast path must agree with it or decline.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.formats.avro.model import AvroType, Entries, Enum, Fixed, Items, Primitive, Record, Union
from penstock.values.plain import Refusal, shown

_VARINT_BYTES = 10
_INT = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one message may be."""

    bytes: int = 8 * 2**20
    items: int = 1_000_000
    """Values in arrays and maps together, each column of an element counted: many could be null in a single byte."""
    hollow: int = 10_000
    """How many of them may take no bytes at all: nothing else bounds their number."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A value of a union, and which of its branches it belongs to."""

    index: int
    value: Any


def refuse(code: str, text: str) -> Refusal:
    return Refusal("parse", f"avro.{code}", text)


def read(body: bytes, type: AvroType, limits: Limits) -> Any:
    """The value that the bytes of a message encode, as Avro has it: None, bool, int, float, bytes, str, list, dict,
    and `Branch` for what is in a union. A `Refusal` unless they encode exactly one."""
    if len(body) > limits.bytes:
        raise refuse("too-large", f"the value has {len(body)} bytes, the limit is {limits.bytes}")
    reading = Reading(body, limits)
    found = reading.value(type)
    if reading.at != len(body):
        raise refuse("trailing", f"{len(body) - reading.at} bytes follow the end of the value at byte {reading.at}")
    return found


class Reading:
    """The bytes of one message, and how far they are read."""

    def __init__(self, body: bytes, limits: Limits) -> None:
        self.body, self.at = body, 0
        self._items, self._hollow = limits.items, limits.hollow

    def value(self, type: AvroType) -> Any:
        if isinstance(type, Primitive):
            return _PRIMITIVES[type.name](self)
        if isinstance(type, Record):
            return {field.name: self.value(field.type) for field in type.fields}
        if isinstance(type, Union):
            index = self._index(len(type.branches), "branches of a union")
            return Branch(index, self.value(type.branches[index]))
        if isinstance(type, Enum):
            return type.symbols[self._index(len(type.symbols), "symbols of an enum")]
        if isinstance(type, Fixed):
            return self.take(type.size)
        if isinstance(type, Items):
            return self._array(type)
        return self._map(type)

    def a_null(self) -> None:
        return None

    def a_boolean(self) -> bool:
        found = self.take(1)[0]
        if found > 1:
            raise refuse("boolean", f"byte {self.at - 1} is {found}, a boolean is 0 or 1")
        return found == 1

    def a_int(self) -> int:
        found = self.a_long()
        if found not in _INT:
            raise refuse("varint", f"the integer before byte {self.at} is beyond 32 bits")
        return found

    def a_long(self) -> int:
        found = 0
        for place in range(_VARINT_BYTES):
            part = self.take(1)[0]
            found |= (part & 0x7F) << (7 * place)
            if part < 0x80:
                break
        else:
            raise refuse("varint", f"the integer before byte {self.at} has more than {_VARINT_BYTES} bytes")
        if found >= 2**64:
            raise refuse("varint", f"the integer before byte {self.at} is beyond 64 bits")
        return (found >> 1) ^ -(found & 1)

    def a_float(self) -> float:
        return float(struct.unpack("<f", self.take(4))[0])

    def a_double(self) -> float:
        return float(struct.unpack("<d", self.take(8))[0])

    def a_bytes(self) -> bytes:
        length = self.a_long()
        if length < 0:
            raise refuse("length", f"the length before byte {self.at} is negative")
        return self.take(length)

    def a_string(self) -> str:
        found = self.a_bytes()
        try:
            return found.decode("utf-8")
        except UnicodeDecodeError as cause:
            where = self.at - len(found) + cause.start
            raise refuse("text", f"byte {where} is not valid UTF-8") from None

    def take(self, length: int) -> bytes:
        if length > len(self.body) - self.at:
            missing = length - (len(self.body) - self.at)
            raise refuse(
                "truncated", f"the value ends {missing} bytes too early: {length} are needed at byte {self.at}"
            )
        self.at += length
        return self.body[self.at - length : self.at]

    def _index(self, count: int, what: str) -> int:
        index = self.a_int()
        if not 0 <= index < count:
            raise refuse("index", f"the index {index} before byte {self.at} is none of the {count} {what}")
        return index

    def _array(self, type: Items) -> list[Any]:
        found: list[Any] = []
        self._blocks(lambda: found.append(self.value(type.of)), type.width)
        return found

    def _map(self, type: Entries) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def entry() -> None:
            key = self.a_string()
            if key in found:
                raise refuse("key", f"the key {shown(key)} occurs more than once in a map")
            found[key] = self.value(type.of)

        self._blocks(entry, type.width)
        return found

    def _blocks(self, item: Callable[[], None], width: int) -> None:
        """Reads items block by block; a block may tell its size in bytes, and then has exactly that."""
        while count := self.a_long():
            size = None
            if count < 0:
                count, size = -count, self.a_long()
            self._items -= count * width
            if self._items < 0:
                raise refuse("items", "the arrays and maps of the value hold more values than allowed")
            start = self.at
            for _ in range(count):
                before = self.at
                item()
                self._count_hollow(before, width)
            if size is not None and self.at - start != size:
                raise refuse("block", f"the block at byte {start} has {self.at - start} bytes and says {size}")

    def _count_hollow(self, before: int, width: int) -> None:
        if self.at == before:
            self._hollow -= width
            if self._hollow < 0:
                raise refuse("items", "the arrays of the value hold more values without any bytes than allowed")


_PRIMITIVES: dict[str, Callable[[Reading], Any]] = {
    "null": Reading.a_null,
    "boolean": Reading.a_boolean,
    "int": Reading.a_int,
    "long": Reading.a_long,
    "float": Reading.a_float,
    "double": Reading.a_double,
    "bytes": Reading.a_bytes,
    "string": Reading.a_string,
}
