"""Generated messages and rules for them: ordinary ones, and such as were made to hurt."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.arrow import arrow_schema
from penstock.contracts import Shape
from penstock.merging import merge, settled
from penstock.schema import Schema, Struct
from penstock.transforms.program import AboutColumns
from penstock.transforms.reference import About
from penstock.values.fit import fit
from penstock.values.plain import Number, Refusal, infer
from tests.formats.json.texts import words

NAMES = ["a", "b", "c", "id", "ts", "é", "q'uote", 'd"quote', "back\\slash", "null", "kafka"]
TEXTS = ["", "a", "abc", "2021-03-24T15:06:17.321710+00:00", "T1", "null", "true", "x-y", "é☃\U0001f600"]
TEXTS += ["\x00", "a\x00b", "long " * 200]
DIGITS = words("0 7 -5 12 1626823098 1626823098.51995 1.50 0.1 -0 -0.0 007 1e5 1E-7 +7 1_000 0x1F 1. .5 ٣ NaN Infinity")
DIGITS += [" 7", "7\n", "9007199254740993", "9" * 18, "9" * 19, "9" * 20, "1" * 400, "1e400", "1." + "0" * 40 + "1"]
WHOLE = [0, 1, -1, 2, 1626823098, 1626823098519, 1626823098519123, 1626823098519123456, -62135596800, 253402300800]
WHOLE += [s * (2**n + d) for n in (31, 53, 62) for d in (-1, 0, 1) for s in (1, -1)] + [2**63 - 1, -(2**63)]
FRACTIONS = words("0.0 -0.0 0.1 1.5 1.0 2.00 1e5 1E-7 5e-324 1e308 1626823098.51995 -1.5 9007199254740993.0 1e22 -0.5")
NUL = chr(0)
SOURCES = ["kafka.offset", "kafka.partition", "kafka.topic", "kafka.timestamp", "kafka.timestamp_type"]

Kind = str | dict[str, Any] | list[Any]
"""A word for a scalar, an object of kinds, or the kind of an array's elements in a list."""


def chance(r: Random, out_of: int) -> bool:
    return r.randrange(out_of) == 0


def kind(r: Random, depth: int = 2) -> Kind:
    if depth and chance(r, 3):
        return [kind(r, depth - 1)] if chance(r, 2) else shape(r, depth - 1)
    return r.choice(["string", "string", "digits", "long", "long", "double", "boolean"])


def shape(r: Random, depth: int = 2) -> dict[str, Kind]:
    return {name: kind(r, depth) for name in r.sample(NAMES, r.randint(1, 5))}


def value(r: Random, of: Kind, *, odd: bool) -> Any:
    if chance(r, 12):
        return None
    if odd and chance(r, 60):  # of another kind than its neighbours
        return r.choice(["odd", Number("1"), True, [], {}, ["odd"], {"a": Number("1")}])
    if isinstance(of, list):
        return [value(r, of[0], odd=odd) for _ in range(r.choice([0, 1, 2, 2, 3]))]
    if isinstance(of, dict):
        return fields(r, of, odd=odd)
    if of == "boolean":
        return chance(r, 2)
    if of == "string":
        return r.choice(TEXTS) if chance(r, 2) else "".join(r.choices("ab-é\U0001f600", k=r.randrange(9)))
    if of == "digits":
        return r.choice(DIGITS) if odd else str(r.randint(-99, 10**12))
    if of == "double" and not chance(r, 6):
        return Number(r.choice(FRACTIONS) if odd else f"{r.uniform(-999, 999):.2f}")
    return Number(str(r.choice(WHOLE) if odd and chance(r, 2) else r.randint(-99, 99)))


def fields(r: Random, of: dict[str, Kind], *, odd: bool) -> dict[str, Any]:
    return {name: value(r, inner, odd=odd) for name, inner in of.items() if not chance(r, 8)}


# --- expressions ---------------------------------------------------------------------------------


def places(of: dict[str, Kind], before: str = "") -> list[tuple[str, Kind]]:
    """Every way into a message of this shape, and some that lead nowhere."""
    found: list[tuple[str, Kind]] = []
    for name, inner in of.items():
        here = f"{before}{json.dumps(name)}"
        found.append((here, inner))
        while isinstance(inner, list):
            here, inner = here + Random(here).choice(["[0]", "[1]", "[-1]", "[-2]", "[9]"]), inner[0]
            found.append((here, inner))
        if isinstance(inner, dict):
            found += places(inner, here + ".")
    return [*found, (before + "nowhere", "long")]


