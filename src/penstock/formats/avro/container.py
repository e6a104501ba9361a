"""A whole Avro object container file in one message: the schema, and exactly one record that was written with it."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.formats.avro.model import Entries, Primitive
from penstock.formats.avro.reference import Limits, Reading, refuse
from penstock.formats.avro.schema import MAX_TEXT

MAGIC = b"Obj\x01"

_SYNC = 16
_META = Entries(Primitive("bytes"))
_HEADER = Limits(items=1_000)
_CHECKSUM = 4
_XZ_MEMORY = 128 * 2**20


@dataclass(frozen=True, slots=True)
class Opened:
    """What a container holds."""

    schema: str
    body: bytes


def opened(value: bytes, limit: int) -> Opened:
    """The schema and the one record of a container; a `Refusal` if it is damaged, or has no record or several: none
    is ever left out."""
    if len(value) > limit:
        raise refuse("too-large", f"the value has {len(value)} bytes, the limit is {limit}")
    if not value.startswith(MAGIC):
        raise refuse("container", "the value is not an Avro container file: it does not begin with 'Obj' and 1")
    reading = Reading(value, _HEADER)
    reading.take(len(MAGIC))
    meta = reading.value(_META)
    schema, codec = _text(meta, "avro.schema", None), _text(meta, "avro.codec", "null")
    block = _block(reading, reading.take(_SYNC))
    return Opened(schema, _uncompressed(block, codec, limit))


def _text(meta: dict[str, bytes], key: str, default: str | None) -> str:
    found = meta.get(key, default)
    if found is None or len(found) > MAX_TEXT:
        raise refuse("container", f"the container has no '{key}', or a very long one")
    try:
        return found if isinstance(found, str) else found.decode("utf-8")
    except UnicodeDecodeError:
        raise refuse("container", f"'{key}' of the container is not valid UTF-8") from None


def _block(reading: Reading, sync: bytes) -> bytes:
    """The block that holds the one record."""
    records, found = 0, b""
    while reading.at < len(reading.body):
        count, block = reading.a_long(), reading.a_bytes()
        if reading.take(_SYNC) != sync:
            raise refuse("container", f"the block that ends at byte {reading.at} is not followed by the sync marker")
        if count < 0:
            raise refuse("container", "the container has a block with a negative number of records")
        records, found = records + count, block if count else found
    if not records:
        raise refuse("empty", "the container has no record")
    if records > 1:
        raise refuse("several", f"the container has {records} records, and a message makes one row")
    return found


def _uncompressed(block: bytes, codec: str, limit: int) -> bytes:
    opener = _CODECS.get(codec)
    if opener is None:
        raise refuse("codec", f"the container is compressed with {codec[:60]!r}; known are {', '.join(_CODECS)}")
    try:
        found = opener(block, limit + 1)
    except (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError):
        raise refuse("codec", f"the container is not compressed with {codec}, or is damaged") from None
    if len(found) > limit:
        raise refuse("too-large", f"uncompressed, the value has more than the {limit} bytes allowed")
    return found


def _stored(block: bytes, _: int) -> bytes:
    return block


def _deflate(block: bytes, most: int) -> bytes:
    """Some libraries leave the beginning of zlib's checksum behind the text."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    found = stream.decompress(block, most)
    checksum = zlib.adler32(found).to_bytes(_CHECKSUM, "big")
    if len(found) < most and not (stream.eof and checksum.startswith(stream.unused_data)):
        raise ValueError
    return found


def _bzip2(block: bytes, most: int) -> bytes:
    return _whole(bz2.BZ2Decompressor(), block, most)


def _xz(block: bytes, most: int) -> bytes:
    return _whole(lzma.LZMADecompressor(memlimit=_XZ_MEMORY), block, most)


def _whole(stream: Any, block: bytes, most: int) -> bytes:
    """What one stream holds, up to a number of bytes; it has to end with the block."""
    found: bytes = stream.decompress(block, most)
    if len(found) < most and (not stream.eof or stream.unused_data):
        raise ValueError
    return found


def _snappy(block: bytes, most: int) -> bytes:
    """Snappy says first how long the text is, so that it is known before anything is made."""
    packed, checksum = block[:-_CHECKSUM], block[-_CHECKSUM:]
    size = 0
    for place, part in enumerate(packed[:5]):
        size |= (part & 0x7F) << (7 * place)
        if part < 0x80:
            break
    else:
        raise ValueError
    if size >= most:
        return bytes(most)  # refused by its length
    found: bytes = pa.Codec("snappy").decompress(packed, size, asbytes=True)
    if zlib.crc32(found).to_bytes(_CHECKSUM, "big") != checksum:
        raise ValueError
    return found


def _zstandard(block: bytes, most: int) -> bytes:
    if not block:
        raise ValueError  # nothing compressed is not nothing, and Arrow would take it for that
    with pa.CompressedInputStream(pa.BufferReader(block), "zstd") as stream:
        found: bytes = stream.read(most)
    return found


_CODECS: dict[str, Callable[[bytes, int], bytes]] = {
    "null": _stored,
    "deflate": _deflate,
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": _bzip2,
    "xz": _xz,
}
