"""Fitting a message into its table's columns, under each policy."""

from __future__ import annotations

import decimal
from datetime import date
from typing import Any

import pytest

from penstock.contracts import Shape
from penstock.formats.json.reference import parse
from penstock.schema import columns, written
from penstock.values.fit import Waits, fit, is_hollow
from penstock.values.plain import Refusal


def message(text: str) -> dict[str, Any]:
    return parse(text.encode(), 2**20)


def fitted(text: str, evolve: str = "add", **schema: str) -> dict[str, object]:
    return fit(message(text), Shape(columns(schema), evolve))


def refusal(text: str, evolve: str = "add", **schema: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        fitted(text, evolve, **schema)
    assert caught.value.stage == "fit"
    return caught.value


def lacking(text: str, **schema: str) -> dict[str, str]:
    with pytest.raises(Waits) as caught:
        fitted(text, **schema)
    return written(caught.value.columns)


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("string", '"a"', "a"),
        ("byte", "127", 127),
        ("short", "-32768", -32768),
        ("int", "2147483647", 2**31 - 1),
        ("long", "-0", 0),
        ("double", "1", 1.0),
        ("double", "1e-400", 0.0),
        ("float", "0.1", 0.10000000149011612),
        ("float", "16777216", 16777216.0),
        ("boolean", "false", False),
        ("date", '"2024-02-29"', date(2024, 2, 29)),
        ("timestamp", '"1970-01-01T00:00:01.5Z"', 1_500_000),
        ("timestamp", '"1969-12-31T23:59:59.9999999Z"', -1),
        ("timestamp", '"1970-01-01T01:00:00+01:00"', 0),
        ("timestamp_ntz", '"1970-01-01T00:00:01"', 1_000_000),
        ("binary", '"AP8="', b"\x00\xff"),
        ("decimal(4, 2)", "-99.99", decimal.Decimal("-99.99")),
        ("decimal(4, 2)", "1e1", decimal.Decimal("10.00")),
        ("decimal(38, 0)", "9" * 38, decimal.Decimal("9" * 38)),
        ("decimal(38, 38)", "0." + "9" * 38, decimal.Decimal("0." + "9" * 38)),
        ("json", '{"a b": [1.50, null]}', '{"a b":[1.50,null]}'),
        ("json", '"a"', "a"),
        ("array<long>", "[1,null]", [1, None]),
        ("map<string, long>", '{"a b":1,"":null}', [("a b", 1), ("", None)]),
        ("struct<a: long, b: string>", '{"a":1}', {"a": 1, "b": None}),
    ],
)
def test_value_becomes_what_its_column_wants(kind: str, given: str, value: object) -> None:
    assert fitted(f'{{"v":{given}}}', v=kind) == {"v": value}


def test_value_that_does_not_fit_is_told_with_its_path_and_kind() -> None:
    why = refusal('{"place":{"lines":[{"qty":1},{"qty":"2"}]}}', place="struct<lines: array<struct<qty: int>>>")
    assert why.text == "place.lines[1].qty: a string does not fit a column of type int"


@pytest.mark.parametrize("given", ["1.005", "100", "1e99999999999999999999", "1." + "0" * 300 + "1", "9" * 5_000])
def test_decimal_is_never_rounded(given: str) -> None:
    assert refusal(f'{{"v":{given}}}', v="decimal(4, 2)").code == "number.range"


def test_zeros_after_the_point_are_no_digits_to_lose() -> None:
    assert fitted('{"v":1.50000}', v="decimal(4, 2)") == {"v": decimal.Decimal("1.50")}


@pytest.mark.parametrize("given", ["9007199254740993", "-9007199254740993", "1e309", "9" * 400])
def test_number_that_a_double_cannot_hold_is_refused(given: str) -> None:
    assert refusal(f'{{"v":{given}}}', v="double").code == "number.range"


@pytest.mark.parametrize("given", ["9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z"])
def test_first_and_last_moment_fit(given: str) -> None:
    assert fitted(f'{{"v":"{given}"}}', v="timestamp")["v"] is not None


@pytest.mark.parametrize("given", ["9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01"])
def test_moment_that_an_offset_moves_out_of_all_years_does_not_fit(given: str) -> None:
    assert refusal(f'{{"v":"{given}"}}', v="timestamp").code == "value.misfit"


# --- nulls ---------------------------------------------------------------------------------------


def test_column_without_a_value_is_null() -> None:
    assert fitted('{"a":null}', a="long", b="array<long>") == {"a": None, "b": None}


@pytest.mark.parametrize("evolve", ["add", "freeze", "rescue", "ignore"])
@pytest.mark.parametrize("text", ["{}", '{"a":null}', '{"a":"x"}'])
def test_column_that_must_not_be_null_is_missed_whatever_the_policy(text: str, evolve: str) -> None:
    assert refusal(text, evolve, a="long not null").code == "value.misfit"


@pytest.mark.parametrize("text", ['{"b":{}}', '{"b":{"c":null}}'])
def test_column_that_must_not_be_null_is_missed_inside_an_object_that_is_there(text: str) -> None:
    assert refusal(text, b="struct<c: long not null>").code == "value.misfit"
    assert fitted('{"b":null}', b="struct<c: long not null>") == {"b": None}


# --- fields that the table does not have ---------------------------------------------------------


