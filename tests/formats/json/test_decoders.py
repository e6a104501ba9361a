"""Decoders that say which messages are clean: they accept exactly what the columnar parser can be trusted with."""

from __future__ import annotations

import json

import msgspec
import pytest

from penstock.contracts import Shape
from penstock.formats.json.decoders import (
    Declines,
    Decode,
    decoder,
    inference_decoder,
    object_decoder,
    path_decoder,
    union,
)
from penstock.schema import NOTHING, Array, Field, Struct, columns

Paths = frozenset[tuple[str, ...]]
NONE: Paths = frozenset()


def accepts(decode: Decode, value: str | bytes) -> bool:
    try:
        decode(value.encode() if isinstance(value, str) else value)
    except (msgspec.MsgspecError, Declines):
        return False
    return True


def made(evolve: str = "add", nulls: Paths = NONE, **schema: str) -> Decode:
    return decoder(Shape(columns(schema), evolve), nulls)


@pytest.mark.parametrize(
    ("kind", "clean", "not_clean"),
    [
        ("string", ['"a"', '""', "null"], ["1", "true", "[]", "{}"]),
        ("json", ['"a"', "null"], ["1", "true", "[]", "{}"]),
        ("boolean", ["true", "null"], ["1", '"true"']),
        ("byte", ["-128", "127"], ["128", "-129", "1.0", '"1"']),
        ("short", ["-32768", "32767"], ["32768", "1e2"]),
        ("int", ["2147483647"], ["2147483648"]),
        ("long", ["-9223372036854775808", "9223372036854775807", "-0"], ["9223372036854775808", "1.0", "1e2", '"7"']),
        ("double", ["1", "1.5", "-0.0", "9007199254740992", "1e-400"], ["9007199254740993", "1e999", '"1.5"', "true"]),
        ("date", ['"2024-02-29"'], ['"2023-02-29"', '"2020-W01-1"', "1", '"2024-02-29T00:00:00Z"']),
        ("timestamp", ['"2024-02-29T00:00:00Z"', '"2024-02-29 00:00:00+01:00"'], ['"2024-02-29T00:00:00"', "1"]),
        ("array<long>", ["[]", "[1,null]", "null"], ["[1.5]", "1", "{}"]),
        ("struct<x: long>", ["{}", '{"x":1}', '{"x":null}', "null"], ['{"y":1}', "[]", '{"x":"1"}']),
        ("struct<x: long not null>", ['{"x":1}', "null"], ["{}", '{"x":null}']),
    ],
)
def test_message_is_clean_if_its_values_are_of_their_columns_kind(
    kind: str, clean: list[str], not_clean: list[str]
) -> None:
    decode = made(v=kind)
    assert [text for text in clean if not accepts(decode, f'{{"v":{text}}}')] == []
    assert [text for text in not_clean if accepts(decode, f'{{"v":{text}}}')] == []


@pytest.mark.parametrize(
    "kind", ["float", "timestamp_ntz", "binary", "decimal(10, 2)", "map<string, long>", "array<float>"]
)
def test_kinds_that_the_columnar_parser_reads_differently_are_declined(kind: str) -> None:
    with pytest.raises(Declines):
        made(v=kind)


def test_column_that_must_not_be_null_must_be_there() -> None:
    decode = made(a="long not null", b="long")
    assert accepts(decode, '{"a":1}')
    assert not accepts(decode, '{"b":1}')
    assert not accepts(decode, '{"a":null}')


@pytest.mark.parametrize(
    ("evolve", "is_clean"), [("add", False), ("freeze", False), ("rescue", False), ("ignore", True)]
)
def test_unknown_keys_are_in_doubt_unless_they_are_ignored(evolve: str, is_clean: bool) -> None:
    assert accepts(made(evolve, a="long"), '{"a":1,"b":{"c":[1]}}') is is_clean


def test_fields_that_only_ever_held_null_may_go_on_doing_so() -> None:
    decode = made(
        "freeze",
        frozenset({("b",), ("s", "y"), ("l", "[]", "z")}),
        a="long",
        s="struct<x: long>",
        l="array<struct<x: long>>",
    )
    assert accepts(decode, '{"a":1,"b":null,"s":{"y":null},"l":[{"z":null}]}')
    for text in ('{"b":1}', '{"b":{}}', '{"s":{"y":1}}', '{"l":[{"z":1}]}', '{"y":null}'):
        assert not accepts(decode, text)


def test_empty_object_is_like_null_where_columns_are_added() -> None:
    assert accepts(made("add", frozenset({("b",)}), a="long"), '{"b":{}}')
    assert not accepts(made("add", frozenset({("b",)}), a="long"), '{"b":{"c":1}}')
    assert not accepts(made("rescue", frozenset({("b",)}), a="long"), '{"b":{}}')


