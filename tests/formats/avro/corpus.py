"""Hostile messages, each with the code under which it is refused on the reference path and declined on the fast one."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.formats.avro.encoding import array, enum, fixed, logical, number, record, sized, text

MOST = 2**63 - 1
LEAST = -(2**63)
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 and 9999 in microseconds
PRICE = logical("bytes", "decimal", precision=4, scale=2)
TREE = {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": "int"}}}
WIDE = {"type": "array", "items": ["null", record(*["long"] * 26, name="Wide")]}
EIGHT_MB = 8 * 2**20


@dataclass(frozen=True)
class Bad:
    name: str
    schema: str
    body: bytes
    code: str


def _numbers() -> Iterator[tuple[str, Any, bytes, str]]:
    for kind in ("int", "long"):
        yield f"{kind}: nothing", kind, b"", "truncated"
        yield f"{kind}: cut off in the middle", kind, b"\x80\x80", "truncated"
        yield f"{kind}: ten bytes without an end", kind, b"\xff" * 10, "varint"
        yield f"{kind}: eleven bytes", kind, b"\x80" * 10 + b"\x01", "varint"
        yield f"{kind}: a thousand bytes", kind, b"\x80" * 1_000 + b"\x01", "varint"
        yield f"{kind}: 65 bits", kind, b"\xff" * 9 + b"\x02", "varint"
        yield f"{kind}: 70 bits", kind, b"\xff" * 9 + b"\x7f", "varint"
        yield f"{kind}: two numbers", kind, b"\x02\x02", "trailing"
        yield f"{kind}: a zero after it", kind, b"\x02\0", "trailing"
    yield "int: one too many", "int", number(2**31), "varint"
    yield "int: one too few", "int", number(-(2**31) - 1), "varint"
    yield "int: the largest long", "int", number(MOST), "varint"
    yield "int: the smallest long", "int", number(LEAST), "varint"
    yield "float: three bytes", "float", b"\0\0\0", "truncated"
    yield "float: five bytes", "float", b"\0" * 5, "trailing"
    yield "double: seven bytes", "double", b"\0" * 7, "truncated"
    yield "double: nine bytes", "double", b"\0" * 9, "trailing"
    yield "null: one byte", record("null", "boolean"), b"\x01\0", "trailing"
    yield "boolean: nothing", "boolean", b"", "truncated"
    for byte in (2, 0x80, 0xFF):
        yield f"boolean: {byte}", "boolean", bytes([byte]), "boolean"
    yield "boolean: one byte too many", "boolean", b"\x01\x01", "trailing"


def _texts() -> Iterator[tuple[str, Any, bytes, str]]:
    for kind in ("string", "bytes"):
        yield f"{kind}: nothing", kind, b"", "truncated"
        yield f"{kind}: one byte short", kind, text("abc")[:-1], "truncated"
        yield f"{kind}: one byte over", kind, text("abc") + b"d", "trailing"
        yield f"{kind}: of length -1", kind, number(-1), "length"
        yield f"{kind}: of length -3 before three bytes", kind, number(-3) + b"abc", "length"
        yield f"{kind}: of the smallest length", kind, number(LEAST) + b"abc", "length"
        yield f"{kind}: of length 2^31", kind, number(2**31) + b"abc", "truncated"
        yield f"{kind}: of length 2^62", kind, number(2**62) + b"abc", "truncated"
        yield f"{kind}: of the largest length", kind, number(MOST) + b"abc", "truncated"
        yield f"{kind}: a length that wraps around", kind, number(MOST - 40) + b"abc" * 20, "truncated"
        yield f"{kind}: a length of eleven bytes", kind, b"\x82" + b"\x80" * 9 + b"\0a", "varint"
    for name, letters in {
        "a lone byte of a longer one": b"\x80",
        "one that ends too early": b"ab\xc3",
        "overlong": b"\xc0\xaf",
        "overlong zero": b"\xe0\x80\x80",
        "half of a surrogate pair": b"\xed\xa0\x80",
        "beyond Unicode": b"\xf4\x90\x80\x80",
        "no such byte": b"\xff\xfe",
        "Latin-1": "Köln".encode("latin-1"),
        "good text before it": "Grüße, ".encode() + b"\xf0\x28\x8c\xbc",
        "a text split in a character": "日本".encode()[:-1],
    }.items():
        yield f"string: {name}", "string", text(letters), "text"
        yield f"string in a record: {name}", record("string", "string"), text("é") + text(letters), "text"
    yield "string: UTF-16", "string", text("ab\ud83d".encode("utf-16", "surrogatepass")), "text"


def _choices() -> Iterator[tuple[str, Any, bytes, str]]:
    union = record(["null", "long", "string"])
    for index in (3, -1, 2**31 - 1, -(2**31)):
        yield f"union: branch {index}", union, number(index) + b"\x02", "index"
        yield f"enum: symbol {index}", record(enum("A", "B", "C")), number(index), "index"
    for index in (2**32, MOST, LEAST):
        yield f"union: branch {index}", union, number(index) + b"\x02", "varint"
        yield f"enum: symbol {index}", record(enum("A", "B", "C")), number(index), "varint"
    yield "union: nothing", union, b"", "truncated"
    yield "union: a branch without a value", union, number(1), "truncated"
    yield "union: null with a value", union, b"\0\x02", "trailing"
    yield "union: an index of eleven bytes", union, b"\x80" * 10 + b"\0", "varint"
    yield "optional: branch 2", record(["null", "long"]), b"\x04\x02", "index"
    yield "optional: branch -1", record(["string", "null"]), b"\x01\x02a", "index"
    yield "union of null: branch 1", record(["null"], "boolean"), b"\x02\0", "index"
    yield "widened: branch 2", record(["int", "long"]), b"\x04\0", "index"
    yield "widened: an int beyond 32 bits", record(["int", "long"]), b"\0" + number(2**31), "varint"
    yield "enum: nothing", record(enum("A")), b"", "truncated"
    yield "fixed: one byte short", record(fixed(16)), b"x" * 15, "truncated"
    yield "fixed: one byte over", record(fixed(16)), b"x" * 17, "trailing"
    yield "fixed: two gigabytes", record(fixed(2**31 - 1)), b"x" * 17, "truncated"


def _lists() -> Iterator[tuple[str, Any, bytes, str]]:
    longs, nulls = {"type": "array", "items": "long"}, {"type": "array", "items": "null"}
    counts = {"a million million": 10**12, "2^62": 2**62, "the largest number of": MOST}
    for name, count in counts.items():
        yield f"array: {name} items", longs, number(count) + b"\0" * 9, "items"
        yield f"array: {name} nulls", nulls, number(count) + b"\0", "items"
        yield f"array: a sized block of {name} nulls", nulls, number(-count) + b"\0\0", "items"
        yield f"map: {name} entries", {"type": "map", "values": "null"}, number(count) + b"\0" * 9, "items"
        hollow = {"type": "array", "items": record(name="Nothing")}
        yield f"array: {name} empty records", record(hollow), number(count) + b"\0", "items"
        yield (
            f"array: {name} fixed of no size",
            record({"type": "array", "items": fixed(0)}),
            number(count) + b"\0",
            "items",
        )
    yield "array: the smallest count", longs, number(LEAST) + b"\0" * 9, "items"
    yield "array: ten thousand and one nulls", nulls, number(10_001) + b"\0", "items"
    yield "array: many blocks of nulls", nulls, number(9_999) * 3 + b"\0", "items"
    yield "array: a million and one items", longs, number(1_000_001) + b"\0" * 1_000_002, "items"
    yield "array: nothing", longs, b"", "truncated"
    yield "array: no end", longs, number(1) + number(5), "truncated"
    yield "array: one item less than it says", longs, number(3) + b"\x02\x02", "truncated"
    yield "array: something after its end", longs, array(b"\x02") + b"\x02", "trailing"
    yield "array: an end too many", longs, array(b"\x02") + b"\0", "trailing"
    yield "array: a block shorter than it says", longs, number(-1) + number(2) + b"\x02\0", "block"
    yield "array: a block longer than it says", longs, number(-2) + number(1) + b"\x02\x02\0", "block"
    yield "array: a block of negative size", longs, number(-1) + number(-1) + b"\x02\0", "block"
    yield "array: a block of the largest size", longs, number(-1) + number(MOST) + b"\x02\0", "block"
    yield "array: a sized block without a size", longs, number(-1), "truncated"
    yield "array: no end after a sized block", longs, sized(b"\x02"), "truncated"
    yield (
        "array: bad text in the last item",
        {"type": "array", "items": "string"},
        array(text("a"), text(b"\xff")),
        "text",
    )
    yield "array: of arrays that never end", TREE, number(1) * 30, "truncated"
    yield "array: of arrays, the inner too long", TREE, number(1) * 2 + number(2**40), "items"
    yield "array: of wide records that are all null", WIDE, number(40_000) + b"\0" * 40_001, "items"
    entries = {"type": "map", "values": "int"}
    yield "map: a key twice", entries, array(text("k") + b"\x02", text("k") + b"\x02"), "key"
    yield "map: a key twice in two blocks", entries, (sized(text("k") + b"\x02") * 2) + b"\0", "key"
    yield "map: an empty key twice", entries, array(text("") + b"\x02", text("a") + b"\x02", text("") + b"\x04"), "key"
    yield "map: a key of bad text", entries, array(text(b"\xc3\x28") + b"\x02"), "text"
    yield "map: a key of negative length", entries, number(1) + number(-1), "length"
    yield "map: a key without a value", entries, number(1) + text("k"), "truncated"
    yield "map: a value beyond 32 bits", entries, array(text("k") + number(2**31)), "varint"


def _meanings() -> Iterator[tuple[str, Any, bytes, str]]:
    for unit, factor in (("millis", 1_000), ("micros", 1)):
        for prefix in ("", "local-"):
            kind = logical("long", f"{prefix}timestamp-{unit}")
            yield f"{prefix}{unit}: after the year 9999", kind, number(LAST // factor + 1), "time"
            yield f"{prefix}{unit}: before the year 1", kind, number(FIRST // factor - 1), "time"
            yield f"{prefix}{unit}: the largest", kind, number(MOST), "time"
    yield "date: after the year 9999", logical("int", "date"), number(2_932_897), "time"
    yield "date: before the year 1", logical("int", "date"), number(-719_163), "time"
    yield "date: beyond 32 bits", logical("int", "date"), number(2**40), "varint"
    yield "time-millis: 24 hours", logical("int", "time-millis"), number(86_400_000), "time"
    yield "time-millis: -1", logical("int", "time-millis"), number(-1), "time"
    yield "time-micros: 24 hours", logical("long", "time-micros"), number(86_400_000_000), "time"
    yield "time-micros: the smallest", logical("long", "time-micros"), number(LEAST), "time"
    yield "decimal: no bytes", PRICE, text(b""), "decimal"
    yield "decimal: one digit too many", PRICE, text((10_000).to_bytes(3, "big")), "decimal"
    yield "decimal: one digit too many, negative", PRICE, text((-10_000).to_bytes(3, "big", signed=True)), "decimal"
    yield "decimal: 16 bytes", PRICE, text(b"\x7f" + b"\xff" * 15), "decimal"
    yield "decimal: 17 bytes", PRICE, text(b"\x01" + b"\0" * 16), "decimal"
    yield "decimal: a million bytes", PRICE, text(b"\x7f" * 1_000_000), "decimal"
    wide = fixed(16, logicalType="decimal", precision=38, scale=0)
    yield "decimal: 39 digits", record(wide), (10**38).to_bytes(16, "big"), "decimal"
    yield "decimal: 39 digits, negative", record(wide), (-(10**38)).to_bytes(16, "big", signed=True), "decimal"
    huge = logical("bytes", "decimal", precision=1_000, scale=10)
    yield "decimal: a million digits", huge, text(b"\x7f" * 400_000), "decimal"
    proper = "0f8fad5b-d9cb-469f-a165-70867728950e"
    for name, given in {
        "empty": "",
        "without dashes": proper.replace("-", ""),
        "dashes elsewhere": "0f8fad5bd-9cb-469f-a165-70867728950e",
        "a digit for a dash": proper.replace("-", "0", 1),
        "no hexadecimal digit": proper.replace("f", "g"),
        "one too short": proper[:-1],
        "one too long": proper + "0",
        "in braces": "{" + proper[1:-1] + "}",
        "other digits": proper[:-2] + "٣",
        "ends in a line": proper[:-1] + "\n",
    }.items():
        yield f"uuid: {name}", logical("string", "uuid"), text(given), "uuid"
    yield "uuid: 15 bytes", record(fixed(16, logicalType="uuid")), b"x" * 15, "truncated"
    yield "duration: 11 bytes", record(fixed(12, logicalType="duration")), b"x" * 11, "truncated"


def _shapes() -> Iterator[tuple[str, Any, bytes, str]]:
    order = record("long", "string", ["null", "double"], {"type": "array", "items": "string"})
    good = number(7) + text("abc") + b"\x02" + struct.pack("<d", 1.5) + array(text("x"))
    for size in (0, 1, 3, 5, 8, 13, 15, 16):
        yield f"record: the first {size} bytes", order, good[:size], "truncated"
    yield "record: twice", order, good * 2, "trailing"
    yield "record: with the header of a registry", order, b"\0\0\0\0\x01" + good, "trailing"
    yield "record: JSON", order, b'{"a": 7, "b": "abc"}', "index"
    yield "record: gzip", order, b"\x1f\x8b\x08\0\0\0\0\0", "length"
    yield "record: zeros", order, b"\0" * 100, "trailing"
    yield "record: ones", order, b"\xff" * 100, "varint"
    yield "record: larger than allowed", "bytes", text(b"x" * EIGHT_MB), "too-large"
    yield "record without fields: one byte", record(), b"\0", "trailing"


def _all() -> Iterator[Bad]:
    for group in (_numbers, _texts, _choices, _lists, _meanings, _shapes):
        for name, schema, body, code in group():
            yield Bad(name, json.dumps(schema), body, f"avro.{code}")


BAD = list(_all())
