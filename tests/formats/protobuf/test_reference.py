from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from google.protobuf.message_factory import GetMessageClass

from penstock.formats.protobuf.decoder import ProtobufDecoder
from penstock.formats.protobuf.weight import Limits
from penstock.values.plain import Number, Refusal, text
from tests.formats.protobuf.corpus import key, ld, num, old, types


@pytest.fixture(scope="module")
def decoder() -> ProtobufDecoder:
    return ProtobufDecoder(types().named("c.Rich"))


def message(**fields: Any) -> Any:
    return GetMessageClass(types().named("c.Rich"))(**fields)


def plain(decoder: ProtobufDecoder, body: bytes, *names: str) -> list[Any]:
    found = decoder.plain(body)
    return [found[name] for name in names]


def test_absent_fields_are_null_where_that_can_be_told_and_defaults_elsewhere(decoder: ProtobufDecoder) -> None:
    found = decoder.plain(b"")
    nulls = {name for name, value in found.items() if value is None}
    assert nulls == {
        "inner", "at", "maybe", "free", "nothing", "left", "right", "opt", "self", "took", "any", "old",
    }  # fmt: skip
    assert [found[name] for name in ("i32", "u64", "flag", "text", "raw", "color")] == [
        "0", "0", False, "", "", "NONE",
    ]  # fmt: skip
    assert [found[name] for name in ("packed", "texts", "counts")] == [[], [], {}]
    assert plain(decoder, num(28, 0) + ld(26) + ld(23), "opt", "left", "maybe") == ["0", "", ""]


def test_numbers_are_exact_texts(decoder: ProtobufDecoder) -> None:
    body = message(u64=2**64 - 1, i64=-(2**63), single=0.1, double=0.1, s32=-1).SerializeToString()
    found = plain(decoder, body, "u64", "i64", "single", "double", "s32")
    assert found == ["18446744073709551615", "-9223372036854775808", "0.10000000149011612", "0.1", "-1"]
    assert all(isinstance(value, Number) for value in found)
    assert plain(decoder, key(12, 1) + struct.pack("<d", math.inf), "double") == [math.inf]


def test_times_enums_bytes_and_keys_are_texts(decoder: ProtobufDecoder) -> None:
    body = message(raw=b"\x00\xff", color=77).SerializeToString()
    assert plain(decoder, body, "raw", "color") == ["AP8=", "MISSING"]
    assert plain(decoder, ld(22, num(1, -1) + num(2, 999_999_999)), "at") == ["1969-12-31T23:59:59.999999Z"]
    assert plain(decoder, ld(22), "at") == ["1970-01-01T00:00:00Z"]
    switches = ld(36, num(1, 1) + num(2, 1)) + ld(36)
    assert plain(decoder, switches, "switches") == [{"false": "NONE", "true": "RED"}]


def test_dynamic_and_recursive_values_are_what_they_say(decoder: ProtobufDecoder) -> None:
    it = message()
    it.free.update({"b": [1, 2.5, None, "x", {"t": True}], "a": math.nan, "big": 1e300})
    it.self.text, it.self.self.i32 = "inner", 3
    it.self.counts["k"], it.self.color = 1, 1
    found = decoder.plain(it.SerializeToString())
    assert text(found["free"]["b"]) == '[1,2.5,null,"x",{"t":true}]'
    assert math.isnan(found["free"]["a"])
    assert text(found["self"]) == '{"text":"inner","color":"RED","counts":{"k":1},"self":{"i32":3}}'


def test_unknown_fields_are_counted_wherever_they_are(decoder: ProtobufDecoder) -> None:
    before = decoder.unknown_fields
    decoder.plain(num(999, 1) + ld(17, num(99, 1)) + ld(29, num(99, 1)) + ld(30, num(999, 1)) + old(num(150, 1)))
    assert decoder.unknown_fields - before == 5


def test_unknown_fields_are_refused_by_a_strict_decoder() -> None:
    strict = ProtobufDecoder(types().named("c.Rich"), strict=True)
    assert strict.plain(num(1, 1))["i32"] == "1"
    with pytest.raises(Refusal) as why:
        strict.plain(num(1, 1) + ld(17, num(99, 1)))
    assert (why.value.code, why.value.text) == (
        "protobuf.unknown-field",
        "the message has 1 fields that its type does not have",
    )


def test_limits_are_those_that_are_given() -> None:
    narrow = ProtobufDecoder(types().named("c.Inner"), limits=Limits(bytes=20, values=12))
    assert narrow.plain(ld(4, b"\x01\x02\x03"))["marks"] == ["1", "2", "3"]
    for body, code in ((bytes(21), "too-large"), (ld(4, b"\x01" * 9), "too-many-values")):
        with pytest.raises(Refusal) as why:
            narrow.plain(body)
        assert why.value.code == f"protobuf.{code}"


def test_flattened_values_stand_under_joined_names() -> None:
    flat = ProtobufDecoder(types().named("c.Inner"), True)
    assert flat.plain(ld(3, num(1, 1))) == {
        "name": "", "count": "0", "deeper_on": True, "deeper_at": None, "marks": [],
    }  # fmt: skip
    assert flat.plain(b"")["deeper_on"] is None
