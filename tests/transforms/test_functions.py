"""What expressions can call: each function, also with what it cannot take."""

from __future__ import annotations

import time
from typing import Any

import pytest

from penstock.transforms.functions import CannotCompute, Functions, Unusable, iso8601, number
from penstock.transforms.reference import apply
from penstock.transforms.rules import rules
from penstock.values.plain import Number, Refusal


def value(expression: str, **message: Any) -> Any:
    return apply(rules({"found": expression}), message, None).get("found")


def failure(expression: str, **message: Any) -> str:
    with pytest.raises(Refusal) as caught:
        value(expression, **message)
    assert (caught.value.stage, caught.value.code) == ("transform", "transform.failed")
    return str(caught.value)


def test_substr_returns_will_from_william() -> None:
    assert value("substr(name, `0`, `4`)", name="William") == "Will"


def test_substr_returns_liam_from_william() -> None:
    assert value("substr(name, `3`, `4`)", name="William") == "liam"


@pytest.mark.parametrize(
    ("skip", "take", "found"),
    [
        *[("5", "9", "am"), ("7", "1", ""), ("99", "1", ""), ("0", "0", ""), ("-3", "2", "Wi"), ("1", "-1", "")],
        *[("1.9", "2.9", "il"), ("0", "1e300", "William")],
    ],
)
def test_substr_gives_what_there_is(skip: str, take: str, found: str) -> None:
    assert value(f"substr(name, `{skip}`, `{take}`)", name="William") == found


def test_substr_counts_characters() -> None:
    assert value("substr(name, `1`, `2`)", name="é\U0001f600☃x") == "\U0001f600☃"


@pytest.mark.parametrize("given", [{}, {"name": None}, {"name": Number("5")}, {"name": ["a"]}, {"name": True}])
def test_substr_of_something_else_fails(given: dict[str, Any]) -> None:
    assert failure("substr(name, `0`, `1`)", **given).startswith("found: substr() takes string, and was given ")


def test_test_iso8601_from_epoch_seconds_test() -> None:
    assert value("epoch_seconds_to_iso8601(ts)", ts=Number("1626823098")) == "2021-07-20T23:18:18Z"


def test_test_iso8601_from_epoch_micros_test() -> None:
    assert value("epoch_micros_to_iso8601(ts)", ts=Number("1626823098000000")) == "2021-07-20T23:18:18Z"


@pytest.mark.parametrize("ts", [Number("1626823098"), Number("1626823098.51995"), "1626823098", "1626823098.51995"])
def test_test_transforms_with_epoch_seconds_to_iso8601(ts: str) -> None:
    before = int(time.time())
    now = value("now_epoch_seconds()")

    assert value("epoch_seconds_to_iso8601(to_number(ts))", ts=ts) == "2021-07-20T23:18:18Z"
    assert before <= int(now) <= time.time()


def test_test_epoch_millis_to_micro() -> None:
    assert value("epoch_millis_to_micro(ts)", ts=Number("1732279537028")) == Number("1732279537028000")


@pytest.mark.parametrize(
    ("unit", "epoch", "text"),
    [
        ("millis", "1626823098519", "2021-07-20T23:18:18.519Z"),
        ("micros", "1626823098519123", "2021-07-20T23:18:18.519123Z"),
        ("micros", "1626823098519000", "2021-07-20T23:18:18.519Z"),
        ("nanos", "1626823098519123999", "2021-07-20T23:18:18.519123Z"),
        ("nanos", "-1", "1970-01-01T00:00:00Z"),
        ("nanos", "-1001", "1969-12-31T23:59:59.999999Z"),
        ("seconds", "-0.9", "1970-01-01T00:00:00Z"),
        ("seconds", "-62135596800", "0001-01-01T00:00:00Z"),
        ("seconds", "253402300799", "9999-12-31T23:59:59Z"),
    ],
)
def test_moments_have_as_many_digits_as_they_need(unit: str, epoch: str, text: str) -> None:
    assert value(f"epoch_{unit}_to_iso8601(ts)", ts=Number(epoch)) == text


@pytest.mark.parametrize("epoch", ["253402300800", "-62135596801", "1e18", "-1e300", "9" * 290])
def test_a_moment_outside_the_calendar_fails(epoch: str) -> None:
    assert "outside the years 1 to 9999" in failure("epoch_seconds_to_iso8601(ts)", ts=Number(epoch))


def test_a_time_beyond_64_bits_fails() -> None:
    assert "beyond 64 bits" in failure("epoch_millis_to_micro(ts)", ts=Number(2**62))


@pytest.mark.parametrize(
    ("given", "found"),
    [("7", "7"), ("-0", "0"), ("1.50", "1.5"), ("1e5", "100000.0"), ("9" * 30, "9" * 30)]
    + [(text, None) for text in ("", " 7", "7\n", "+7", "007", "1_000", "0x1F", "٣", ".5", "1.", "NaN", "inf", "a")],
)
def test_to_number_reads_what_json_would_read(given: str, found: str | None) -> None:
    assert value("to_number(x)", x=given) == found


@pytest.mark.parametrize("given", [True, None, [Number("1")], {"a": Number("1")}])
def test_to_number_of_something_else_is_null(given: Any) -> None:
    assert value("to_number(x)", x=given) is None


@pytest.mark.parametrize("given", ["1e400", "-1e400", "1" * 301, "1" * 5000])
def test_numbers_beyond_computing_fail_where_they_are_used_and_only_there(given: str) -> None:
    message: dict[str, Any] = {"x": Number(given), "y": Number("1"), "text": given}

    assert value("y", **message) == "1"
    assert value("[x, y]", **message) == [given, "1"]
    assert value("x", **message) == given
    for expression in ("x > y", "y == x", "!x", "x || y", "to_string(x)", "to_string(@)", "sum([x, y])", "type(x)"):
        failure(expression, **message)
    failure("to_number(text)", **message)


def test_to_string_is_json() -> None:
    message = {"x": {"é": [Number("1.10"), True, None, 'a"b']}}

    assert value("to_string(x)", **message) == '{"é":[1.1,true,null,"a\\"b"]}'
    assert value("to_string(nowhere)", **message) == "null"
    assert value("to_string('a')", **message) == "a"


def test_numbers_are_exact_if_they_are_integers() -> None:
    assert number("9007199254740993") == 9007199254740993
    assert number("-0.1") == -0.1
    assert isinstance(number("1e400"), Unusable)


def test_every_function_is_described() -> None:
    own = {
        "substr",
        "now_epoch_seconds",
        "epoch_millis_to_micro",
        *(f"epoch_{u}_to_iso8601" for u in ("seconds", "nanos")),
    }

    assert own <= set(Functions.FUNCTION_TABLE)
    with pytest.raises(CannotCompute):
        iso8601(10**30)
