"""DynamoDB's typed JSON: what it means at every depth, and what is refused of it."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formats.dynamodb.attributes import MAX_DEPTH, item, unmarshalled
from penstock.formats.json.reference import parse
from penstock.values.plain import Number, Refusal
from tests.formats.dynamodb.malformed import BAD, PATH, nested

LARGE = 10 * 2**20


def read(attribute: Any) -> Any:
    """An attribute on its way through JSON, as it comes in messages."""
    return parse(json.dumps({"a": attribute}).encode(), LARGE)["a"]


def plain(attribute: Any) -> Any:
    return unmarshalled(read(attribute), PATH)


# --- what it means -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ({"S": "x"}, "x"),
        ({"S": ""}, ""),
        ({"S": "12"}, "12"),
        ({"N": "12"}, Number("12")),
        ({"N": "-0.50"}, Number("-0.50")),
        ({"N": "1" * 38}, Number("1" * 38)),
        ({"N": "0." + "0" * 129 + "1"}, Number("0." + "0" * 129 + "1")),
        ({"N": "9" * 38 + "0" * 88}, Number("9" * 38 + "0" * 88)),
        ({"N": "9.9999E+125"}, Number("9.9999E+125")),
        ({"N": "-1E-130"}, Number("-1E-130")),
        ({"N": "0"}, Number("0")),
        ({"N": "0E+9999"}, Number("0E+9999")),
        ({"BOOL": True}, True),
        ({"BOOL": False}, False),
        ({"NULL": True}, None),
        ({"B": "YWJj"}, "YWJj"),
        ({"B": ""}, ""),
        ({"SS": ["b", "a", ""]}, ["b", "a", ""]),
        ({"NS": ["2", "1.5"]}, [Number("2"), Number("1.5")]),
        ({"BS": ["YQ==", "Yg=="]}, ["YQ==", "Yg=="]),
        ({"M": {}}, {}),
        ({"L": []}, []),
        ({"M": {"S": {"S": "x"}, "M": {"M": {"N": {"N": "1"}}}}}, {"S": "x", "M": {"N": Number("1")}}),
        ({"L": [{"NULL": True}, {"L": [{"M": {"a b": {"SS": ["x"]}}}]}]}, [None, [{"a b": ["x"]}]]),
    ],
)
def test_attribute_is_its_value(attribute: Any, value: Any) -> None:
    found = plain(attribute)

    assert found == value
    assert type(found) is type(value)


def test_numbers_and_texts_are_told_apart() -> None:
    found = item(read({"n": {"N": "1"}, "s": {"S": "1"}, "ns": {"NS": ["1"]}, "ss": {"SS": ["1"]}}))

    assert isinstance(found["n"], Number)
    assert isinstance(found["ns"][0], Number)
    assert not isinstance(found["s"], Number)
    assert not isinstance(found["ss"][0], Number)


def test_order_of_an_item_is_an_item() -> None:
    order = {
        "orderId": {"S": "o-1"},
        "timestamp": {"N": "1700000000000"},
        "items": {"L": [{"M": {"productId": {"S": "p"}, "price": {"N": "9.90"}, "quantity": {"N": "2"}}}]},
        "totalAmount": {"N": "19.80"},
    }
    assert item(read(order)) == {
        "orderId": "o-1",
        "timestamp": "1700000000000",
        "items": [{"productId": "p", "price": "9.90", "quantity": "2"}],
        "totalAmount": "19.80",
    }


@pytest.mark.parametrize("tag", ["L", "M"])
def test_value_may_be_nested_as_deep_as_the_limit(tag: str) -> None:
    found = unmarshalled(nested(MAX_DEPTH, tag))
    for _ in range(MAX_DEPTH):
        found = found[0] if tag == "L" else found["m"]

    assert found == "x"


# --- there and back ------------------------------------------------------------------------------


def marshalled(value: Any) -> Any:
    """The other way: a plain value as DynamoDB would type it."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, Number):
        return {"N": str(value)}
    if isinstance(value, bytes):
        return {"B": base64.b64encode(value).decode()}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, list):
        return {"L": [marshalled(element) for element in value]}
    if isinstance(value, frozenset):
        kind = next(iter(value))
        tag = "NS" if isinstance(kind, Number) else "BS" if isinstance(kind, bytes) else "SS"
        return {tag: [next(iter(marshalled(element).values())) for element in sorted(value)]}
    return {"M": {name: marshalled(element) for name, element in value.items()}}


def as_plain(value: Any) -> Any:
    """What is expected of it: sets are arrays, bytes are base64 text."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, frozenset):
        return [as_plain(element) for element in sorted(value)]
    if isinstance(value, list):
        return [as_plain(element) for element in value]
    if isinstance(value, dict):
        return {name: as_plain(element) for name, element in value.items()}
    return value


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
numbers = st.one_of(
    st.integers(-(10**38) + 1, 10**38 - 1).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=9, min_value=-(10**28), max_value=10**28).map(
        "{:f}".format
    ),
).map(Number)
scalars = st.one_of(st.none(), st.booleans(), texts, numbers, st.binary(max_size=5))
sets = st.one_of(*(st.frozensets(kind, min_size=1, max_size=3) for kind in (texts, numbers, st.binary(max_size=3))))
values = st.recursive(
    scalars | sets, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)


@given(values)
def test_every_value_comes_back_from_its_typed_form(value: Any) -> None:
    found = plain(marshalled(value))

    assert repr(found) == repr(as_plain(value))  # also the kinds of numbers and texts


documents = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "M", "L", "x"]), inner, max_size=2
        ),
        st.sampled_from(["S", "N", "BOOL", "NULL", "M", "L"]).flatmap(
            lambda tag: inner.map(lambda value: {tag: value})
        ),
    ),
)


@given(documents)
def test_any_other_json_is_a_value_or_a_refusal(document: Any) -> None:
    try:
        found = plain(document)
    except Refusal as why:
        refused = why
    else:
        json.dumps(found)
        return
    assert (refused.stage, refused.code) == ("parse", "dynamodb.attribute")
    assert refused.text.startswith("a")


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", BAD)
def test_bad_attribute_is_refused_with_its_path(name: str) -> None:
    attribute, part = BAD[name]
    given = read(attribute) if "deep" not in name else attribute
    began = time.process_time()
    with pytest.raises(Refusal) as caught:
        unmarshalled(given, PATH)

    why = caught.value
    assert (why.stage, why.code) == ("parse", "dynamodb.attribute")
    assert part in why.text
    assert why.text.startswith("a")
    assert len(why.text) <= 500
    assert time.process_time() - began < 1


def test_corpus_is_as_large_as_promised_and_all_different() -> None:
    assert len({json.dumps(attribute) for attribute, _ in BAD.values()}) == len(BAD) >= 60


def test_item_that_is_none_is_refused() -> None:
    for text in ("null", '"x"', "[]", "true", "1"):
        with pytest.raises(Refusal, match="object of names"):
            item(parse(b'{"a":%s}' % text.encode(), LARGE)["a"])
