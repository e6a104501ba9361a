"""Schemas and values that nobody thought of, each with the plain values that it means."""

from __future__ import annotations

import base64
import decimal
import math
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from hypothesis import strategies as st

from penstock.values.plain import Number
from tests.formats.avro.encoding import logical

Values = st.SearchStrategy[tuple[Any, Any]]
"""What fastavro writes, and what it means."""


@dataclass(frozen=True)
class Case:
    schema: Any
    values: Values


def _simple(schema: Any, given: st.SearchStrategy[Any], means: Callable[[Any], Any]) -> Case:
    return Case(schema, given.map(lambda value: (value, means(value))))


def _same(value: Any) -> Any:
    return value


def _number(value: Any) -> Any:
    if isinstance(value, int):
        return Number(value)
    return Number(repr(value)) if math.isfinite(value) else value


def _wide(value: float) -> Any:
    return _number(float(struct.unpack("<f", struct.pack("<f", value))[0]))


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


_TEXT = st.text(max_size=20)
_INTS = st.integers(-(2**31), 2**31 - 1) | st.integers(-70, 70)
_LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70)
_MOMENTS = st.datetimes(timezones=st.just(UTC))
_LOCAL = st.datetimes()
_PRICES = st.decimals(-(10**8) + 1, 10**8 - 1, places=2, allow_nan=False, allow_infinity=False)


def _to_millis(value: datetime) -> datetime:
    return value.replace(microsecond=value.microsecond // 1_000 * 1_000)


def _iso(value: datetime) -> str:
    return value.replace(tzinfo=None).isoformat("T", "microseconds") + ("Z" if value.tzinfo else "")


def _fixed_text(value: decimal.Decimal) -> Number:
    return Number(f"{value:.2f}" if value else "0.00")


LEAVES = [
    _simple("boolean", st.booleans(), _same),
    _simple("int", _INTS, _number),
    _simple("long", _LONGS, _number),
    _simple("float", st.floats(width=32), _wide),
    _simple("double", st.floats(), _number),
    _simple("bytes", st.binary(max_size=20), _base64),
    _simple("string", _TEXT, _same),
    _simple(logical("int", "date"), st.dates(), date.isoformat),
    _simple(logical("long", "time-micros"), st.times(), lambda at: time.isoformat(at, "microseconds")),
    _simple(logical("long", "timestamp-micros"), _MOMENTS, _iso),
    _simple(logical("long", "timestamp-millis"), _MOMENTS.map(_to_millis), _iso),
    _simple(logical("long", "local-timestamp-micros"), _LOCAL, _iso),
    _simple(logical("bytes", "decimal", precision=10, scale=2), _PRICES, _fixed_text),
    _simple(logical("string", "uuid"), st.uuids(), str),
    _simple(logical("string", "unheard-of"), _TEXT, _same),
    _simple(["int", "long"], _LONGS, _number),
    _simple(
        ["null", "double", "float"], st.none() | st.floats(), lambda value: None if value is None else _number(value)
    ),
    Case(["float", "double"], st.floats(width=32).map(lambda value: (("float", value), _wide(value)))),
]


def _named(path: str) -> list[Case]:
    symbols = ["A", "Bc", "Def_1"]
    small = {"type": "fixed", "name": f"F{path}", "size": 3}
    price = {"type": "fixed", "name": f"P{path}", "size": 9, "logicalType": "decimal", "precision": 10, "scale": 2}
    identity = {"type": "fixed", "name": f"U{path}", "size": 16, "logicalType": "uuid"}
    return [
        _simple({"type": "enum", "name": f"E{path}", "symbols": symbols}, st.sampled_from(symbols), _same),
        _simple(small, st.binary(min_size=3, max_size=3), _base64),
        _simple(price, _PRICES, _fixed_text),
        Case(identity, st.binary(min_size=16, max_size=16).map(lambda raw: (raw, str(uuid.UUID(bytes=raw))))),
    ]


def cases(path: str = "", depth: int = 3) -> st.SearchStrategy[Case]:
    """A type and its values. Names are told apart by the path to where they are defined."""
    leaves = st.sampled_from([*LEAVES, *_named(path)])
    if depth <= 0:
        return leaves
    inner = st.deferred(lambda: cases(f"{path}_i", depth - 1))
    nested = [inner.map(_array), inner.map(_map), inner.flatmap(_optional)]
    return st.one_of(
        leaves,
        *nested,
        st.deferred(lambda: records(path, depth)),
        st.deferred(lambda: _either(path, depth)),
    )


def records(path: str = "", depth: int = 3) -> st.SearchStrategy[Case]:
    fields = st.tuples(*(cases(f"{path}_{place}", depth - 1) for place in range(4)))
    return st.builds(lambda found, count: _record(f"R{path}", found[:count]), fields, st.integers(1, 4))


def _record(name: str, fields: tuple[Case, ...]) -> Case:
    names = [f"field{place}" for place in range(len(fields))]
    schema = [{"name": name, "type": field.schema} for name, field in zip(names, fields, strict=True)]

    def together(pairs: tuple[tuple[Any, Any], ...]) -> tuple[Any, Any]:
        written, plain = zip(*pairs, strict=True)
        return dict(zip(names, written, strict=True)), dict(zip(names, plain, strict=True))

    values = st.tuples(*(field.values for field in fields)).map(together)
    return Case({"type": "record", "name": name, "fields": schema}, values)


def _array(of: Case) -> Case:
    pairs = st.lists(of.values, max_size=4)
    values = pairs.map(lambda items: ([item for item, _ in items], [plain for _, plain in items]))
    return Case({"type": "array", "items": of.schema}, values)


def _map(of: Case) -> Case:
    pairs = st.dictionaries(_TEXT, of.values, max_size=4)
    values = pairs.map(lambda items: ({k: v for k, (v, _) in items.items()}, {k: v for k, (_, v) in items.items()}))
    return Case({"type": "map", "values": of.schema}, values)


def _optional(of: Case) -> st.SearchStrategy[Case]:
    if isinstance(of.schema, list):
        return st.just(of)
    values = st.none().map(lambda _: (None, None)) | of.values
    return st.sampled_from([["null", of.schema], [of.schema, "null"]]).map(lambda schema: Case(schema, values))


def _either(path: str, depth: int) -> st.SearchStrategy[Case]:
    """A union of several branches, in an order in which fastavro finds the one that is meant."""

    def build(of: Case) -> Case:
        name = of.schema["name"]
        longs = _LONGS.map(lambda value: (value, {"long": Number(value)}))
        texts = _TEXT.map(lambda value: (value, {"string": value}))
        raw = st.binary(max_size=9).map(lambda value: (value, {"bytes": _base64(value)}))
        inner = of.values.map(lambda pair: ((name, pair[0]), {name: pair[1]}))
        nulls = st.none().map(lambda _: (None, None))
        return Case(["long", "string", "null", "bytes", of.schema], longs | texts | raw | inner | nulls)

    return records(f"{path}_u", depth - 1).map(build)
