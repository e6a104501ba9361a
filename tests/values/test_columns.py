"""Columns that conform and messages that fit: one meaning, whichever way a row was made."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from penstock.arrow import arrow_schema
from penstock.contracts import Shape
from penstock.schema import Array, Field, Schema, Struct, columns, parse
from penstock.values.columns import conform
from penstock.values.fit import Waits, fit
from penstock.values.plain import Number, Refusal

HELD = ["long", "double", "string", "boolean"]
WANTED = [
    *HELD,
    "json",
    "int",
    "short",
    "byte",
    "float",
    "date",
    "timestamp",
    "timestamp_ntz",
    "binary",
    "decimal(9,2)",
]
TIMES = [
    *("2021-11-11T22:11:58Z", "2021-11-11T22:11:58+00:00", "2021-11-11T22:11:58-00:00", "2021-11-11 22:11:58.5+05:30"),
    *("20211111T22115800Z", "2021-11-11 22:11:58", "1636668718000000", "2400-02-29T00:00:00Z", "2100-02-29T00:00:00Z"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-14:00", "2021-06-31T00:00:00Z", "2021-01-01T24:00:00Z"),
    *("2016-12-31T23:59:60Z", "2021-02-29", "2024-02-29", "1900-02-29", "0000-01-01", "2021-13-01", "2021-1-1", ""),
]
EDGES = [0, -1, 127, 128, -129, 2**15, 2**31 - 1, -(2**31) - 1, 2**24 + 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
MICROS = [1636668718000000, -62135596800000000, -62135596800000001, 253402300799999999, 253402300800000000]

whole = some.one_of(some.sampled_from(EDGES + MICROS), some.integers(-(2**63), 2**63 - 1))
fraction = some.floats(allow_nan=False, allow_infinity=False, width=64)
texts = some.one_of(some.sampled_from(TIMES), some.text(max_size=12))
VALUES = {"long": whole, "double": fraction, "string": texts, "boolean": some.booleans()}


def _kinds(names: list[str], depth: int = 2) -> some.SearchStrategy[Any]:
    scalar = some.sampled_from(names).map(parse)
    if not depth:
        return scalar
    inner = _kinds(names, depth - 1)
    fields = some.lists(some.sampled_from("abc"), min_size=1, max_size=2, unique=True)
    struct = fields.flatmap(
        lambda found: some.tuples(*[inner] * len(found)).map(lambda kinds: Struct(tuple(map(Field, found, kinds))))
    )
    return some.one_of(scalar, scalar, inner.map(Array), struct)


def _schemas(names: list[str]) -> some.SearchStrategy[Schema]:
    columns_of = some.dictionaries(some.sampled_from("abcd"), _kinds(names), min_size=1, max_size=3)
    return columns_of.map(lambda found: Struct(tuple(Field(name, kind) for name, kind in sorted(found.items()))))


def _value(kind: Any) -> some.SearchStrategy[Any]:
    if isinstance(kind, Struct):
        return some.fixed_dictionaries({f.name: _nullable(f.type) for f in kind})
    if isinstance(kind, Array):
        return some.lists(_nullable(kind.of), max_size=3)
    return VALUES[str(kind)]


def _nullable(kind: Any) -> some.SearchStrategy[Any]:
    return some.one_of(_value(kind), _value(kind), some.none())


def _plain(value: Any) -> Any:
    """The same as a parsed message."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return Number(json.dumps(value))
    if isinstance(value, list):
        return [_plain(element) for element in value]
    return {name: _plain(element) for name, element in value.items()}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(given=some.data(), evolve=some.sampled_from(["add", "freeze", "ignore", "rescue"]), coerce=some.booleans())
def test_columns_conform_as_messages_fit(given: some.DataObject, evolve: str, coerce: bool) -> None:
    have = given.draw(_schemas(HELD))
    shape = Shape(given.draw(some.one_of(_schemas(WANTED), some.just(have))), evolve, coerce=coerce)
    messages = given.draw(some.lists(_value(have), max_size=6))

    rows, declined = conform(pa.RecordBatch.from_pylist(messages, arrow_schema(have)), have, shape)

    assert rows.num_rows == len(messages) == len(declined)
    for message, found, unsure in zip(messages, rows.to_pylist(), declined, strict=True):
        if not unsure:
            fitted = [fit(_plain(message), shape)]  # it does
            assert pa.RecordBatch.from_pylist(fitted, arrow_schema(shape.columns)).to_pylist() == [found]


@pytest.mark.parametrize(
    ("have", "into", "value"),
    [
        ("string", "timestamp", "2021-11-11T22:11:58.123456Z"),
        ("string", "timestamp", "2021-11-11T22:11:58+02:00"),
        ("string", "date", "2024-02-29"),
        ("long", "timestamp", 1636668718000000),
        ("long", "string", 17),
        ("boolean", "string", True),
        ("long", "int", 5),
        ("long", "double", 5),
        ("string", "json", "text"),
        ("array<long>", "array<string>", [1, None]),
        ("struct<a: string>", "struct<a: timestamp>", {"a": "2021-11-11T22:11:58Z"}),
    ],
)
def test_everyday_values_are_not_declined(have: str, into: str, value: object) -> None:
    rows = pa.RecordBatch.from_pylist([{"v": value}, {"v": None}], arrow_schema(columns({"v": have})))
    shape = Shape(columns({"v": into}), coerce=True)

    _, declined = conform(rows, columns({"v": have}), shape)

    assert not declined.any()


def test_one_day_that_does_not_exist_makes_no_other_row_slow() -> None:
    values = ["2021-06-30", "2021-06-31", "2021-02-29", "nonsense", "2020-02-29"]
    rows = pa.RecordBatch.from_pylist([{"v": value} for value in values], arrow_schema(columns({"v": "string"})))

    _, declined = conform(rows, columns({"v": "string"}), Shape(columns({"v": "date"})))

    assert declined.tolist() == [False, True, True, True, False]


def test_what_does_not_fit_is_left_to_the_reference_path() -> None:
    shape = Shape(columns({"v": "long"}), "freeze")
    rows = pa.RecordBatch.from_pylist(
        [{"v": "x", "w": None}, {"v": None, "w": 1}], arrow_schema(columns({"v": "string", "w": "long"}))
    )

    _, declined = conform(rows, columns({"v": "string", "w": "long"}), shape)

    assert declined.tolist() == [True, True]
    with pytest.raises(Refusal):
        fit({"v": "x"}, shape)
    with pytest.raises(Waits):
        fit({"w": Number("1")}, Shape(columns({"v": "long"})))
