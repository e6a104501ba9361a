"""Codes for messages, and what messages teach."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from penstock.contracts import Shape, Shapes
from penstock.formats.json import classify
from penstock.formats.json.classify import DOUBT, FILTERED, Classifier
from penstock.formats.json.reference import parse
from penstock.schema import columns


def shapes(field: str | None = "type", room: int = 500, **types: Mapping[str, str]) -> Shapes:
    return Shapes({name: Shape(columns(schema)) for name, schema in types.items()}, field, room=room)


def meanings(it: Classifier, *values: bytes, types: list[str] | None = None) -> list[object]:
    """What the fast path says: a type, a type with a star if its messages wait, 'filtered' or 'doubt'."""
    told: dict[int, object] = {FILTERED: "filtered", DOUBT: "doubt"}
    codes = it.codes(list(values), types)
    return [told.get(code) or it.meaning(code)[0] + "*" * it.meaning(code)[1] for code in codes]


A = {"type": "string", "x": "long"}
B = {"type": "string", "y": "string"}


def test_clean_messages_have_their_type_and_all_others_are_in_doubt() -> None:
    it = Classifier(shapes(a=A, b=B), strict_keys=False)
    values = [
        b'{"type":"b","y":"1"}',
        b'{"type":"a","x":1}',
        b'{"type":"a","x":"1"}',
        b'{"type":"c"}',
        b"{",
        b"",
        b'{"x":1}',
    ]
    assert meanings(it, *values) == ["b", "a", *["doubt"] * 5]


@pytest.mark.parametrize("field", ["type", "meta.kind", None])
def test_type_without_a_table_is_known_once_it_was_learned(field: str | None) -> None:
    it = Classifier(shapes(field), strict_keys=False)
    value, types = b'{"type":"new","meta":{"kind":"new"}}', None if field else ["new"]
    assert meanings(it, value, types=types) == ["doubt"]
    assert it.meaning(it.learn_waiting("new") or 0) == ("new", True)
    it.refresh()
    assert meanings(it, value, types=types) == ["new*"]
    assert meanings(it, value[:-1], types=types) == ["doubt"]


@pytest.mark.parametrize("field", ["type", "meta.kind", None])
def test_unwanted_type_is_known_once_it_was_learned(field: str | None) -> None:
    it = Classifier(shapes(field, a=A), strict_keys=False)
    it.learn_filtered("spam")
    it.refresh()
    types = None if field else ["spam"]
    assert meanings(it, b'{"type":"spam","meta":{"kind":"spam"}}', types=types) == ["filtered"]


def test_unwanted_type_that_is_known_before_may_hold_anything() -> None:
    it = Classifier(shapes(None), strict_keys=False)
    it.learn_filtered("spam")
    it.refresh()
    assert meanings(it, b"\xff{", types=["spam"]) == ["filtered"]


@pytest.mark.parametrize("field", ["type", "meta.kind", None])
def test_row_is_proved_by_the_decoder_of_its_own_type(field: str | None) -> None:
    meta = {"meta": "struct<kind: string>"}
    it = Classifier(shapes(field, a=A | meta, b=B | meta), strict_keys=False)
    values = [b'{"type":"%s","meta":{"kind":"%s"},"x":1}' % (name, name) for name in (b"a", b"b")]
    assert meanings(it, *values, types=None if field else ["a", "b"]) == ["a", "doubt"]


def test_no_more_types_are_learned_than_there_is_room_for() -> None:
    it = Classifier(shapes(room=2, a=A), strict_keys=False)
    assert it.learn_waiting("one") == it.learn_waiting("one") != it.learn_waiting("two")
    assert it.learn_waiting("three") is None
    assert it.learn_waiting("a") is not None


def test_names_are_learned_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "MAX_LEARNED", 2)
    it = Classifier(shapes(a=A), strict_keys=False)
    for name in ("one", "two", "three"):
        it.learn_filtered(name)
    it.refresh()
    values = [b'{"type":"%s"}' % name for name in (b"one", b"two", b"three")]
    assert meanings(it, *values) == ["filtered", "filtered", "doubt"]


def test_fields_that_hold_nothing_stay_fast_once_they_were_seen() -> None:
    it = Classifier(shapes(a=A | {"s": "struct<z: long>"}), strict_keys=False)
    value = b'{"type":"a","x":1,"gone":null,"empty":{},"s":{"w":null},"q\\"":null}'
    assert meanings(it, value) == ["doubt"]
    it.learn_nulls("a", parse(value, 1_000))
    it.refresh()
    assert meanings(it, value.replace(b',"q\\"":null', b"")) == ["a"]
    assert meanings(it, value.replace(b'"gone":null', b'"gone":1')) == ["doubt"]


def test_everything_is_in_doubt_where_equal_keys_are_refused() -> None:
    it = Classifier(shapes(a=A), strict_keys=True)
    assert meanings(it, b'{"type":"a","x":1}') == ["doubt"]


@pytest.mark.parametrize("kind", ["long", "date", "array<string>"])
def test_type_is_in_doubt_where_its_field_is_no_text_column(kind: str) -> None:
    it = Classifier(shapes(a={"type": kind}, b=B), strict_keys=False)
    assert meanings(it, b'{"type":"a"}', b'{"type":"b"}') == ["doubt", "b"]


def test_type_is_in_doubt_where_its_field_is_no_column_at_all() -> None:
    """To the table it is an unknown field like any other."""
    it = Classifier(shapes(a={"x": "long"}, b=B), strict_keys=False)
    assert meanings(it, b'{"type":"a","x":1}', b'{"type":"b"}') == ["doubt", "b"]


def test_route_that_no_decoder_can_spell_leaves_everything_in_doubt() -> None:
    it = Classifier(shapes('meta.q"', a=A), strict_keys=False)
    assert meanings(it, b'{"meta":{"q\\"":"a"},"x":1}') == ["doubt"]


def test_messages_are_unproven_where_decoding_skipped_a_part() -> None:
    given = {"a": Shape(columns(A)), "loose": Shape(columns(A), "ignore")}
    it = Classifier(Shapes(given, "type"), strict_keys=False)
    it.learn_filtered("spam")
    it.learn_waiting("new")
    it.refresh()
    values = [b'{"type":"%s","x":1}' % name for name in (b"a", b"loose", b"spam", b"new", b"other")]
    codes = np.array(it.codes(values, None))
    assert it.unproven(codes).tolist() == [False, True, True, True, False]
