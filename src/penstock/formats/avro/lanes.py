"""Many messages read side by side: one cursor in each, all of them moved by one value at a time.

Bytes are read a whole column at once, whatever they are; a message that breaks a rule is marked as bad, and its cursor
then rests at its end, so that what is read there is harmless. Nobody looks at values of bad messages.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Marks = npt.NDArray[np.bool_]

PAD = 16
"""Bytes before the first and after the last message: a load may begin before a value or end behind it."""

_STOPS, _ONE = np.uint64(0x8080808080808080), np.uint64(1)
_PAYLOAD = np.uint64(0x7F7F7F7F7F7F7F7F)
_FOLDS = [
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
]


class Chunk:
    """The bytes of some messages, which of them are bad, and how much may still be spent on reading them."""

    few = 16
    most_rounds = 4_000
    most_cells = 4_000_000

    def __init__(self, joined: npt.NDArray[np.uint8], count: int) -> None:
        size = PAD + len(joined) + PAD
        self.bytes = np.zeros((size + 7) // 8 * 8, np.uint8)
        self.bytes[PAD : PAD + len(joined)] = joined
        self.words = self.bytes.view("<u8")
        self.buffer = pa.py_buffer(self.bytes)
        self.bad: Marks = np.zeros(count, bool)
        self.cells: Longs = np.zeros(count, np.int64)
        self._rounds = 0

    def spend(self, lanes: int) -> bool:
        """Whether to read the next items of so many lanes: not of so few that one at a time is as fast."""
        self._rounds += 1
        return lanes >= self.few and self._rounds <= self.most_rounds


class Lanes:
    """The cursors of some messages of a chunk, in the order of the messages."""

    __slots__ = ("at", "chunk", "ends", "owners")

    def __init__(self, chunk: Chunk, at: Longs, ends: Longs, owners: Longs) -> None:
        self.chunk, self.at, self.ends, self.owners = chunk, at, ends, owners

    def __len__(self) -> int:
        return len(self.at)

    def only(self, places: Longs) -> Lanes:
        """Some of the lanes, to be put back when they have been read."""
        return Lanes(self.chunk, self.at[places], self.ends[places], self.owners[places])

    def put(self, places: Longs, read: Lanes) -> None:
        self.at[places] = read.at

    def fail(self, marks: Marks) -> None:
        """These are bad."""
        if marks.any():
            self.chunk.bad[self.owners[marks]] = True
            self.at[marks] = self.ends[marks]

    def taken(self, lengths: Longs | int) -> tuple[Longs, Longs | int]:
        """Where so many bytes begin, and how many they are: none where there are fewer."""
        over = lengths > self.ends - self.at
        if isinstance(lengths, np.ndarray):
            over |= lengths < 0
        if over.any():
            self.fail(over)
            lengths = np.where(over, 0, lengths)
        start = self.at
        self.at = start + lengths
        return start, lengths

    def byte(self) -> npt.NDArray[np.uint8]:
        return self.chunk.bytes[self._start(1)]

    def word(self, length: int) -> Words:
        """The next 4 or 8 bytes, little-endian; above them is what follows."""
        return load(self.chunk, self._start(length))

    def _start(self, length: int) -> Longs:
        """Where a value of this length begins; it may reach into what follows where a message is bad."""
        start, _ = self.taken(length)
        return start

    def integer(self) -> Longs:
        """A zigzag number of up to 64 bits."""
        first = self.chunk.bytes[self.at]
        if len(first) and first.max() < 0x80:
            found = first.astype(np.uint64)
            self.at = self.at + 1
        else:
            found, lengths = self._varint()
            self.at = self.at + lengths
        over = self.at > self.ends
        if over.any():
            self.fail(over)
        return (found >> _ONE).view(np.int64) ^ -(found & _ONE).view(np.int64)

    def _varint(self) -> tuple[Words, Longs]:
        word = load(self.chunk, self.at)
        stops = ~word & _STOPS
        below = stops ^ (stops - _ONE)  # the bits up to the first byte that ends a number; all if there is none
        lengths = ((np.bitwise_count(below) + 7) >> 3).astype(np.int64)
        found = word & below & _PAYLOAD
        for low, high, shift in _FOLDS:
            found = (found & low) | ((found & high) >> shift)
        if not stops.all():
            self._lengthen(found, lengths, np.flatnonzero(stops == 0))
        return found, lengths

    def _lengthen(self, found: Words, lengths: Longs, places: Longs) -> None:
        """Numbers of nine or ten bytes get their last bits."""
        ninth = self.chunk.bytes[self.at[places] + 8].astype(np.uint64)
        tenth = self.chunk.bytes[self.at[places] + 9].astype(np.uint64)
        is_longer = ninth >= 0x80
        found[places] |= (ninth & np.uint64(0x7F)) << np.uint64(56)
        found[places] |= np.where(is_longer, tenth << np.uint64(63), np.uint64(0))
        lengths[places] = np.where(is_longer, 10, 9)
        over = np.zeros(len(self), bool)
        over[places] = is_longer & (tenth > 1)
        self.fail(over)


def load(chunk: Chunk, start: Longs) -> Words:
    """The eight bytes from each of these places on, little-endian."""
    index, shift = start >> 3, ((start & 7) << 3).view(np.uint64)
    low, high = chunk.words[index] >> shift, chunk.words[index + 1] << _ONE
    found: Words = low | (high << (np.uint64(63) - shift))
    return found