@pytest.mark.parametrize("name", ['q"', "back\\slash", "\x01", "\n"])
def test_column_that_msgspec_cannot_name_leaves_only_messages_in_doubt_that_have_it(name: str) -> None:
    decode = decoder(Shape(Struct((Field("a", columns({"a": "long"}).fields[0].type), Field(name, NOTHING)))), NONE)
    assert accepts(decode, '{"a":1}')
    assert not accepts(decode, json.dumps({"a": 1, name: None}))
    assert accepts(made("add", frozenset({(name,)}), a="long"), '{"a":1}')


def test_column_that_msgspec_cannot_name_is_declined_where_nobody_else_would_miss_or_see_it() -> None:
    with pytest.raises(Declines):
        decoder(Shape(Struct((Field('q"', NOTHING, required=True),))), NONE)
    with pytest.raises(Declines):
        decoder(Shape(Struct((Field('q"', NOTHING),)), "ignore"), NONE)


def test_keys_may_be_escaped() -> None:
    assert accepts(made(é="long"), r'{"\u00e9":1}')
    assert not accepts(made(é="long"), r'{"\u00e9":"1"}')


# --- finding the type ----------------------------------------------------------------------------


def test_path_decoder_finds_the_type_and_skips_the_rest() -> None:
    assert accepts(path_decoder("meta.kind"), '{"a":[1],"meta":{"b":1,"kind":"x"},"c":null}')
    for text in ('{"meta":{"kind":1}}', '{"meta":{}}', '{"meta":null}', '{"meta.kind":"x"}', '{"meta":{"kind":"x"}'):
        assert not accepts(path_decoder("meta.kind"), text)


def test_path_that_msgspec_cannot_name_is_declined() -> None:
    with pytest.raises(Declines):
        path_decoder('meta.q"')


def test_object_decoder_accepts_any_object_and_nothing_else() -> None:
    assert accepts(object_decoder, ' {"a":[{"b":1e999}]} ')
    for text in ("[]", "{", '{"a":NaN}', "{}{}", "1", "", r'{"a":"\q"}'):
        assert not accepts(object_decoder, text)


def test_union_tells_the_type_and_proves_the_row_in_one_call() -> None:
    rows = {name: (Shape(columns({"type": "string", name: "long"})), NONE) for name in ("a", "b")}
    found = union("type", rows, {"new": 7})
    meanings = [
        found.meaning[type(found.decode(text))]
        for text in (b'{"a":1,"type":"a"}', b'{"type":"b"}', b'{"type":"new","x":{}}')
    ]
    assert meanings == ["a", "b", 7]
    for text in (
        '{"type":"a","b":1}',
        '{"type":"c"}',
        '{"a":1}',
        '{"type":null}',
        '{"type":"a","type":"b"}',
        '{"type":1}',
    ):
        assert not accepts(found.decode, text)


def test_union_of_a_single_type_misses_the_type_too() -> None:
    """Decoding into one tagged struct, msgspec takes a message without a tag for it."""
    found = union("type", {"a": (Shape(columns({"type": "string", "x": "long"})), NONE)}, {})
    assert accepts(found.decode, '{"type":"a","x":1}')
    assert not accepts(found.decode, '{"x":1}')
    assert not accepts(found.decode, "{}")


@pytest.mark.parametrize("name", ["", 'q"\\\n\x00', "é", "a.", "t" * 1_000])
def test_union_takes_any_name_of_a_type(name: str) -> None:
    found = union("type", {}, {name: 1})
    assert found.meaning[type(found.decode(json.dumps({"type": name}).encode()))] == 1
    with pytest.raises(KeyError):
        found.meaning[type(found.decode(json.dumps({"type": name + "."}).encode()))]


# --- inference -----------------------------------------------------------------------------------


def test_inference_decoder_passes_only_what_tells_nothing_new() -> None:
    decode = inference_decoder(
        Struct((Field("a", NOTHING), Field("b", Array(NOTHING)), *columns({"c": "double", "d": "json"})))
    )
    for text in ("{}", '{"a":null,"b":[null],"c":1.5}', '{"b":[],"c":1,"d":"x"}'):
        assert accepts(decode, text)
    for text in ('{"a":1}', '{"a":{}}', '{"b":[1]}', '{"c":"x"}', '{"d":1}', '{"e":null}'):
        assert not accepts(decode, text)


def test_inference_decoder_passes_nothing_where_it_cannot_tell() -> None:
    assert not accepts(inference_decoder(columns({"a": "float"})), "{}")
