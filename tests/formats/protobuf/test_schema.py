from __future__ import annotations

import pytest

from penstock.formats.protobuf.descriptors import compile_source
from penstock.formats.protobuf.schema import MAX_COLUMNS, flattened, layout_of
from penstock.schema import written
from penstock.values.plain import Refusal
from tests.formats.protobuf.corpus import types


def columns(source: str, name: str = "M", flatten: bool = False) -> dict[str, str]:
    schema = layout_of(compile_source(f'syntax = "proto3";{source}').named(name)).type
    return written(flattened(schema) if flatten else schema)


def test_every_kind_of_field_has_its_column() -> None:
    inner = "struct<name: string, count: long, deeper: struct<on: boolean, at: timestamp>, marks: array<long>>"
    found = written(layout_of(types().named("c.Rich")).type)
    assert len(found.pop("wide")) > 10_000
    assert found == {
        "i32": "int", "i64": "long", "u32": "long", "u64": "decimal(20, 0)", "s32": "int", "s64": "long",
        "f32": "long", "f64": "decimal(20, 0)", "single": "float", "double": "double", "flag": "boolean",
        "text": "string", "raw": "binary", "color": "string", "inner": inner, "packed": "array<long>",
        "texts": "array<string>", "counts": "map<string, int>", "inners": f"map<string, {inner}>",
        "at": "timestamp", "maybe": "string", "free": "json", "nothing": "boolean", "left": "string", "right": inner,
        "opt": "int", "many": f"array<{inner}>", "self": "json", "doubles": "array<double>",
        "took": "struct<seconds: long, nanos: int>", "any": "struct<type_url: string, value: binary>",
        "colors": "array<string>", "switches": "map<string, string>",
        "old": "struct<id: int, text: string, mode: string, modes: array<string>, part: struct<n: int>, "
        "by_name: map<string, string>>",
        "singles": "array<float>", "flags": "array<boolean>", "times": "map<string, timestamp>",
    }  # fmt: skip


def test_what_refers_back_to_itself_is_text_from_there_on() -> None:
    source = "message M { repeated N ns = 1; map<string, M> by = 2; } message N { M m = 1; N n = 2; int32 i = 3; }"
    assert columns(source) == {"ns": "array<struct<m: json, n: json, i: int>>", "by": "map<string, json>"}


def test_what_is_nested_too_deep_for_a_table_is_text() -> None:
    chain = "".join(f"message M{n} {{ M{n + 1} m = 1; }}" for n in range(30)) + "message M30 { int32 i = 1; }"
    found = columns(chain, "M0")["m"]
    assert (found.count("struct<"), found.count("json")) == (15, 1)


def test_flattened_names_join_those_of_parents_and_maps_stay() -> None:
    source = """message M { N n = 1; repeated N ns = 2; map<string, N> by = 3; }
      message N { P p = 1; int32 i = 2; } message P { string s = 1; }"""
    nested = "struct<p: struct<s: string>, i: int>"
    assert columns(source, flatten=True) == {
        "n_p_s": "string",
        "n_i": "int",
        "ns": "array<struct<p_s: string, i: int>>",
        "by": f"map<string, {nested}>",
    }


def test_columns_that_a_table_cannot_have_together_are_refused() -> None:
    with pytest.raises(Refusal, match="two fields would be the column n_i"):
        columns("message M { N n = 1; int32 n_i = 2; } message N { int32 i = 1; }", flatten=True)
    source = 'syntax = "proto2"; message M { optional int32 one = 1; optional int32 ONE = 2; }'
    twins = compile_source(source).named("M")
    with pytest.raises(Refusal, match="the fields one and ONE of M cannot be columns of one table"):
        layout_of(twins)
    with pytest.raises(Refusal, match="names of more than 255"):
        columns(f"message M {{ E e = 1; }} enum E {{ {'x' * 256} = 0; }}")


def test_types_that_double_at_each_level_are_refused_before_they_fill_memory() -> None:
    chain = "".join(f"message M{n} {{ M{n + 1} a = 1; M{n + 1} b = 2; }}" for n in range(30))
    with pytest.raises(Refusal, match=f"M0 makes more than {MAX_COLUMNS} columns"):
        columns(chain + "message M30 { int32 i = 1; }", "M0")
