"""Payloads that look odd and are right, and the row that each makes: columns that are not told are null."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from tests.formats.json.payloads import asset, order


@dataclass(frozen=True)
class Odd:
    """A payload that must be a row of this type, with these values."""

    name: str
    value: bytes
    told: dict[str, Any] = field(default_factory=dict)
    type: str = "order"

    @property
    def row(self) -> dict[str, Any]:
        return {"type": self.type, "id": 1} | self.told


def _utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def _deep(depth: int) -> str:
    return "[" * depth + "]" * depth


_STRINGS: dict[str, tuple[str, str]] = {
    "empty text": ('""', ""),
    "escapes": (r'"\"\\\/\b\f\n\r\t"', '"\\/\b\f\n\r\t'),
    "an escaped NUL": (r'"a\u0000b"', "a\x00b"),
    "escaped control characters": (r'"\u0001\u001f"', "\x01\x1f"),
    "escaped letters": (r'"\u0041\u00e9\u4E2D"', "Aé中"),
    "DEL as it is": ('"a\x7fb"', "a\x7fb"),
    "line separators as they are": ('"\u2028\u2029"', "\u2028\u2029"),
    "a BOM inside": ('"\ufeffa"', "\ufeffa"),
    "a surrogate pair": (r'"\ud83d\ude00"', "\U0001f600"),
    "a surrogate pair in capitals": (r'"\uD83D\uDE00"', "\U0001f600"),
    "a surrogate pair of the second plane": (r'"\ud840\udc00"', "\U00020000"),
    "a surrogate pair of the fourteenth plane": (r'"\udb40\udd00"', "\U000e0100"),
    "the last surrogate pair": (r'"\udbff\udfff"', "\U0010ffff"),
    "the last character as it is": ('"\U0010ffff"', "\U0010ffff"),
    "what is no character": ('"\uffff\ufdd0"', "\uffff\ufdd0"),
    "a character in two parts": ('"e\u0301"', "e\u0301"),
    "a backslash before what looks like an escape": (r'"\\ud840"', r"\ud840"),
    "what looks like null": ('"null"', "null"),
    "a long text": ('"' + "é" * 100_000 + '"', "é" * 100_000),
}
_NUMBERS: dict[str, tuple[str, str, float]] = {
    "the largest long": ("long", "9223372036854775807", 2**63 - 1),
    "the smallest long": ("long", "-9223372036854775808", -(2**63)),
    "a negative zero in a long": ("long", "-0", 0),
    "the largest int": ("int", "2147483647", 2**31 - 1),
    "the smallest short": ("short", "-32768", -(2**15)),
    "the smallest byte": ("byte", "-128", -128),
    "an integer in a double": ("double", "7", 7.0),
    "the largest exact integer in a double": ("double", "9007199254740992", 2.0**53),
    "a negative zero in a double": ("double", "-0", -0.0),
    "a negative zero with a fraction": ("double", "-0.0", -0.0),
    "the largest double": ("double", "1.7976931348623157e308", 1.7976931348623157e308),
    "the smallest double": ("double", "5e-324", 5e-324),
    "too small for a double": ("double", "1e-400", 0.0),
    "an exponent in capitals with a sign": ("double", "1E+5", 100_000.0),
    "more digits than a double has": ("double", "0.1000000000000000055511151231257827", 0.1),
    "an integer with an exponent in a double": ("double", "9007199254740993e0", 9007199254740992.0),
    "400 digits after the point": ("double", "0." + "3" * 400, 0.3333333333333333),
}
_MOMENTS: dict[str, tuple[str, datetime]] = {
    "a time with an offset": ("2024-05-01T12:00:00+05:30", _utc(2024, 5, 1, 6, 30)),
    "a time with an offset without colon": ("2024-05-01T12:00:00-0800", _utc(2024, 5, 1, 20)),
    "a time in small letters": ("2024-05-01t12:00:00z", _utc(2024, 5, 1, 12)),
    "a time with a space": ("2024-05-01 12:00:00Z", _utc(2024, 5, 1, 12)),
    "a time finer than microseconds": ("2024-05-01T12:00:00.123456999Z", _utc(2024, 5, 1, 12, 0, 0, 123456)),
    "a time finer than nanoseconds": ("2024-05-01T12:00:00.1234569999999Z", _utc(2024, 5, 1, 12, 0, 0, 123456)),
    "a time before the epoch": ("1969-12-31T23:59:59.9999999Z", _utc(1969, 12, 31, 23, 59, 59, 999999)),
    "the zero time of Go": ("0001-01-01T00:00:00Z", _utc(1, 1, 1)),
    "the last time": ("9999-12-31T23:59:59.999999Z", _utc(9999, 12, 31, 23, 59, 59, 999999)),
    "a leap day": ("2024-02-29T00:00:00Z", _utc(2024, 2, 29)),
}
_DOCS: dict[str, tuple[str, str]] = {
    "JSON text of a text": ('"a"', "a"),
    "JSON text of a number beyond all columns": ("1" + "0" * 400, "1" + "0" * 400),
    "JSON text of a number as it was written": ("1.50E+3", "1.50E+3"),
    "JSON text of an object with odd keys": ('{"a b" : [ 1 , null ], "A B":{}}', '{"a b":[1,null],"A B":{}}'),
    "JSON text of a boolean": ("true", "true"),
    "JSON text nested 99 deep": (_deep(99), _deep(99)),
}
_REST: list[Odd] = [
    Odd("nothing but what must be there", order()),
    Odd("whitespace everywhere", b' \r\n\t{ "type" :\t"order" ,\n"id" : 1\r} \n'),
    Odd("keys in another order", b'{"text":"a","id":1,"type":"order"}', {"text": "a"}),
    Odd("escaped keys", rb'{"\u0074ype":"\u006frder","i\u0064":1,"\u0074ext":"a"}', {"text": "a"}),
    Odd("a key twice: the last one counts", order('"text":"a","text":"b"'), {"text": "b"}),
    Odd("a key twice: the last one counts, whatever was first", order('"long":"a","long":7'), {"long": 7}),
    Odd("a key twice: an object is not merged", order('"place":{"city":"a"},"place":{"zip":1}'), {"place": {"zip": 1}}),
    Odd("a type twice, the same one", order('"type":"order"')),
    Odd("a type twice, the last one counts", b'{"type":"asset","id":1,"type":"order"}'),
    Odd("nulls", order('"text":null,"long":null,"tags":null,"place":null,"lines":null,"doc":null')),
    Odd("unknown fields that are null", order('"unheard":null,"a b":null,"TEXT":null')),
    Odd("an unknown field that is an empty object", order('"unheard":{},"neither":{"a":{"b":null}}')),
    Odd("empty arrays", order('"tags":[],"lines":[],"doc":[]'), {"tags": [], "lines": [], "doc": "[]"}),
    Odd("an empty object", order('"place":{},"doc":{}'), {"place": {}, "doc": "{}"}),
    Odd("nulls in arrays", order('"tags":["a",null],"lines":[null,{}]'), {"tags": ["a", None], "lines": [None, {}]}),
    Odd("a null further inside", order('"place":{"city":null,"geo":{"lat":-0.0}}'), {"place": {"geo": {"lat": -0.0}}}),
    Odd("brackets in a text", order(f'"text":"{"[{" * 200}"'), {"text": "[{" * 200}),
    Odd("10,000 elements", order('"tags":[' + ",".join(['"a"'] * 10_000) + "]"), {"tags": ["a"] * 10_000}),
    Odd("exactly as large as may be", order() + b" " * (700_000 - len(order()))),
    Odd("a leap day as a date", order('"day":"2024-02-29"'), {"day": date(2024, 2, 29)}),
    Odd("the first date", order('"day":"0001-01-01"'), {"day": date(1, 1, 1)}),
    Odd("a float", asset('"float":0.1'), {"float": 0.10000000149011612}, "asset"),
    Odd(
        "a time of no zone",
        asset('"clock":"2024-03-31 02:30:00.5"'),
        {"clock": datetime(2024, 3, 31, 2, 30, 0, 500000)},
        "asset",
    ),
    Odd("bytes", asset('"raw":"AP9h"'), {"raw": b"\x00\xffa"}, "asset"),
    Odd("a price", asset('"price":-12345678.90'), {"price": Decimal("-12345678.90")}, "asset"),
    Odd("a price with an exponent", asset('"price":1.5e3'), {"price": Decimal("1500.00")}, "asset"),
    Odd("a price with zeros at the end", asset('"price":1.50000'), {"price": Decimal("1.50")}, "asset"),
    Odd("counts", asset('"counts":{"a b":1,"":null,"é":-0}'), {"counts": [("a b", 1), ("", None), ("é", 0)]}, "asset"),
]

ODD: list[Odd] = [
    *(Odd(name, order(f'"text":{text}'), {"text": value}) for name, (text, value) in _STRINGS.items()),
    *(Odd(name, order(f'"{column}":{text}'), {column: value}) for name, (column, text, value) in _NUMBERS.items()),
    *(Odd(name, order(f'"moment":"{text}"'), {"moment": value}) for name, (text, value) in _MOMENTS.items()),
    *(Odd(name, order(f'"doc":{text}'), {"doc": value}) for name, (text, value) in _DOCS.items()),
    *_REST,
]
