"""What a decoder says about its schema."""

from __future__ import annotations

import json

import pytest

from penstock.formats.avro.decoder import AvroDecoder
from penstock.formats.avro.reference import Limits
from penstock.values.plain import Number, Refusal
from tests.formats.avro.encoding import fixed, record, text

ORDER = {**record("long", "Money", name="Order"), "namespace": "com.shop"}
MONEY = fixed(2, name="com.shop.Money")


def test_a_record_is_known_by_its_name_with_and_without_its_namespace() -> None:
    decoder = AvroDecoder(json.dumps(ORDER), [json.dumps(MONEY)])

    assert (decoder.record, decoder.full_name) == ("Order", "com.shop.Order")
    assert str(decoder.schema) == "struct<a: long, b: binary>"
    assert decoder.plain(b"\x02\0\xff") == {"a": Number("1"), "b": "AP8="}


def test_what_is_no_record_is_known_by_its_kind() -> None:
    decoder = AvroDecoder('{"type": "array", "items": "int"}')

    assert (decoder.record, decoder.full_name) == ("array", "array")
    assert decoder.plain(b"\x02\x04\0") == {"value": [Number("2")]}


def test_schemas_that_mean_the_same_have_one_fingerprint() -> None:
    documented = {**ORDER, "doc": "What was bought."}

    one, other = (AvroDecoder(json.dumps(schema), [json.dumps(MONEY)]) for schema in (ORDER, documented))

    assert one.fingerprint == other.fingerprint != AvroDecoder(json.dumps(MONEY)).fingerprint


def test_limits_are_the_callers() -> None:
    with pytest.raises(Refusal) as caught:
        AvroDecoder('"string"', limits=Limits(bytes=10)).plain(text("x" * 10))

    assert caught.value.code == "avro.too-large"


def test_a_schema_that_cannot_be_used_is_an_error_for_people() -> None:
    with pytest.raises(ValueError, match='uses the type "Money", which is not defined before'):
        AvroDecoder(json.dumps(record("Money")))
