"""One message at a time: order, targets, nulls, what Kafka knows, and failures that become dead letters."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from penstock.formats.json.reference import parse
from penstock.transforms import functions, reference
from penstock.transforms.reference import About, apply
from penstock.transforms.rules import rules
from penstock.values.plain import Number, Refusal, text

ABOUT = About("test", 0, 0, 1626823098519, 0)


def message(**fields: Any) -> dict[str, Any]:
    return parse(json.dumps(fields).encode(), 10**6)


def changed(transforms: dict[str, str], given: dict[str, Any], *, nulls: Any = "remove", about: Any = ABOUT) -> Any:
    """The message after the transforms, as JSON has it; the given one must stay as it is."""
    before = copy.deepcopy(given)
    found = apply(rules(transforms, nulls), given, about)
    assert given == before
    return json.loads(text(found))


def test_set_value_sets_recursively() -> None:
    given = message(name={"last": "Doe"})

    assert changed({"name.first": "'John'"}, given) == {"name": {"last": "Doe", "first": "John"}}


def test_transforms_with_substr() -> None:
    given = message(name="A", modified="2021-03-16T14:38:58Z")

    assert changed({"modified_date": "substr(modified, `0`, `10`)"}, given) == {
        "name": "A",
        "modified": "2021-03-16T14:38:58Z",
        "modified_date": "2021-03-16",
    }


def test_test_transforms_with_kafka_meta() -> None:
    names = ("offset", "partition", "topic", "timestamp", "timestamp_type")
    found = changed({f"_kafka_{name}": f"kafka.{name}" for name in names}, message(name="A"))

    assert found == {
        "name": "A",
        "_kafka_offset": 0,
        "_kafka_partition": 0,
        "_kafka_topic": "test",
        "_kafka_timestamp": 1626823098519000,
        "_kafka_timestamp_type": 0,
    }


def order_book() -> tuple[dict[str, Any], dict[str, str], dict[str, Any]]:
    """A message with five bids and five offers, the transforms that flatten it, and what they make of it."""
    scalars = {"symbol": "XYZ", "venue": "V1", "seq": 7, "flag": True, "px": 1.5, "ts": 16268230985, "a": "x", "z": 0}
    bids = [{"px": 100.5 - i, "qty": 10 + i} for i in range(5)]
    offers = [{"px": 101.25 + i, "qty": 20 + i} for i in range(5)]
    sides = {"bid": ("bids", bids), "ask": ("offers", offers)}
    places = [(side, at, name) for side in sides for at in range(5) for name in ("px", "qty")]
    transforms = {f"{side}_{at}_{name}": f"{sides[side][0]}[{at}].{name}" for side, at, name in places}
    transforms |= {"bids": "null", "offers": "null", "id_context_id_uuid": "null"}
    flat = {f"{side}_{at}_{name}": sides[side][1][at][name] for side, at, name in places}
    return message(**scalars, bids=bids, offers=offers, id_context_id_uuid="7c9e"), transforms, {**scalars, **flat}


def test_test_transform_array_flatten() -> None:
    given, transforms, flat = order_book()

    assert changed(transforms, given) == flat


def test_expressions_see_the_original_message() -> None:
    given = message(a=1, b=2)

    assert changed({"a": "b", "b": "a", "c": "a"}, given) == {"a": 2, "b": 1, "c": 1}


def test_later_targets_win() -> None:
    assert changed({"a": "'whole'", "a.b": "'part'"}, message()) == {"a": {"b": "part"}}
    assert changed({"a.b": "'part'", "a": "'whole'"}, message()) == {"a": "whole"}


def test_what_was_copied_can_be_changed_without_changing_where_it_came_from() -> None:
    given = message(a={"x": 1, "y": {"z": 2}})

    assert changed({"b": "a", "b.x": "'new'", "b.y.z": "`null`"}, given) == {
        "a": {"x": 1, "y": {"z": 2}},
        "b": {"x": "new", "y": {}},
    }


@pytest.mark.parametrize("parent", ["text", 1, None, [1]])
def test_a_parent_that_is_not_an_object_becomes_one(parent: Any) -> None:
    assert changed({"a.b": "`1`"}, message(a=parent)) == {"a": {"b": 1}}


def test_null_removes_the_target() -> None:
    given = message(a=1, b={"c": 1}, d="text")

    assert changed({"a": "nowhere", "b.c": "`null`"}, given) == {"b": {}, "d": "text"}


def test_null_removes_nothing_where_nothing_is() -> None:
    given = message(d="text", e=None)

    assert changed({"x": "`null`", "y.z": "`null`", "d.x": "`null`", "e.x": "`null`"}, given) == {
        "d": "text",
        "e": None,
    }


def test_null_leaves_the_target_if_that_is_wanted() -> None:
    given = message(a=1, b=2)

    assert changed({"a": "nowhere", "x.y": "nowhere", "b": "a"}, given, nulls="keep") == {"a": 1, "b": 1}


def test_a_message_without_a_time_gets_none() -> None:
    about = About("test", "shard-1", 5, None, -1)
    found = changed(
        {"t": "kafka.timestamp", "k": "kafka.timestamp_type", "p": "kafka.partition"}, message(), about=about
    )

    assert found == {"k": -1, "p": "shard-1"}


def test_dead_letters_know_nothing_of_kafka() -> None:
    assert changed({"o": "kafka.offset", "x": "'y'"}, message(o=1), about=None) == {"o": 1, "x": "y"}


def test_steps_hand_numbers_on_as_they_were_written() -> None:
    given = {"a": [{"n": Number("1.10")}, Number("1e999"), Number("9" * 5000)], "b": Number("12345678901234567890.12")}

    found = apply(rules({"x": "a[0].n", "y": "a[1]", "z": "a[2]", "w": "b", "v": "a", "u": "a[0] | n"}), given, None)

    assert (found["x"], found["y"], found["z"], found["w"], found["v"], found["u"]) == (
        *("1.10", "1e999", "9" * 5000, "12345678901234567890.12", given["a"], "1.10"),
    )
    assert all(isinstance(found[name], Number) for name in "xyzwu")


def test_computed_numbers_are_numbers_again() -> None:
    given = message(n=[1, 2.5], big=9007199254740993, t=True, o={"a": 0.1})
    found = apply(rules({"s": "sum(n)", "b": "max([big])", "o": "merge(o, {t: t})"}), given, None)

    assert (found["s"], found["b"], found["o"]) == (Number("3.5"), Number("9007199254740993"), {"a": "0.1", "t": True})
    assert isinstance(found["o"]["a"], Number)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("length(n)", "x: length() takes string or array or object, and was given number"),
        ("sum(words)", "x: sum() takes array of number, and was given string"),
        ("secret < n", "x: values of these types do not go together"),
        ("contains(secret, n)", "x: values of these types do not go together"),
        ("sum([far, far])", "x: the result is a number beyond what a double holds"),
        ("sort_by(words, &n)", "x: sort_by() takes string or number, and was given null"),
    ],
)
def test_a_failure_is_a_refusal_that_tells_nothing_of_the_message(expression: str, told: str) -> None:
    given = {**message(secret="hidden", n=5, words=["hidden"]), "far": Number("1e308")}

    with pytest.raises(Refusal) as caught:
        apply(rules({"x": expression}), given, ABOUT)
    assert (caught.value.stage, caught.value.code, str(caught.value)) == ("transform", "transform.failed", told)


@pytest.mark.parametrize(
    "expression",
    [
        "[@, @]" + " | [@, @]" * 40,
        "to_string([@, @])" + " | to_string([@, @])" * 40,
        "[[@,@][],[@,@][]][]" + "|[@,@][]" * 40,
    ],
)
def test_what_grows_without_measure_is_stopped(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (reference, functions):
        monkeypatch.setattr(module, "MAX_SIZE", 10_000)

    with pytest.raises(Refusal, match=r"it would make too much of the message|would make too long a text"):
        apply(rules({"x": expression}), message(a=1), ABOUT)


def test_one_failure_is_enough() -> None:
    with pytest.raises(Refusal, match=r"^b\.c: substr"):
        apply(rules({"a": "'fine'", "b.c": "substr(nowhere, `0`, `1`)"}), message(), ABOUT)
