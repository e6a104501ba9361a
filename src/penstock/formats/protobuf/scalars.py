"""Numbers and texts from the wire as Arrow arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor

from penstock.formats.protobuf.reference import MISSING
from penstock.formats.protobuf.schema import Value
from penstock.formats.protobuf.wire import Flags, Words, unzigzag

_F = FieldDescriptor
UNSIGNED64 = (_F.TYPE_UINT64, _F.TYPE_FIXED64)
TEXTS = (_F.TYPE_STRING, _F.TYPE_BYTES)


def numbers(words: Words, kind: int) -> npt.NDArray[Any]:
    """What these words are as numbers of a Protobuf type: of 32-bit types, what is above the 32nd bit is cut off."""
    match kind:
        case _F.TYPE_BOOL:
            return np.not_equal(words, 0)
        case _F.TYPE_DOUBLE:
            return words.view(np.float64)
        case _F.TYPE_FLOAT:
            return words.astype(np.uint32).view(np.float32)
        case _F.TYPE_SINT64:
            return unzigzag(words)
        case _F.TYPE_SINT32:
            return unzigzag(words & np.uint64(0xFFFFFFFF)).astype(np.int32)
        case _F.TYPE_INT32 | _F.TYPE_SFIXED32 | _F.TYPE_ENUM:
            return words.astype(np.uint32).view(np.int32)
        case _F.TYPE_UINT32 | _F.TYPE_FIXED32:
            return (words & np.uint64(0xFFFFFFFF)).view(np.int64)
        case _F.TYPE_UINT64 | _F.TYPE_FIXED64:
            return words
    return words.view(np.int64)


def number_array(words: Words, kind: int, absent: Flags | None) -> pa.Array:
    """Numbers as their column has them; null where absent."""
    found = numbers(words, kind)
    if kind in UNSIGNED64:
        wide = np.zeros((len(words), 2), np.uint64)
        wide[:, 0] = words
        valid = None if absent is None else pa.array(~absent).buffers()[1]
        return pa.Array.from_buffers(pa.decimal128(20, 0), len(words), [valid, pa.py_buffer(wide)])
    return pa.array(found, mask=absent)


class Names:
    """The names of an enum's values."""

    def __init__(self, value: Value) -> None:
        enum = value.field.enum_type
        assert enum is not None
        by_number, self.is_closed = value.names, enum.is_closed
        self._numbers = np.array(sorted(by_number), np.int32)
        self._names = pa.array([by_number[number] for number in sorted(by_number)] + [MISSING], pa.string())

    def array(self, words: Words, absent: Flags | None) -> tuple[pa.Array, Flags]:
        """The name of each number, null where absent, and which numbers have none."""
        given = numbers(words, _F.TYPE_ENUM)
        at = np.minimum(np.searchsorted(self._numbers, given), len(self._numbers) - 1)
        nameless = self._numbers[at] != given
        at[nameless] = len(self._numbers)
        if absent is not None:
            nameless &= ~absent
        return self._names.take(pa.array(at, mask=absent)), nameless


def texts(slices: pa.Array) -> tuple[pa.Array, Flags | None]:
    """Bytes as text, and which are none; None if all are."""
    offsets, content = slices.buffers()[1:]
    if content is None or not content.size or np.frombuffer(content, np.uint8).max() < 0x80:
        return pa.Array.from_buffers(pa.string(), len(slices), [slices.buffers()[0], offsets, content]), None
    try:
        return slices.cast(pa.string()), None
    except pa.ArrowInvalid:
        wrong = np.fromiter((not _is_text(one) for one in slices.to_pylist()), np.bool_, len(slices))
        return pa.array(
            [None if bad else one for bad, one in zip(wrong, slices.to_pylist(), strict=True)], pa.string()
        ), wrong


def _is_text(given: bytes | None) -> bool:
    try:
        return given is None or given.decode("utf-8") is not None
    except UnicodeDecodeError:
        return False
