"""Container files that are messages: opened, checked, and never further than the limit."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import time
import zlib
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from penstock.formats.avro.container import opened
from penstock.formats.avro.decoder import AvroDecoder
from penstock.formats.avro.schema import parse
from penstock.values.plain import Number, Refusal
from tests.formats.avro.encoding import array, number, record, text

SCHEMA = record("long", "string")
ROW = {"a": 7, "b": "x" * 100}
PLAIN = {"a": Number("7"), "b": "x" * 100}
SYNC = bytes(range(16))
LIMIT = 100_000


def _file(rows: list[Any], codec: str = "null") -> bytes:
    """As fastavro writes it."""
    found = io.BytesIO()
    fastavro.writer(found, fastavro.parse_schema(SCHEMA), rows, codec=codec)
    return found.getvalue()


def _header(codec: str | bytes | None = None, schema: Any = SCHEMA) -> bytes:
    entries = [text("avro.schema") + text(json.dumps(schema) if not isinstance(schema, bytes) else schema)]
    entries += [text("avro.codec") + text(codec)] if codec is not None else []
    return b"Obj\x01" + array(*entries) + SYNC


def _block(inner: bytes, count: int = 1, sync: bytes = SYNC) -> bytes:
    return number(count) + text(inner) + sync


BODY = number(7) + text("x" * 100)


def _snappy(inner: bytes) -> bytes:
    return bytes(pa.Codec("snappy").compress(inner, asbytes=True)) + zlib.crc32(inner).to_bytes(4, "big")


def _zstandard(inner: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(inner, asbytes=True))


def _deflate(inner: bytes) -> bytes:
    return zlib.compress(inner, wbits=-15)


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz"])
def test_what_fastavro_wrote_is_read(codec: str) -> None:
    found = opened(_file([ROW], codec), LIMIT)

    assert AvroDecoder(found.schema).plain(found.body) == PLAIN


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "snappy": _snappy,
    "zstandard": _zstandard,
    "deflate": _deflate,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("codec", PACKED)
def test_every_codec_is_opened(codec: str) -> None:
    assert opened(_header(codec) + _block(PACKED[codec](BODY)), LIMIT).body == BODY
    assert opened(_header(codec) + _block(PACKED[codec](b"")), LIMIT).body == b""


@pytest.mark.parametrize("codec", PACKED)
def test_what_is_damaged_is_refused(codec: str) -> None:
    packed = PACKED[codec](BODY)
    for inner in (packed[:-5], packed + b"rest", b"", b"\xff" * 9, BODY, packed[: len(packed) // 2]):
        assert _code(_header(codec) + _block(inner)) == "avro.codec"


def test_a_checksum_is_checked() -> None:
    assert _code(_header("snappy") + _block(_snappy(BODY)[:-4] + b"\0\0\0\0")) == "avro.codec"


@pytest.mark.parametrize("codec", PACKED)
def test_what_is_large_is_not_opened_further_than_the_limit(codec: str) -> None:
    packed, start = PACKED[codec](bytes(10_000_000)), time.process_time()

    assert _code(_header(codec) + _block(packed), 2_000_000) == "avro.too-large"
    assert time.process_time() - start < 1


@pytest.mark.parametrize("codec", PACKED)
def test_the_limit_is_kept_to_the_last_byte(codec: str) -> None:
    value = _header(codec) + _block(PACKED[codec](bytes(5_000)))

    assert opened(value, 5_000).body == bytes(5_000)
    assert _code(value, 4_999) == "avro.too-large"


def _code(value: bytes, limit: int = LIMIT) -> str:
    with pytest.raises(Refusal) as caught:
        opened(value, limit)
    assert caught.value.stage == "parse"
    return caught.value.code


def test_the_one_record_may_stand_between_empty_blocks() -> None:
    value = _header() + _block(b"", 0) + _block(BODY) + _block(b"", 0)

    assert opened(value, LIMIT).body == BODY
    assert json.loads(opened(value, LIMIT).schema) == SCHEMA


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", "avro.container"),
        (b"Obj\x02", "avro.container"),
        (b'{"a": 7}', "avro.container"),
        (b"Obj\x01", "avro.truncated"),
        (_header()[:-1], "avro.truncated"),
        (_header(), "avro.empty"),
        (_header() + _block(b"", 0), "avro.empty"),
        (_header() + _block(BODY * 2, 2), "avro.several"),
        (_header() + _block(BODY) * 2, "avro.several"),
        (_header() + _block(BODY, 2**62), "avro.several"),
        (_header() + _block(BODY, -1), "avro.container"),
        (_header() + _block(BODY, -1) + _block(BODY, 2), "avro.container"),
        (_header() + _block(BODY, sync=SYNC[::-1]), "avro.container"),
        (_header() + _block(BODY)[:-1], "avro.truncated"),
        (_header() + _block(BODY) + b"rest", "avro.length"),
        (_header() + number(1) + number(2**62), "avro.truncated"),
        (_header() + number(1) + number(-1), "avro.length"),
        (_header("lzo") + _block(BODY), "avro.codec"),
        (_header(b"\xff") + _block(BODY), "avro.container"),
        (_header(schema=b"\xff") + _block(BODY), "avro.container"),
        (b"Obj\x01" + array(text("avro.codec") + text("null")) + SYNC + _block(BODY), "avro.container"),
        (b"Obj\x01" + array(*[text("avro.schema") + text('"int"')] * 2) + SYNC + _block(b"\x02"), "avro.key"),
        (b"Obj\x01" + number(10**12) + b"\0" * 99, "avro.items"),
        (b"Obj\x01" + number(-5) + b"\0" * 99, "avro.key"),
        (_header() + _block(bytes(LIMIT)), "avro.too-large"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_is_no_container_of_one_record_is_refused(value: bytes, code: str) -> None:
    assert _code(value) == code


def test_several_records_are_never_one() -> None:
    assert _code(_file([ROW, ROW])) == "avro.several"
    assert _code(_file([])) == "avro.empty"


def test_a_reader_has_its_own_schema() -> None:
    reader = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "double"}]}
    found = opened(_file([ROW]), LIMIT)

    assert AvroDecoder(found.schema).plain_as(found.body, parse(json.dumps(reader))) == {"a": Number("7.0")}
