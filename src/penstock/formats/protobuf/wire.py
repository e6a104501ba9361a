"""The wire format, read from many places at once.

Bytes are read in words of eight from any place; what a word holds is worked out for all of them with a few
operations on whole arrays. A batch has room behind it, so that a word never reads past the end of memory, and who
reads compares where a value ended with where its message does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Places = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

ROOM = 32
_STOP = np.uint64(0x8080808080808080)
_ONE, _SEVEN, _EIGHT, _FULL = np.uint64(1), np.uint64(0x7F), np.uint64(8), np.uint64(0x7F7F7F7F7F7F7F7F)


class Wire:
    """The bytes of some messages, one after the other."""

    def __init__(self, content: npt.NDArray[np.uint8]) -> None:
        self.bytes = np.concatenate([content, np.zeros(ROOM, np.uint8)])
        self.buffer = pa.py_buffer(self.bytes)
        self._words: Words = np.ndarray((len(self.bytes) - 7,), "<u8", self.bytes, strides=(1,))

    def words(self, at: Places) -> Words:
        """Eight bytes from each place."""
        return self._words[at]

    def varints(self, at: Places) -> tuple[Words, Places]:
        """The varint at each place, and where it ends: past the end of everything if it is longer than ten bytes."""
        first = self.bytes.take(at)
        if not len(at) or first.max() < 0x80:  # nearly all tags and lengths
            return first.astype(np.uint64), at + 1
        word = self._words[at]
        stops = ~word & _STOP
        below = (stops & (~stops + _ONE)) - _ONE  # the bits under the first stop; all of them if there is none
        value = _joined(word & below & _FULL)
        ends = at + ((np.bitwise_count(below).astype(np.int64) + 1) >> 3)
        is_long = stops == 0
        if is_long.any():
            which = is_long.nonzero()[0]
            self._lengthen(which, at[which] + 8, value, ends)
        return value, ends

    def _lengthen(self, which: Places, at: Places, value: Words, ends: Places) -> None:
        """The ninth and the tenth byte of varints that have them."""
        ninth, tenth = self.bytes[at].astype(np.uint64), self.bytes[at + 1].astype(np.uint64)
        goes_on = ninth > _SEVEN
        value[which] |= (ninth & _SEVEN) << np.uint64(56) | np.where(goes_on, tenth << np.uint64(63), np.uint64(0))
        ends[which] = at + 1 + goes_on
        ends[which[goes_on & (tenth > _SEVEN)]] = len(self.bytes)

    def runs(self, starts: Places, ends: Places) -> Places:
        """All places in these ranges, one range after the other."""
        sizes = ends - starts
        total = int(sizes.sum())
        before = np.cumsum(sizes) - sizes
        found: Places = np.arange(total) + np.repeat(starts - before, sizes)
        return found

    def slices(self, starts: Places, ends: Places, absent: Flags | None) -> pa.Array:
        """The bytes between each start and end, of which each comes after the one before; null where absent."""
        count = len(starts)
        offsets = np.empty(2 * count + 1, np.int32)
        offsets[0:-1:2], offsets[1::2] = starts, ends
        offsets[-1] = offsets[-2] if count else 0
        # Every second of these is what lies between two values: left out by taking the others.
        spread = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(offsets), self.buffer])
        return spread.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32), mask=absent))


def _joined(value: Words) -> Words:
    """Groups of seven bits, each in a byte, moved together."""
    value = (value & np.uint64(0x007F007F007F007F)) | ((value & np.uint64(0x7F007F007F007F00)) >> _ONE)
    value = (value & np.uint64(0x00003FFF00003FFF)) | ((value & np.uint64(0x3FFF00003FFF0000)) >> np.uint64(2))
    return (value & np.uint64(0x000000000FFFFFFF)) | ((value & np.uint64(0x0FFFFFFF00000000)) >> np.uint64(4))


def unzigzag(value: Words) -> npt.NDArray[np.int64]:
    return ((value >> _ONE) ^ (~(value & _ONE) + _ONE)).view(np.int64)
