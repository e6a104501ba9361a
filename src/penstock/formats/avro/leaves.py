"""Single values, read from many messages at once into a column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.avro.lanes import Lanes, Longs, Marks

MAX_LANES = 8192

_EVERY_OTHER = pa.array(np.arange(0, 2 * MAX_LANES, 2, dtype=np.int32))
_INT = np.iinfo(np.int32)


def blank(_: Lanes) -> None:
    """Null takes no bytes and has no column."""


def boolean(lanes: Lanes) -> pa.Array:
    found = lanes.byte()
    lanes.fail(found > 1)
    return pa.array(found == 1)


def integer(lanes: Lanes) -> pa.Array:
    return pa.array(within(lanes, lanes.integer(), _INT.min, _INT.max).astype(np.int32))


def long(lanes: Lanes) -> pa.Array:
    return pa.array(lanes.integer())


def single(lanes: Lanes) -> pa.Array:
    return pa.array(lanes.word(4).astype(np.uint32).view(np.float32))


def double(lanes: Lanes) -> pa.Array:
    return pa.array(lanes.word(8).view(np.float64))


def binary(lanes: Lanes) -> pa.Array:
    return gathered(lanes, *lanes.taken(lanes.integer()))


def string(lanes: Lanes) -> pa.Array:
    """Texts. Where all are ASCII there is nothing to check; otherwise those that are not UTF-8 are bad."""
    found = binary(lanes)
    _, offsets, letters = found.buffers()
    if letters is None or not letters.size or np.frombuffer(letters, np.uint8).max() < 0x80:
        return pa.Array.from_buffers(pa.string(), len(found), [None, offsets, letters])
    try:
        return found.cast(pa.string())
    except pa.ArrowInvalid:
        wrong = np.array([not _is_text(value) for value in found.to_pylist()])
        lanes.fail(wrong)
        return pc.if_else(pa.array(wrong), b"", found).cast(pa.string())


def _is_text(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def fixed(size: int) -> Callable[[Lanes], pa.Array]:
    return lambda lanes: gathered(lanes, *lanes.taken(size))


def symbol(symbols: tuple[str, ...]) -> Callable[[Lanes], pa.Array]:
    """The names of an enum's values."""
    names = pa.array(symbols, pa.string())

    def read(lanes: Lanes) -> pa.Array:
        return names.take(pa.array(within(lanes, lanes.integer(), 0, len(symbols) - 1)))

    return read


def within(lanes: Lanes, values: Longs, least: int, most: int) -> Longs:
    """The values of good messages; where they are outside of what is allowed, the message is bad."""
    outside: Marks = (values < least) | (values > most)
    if not outside.any():
        return values
    lanes.fail(outside)
    return np.where(outside, max(least, 0), values)


def gathered(lanes: Lanes, starts: Longs, lengths: Longs | int) -> pa.Array:
    """Copies of these bytes, one value each. All bytes of the chunk are seen as values and what lies between them;
    then every other one is taken, which Arrow does far faster than an index of single bytes could."""
    count = len(starts)
    if not count:
        return pa.array([], pa.binary())
    edges: npt.NDArray[np.int32] = np.empty(2 * count, np.int32)
    edges[0::2] = starts
    edges[1::2] = starts + lengths
    between = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(edges), lanes.chunk.buffer])
    return between.take(_EVERY_OTHER.slice(0, count))
