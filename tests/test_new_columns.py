"""Which columns a table may get, and how many it has."""

from __future__ import annotations

import pytest

from penstock.merging import merge
from penstock.new_columns import TOO_WIDE, admitted, bearable, leaves, tells_too_wide
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


def test_message_that_alone_is_too_wide_tells_only_that() -> None:
    found, table = columns({"a": "long", "b": "array<struct<c: long, d: long>>"}), columns({"x": "long"})
    assert bearable(found, table, 4) == found
    assert bearable(found, table, 3) == TOO_WIDE
    assert bearable(NOTHING, table, 0) == NOTHING


def test_nulls_of_a_message_do_not_make_it_wide() -> None:
    found = Struct((Field("a", NOTHING), Field("b", NOTHING), *columns({"c": "long"})))
    assert bearable(found, Struct(), 1) == found


def test_wide_messages_bring_no_column_to_what_others_have() -> None:
    seen = merge(columns({"a": "long"}), TOO_WIDE)
    assert isinstance(seen, Struct)
    assert tells_too_wide(seen)
    assert written(admitted(seen, Struct())) == {"a": "long"}
    assert not tells_too_wide(columns({"a": "long"}))
