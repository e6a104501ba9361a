"""Columns that nobody declared: the same whatever the order of messages, and every message fits them."""

from __future__ import annotations

from functools import reduce
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from penstock.contracts import Shape, Shapes
from penstock.formats.json import JsonFormat
from penstock.formats.json.reference import parse
from penstock.merging import extended, merge, settled
from penstock.schema import NOTHING, Array, Schema, Struct, Type, columns, written
from penstock.schema import parse as kind
from penstock.values.fit import Waits, fit
from penstock.values.plain import Refusal, infer
from tests.formats.json.generated import bounded, damaged, schema
from tests.formats.json.oracle import MAX_BYTES, Fate, expected, found, run
from tests.formats.json.texts import chance, fields, object_of

RANDOMS = st.randoms(use_true_random=True)
NEW = Shapes({})


def messages(r: Random, count: int = 20) -> list[bytes]:
    """Messages of one type, by producers that do not agree on what it looks like."""
    ideas = [schema(r, slow=False) for _ in range(2)]
    made = [object_of(r, fields(r, r.choice(ideas), flaws=chance(r, 3))).encode() for _ in range(count)]
    return [damaged(r, value) if chance(r, 20) else value for value in made]


def alone(value: bytes, shape: Shape | None) -> Type:
    """The columns that one message asks for, by the reference path."""
    try:
        message = parse(value, MAX_BYTES)
        if shape is None:
            return infer(message)
        fit(message, shape)
    except Waits as lacks:
        return lacks.columns
    except Refusal:
        pass
    return NOTHING


def together(values: list[bytes], shape: Shape | None = None) -> Schema:
    nothing: Type = Struct()
    found = reduce(merge, (alone(value, shape) for value in values), nothing)
    assert isinstance(found, Struct)
    return found


@bounded(100)
@given(RANDOMS)
def test_what_is_inferred_of_messages_is_what_each_of_them_shows_whatever_their_order(r: Random) -> None:
    values = messages(r)
    wanted = together(values)
    for _ in range(2):
        r.shuffle(values)
        reader, cut = JsonFormat().reader(NEW), r.randrange(len(values))
        reader.infer("new", run(values[:cut]))
        assert reader.infer("new", run(values[cut:])) == wanted


@bounded(100)
@given(RANDOMS)
def test_of_a_known_type_only_the_columns_are_inferred_that_its_table_lacks(r: Random) -> None:
    values = messages(r)
    shape = Shape(settled(together(values[:1])) if chance(r, 2) else schema(r, slow=chance(r, 4)), "add")
    r.shuffle(values)
    reader = JsonFormat().reader(Shapes({"known": shape}))
    assert reader.infer("known", run(values)) == together(values, shape)


def is_too_exact(fate: Fate) -> bool:
    """An integer that shares its column with fractions, and is none that a double could hold."""
    return fate == Fate("reject", "new", "fit number.range")


@bounded(100)
@given(RANDOMS)
def test_every_message_that_was_inferred_is_a_row_of_the_table_made_for_them(r: Random) -> None:
    values = [value for value in messages(r) if alone(value, None) != NOTHING]
    shapes = Shapes({"new": Shape(settled(together(values)), "add")})
    fates = found(JsonFormat().reader(shapes), values, ["new"] * len(values), shapes)
    assert fates == [expected(value, "new", shapes) for value in values]
    assert all(fate.what == "row" or is_too_exact(fate) for fate in fates)


@bounded(100)
@given(RANDOMS)
def test_every_message_that_waited_is_a_row_once_its_table_has_its_columns(r: Random) -> None:
    shape = Shape(schema(r, slow=False), "add")
    made = [object_of(r, fields(r, shape.schema, flaws=True)).encode() for _ in range(40)]
    values = [value for value in made if alone(value, shape) != NOTHING]
    grown = Shapes({"new": Shape(extended(shape.schema, together(values, shape)), "add")})
    fates = found(JsonFormat().reader(grown), values, ["new"] * len(values), grown)
    assert all(fate.what == "row" or is_too_exact(fate) for fate in fates)


def inferred(*values: bytes) -> dict[str, str]:
    return written(JsonFormat().reader(NEW).infer("new", run(values)))


def test_integers_are_long_and_fractions_make_them_double() -> None:
    assert inferred(b'{"a":1}') == {"a": "long"}
    assert inferred(b'{"a":1}', b'{"a":1.5}') == inferred(b'{"a":1.5}', b'{"a":1}') == {"a": "double"}


def test_any_other_mixture_is_json_text() -> None:
    assert inferred(b'{"a":1}', b'{"a":"x"}', b'{"a":{"b":1}}') == {"a": "json"}


def test_all_messages_are_looked_at_not_just_the_first() -> None:
    late = [b'{"a":1}'] * 5_000 + [b'{"a":1,"b":true}']
    assert inferred(*late) == {"a": "long", "b": "boolean"}


def test_message_that_no_table_could_hold_teaches_nothing() -> None:
    assert inferred(b'{"a":1}', b'{"b c":1}', b'{"a":99999999999999999999}', b"{", b"[1]") == {"a": "long"}


def test_what_is_nested_too_deep_for_a_column_is_json_text() -> None:
    deep = JsonFormat().reader(NEW).infer("new", run([b'{"a":' + b"[" * 60 + b"]" * 60 + b"}"]))
    kinds: list[Type] = [deep.fields[0].type]
    while isinstance(kinds[-1], Array):
        kinds.append(kinds[-1].of)
    assert len(kinds) == 16
    assert kinds[-1] == kind("json")


def test_new_field_beside_an_odd_value_of_a_known_json_column_is_still_noticed() -> None:
    """What a column of JSON text holds may have keys that no column could have."""
    shapes = Shapes({"t": Shape(columns({"meta": "json", "rows": "array<struct<meta: json>>"}), "add")})
    value = b'{"meta":{"a b":1},"x":99999999999999999999}'
    assert JsonFormat().reader(shapes).infer("t", run([value])) == Struct()
    value = b'{"meta":{"a b":99999999999999999999},"rows":[{"meta":{"a b":1},"y":2},null],"x":1}'
    seen = JsonFormat().reader(shapes).infer("t", run([value]))
    assert written(seen) == {"rows": "array<struct<y: long>>", "x": "long"}
