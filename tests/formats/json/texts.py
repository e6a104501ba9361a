"""Generated JSON, as text: such as fits a schema, such as nearly does, and such as was made to hurt."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

from penstock.schema import Array, Decimal, Map, Struct, Type

Pairs = list[tuple[str, str]]
Make = Callable[[Random], str]


def words(text: str) -> list[str]:
    return text.split()


NAMES = ["a", "b", "c", "A", "id", "type", "é", 'q"uote', "back\\slash", "x.y", "_source", "kind"]
ODD_NAMES = ["with space", "", "a,b", "=", "\n", "\x00", "\x7f", "n" * 300, "İ", "\U0001f600"]

LETTERS = 'ab é☃\U0001f600\U00020000\U0010ffff\x00\n"\\/\x7f'
STRINGS = [
    '""',
    r'"\u0000"',
    r'"\ud83d\ude00"',
    r'"\/\b\f\n\r\t\"\\"',
    '"\x7f"',
    '"null"',
    '"1"',
    '"' + "long " * 9 + '"',
]
EDGES = [str(s * (n + d)) for n in (0, 2**7, 2**15, 2**24, 2**31, 2**53, 2**63) for d in (-1, 0, 1) for s in (1, -1)]
WHOLE = ["-0", "9" * 19, "9" * 20, "-" + "9" * 20, "1" + "0" * 22, "9" * 400, *EDGES]
FRACTIONS = [
    *words("0.0 -0.0 0.1 1e5 1E+5 1e-5 1.00 0e0 1.5e1 1e2 5e-324 1e-400 -1e-400 2.2250738585072011e-308"),
    *words("1e308 1.7976931348623157e308 1e309 1e999 -1e999 3.4e38 3.5e38 9007199254740993.0"),
    *words("0e999999999999999999999 1e99999999999999999999"),
    "1." + "0" * 300 + "1",
]
BROKEN = [
    *words("NaN -Infinity Infinity undefined None tru 'a' 01 1. .5 -.5 +1 - 1e 1e+ 0x10 /**/1 \ufeff1"),
    *words(r'"\ud800" "\udc00\ud800" "\q" "\u12" \u0031 " [ { ] [1,] [,1] {"a":1,} {1:1} {"a"} {"a":}'),
    *["", "1 2", '"\n"', '"\x01"'],
    *("[" * depth + "]" * depth for depth in (17, 99, 100)),
]
DATES = words("2024-02-29 2024-02-30 2023-02-29 0001-01-01 9999-12-31 0000-01-01 2020-W01-1 20200101 2020-1-1")
CLOCKS = words("23:59 24:00:00 23:59:60 12:00:00. 1:00:00")
ZONES = words("Z Z z +00:00 -00:00 +05:30 -0800 +23:59 -23:59")
ODD_ZONES = ["", "+24:00", "+00:60", "+01", "[UTC]", " Z"]


def chance(r: Random, out_of: int) -> bool:
    return r.randrange(out_of) == 0


def written(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def escaped(text: str) -> str:
    """A JSON string of nothing but escapes."""
    units = text.encode("utf-16-be")
    return '"' + "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)) + '"'


_KEYS: list[Callable[[str], str]] = [written, written, json.dumps, escaped]


def string(r: Random) -> str:
    if chance(r, 4):
        return r.choice(STRINGS)
    return r.choice(_KEYS)("".join(r.choices(LETTERS, k=r.randrange(8))))


def whole(r: Random) -> str:
    return r.choice(WHOLE) if chance(r, 3) else str(r.randint(-120, 120))


def fraction(r: Random) -> str:
    if chance(r, 4):
        return r.choice(FRACTIONS)
    digits = "".join(r.choices("0123456789", k=r.choice([1, 2, 17, 25])))
    return f"{r.choice(['', '-'])}{r.randrange(1000)}.{digits}{r.choice(['', '', f'e{r.randint(-330, 310)}'])}"


def date(r: Random) -> str:
    found = (
        r.choice(DATES)
        if chance(r, 4)
        else f"{r.randrange(1, 9999):04}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}"
    )
    return f'"{found}"'


def moment(r: Random) -> str:
    """A time as people write it: with or without a fraction, in some zone, or in none."""
    ends = [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59), datetime(1969, 12, 31, 23, 59, 59)]
    at = r.choice(ends) if chance(r, 5) else datetime(1, 1, 2) + timedelta(seconds=r.randrange(315_000_000_000))
    clock = r.choice(CLOCKS) if chance(r, 20) else at.time().isoformat(timespec="seconds")
    part = "." + "".join(r.choices("0123456789", k=r.choice([1, 3, 6, 6, 7, 9, 12]))) if chance(r, 2) else ""
    zone = r.choice(ODD_ZONES if chance(r, 12) else ZONES)
    return f'"{at.date().isoformat()}{r.choice("TTTTTt _")}{clock}{part}{zone}"'


SCALARS: list[Make] = [
    string,
    whole,
    fraction,
    lambda r: r.choice(["true", "false", "null"]),
    moment,
]


def array(elements: list[str]) -> str:
    return "[" + ",".join(elements) + "]"


def object_of(r: Random, pairs: Pairs) -> str:
    """An object of these fields, in this or that way of writing it, some keys perhaps twice."""
    if pairs and chance(r, 12):
        pairs = [*pairs, (r.choice(pairs)[0], r.choice(pairs)[1])]
    space = r.choice(["", "", "", " ", "\r\n\t "])
    key = r.choice(_KEYS)
    return "{" + ",".join(f"{space}{key(name)}{space}:{space}{value}{space}" for name, value in pairs) + "}"


def name(r: Random) -> str:
    return r.choice(ODD_NAMES if chance(r, 6) else NAMES)


def anything(r: Random, depth: int = 2) -> str:
    """Any JSON there is."""
    if not depth or chance(r, 2):
        return r.choice(SCALARS)(r)
    if chance(r, 2):
        return array([anything(r, depth - 1) for _ in range(r.randrange(4))])
    return object_of(r, [(name(r), anything(r, depth - 1)) for _ in range(r.randrange(4))])


def _base64(r: Random) -> str:
    return written(base64.b64encode(r.randbytes(r.randrange(4))).decode())


_FITTING: dict[str, Make] = {
    **dict.fromkeys(("long", "int", "short", "byte"), whole),
    **dict.fromkeys(("double", "float"), lambda r: whole(r) if chance(r, 2) else fraction(r)),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), moment),
    "string": string,
    "boolean": lambda r: r.choice(["true", "false"]),
    "date": date,
    "binary": lambda r: string(r) if chance(r, 4) else _base64(r),
    "json": lambda r: string(r) if chance(r, 2) else anything(r),
}


def value(r: Random, kind: Type, flaws: bool) -> str:
    """A value of the kind that a column wants. With flaws, it may also be null, something else, or no JSON."""
    if flaws and chance(r, 25):
        return r.choice(["null", "null", anything(r), anything(r), r.choice(BROKEN)])
    if isinstance(kind, Array):
        return array(["null" if chance(r, 5) else value(r, kind.of, flaws) for _ in range(r.randrange(4))])
    if isinstance(kind, Map):
        return object_of(r, [(name(r), value(r, kind.of, flaws)) for _ in range(r.randrange(3))])
    if isinstance(kind, Struct):
        return object_of(r, fields(r, kind, flaws))
    if isinstance(kind, Decimal):
        return r.choice([whole(r), fraction(r), f"{r.randint(-999, 999)}.{r.randrange(10)}"])
    return _FITTING[kind.name](r)


def fields(r: Random, kind: Struct, flaws: bool) -> Pairs:
    """Most fields of a struct; with flaws rarely one more, which is often null."""
    chosen = [field for field in kind if field.required or not chance(r, 6)]
    found = [(f.name, "null" if not f.required and chance(r, 8) else value(r, f.type, flaws)) for f in chosen]
    if flaws and chance(r, 8):
        found.insert(r.randrange(len(found) + 1), (name(r), "null" if chance(r, 2) else anything(r)))
    return found
