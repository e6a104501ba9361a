"""Which position went where: one small number per position of a slice.

With it a file that vanished before its table took it can be landed again, exactly: the same
positions into the same table, whatever a decoder would say of them today.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.contracts import Slice
from penstock.messages import Indices

ABSENT, FILTERED, TOMBSTONE, SKIPPED, WAITING, FIRST_TABLE = range(6)

_zstd = pa.Codec("zstd", 1)


class Routing:
    """The fate of every position of one slice."""

    def __init__(self, piece: Slice, names: Sequence[str] = (), codes: npt.NDArray[np.uint16] | None = None) -> None:
        self.slice = piece
        self.names = list(names)
        self._codes = {name: FIRST_TABLE + at for at, name in enumerate(self.names)}
        self.codes = np.zeros(piece.end - piece.start, np.uint16) if codes is None else codes

    def mark(self, positions: Indices, code: int) -> None:
        self.codes[positions - self.slice.start] = code

    def mark_table(self, positions: Indices, name: str) -> None:
        self.mark(positions, self._code(name))

    def _code(self, name: str) -> int:
        if name not in self._codes:
            self._codes[name] = FIRST_TABLE + len(self.names)
            self.names.append(name)
        return self._codes[name]

    def count(self, code: int) -> int:
        return int(np.count_nonzero(self.codes == code))

    def positions(self, name: str) -> Indices:
        """The positions that went to a table."""
        if name not in self._codes:
            return np.empty(0, np.int64)
        return np.flatnonzero(self.codes == self._codes[name]) + self.slice.start

    def mask(self, code: int) -> bytes:
        """Where this code is, one bit per position."""
        return np.packbits(self.codes == code).tobytes()

    def mask_of(self, name: str) -> bytes:
        return self.mask(self._codes.get(name, 0xFFFF))

    def completed(self, later: Routing) -> Routing:
        """This routing with what waited filled in from the batch's second job."""
        whole = Routing(self.slice, self.names, self.codes.copy())
        for name in later.names:
            whole.mark_table(later.positions(name), name)
        for code in (ABSENT, FILTERED, TOMBSTONE, SKIPPED):
            whole.codes[(self.codes == WAITING) & (later.codes == code)] = code
        return whole


class _Packed(msgspec.Struct):
    slice: Slice
    names: list[str]
    codes: bytes


def pack(routing: Routing) -> bytes:
    squeezed = _zstd.compress(routing.codes.tobytes(), asbytes=True)
    return msgspec.msgpack.encode(_Packed(routing.slice, routing.names, squeezed))


def unpack(text: bytes) -> Routing:
    packed = msgspec.msgpack.decode(text, type=_Packed)
    size = 2 * (packed.slice.end - packed.slice.start)
    codes = np.frombuffer(_zstd.decompress(packed.codes, decompressed_size=size, asbytes=True), np.uint16)
    return Routing(packed.slice, packed.names, codes)


_SIDE_FILE = pa.schema(
    [
        ("partition", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("tables", pa.list_(pa.string())),
        ("codes", pa.binary()),
    ]
)


def to_parquet(routings: Iterable[Routing]) -> bytes:
    """The side file of an entry."""
    rows = [
        {
            "partition": r.slice.partition,
            "start": r.slice.start,
            "end": r.slice.end,
            "tables": r.names,
            "codes": r.codes.tobytes(),
        }
        for r in routings
    ]
    out = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, _SIDE_FILE), out, compression="zstd")
    return bytes(out.getvalue())


def from_parquet(content: bytes) -> list[Routing]:
    rows = pq.read_table(pa.BufferReader(content)).to_pylist()
    return [
        Routing(Slice(r["partition"], r["start"], r["end"]), r["tables"], np.frombuffer(r["codes"], np.uint16))
        for r in rows
    ]


def unmask(mask: bytes, count: int) -> Indices:
    """The offsets into a slice that a packed mask names."""
    return np.flatnonzero(np.unpackbits(np.frombuffer(mask, np.uint8), count=count))
