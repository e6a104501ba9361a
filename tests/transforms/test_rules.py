"""Transforms are checked before the first message."""

from __future__ import annotations

import pickle
import re

import pytest

from penstock.transforms.rules import MAX_DEPTH, MAX_RULES, MAX_SOURCE, rule, rules


def complaint(source: str, target: str = "t") -> str:
    with pytest.raises(ValueError, match="transform ") as caught:
        rules({"fine": "a", target: source})
    return str(caught.value)


def test_a_rule_knows_its_path_and_its_source() -> None:
    first, second = rules({"meta.kafka.offset": " kafka.offset ", "date": "substr(ts, `0`, `10`)"})

    assert (first.path, first.kafka, first.expression) == (("meta", "kafka", "offset"), "offset", None)
    assert (second.path, second.kafka, second.source) == (("date",), None, "substr(ts, `0`, `10`)")


def test_what_only_looks_like_a_kafka_source_is_an_expression() -> None:
    assert rule("x", "kafka.offsets").kafka is None
    assert rule("x", "kafka.offset.x").kafka is None


@pytest.mark.parametrize(
    ("source", "copies"),
    [("a.b[0].c", True), ('"q\'uote"[-1]', True), ("@", True), ("a | b", True), ("a || b", False), ("[a]", False)],
)
def test_steps_into_the_message_are_told_from_computing(source: str, copies: bool) -> None:
    assert rule("x", source).copies is copies


@pytest.mark.parametrize("target", ["", ".", "a.", ".a", "a..b", "a b", "a,b", "a=b", "a\x00", "n" * 256, "\ud800"])
def test_a_target_is_a_possible_column(target: str) -> None:
    told = complaint("a", target)

    assert "target is a name" in told or "cannot be a column name" in told
    assert told.isprintable()


def test_a_target_is_not_deeper_than_columns_can_be() -> None:
    assert len(rule(".".join("a" * 16), "a").path) == 16
    assert "at most 16 names" in complaint("a", ".".join("a" * 17))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("", "the source is empty"),
        ("a..b", 'at character 3: "." cannot stand here\n  a..b\n    ^'),
        ("substr(ts, `0`", "at character 15: something is missing at its end\n  substr(ts, `0`\n                ^"),
        ("a # b", "at character 3: Unknown token #"),
        ("a \x00", "at character 3: Unknown token \ufffd"),
        ("{a: b", "something is missing"),
        ("a[", "something is missing"),
        ("substrr(a, b, c)", "there is no function substrr(); did you mean substr()?"),
        ("frobnicate(a)", "there is no function frobnicate(); there are abs, avg, "),
        ("items[?length(name, x) > `1`]", "length() takes 1 argument, this has 2"),
        ("not_null()", "not_null() takes at least 1 argument, this has 0"),
        ("now_epoch_seconds(a)", "now_epoch_seconds() takes 0 arguments, this has 1"),
        ("map(a, b)", "argument 1 of map() is an expression with '&' before it"),
        ("to_string(&a)", "argument 1 of to_string() is a value, without '&'"),
        ("&a", "'&' can only stand before an argument of a function"),
        ("a[::0]", "the step of a slice cannot be 0"),
        ("`nope`", "between backquotes stands JSON"),
        ('`"`', "at character 1: Bad token"),
        ("`1e999`", "a double can hold"),
        ("`[NaN]`", "a double can hold"),
        ('`"\\ud800"`', "half of a surrogate pair"),
        ('{"\\ud800": a}', "half of a surrogate pair"),
        ("'\ud800'", "not valid Unicode"),
    ],
)
def test_an_expression_that_cannot_be_meant_is_refused_with_a_sentence(source: str, told: str) -> None:
    assert told in complaint(source)
    assert complaint(source).startswith('transform "t": ')


def test_the_mark_is_under_the_mistake_in_a_long_expression() -> None:
    lines = complaint("a" * 300 + " ) " + "b" * 300).splitlines()

    assert lines[1][len(lines[2]) - 1] == ")"
    assert len(lines[1]) < 120


@pytest.mark.parametrize(
    "source",
    [
        "!" * 4000,
        "(" * 4000,
        "a" + "|a" * 60,
        "[" * 60 + "a" + "]" * 60,
        "`" + "[" * 60 + "]" * 60 + "`",
        "!" * 60 + "a",
    ],
)
def test_depth_is_limited(source: str) -> None:
    assert re.search(f"more than {MAX_DEPTH} deep|missing at its end", complaint(source))


def test_size_is_limited() -> None:
    rule("t", "a" * MAX_SOURCE)

    assert f"has {MAX_SOURCE + 1} characters" in complaint("a" * (MAX_SOURCE + 1))


def test_number_is_limited() -> None:
    with pytest.raises(ValueError, match="at most 1000 are possible"):
        rules({f"t{at}": "a" for at in range(MAX_RULES + 1)})


def test_rules_travel() -> None:
    made = rules({"a.b": "substr(x, `0`, `1`)", "c": "kafka.topic"}, "keep")

    assert pickle.loads(pickle.dumps(made)) == made
    assert len(made) == 2
