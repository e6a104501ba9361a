"""Which columns a table may get, and how many it has."""

from __future__ import annotations

import pytest

from penstock.new_columns import admitted, leaves
from penstock.schema import NOTHING, Field, Struct, columns, parse, written


@pytest.mark.parametrize(
    ("seen", "table", "kept"),
    [
        ({"Foo": "long", "foo": "string"}, {}, {"Foo": "long"}),
        ({"Foo": "long", "foo": "string"}, {"foo": "string"}, {"foo": "string"}),
        ({"s": "struct<A: long, a: long>"}, {}, {"s": "struct<A: long>"}),
        ({"s": "struct<A: long, b: long>"}, {"s": "struct<a: long>"}, {"s": "struct<b: long>"}),
        ({"l": "array<struct<A: long, a: long>>"}, {"l": "array<struct<a: long>>"}, {"l": "array<struct<a: long>>"}),
        ({"_position": "long", "_POSITION": "long", "b": "long"}, {}, {"b": "long"}),
    ],
)
def test_of_names_that_differ_only_in_case_one_is_admitted(
    seen: dict[str, str], table: dict[str, str], kept: dict[str, str]
) -> None:
    assert written(admitted(columns(seen), columns(table), {"_position"})) == kept


def test_name_that_never_had_a_value_does_not_stand_in_the_way_of_another() -> None:
    seen = Struct((Field("Foo", NOTHING), *columns({"foo": "long"})))
    assert written(admitted(seen, Struct())) == {"foo": "long"}


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("long", 1),
        ("struct<a: long, b: struct<c: long, d: json>>", 3),
        ("array<struct<a: long, b: long>>", 2),
        ("map<string, struct<a: long, b: long>>", 2),
    ],
)
def test_columns_inside_of_columns_are_counted(kind: str, count: int) -> None:
    assert leaves(parse(kind)) == count
