"""Values with a logical type, read from many messages at once into a column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.arrow import arrow_type
from penstock.formats.avro.lanes import Lanes, Longs, load
from penstock.formats.avro.leaves import within
from penstock.formats.avro.mapping import DURATION
from penstock.formats.avro.model import Fixed, Logical, Primitive
from penstock.formats.avro.rendering import DAY, FIRST_DATE, LAST_DATE
from penstock.merging import MAX_DIGITS
from penstock.values.fit import FIRST_MOMENT, LAST_MOMENT

Reader = Callable[[Lanes], pa.Array]

_DASHES = np.array([8, 13, 18, 23])
_DIGITS = np.array([place for place in range(36) if place not in _DASHES])
_HEX = np.frombuffer(b"".join(f"{byte:02x}".encode() for byte in range(256)), np.uint8).reshape(256, 2)
_LOWER = np.zeros(256, np.uint8)
for _digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
    _LOWER[list(_digits)] = list(b"0123456789abcdef")
_DECIMAL_BYTES = 16


def reader(type: Primitive | Fixed, logical: Logical) -> Reader | None:
    """What reads such values; None for those that are only read one at a time."""
    size = type.size if isinstance(type, Fixed) else None
    match logical.name:
        case "decimal":
            is_wide = logical.precision > MAX_DIGITS or (size or 0) > _DECIMAL_BYTES
            return None if is_wide else _decimal(logical, size)
        case "date":
            return lambda lanes: pa.array(_number(lanes, FIRST_DATE, LAST_DATE).astype(np.int32)).view(pa.date32())
        case "time-millis":
            return lambda lanes: _clock(_number(lanes, 0, DAY // 1_000 - 1) * 1_000)
        case "time-micros":
            return lambda lanes: _clock(_number(lanes, 0, DAY - 1))
        case "uuid":
            return _uuid_text if size is None else _uuid_bytes
        case "duration":
            return _duration
    return _timestamp(logical.name)


def _number(lanes: Lanes, least: int, most: int) -> Longs:
    return within(lanes, lanes.integer(), least, most)


def _clock(micros: Longs) -> pa.Array:
    return pa.array(micros).view(pa.time64("us")).cast(pa.string())


def _timestamp(name: str) -> Reader:
    kind = pa.timestamp("us") if name.startswith("local-") else pa.timestamp("us", "UTC")
    unit = name.rpartition("-")[2]

    def read(lanes: Lanes) -> pa.Array:
        if unit == "millis":
            # Rounded inwards at both ends, so that no thousandfold is outside.
            micros = _number(lanes, -(-FIRST_MOMENT // 1_000), LAST_MOMENT // 1_000) * 1_000
        elif unit == "nanos":
            micros = lanes.integer() // 1_000  # 64 bits of nanoseconds are never outside of the years allowed
        else:
            micros = _number(lanes, FIRST_MOMENT, LAST_MOMENT)
        return pa.array(micros).view(kind)

    return read


def _decimal(logical: Logical, size: int | None) -> Reader:
    kind, most = pa.decimal128(logical.precision, logical.scale), 10**logical.precision - 1

    def read(lanes: Lanes) -> pa.Array:
        starts, lengths = lanes.taken(lanes.integer() if size is None else size)
        lengths = within(lanes, np.broadcast_to(np.int64(lengths), starts.shape), 1, _DECIMAL_BYTES)
        found = _unscaled(lanes, starts + lengths, lengths)
        lanes.fail(~(_at_least(found, -most) & ~_at_least(found, most + 1)))
        return pa.Array.from_buffers(kind, len(found), [None, pa.py_buffer(found)])

    return read


def _unscaled(lanes: Lanes, ends: Longs, lengths: Longs) -> npt.NDArray[np.int64]:
    """The numbers in two's complement of up to 16 bytes that end there: their low and high halves."""
    found = np.empty((len(ends), 2), np.int64)
    low, high = (load(lanes.chunk, ends - back).byteswap().view(np.int64) for back in (8, 16))
    spare = (8 - np.clip(lengths, 1, 8)) * 8
    found[:, 0] = (low << spare) >> spare
    spare = (16 - np.clip(lengths, 9, 16)) * 8
    found[:, 1] = np.where(lengths > 8, (high << spare) >> spare, found[:, 0] >> 63)
    return found


def _at_least(found: npt.NDArray[np.int64], bound: int) -> npt.NDArray[np.bool_]:
    high, low = found[:, 1], np.ascontiguousarray(found[:, 0]).view(np.uint64)
    top = np.int64(bound >> 64)
    marks: npt.NDArray[np.bool_] = (high > top) | ((high == top) & (low >= np.uint64(bound & (2**64 - 1))))
    return marks


def _uuid_text(lanes: Lanes) -> pa.Array:
    starts, lengths = lanes.taken(lanes.integer())
    lanes.fail(np.not_equal(lengths, 36))
    letters = _table(lanes, starts, 36)
    dashes = (letters[:, _DASHES] == ord("-")).all(axis=1)
    found = np.full((len(starts), 36), ord("-"), np.uint8)
    found[:, _DIGITS] = _LOWER[letters[:, _DIGITS]]
    lanes.fail(~(dashes & found.all(axis=1)))
    return _texts(found)


def _uuid_bytes(lanes: Lanes) -> pa.Array:
    starts, _ = lanes.taken(16)
    found = np.full((len(starts), 36), ord("-"), np.uint8)
    found[:, _DIGITS] = _HEX[_table(lanes, starts, 16)].reshape(-1, 32)
    return _texts(found)


def _table(lanes: Lanes, starts: Longs, width: int) -> npt.NDArray[np.uint8]:
    """So many bytes from each of these places on; what would lie outside of the chunk belongs to a bad message."""
    found: npt.NDArray[np.uint8] = lanes.chunk.bytes.take(starts[:, None] + np.arange(width), mode="clip")
    return found


def _texts(letters: npt.NDArray[np.uint8]) -> pa.Array:
    """Texts of one length. Those of bad messages are made harmless: a text is ASCII here or nobody looks at it."""
    count, width = letters.shape
    edges = np.arange(count + 1, dtype=np.int32) * width
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(edges), pa.py_buffer(letters)])


def _duration(lanes: Lanes) -> pa.Array:
    parts = [(lanes.word(4) & np.uint64(2**32 - 1)).view(np.int64) for _ in range(3)]
    return pa.StructArray.from_arrays([pa.array(part) for part in parts], fields=list(arrow_type(DURATION)))
