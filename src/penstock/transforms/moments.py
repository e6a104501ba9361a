"""Moments as text, for many at once."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.transforms.cells import Mask

_EPOCH = datetime(1970, 1, 1)  # all of it is UTC
FIRST = (datetime.min - _EPOCH) // timedelta(microseconds=1)
LAST = (datetime.max - _EPOCH) // timedelta(microseconds=1)
"""The years 1 to 9999, in microseconds."""

_SECONDS = 19
"""Characters in `2021-07-20 23:18:18`."""


def micros(epochs: npt.NDArray[np.int64], nanos: int) -> tuple[npt.NDArray[np.int64], Mask | None]:
    """Epochs in a unit of so many nanoseconds as microseconds, and those that are out of range."""
    if nanos < 1_000:  # towards zero, like every number that is cut off here
        return epochs // 1_000 + ((epochs < 0) & (epochs % 1_000 != 0)), None
    unit = nanos // 1_000
    outside = (epochs < -(-FIRST // unit)) | (epochs > LAST // unit)
    if outside.any():
        return np.where(outside, 0, epochs) * unit, outside
    return epochs * unit, None


def iso8601(moments: npt.NDArray[np.int64], without: Mask | None) -> pa.Array:
    """Microseconds since 1970 as text: no fraction if there is none, otherwise three digits or six."""
    count = len(moments)
    fractions = moments % 1_000_000
    digits = 0 if not fractions.any() else 6 if (fractions % 1_000).any() else 3
    units = {0: ("s", 1_000_000), 3: ("ms", 1_000), 6: ("us", 1)}
    unit, per = units[digits]
    written = pa.array(moments // per).cast(pa.timestamp(unit)).cast(pa.string())
    width = _SECONDS + (digits + 1 if digits else 0)
    letters = np.empty((count, width + 1), np.uint8)
    letters[:, :width] = np.frombuffer(written.buffers()[2], np.uint8, count * width).reshape(count, width)
    letters[:, 10] = ord("T")
    letters[:, width] = ord("Z")
    lengths = np.full(count, width + 1, np.int32)
    if digits:
        _shorten(letters, lengths, fractions)
    return _strings(letters, lengths, without)


def _shorten(letters: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int32], fractions: npt.NDArray[np.int64]) -> None:
    """Digits that say nothing go: all of them, or the last three."""
    for digits, needless in ((_SECONDS + 4, fractions % 1_000 == 0), (_SECONDS, fractions == 0)):
        letters[needless, digits] = ord("Z")
        lengths[needless] = digits + 1


def _strings(letters: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int32], without: Mask | None) -> pa.Array:
    count, width = letters.shape
    if (lengths != width).any():
        letters = letters[np.arange(width) < lengths[:, None]]
    ends = np.zeros(count + 1, np.int32)
    np.cumsum(lengths, out=ends[1:])
    validity = None if without is None else pa.array(~without).buffers()[1]
    buffers = [validity, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(letters))]
    return pa.Array.from_buffers(pa.string(), count, buffers)