def test_message_with_new_fields_waits_for_exactly_those_columns() -> None:
    schema = {"a": "long", "place": "struct<city: string>", "lines": "array<struct<sku: string>>"}
    text = '{"a":1,"b":[1.5],"place":{"city":"x","zip":1},"lines":[{"sku":"a"},{"qty":1},null]}'
    assert lacking(text, **schema) == {
        "b": "array<double>",
        "lines": "array<struct<qty: long>>",
        "place": "struct<zip: long>",
    }


@pytest.mark.parametrize("evolve", ["add", "freeze", "rescue", "ignore"])
def test_unknown_field_that_is_null_is_no_field(evolve: str) -> None:
    row = fitted('{"a":1,"b":null,"A":null,"b c":null}', evolve, a="long")
    assert row == {"a": 1} | ({"_rescued": None} if evolve == "rescue" else {})


def test_object_of_nothing_but_nulls_makes_no_column() -> None:
    assert fitted('{"a":1,"b":{},"c":{"d":null,"e":{"f":null}}}', a="long") == {"a": 1}
    assert is_hollow(message('{"b":{"c":null}}'))
    assert not is_hollow(message('{"b":[]}'))


def test_misfit_is_told_before_new_fields_are_waited_for() -> None:
    assert refusal('{"new":1,"a":"x"}', a="long").code == "value.misfit"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"A":1}', "column.case-clash"),
        ('{"place":{"City":1}}', "column.case-clash"),
        ('{"new":1,"NEW":1}', "column.case-clash"),
        ('{"new one":1}', "column.name"),
        ('{"new":99999999999999999999}', "number.range"),
        ('{"_source":1}', "column.reserved"),
        ('{"_SOURCE":1}', "column.reserved"),
    ],
)
def test_field_that_could_not_become_a_column_is_refused(text: str, code: str) -> None:
    shape = Shape(columns({"a": "long", "place": "struct<city: string>"}), "add", frozenset({"_source"}))
    with pytest.raises(Refusal) as caught:
        fit(message(text), shape)
    assert caught.value.code == code


def test_frozen_table_refuses_what_it_does_not_have_by_name() -> None:
    why = refusal('{"place":{"zip":1}}', "freeze", place="struct<city: string>")
    assert (why.code, why.text) == ("schema.unknown-field", 'the table has no column place."zip" and may not get one')


def test_ignoring_table_drops_what_it_does_not_have_and_still_refuses_misfits() -> None:
    assert fitted('{"a":1,"b c":2,"A":3,"s":{"x":1,"y":2}}', "ignore", a="long", s="struct<x: long>") == {
        "a": 1,
        "s": {"x": 1},
    }
    assert refusal('{"a":"x","b":2}', "ignore", a="long").code == "value.misfit"


@pytest.mark.parametrize(
    ("text", "kept", "rescued"),
    [
        ('{"a":1}', {"a": 1}, None),
        ('{"a":"x"}', {"a": None}, '{"a":"x"}'),
        ('{"z":1.50,"a":1,"A":[],"b c":{}}', {"a": 1}, '{"z":1.50,"A":[],"b c":{}}'),
        ('{"a":99999999999999999999}', {"a": None}, '{"a":99999999999999999999}'),
        ('{"s":{"x":"no","y":2}}', {"s": {"x": None}}, '{"s":{"x":"no","y":2}}'),
        ('{"s":[1]}', {"s": None}, '{"s":[1]}'),
        ('{"l":[{"x":1},{"x":"no"}]}', {"l": None}, '{"l":[{"x":1},{"x":"no"}]}'),
        ('{"m":{"a":1,"b":"no"}}', {"m": None}, '{"m":{"a":1,"b":"no"}}'),
        ('{"r":{"x":"no"}}', {"r": None}, '{"r":{"x":"no"}}'),
    ],
)
def test_rescuing_table_keeps_whatever_does_not_fit_as_json_text(
    text: str, kept: dict[str, object], rescued: str | None
) -> None:
    schema = {"a": "long", "s": "struct<x: long>", "l": "array<struct<x: long>>", "m": "map<string, long>"}
    schema["r"] = "struct<x: long not null>"
    assert fitted(text, "rescue", **schema) == dict.fromkeys(schema) | kept | {"_rescued": rescued}


def test_value_of_a_map_cannot_get_new_fields() -> None:
    assert refusal('{"m":{"k":{"x":1,"y":2}}}', m="map<string, struct<x: long>>").code == "schema.unknown-field"


# --- what is told --------------------------------------------------------------------------------


@pytest.mark.parametrize("evolve", ["add", "freeze"])
@pytest.mark.parametrize(
    "text",
    [
        '{"m":{"KEY":"x"}}',
        '{"s":{"KEY":1,"a":"x"}}',
        '{"s":{"a":1,"KEY":1}}',
        '{"new":{"KEY":99999999999999999999}}',
    ],
)
def test_hostile_key_reaches_people_short_and_without_control_characters(text: str, evolve: str) -> None:
    hostile = text.replace("KEY", "\\u001b]0;owned\\u0007\\n" + "A" * 100_000)
    why = refusal(hostile, evolve, m="map<string, long>", s="struct<a: long>")
    assert len(why.text) <= 500
    assert why.text.isprintable()


def test_misfit_of_a_wide_column_is_told_in_short() -> None:
    wide = ", ".join(f"column_{n}: long" for n in range(500))
    assert len(refusal('{"a":1}', a=f"struct<{wide}>").text) <= 500
