"""Values with a meaning, as plain ones; and the same from the fast path."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import pytest

from penstock.formats.avro.decoder import AvroDecoder
from penstock.values.plain import Number
from tests.formats.avro.encoding import array, enum, fixed, logical, number, record, text
from tests.formats.avro.oracle import fast, referred, shown

PRICE = logical("bytes", "decimal", precision=10, scale=2)
WIDE = logical("bytes", "decimal", precision=38, scale=38)
INNER = record("float", name="shop.Inner")
EITHER = ["string", "null", "long", INNER]
UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"


def _float(value: float) -> bytes:
    return struct.pack("<f", value)


def _signed(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big", signed=True)


CASES: list[tuple[Any, bytes, Any]] = [
    ("int", number(-5), Number("-5")),
    ("long", number(2**63 - 1), Number("9223372036854775807")),
    ("float", _float(0.1), Number("0.10000000149011612")),
    ("float", _float(16777216.0), Number("16777216.0")),
    ("float", struct.pack("<I", 0x7F7FFFFF), Number("3.4028234663852886e+38")),
    ("float", struct.pack("<I", 1), Number("1.401298464324817e-45")),
    ("float", _float(-0.0), Number("-0.0")),
    ("double", struct.pack("<d", 0.1), Number("0.1")),
    ("double", struct.pack("<d", 1e300), Number("1e+300")),
    ("double", struct.pack("<d", -math.inf), -math.inf),
    ("float", _float(math.inf), math.inf),
    ("double", struct.pack("<d", math.nan), math.nan),
    ("boolean", b"\0", False),
    ("bytes", text(b"\0\xff"), "AP8="),
    (fixed(2), b"\0\xff", "AP8="),
    (fixed(0), b"", ""),
    (enum("A", "B"), b"\x02", "B"),
    (["null", "int"], b"\0", None),
    (["int", "null"], b"\0\x02", Number("1")),
    (["int", "long"], b"\0\x02", Number("1")),
    (["int", "long"], b"\x02" + number(2**40), Number("1099511627776")),
    (["float", "double"], b"\0" + _float(0.1), Number("0.10000000149011612")),
    (["float", "double"], b"\x02" + struct.pack("<d", 0.1), Number("0.1")),
    (EITHER, b"\0" + text("x"), {"string": "x"}),
    (EITHER, b"\x02", None),
    (EITHER, b"\x04\x02", {"long": Number("1")}),
    (EITHER, b"\x06" + _float(1.5), {"Inner": {"a": Number("1.5")}}),
    ([record(name="Nothing"), "int"], b"\0", {"Nothing": {}}),
    (record("null", name="Nothing"), b"", {"a": None}),
    ({"type": "array", "items": "null"}, number(2) + b"\0", [None, None]),
    ({"type": "array", "items": ["null"]}, array(b"\0", b"\0"), [None, None]),
    ({"type": "map", "values": "null"}, array(text("k")), {"k": None}),
    (PRICE, text(_signed(1230, 2)), Number("12.30")),
    (PRICE, text(_signed(-5, 1)), Number("-0.05")),
    (PRICE, text(b"\0"), Number("0.00")),
    (PRICE, text(_signed(9_999_999_999, 5)), Number("99999999.99")),
    (PRICE, text(_signed(-9_999_999_999, 16)), Number("-99999999.99")),
    (PRICE, text(_signed(-(2**31), 4)), Number("-21474836.48")),
    (PRICE, text(_signed(7, 8)), Number("0.07")),
    (PRICE, text(_signed(-7, 9)), Number("-0.07")),
    (WIDE, text(_signed(10**38 - 1, 16)), Number("0." + "9" * 38)),
    (WIDE, text(_signed(1 - 10**38, 16)), Number("-0." + "9" * 38)),
    (fixed(9, logicalType="decimal", precision=20), _signed(-(2**64), 9), Number("-18446744073709551616")),
    (fixed(8, logicalType="decimal", precision=18), _signed(-(10**17), 8), Number("-100000000000000000")),
    (logical("bytes", "decimal", precision=50, scale=1), text(_signed(10**45, 20)), "1" + "0" * 44 + ".0"),
    (logical("int", "date"), number(-719_162), "0001-01-01"),
    (logical("int", "date"), number(2_932_896), "9999-12-31"),
    (logical("int", "time-millis"), number(86_399_999), "23:59:59.999000"),
    (logical("long", "time-micros"), number(0), "00:00:00.000000"),
    (logical("long", "time-micros"), number(86_399_999_999), "23:59:59.999999"),
    (logical("long", "timestamp-millis"), number(-1), "1969-12-31T23:59:59.999000Z"),
    (logical("long", "timestamp-millis"), number(-62_135_596_800_000), "0001-01-01T00:00:00.000000Z"),
    (logical("long", "timestamp-millis"), number(253_402_300_799_999), "9999-12-31T23:59:59.999000Z"),
    (logical("long", "timestamp-micros"), number(-62_135_596_800_000_000), "0001-01-01T00:00:00.000000Z"),
    (logical("long", "timestamp-micros"), number(253_402_300_799_999_999), "9999-12-31T23:59:59.999999Z"),
    (logical("long", "timestamp-nanos"), number(1_999), "1970-01-01T00:00:00.000001Z"),
    (logical("long", "timestamp-nanos"), number(-1), "1969-12-31T23:59:59.999999Z"),
    (logical("long", "timestamp-nanos"), number(-(2**63)), "1677-09-21T00:12:43.145224Z"),
    (logical("long", "local-timestamp-micros"), number(1), "1970-01-01T00:00:00.000001"),
    (logical("long", "local-timestamp-nanos"), number(2**63 - 1), "2262-04-11T23:47:16.854775"),
    (logical("string", "uuid"), text(UUID.upper()), UUID),
    (fixed(16, logicalType="uuid"), bytes.fromhex(UUID.replace("-", "")), UUID),
    (
        fixed(12, logicalType="duration"),
        struct.pack("<III", 1, 2, 2**32 - 1),
        {"months": Number("1"), "days": Number("2"), "milliseconds": Number("4294967295")},
    ),
]

ONE_BY_ONE = [{"type": "array", "items": "null"}, logical("bytes", "decimal", precision=50, scale=1)]


@pytest.mark.parametrize(("schema", "body", "plain"), CASES, ids=lambda given: str(given)[:50])
def test_value_is_plain_and_the_same_in_columns(schema: Any, body: bytes, plain: Any) -> None:
    decoder = AvroDecoder(json.dumps(record(schema, "boolean")))
    message = decoder.plain(body + b"\x01")

    assert shown(message) == shown({"a": plain, "b": True})
    assert message["a"].__class__ is plain.__class__
    expected = None if schema in ONE_BY_ONE else referred(decoder, body + b"\x01")
    assert fast(decoder, [body + b"\x01"]) == [expected]


def test_texts_of_floats_read_back_as_the_same_floats() -> None:
    decoder = AvroDecoder('"float"')
    for bits in range(0, 0x7F800000, 104_729):
        [value] = struct.unpack("<f", raw := struct.pack("<I", bits))

        assert struct.pack("<f", float(decoder.plain(raw)["value"])) == raw, value
