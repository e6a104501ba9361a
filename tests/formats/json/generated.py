"""Generated traffic: shapes for a few types, a route, and messages that go that way."""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random

from hypothesis import settings

from penstock.contracts import Shape, Shapes
from penstock.messages import SOURCE_COLUMNS
from penstock.schema import JSON, LONG, STRING, Array, Decimal, Field, Map, Scalar, Schema, Struct, Type
from tests.formats.json.texts import BROKEN, NAMES, chance, fields, object_of, words, written

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", "0"))
"""More, and other ones on every run: for a hunt. Otherwise the examples are always the same."""


def bounded(examples: int) -> settings:
    return settings(max_examples=EXAMPLES or examples, deadline=None, derandomize=not EXAMPLES, database=None)


EVOLVES = ["add", "freeze", "rescue", "ignore"]
OUTSIDE = ["new", "other", "unwanted", "bad", "", 'q"uote\\', "é"]
"""Types without a table: new ones, ones that the route does not allow, and one that may not have one."""

_FAST: list[Type] = [Scalar(name) for name in words("string json boolean byte short int long double date timestamp")]
_SLOW: list[Type] = [*(Scalar(name) for name in words("float timestamp_ntz binary")), Decimal(10, 2), Map(LONG)]


@dataclass(frozen=True)
class Traffic:
    """Messages, the types they come with where the route knows them before, and the shapes they meet."""

    shapes: Shapes
    values: list[bytes]
    types: list[str] | None


def kind(r: Random, depth: int = 2, *, slow: bool) -> Type:
    if depth and chance(r, 3):
        return Array(kind(r, depth - 1, slow=slow)) if chance(r, 2) else schema(r, depth - 1, slow=slow)
    return r.choice(_SLOW if slow and chance(r, 3) else _FAST)


def schema(r: Random, depth: int = 2, *, slow: bool) -> Schema:
    names = {name.lower(): name for name in r.sample(NAMES, r.randint(1, 4))}
    return Struct(tuple(Field(name, kind(r, depth, slow=slow), chance(r, 6)) for name in names.values()))


def shapes(r: Random) -> Shapes:
    route = r.choice(["type", "type", "meta.kind", 'q"uote', None])
    known = {}
    for name in ["t0", "t1", "unwanted.too"][: r.randint(1, 3)]:
        columns = schema(r, slow=chance(r, 3))
        if route == "type" and not chance(r, 5):
            tag = Field("type", r.choice([STRING, STRING, JSON, LONG]), chance(r, 2))
            columns = Struct((*columns.without(["type"]), tag))
        reserved = frozenset(field.name for field in SOURCE_COLUMNS) if chance(r, 2) else frozenset[str]()
        known[name] = Shape(columns, r.choice(EVOLVES), reserved)
    allow = r.choice([None, "^(t|new|bad|$)"])
    return Shapes(known, route, allow, {"bad": ("type.limit", "there is no room")})


def message(r: Random, given: Shapes) -> tuple[bytes, str]:
    """A message and its type, which stands in it where the route looks for it."""
    name = r.choice(OUTSIDE) if chance(r, 4) else r.choice([*given.types])
    columns = given.types[name].schema if name in given.types else schema(r, slow=False)
    pairs = fields(r, columns, flaws=chance(r, 2))
    if given.field is not None:
        outer, _, inner = given.field.partition(".")
        type = r.choice(["null", "7", '""', r.choice(BROKEN)]) if chance(r, 30) else written(name)
        pairs = [pair for pair in pairs if pair[0] != outer]
        pairs.insert(r.choice([0, len(pairs)]), (outer, f'{{"{inner}":{type}}}' if inner else type))
        if chance(r, 20):
            pairs.append((outer, "null"))
    text = object_of(r, pairs).encode()
    return damaged(r, text) if chance(r, 15) else text, name


def damaged(r: Random, text: bytes) -> bytes:
    """Bytes added, replaced or cut off somewhere."""
    start = r.randrange(len(text) + 1)
    end = r.choice([start, start + 1, len(text)])
    odd = [
        b"",
        b"\xff",
        b"\xed\xa0\x80",
        b"\xc0\xaf",
        b"\xf4\x90\x80\x80",
        b"\xe2\x98",
        b"\x00",
        b"\x0b",
        b"\xef\xbb\xbf",
    ]
    return (
        text[:start] + r.choice([*odd, b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b" ", b"1", b"-"]) + text[end:]
    )


def traffic(r: Random, count: int = 40) -> Traffic:
    """Messages of known types and of others, good and bad."""
    made = shapes(r)
    found = [message(r, made) for _ in range(count)]
    return Traffic(made, [value for value, _ in found], [name for _, name in found] if made.field is None else None)