class Expressions:
    """Expressions over the places of a shape: of text, of numbers, of truth."""

    def __init__(self, r: Random, of: dict[str, Kind]) -> None:
        self.r, self.places = r, places(of)

    def place(self, *kinds: Any) -> str:
        fitting = [text for text, found in self.places if found in kinds]
        if fitting and not chance(self.r, 12):
            return self.r.choice(fitting)
        return self.r.choice(self.places)[0]

    def text(self, depth: int = 2) -> str:
        r = self.r
        if not depth or chance(r, 2):
            return self.place("string", "digits") if r.randrange(5) else r.choice(["'x'", '`""`', "'é'", '`"7"`'])
        unit = r.choice(["seconds", "millis", "micros", "nanos"])
        return r.choice(
            [
                f"substr({self.text(depth - 1)}, `{r.choice([0, 1, 3, -1, 2.7])}`, `{r.choice([0, 1, 4, 10, 1e300])}`)",
                f"to_string({self.any(depth - 1)})",
                f"join('{r.choice(['', '-', 'é'])}', [{self.text(depth - 1)}, {self.text(depth - 1)}])",
                f"join(',', {self.place(['string'], ['digits'])})",
                f"epoch_{unit}_to_iso8601({self.number(depth - 1)})",
                f"({self.text(depth - 1)} || {self.text(depth - 1)})",
            ]
        )

    def number(self, depth: int = 2) -> str:
        r = self.r
        if not depth or chance(r, 2):
            return self.place("long", "double") if r.randrange(5) else f"`{r.choice([0, 1, 1.5, -2.0, 2**53 + 1])}`"
        return r.choice(
            [
                f"to_number({self.place('digits')})",
                f"to_number({self.any(depth - 1)})",
                f"length({self.text(depth - 1)})",
                f"length({self.place(['long'], ['string'])})",
                f"epoch_millis_to_micro({self.number(depth - 1)})",
                "now_epoch_seconds()",
            ]
        )

    def truth(self, depth: int = 2) -> str:
        r = self.r
        if not depth:
            return self.place("boolean")
        make = r.choice([self.text, self.number, self.any])
        one, other = make(depth - 1), make(depth - 1)
        return r.choice(
            [
                f"({one} {r.choice(['==', '!=', '<', '<=', '>', '>='])} {other})",
                f"({one} {r.choice(['==', '!='])} `null`)",
                f"!{self.any(depth - 1)}",
                f"({self.truth(depth - 1)} {r.choice(['&&', '||'])} {self.truth(depth - 1)})",
                f"({self.any(depth - 1)} {r.choice(['&&', '||'])} {self.any(depth - 1)})",
                f"contains({self.text(depth - 1)}, '{r.choice(['', 'a', '-', 'é'])}')",
                f"contains({self.place(['long'], ['double'])}, {self.number(0)})",
                f"contains({self.place(['string'], ['digits'])}, {self.text(0)})",
                f"{r.choice(['starts', 'ends'])}_with({self.text(depth - 1)}, '{r.choice(['', 'a', NUL])}')",
            ]
        )

    def any(self, depth: int = 2) -> str:
        r = self.r
        if chance(r, 2):
            return r.choice(self.places)[0]
        return r.choice([self.text, self.number, self.truth])(depth)


def transforms(r: Random, of: dict[str, Kind]) -> dict[str, str]:
    write, found = Expressions(r, of), {}
    for _ in range(r.randint(1, 4)):
        target = ".".join(r.choice([*of, "new", "a", "b", "x"]) for _ in range(r.choice([1, 1, 2, 3])))
        found[target] = r.choice(SOURCES) if chance(r, 6) else "`null`" if chance(r, 8) else write.any()
    return found


# --- a batch -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Messages, what they hold together, and rules."""

    messages: list[dict[str, Any]]
    transforms: dict[str, str]
    schema: Schema

    def rows(self) -> pa.RecordBatch:
        return batch(self.messages, self.schema)

    def about(self) -> tuple[list[About], AboutColumns]:
        return abouts(len(self.messages))


def case(r: Random, count: int = 12, *, odd: bool = True) -> Case:
    of = shape(r)
    candidates = [
        {name: value(r, inner, odd=odd) for name, inner in of.items() if not chance(r, 8)} for _ in range(count)
    ]
    schema = together([message for message in candidates if _is_possible(message, None)])
    messages = [message for message in candidates if _is_possible(message, schema)]
    return Case(messages, transforms(r, of), schema)


def _is_possible(message: dict[str, Any], schema: Schema | None) -> bool:
    """Would it be a row, and not a dead letter?"""
    try:
        infer(message) if schema is None else fit(message, Shape(schema, "ignore"))
    except Refusal:
        return False
    return True


def together(messages: list[dict[str, Any]]) -> Schema:
    found: Any = Struct()
    for message in messages:
        found = merge(found, infer(message))
    return settled(found)


def batch(messages: list[dict[str, Any]], schema: Schema) -> pa.RecordBatch:
    """Rows that are not at the beginning of their buffers, as a part of a larger batch."""
    if not schema.fields:
        return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), len(messages), [None]))
    fitted = [fit(message, Shape(schema, "ignore")) for message in messages]
    whole = pa.RecordBatch.from_pylist([*fitted[:1], *fitted], schema=arrow_schema(schema))
    return whole.slice(min(1, len(fitted)))


def abouts(count: int) -> tuple[list[About], AboutColumns]:
    """Where messages came from, for each path: one message has no time, and one an absurd one."""
    times: list[int | None] = [1626823098519 + at for at in range(count)]
    times[1:3] = [None, 2**62][: max(0, count - 1)]
    kinds = [0 if time is not None else -1 for time in times]
    each = [About("t", 3, at, times[at], kinds[at]) for at in range(count)]
    offsets = pa.array(np.arange(count, dtype=np.int64))
    partitions = pa.array(np.full(count, 3, np.int32))
    return each, AboutColumns(
        "t", partitions, offsets, lambda: pa.array(times, pa.int64()), lambda: pa.array(kinds, pa.int32())
    )
