"""The reference path, from bytes to a value: what it accepts, what it refuses and why, and in what time."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import pytest

from penstock.formats.json.reference import MAX_DEPTH, parse
from penstock.values.plain import Number, Refusal, infer, integer, kind_of, names, shown, text, type_at, under

LARGE = 10 * 2**20


def refusal(value: bytes, max_bytes: int = LARGE, **how: bool) -> Refusal:
    with pytest.raises(Refusal) as caught:
        parse(value, max_bytes, **how)
    return caught.value


# --- bytes to a value ----------------------------------------------------------------------------


def test_numbers_stay_the_text_they_came_as() -> None:
    found = parse(b'{"a":1.50E+3,"b":[-0,123456789012345678901234567890],"c":"1"}', LARGE)
    assert found == {"a": "1.50E+3", "b": ["-0", "123456789012345678901234567890"], "c": "1"}
    assert isinstance(found["a"], Number)
    assert not isinstance(found["c"], Number)


def test_last_of_two_equal_keys_counts() -> None:
    assert parse(b'{"a":1,"b":2,"a":{"a":3,"a":4}}', LARGE) == {"a": {"a": "4"}, "b": "2"}


def test_equal_keys_are_refused_where_that_was_asked_for() -> None:
    why = refusal(b'{"a":1,"b":{"c":1,"d":2,"c":3}}', reject_duplicates=True)
    assert (why.stage, why.code) == ("parse", "json.duplicate-key")
    assert '"c"' in why.text
    assert parse(b'{"a":{"a":1},"b":{"a":1}}', LARGE, reject_duplicates=True) == {"a": {"a": "1"}, "b": {"a": "1"}}


def test_size_is_looked_at_before_anything_else() -> None:
    assert refusal(b"\xff" * 11, 10).code == "json.too-large"
    assert parse(b'{"a":1}   ', 10) == {"a": "1"}


def test_refusal_names_the_byte_that_is_not_utf8() -> None:
    assert refusal(b'{"a":"\xc3\xa9\xff"}').text == "byte 8 is not valid UTF-8"


def test_value_may_be_nested_as_deep_as_the_limit_and_no_deeper() -> None:
    levels = MAX_DEPTH - 1
    assert parse(b'{"a":' + b"[" * levels + b"]" * levels + b"}", LARGE)
    assert refusal(b'{"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}").code == "json.too-deep"


@pytest.mark.parametrize("filler", [b"[" * 200, b"]" * 200, b'\\"[' * 200, b"\\\\[" * 200])
def test_brackets_in_texts_and_side_by_side_are_not_depth(filler: bytes) -> None:
    assert parse(b'{"a":"' + filler + b'","b":[' + b"[]," * 500 + b"{}]}", LARGE)


@pytest.mark.parametrize(
    "hostile",
    [
        b'{"a":"' + b'\\"' * 1_000_000,
        b'{"a":"' + b"x" * 2_000_000,
        b'{"a":' + b"[" * 2_000_000,
        b'{"a":' + b'"' * 2_000_000,
        b'{"a":' + b"9" * 2_000_000 + b"}",
        b'{"a":' + b"[]," * 600_000 + b"}",
        b"{" + b",".join(b'"k%d":1' % n for n in range(100_000)) + b',"k99999":1}',
    ],
    ids=["escaped quotes", "text without end", "arrays", "quotes", "digits", "many arrays", "many keys"],
)
def test_hostile_value_takes_time_with_its_size_not_with_its_square(hostile: bytes) -> None:
    started = time.process_time()
    with suppress(Refusal):
        infer(parse(hostile, LARGE, reject_duplicates=True))
    assert time.process_time() - started < 5.0  # with its square it would take hours


def test_surrogates_are_refused_wherever_they_are() -> None:
    for value in (rb'{"a":"\ud800"}', rb'{"\udc00":1}', rb'{"a":[{"b":["x\udfffy"]}]}'):
        assert refusal(value).code == "json.surrogate"


# --- a value to text -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    ['{"a":[1.50,-0,1e400,null,true,"é\\n\\"\\u0000"],"b c":{}}', "[]", '"text"', "1.0", "null", "false"],
)
def test_value_is_its_own_compact_text_again(written: str) -> None:
    found = parse(f'{{"v": {written} }}'.encode(), LARGE)["v"]
    assert text(found) == written


# --- the type of a message -----------------------------------------------------------------------


def test_type_is_found_at_a_dotted_path() -> None:
    assert type_at({"type": "a"}, "type") == "a"
    assert type_at({"meta": {"kind": {"name": "a"}}}, "meta.kind.name") == "a"


@pytest.mark.parametrize("message", [{}, {"meta": None}, {"meta": {"kind": None}}, {"meta": "kind"}, {"meta": [{}]}])
def test_message_without_a_type_is_refused_with_the_path(message: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match=r"meta\.kind") as caught:
        type_at(message, "meta.kind")
    assert (caught.value.stage, caught.value.code) == ("identify", "type.missing")


@pytest.mark.parametrize(
    ("given", "kind"), [(Number("1"), "a number"), (True, "a boolean"), ([], "an array"), ({}, "an object")]
)
def test_type_that_is_no_text_is_refused_with_what_it_is(given: object, kind: str) -> None:
    assert kind_of(given) == kind
    with pytest.raises(Refusal, match=kind) as caught:
        type_at({"type": given}, "type")
    assert caught.value.code == "type.not-text"


# --- what a value looks like ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("null", "nothing"),
        ("true", "boolean"),
        ("1", "long"),
        ("-9223372036854775808", "long"),
        ("1.0", "double"),
        ("1e2", "double"),
        ('"2024-01-01T00:00:00Z"', "string"),
        ("[]", "array<nothing>"),
        ("[1,null,2.5]", "array<double>"),
        ('[1,"a"]', "array<json>"),
        ("[[],[1]]", "array<array<long>>"),
        ('{"b":1,"a":{}}', "struct<a: struct<>, b: long>"),
        ('[{"a":1},{"b":"x"},{"a":0.5}]', "array<struct<a: double, b: string>>"),
        ('[{"a":1},[1]]', "array<json>"),
    ],
)
def test_type_of_a_value_nobody_declared(given: str, kind: str) -> None:
    assert str(infer(parse(f'{{"v":{given}}}'.encode(), LARGE)["v"])) == kind


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("9223372036854775808", "number.range"),
        ("-9223372036854775809", "number.range"),
        ("1e999", "number.range"),
        ('{"a b":1}', "column.name"),
        ('[{"a":[{"":1}]}]', "column.name"),
        ('{"a":1,"A":2}', "column.case-clash"),
    ],
)
def test_value_that_no_column_could_hold_is_refused(given: str, code: str) -> None:
    with pytest.raises(Refusal, match="v") as caught:
        infer(parse(f'{{"v":{given}}}'.encode(), LARGE))
    assert (caught.value.stage, caught.value.code) == ("fit", code)


def test_integers_are_what_was_written_without_fraction_or_exponent() -> None:
    assert [integer(Number(text)) for text in ("7", "-0", "1.0", "1e2", "9" * 19)] == [7, 0, None, None, 10**19 - 1]
    assert integer(Number("9" * 100_000)) == 2**64  # any number that no column holds will do


def test_names_are_in_order_and_may_be_long_and_foreign() -> None:
    assert names({"é": 1, "b": 1, 'a"\\': 1, "k" * 255: 1}, "") == ['a"\\', "b", "k" * 255, "é"]


def test_names_that_clash_are_both_told() -> None:
    with pytest.raises(Refusal, match=r"\"A\" and \"a\" in 'place'"):
        names({"a": 1, "A": 1}, "place")


def test_name_in_a_message_to_people_is_short_and_plain() -> None:
    assert shown("a\x00é") == '"a\\u0000\\u00e9"'
    assert len(shown("k" * 5_000)) < 80
    assert shown("\x7f") == '"\\u007f"'


def test_text_of_a_refusal_is_short_and_harmless_on_a_screen() -> None:
    why = Refusal("fit", "value.misfit", "\x1b[2J\n\x9b\u202e" + "A" * 100_000)
    assert len(why.text) == 500
    assert why.text.isprintable()


def test_path_to_a_key_shows_what_is_not_plain_as_text_and_keeps_its_end() -> None:
    assert under("a", "größe-1_x") == "a.größe-1_x"
    assert under("", "a.b") == '"a.b"'
    assert under("a", "\x1b[2J\n") == 'a."\\u001b[2J\\n"'
    long = under(under("p" * 500, "q" * 1_000), "last")
    assert len(long) < 300
    assert long.endswith(".last")
