"""One message at a time: what the encoding says, also in forms that are legal and rare."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.formats.avro.reference import Branch, Limits, read
from penstock.formats.avro.schema import parse
from penstock.values.plain import Refusal
from tests.formats.avro.encoding import array, enum, fixed, number, record, sized, text

LONGS = {"type": "array", "items": "long"}


def _read(schema: Any, body: bytes, limits: Limits | None = None) -> Any:
    return read(body, parse(json.dumps(schema)), limits or Limits())


@pytest.mark.parametrize(
    ("schema", "body", "value"),
    [
        ("null", b"", None),
        ("boolean", b"\x01", True),
        ("int", b"\x03", -2),
        ("int", number(2**31 - 1), 2**31 - 1),
        ("int", number(-(2**31)), -(2**31)),
        ("long", number(2**63 - 1), 2**63 - 1),
        ("long", number(-(2**63)), -(2**63)),
        ("long", b"\x82\x80\x80\0", 1),
        ("int", b"\x82" + b"\x80" * 8 + b"\0", 1),
        ("float", b"\0\0\xc0\x3f", 1.5),
        ("double", b"\0" * 6 + b"\xf8\x3f", 1.5),
        ("bytes", b"\x04\xff\0", b"\xff\0"),
        ("string", text("日本\0"), "日本\0"),
        ("string", b"\0", ""),
        (enum("A", "B"), b"\x02", "B"),
        (fixed(2), b"ab", b"ab"),
        (fixed(0), b"", b""),
        (["null", "long"], b"\x02\x06", Branch(1, 3)),
        (["null", "long"], b"\0", Branch(0, None)),
        (LONGS, array(), []),
        (LONGS, array(b"\x02", b"\x04"), [1, 2]),
        (LONGS, number(1) + b"\x02" + number(1) + b"\x04\0", [1, 2]),
        (LONGS, sized(b"\x02", b"\x04") + number(1) + b"\x06" + sized(b"\x08") + b"\0", [1, 2, 3, 4]),
        ({"type": "array", "items": "null"}, number(3) + b"\0", [None] * 3),
        ({"type": "map", "values": "int"}, array(text("a") + b"\x02", text("") + b"\x04"), {"a": 1, "": 2}),
        (record("int", "string"), b"\x02\x02x", {"a": 1, "b": "x"}),
        (record(), b"", {}),
    ],
    ids=str,
)
def test_bytes_are_read_as_what_they_say(schema: Any, body: bytes, value: Any) -> None:
    assert _read(schema, body) == value


def _code(schema: Any, body: bytes, limits: Limits) -> str:
    with pytest.raises(Refusal) as caught:
        _read(schema, body, limits)
    assert caught.value.stage == "parse"
    return caught.value.code


def test_limits_are_kept_to_the_last_byte_and_item() -> None:
    body = array(b"\x02", b"\x02", b"\x02")

    assert _read(LONGS, body, Limits(bytes=len(body), items=3)) == [1, 1, 1]
    assert _code(LONGS, body, Limits(bytes=len(body) - 1)) == "avro.too-large"
    assert _code(LONGS, body, Limits(items=2)) == "avro.items"


def test_items_count_through_all_levels() -> None:
    nested = {"type": "array", "items": LONGS}
    body = array(*[array(b"\x02", b"\x02")] * 3)

    assert _read(nested, body, Limits(items=9)) == [[1, 1]] * 3
    assert _code(nested, body, Limits(items=8)) == "avro.items"


def test_items_count_by_their_columns() -> None:
    """Ten null records of twenty columns are two hundred values, whatever their bytes."""
    rows = {"type": "array", "items": ["null", record(*["int"] * 20)]}

    assert len(_read(rows, array(*[b"\0"] * 10), Limits(items=210))) == 10
    assert _code(rows, array(*[b"\0"] * 10), Limits(items=209)) == "avro.items"


def test_items_without_bytes_have_a_limit_of_their_own() -> None:
    nulls = {"type": "array", "items": "null"}

    assert len(_read(nulls, number(9) + b"\0", Limits(hollow=9))) == 9
    assert _code(nulls, number(10) + b"\0", Limits(hollow=9)) == "avro.items"


def test_a_refusal_says_where() -> None:
    with pytest.raises(Refusal) as caught:
        _read(record("long", "string"), b"\x02\x08ab")

    assert caught.value.text == "the value ends 2 bytes too early: 4 are needed at byte 2"
