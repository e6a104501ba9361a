"""Rules for many rows at once: what goes this way, what does not, and what the rows are afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.schema import BOOLEAN, DOUBLE, JSON, LONG, STRING, Array, Field, Map, Schema, Struct, parse
from penstock.transforms.expressions import Declines
from penstock.transforms.program import AboutColumns, Program, compiled, ways
from penstock.transforms.rules import rules
from penstock.values.plain import Number
from tests.transforms.generated import Case, abouts, batch, together
from tests.transforms.test_agreement import agree
from tests.transforms.test_reference import order_book

ORDINARY: list[dict[str, Any]] = [
    {
        "id": f"order-{at}",
        "ts": f"2021-03-24T15:06:{at:02d}.321710+00:00",
        "epoch": Number(1626823098519 + at * 1_001),
        "seconds": Number(f"{1626823098 + at}.51995"),
        "number": str(at * 7),
        "price": f"{at}.25",
        "mixed": "" if at % 3 else f"{at}.5" if at % 2 else str(at),
        "amount": Number(f"{at}.5"),
        "count": Number(at),
        "open": at % 2 == 0,
        "note": None if at % 3 else "a note",
        "tags": ["a", "b"] if at % 2 else [],
        "counts": [Number(at), Number(1)],
        "meta": {"producer": {"timestamp": "2021-03-24T15:06:17Z"}},
        "items": [{"sku": "x", "qty": Number(2)}][: at % 2],
    }
    for at in range(20)
]

EVERY_DAY = [
    *("id", "meta.producer.timestamp", "items[0].sku", "items[-1].qty", "tags[1]", "meta", "items", "@"),
    *("'text'", '`"text"`', "`1`", "`1.5`", "`true`", "`null`", "nowhere", "null"),
    *("substr(ts, `0`, `10`)", "substr(meta.producer.timestamp, `11`, `2`)", "substr(to_string(epoch), `0`, `4`)"),
    *("to_number(number)", "to_number(price)", "to_number(mixed)", "to_number(count)", "to_number(open)"),
    *("to_string(count)", "to_string(amount)", "to_string(open)", "to_string(note)", "to_string(id)"),
    *("join('-', [id, ts])", "join(',', tags)", "length(id)", "length(tags)", "length(items)"),
    *("contains(id, 'order')", "contains(tags, 'a')", "contains(counts, `1`)", "contains(counts, count)"),
    *("starts_with(id, 'order')", "ends_with(ts, '+00:00')"),
    *("count == `3`", "count != amount", "amount < `3`", "id >= 'order-3'", "note == 'a note'", "note == `null`"),
    *("note < 'b'", "open == `true`", "open == id", "items[0].qty > count", "meta == `null`"),
    *("epoch_millis_to_iso8601(epoch)", "epoch_seconds_to_iso8601(seconds)", "epoch_millis_to_micro(epoch)"),
    *("epoch_seconds_to_iso8601(to_number(number))", "epoch_micros_to_iso8601(epoch)", "epoch_nanos_to_iso8601(epoch)"),
    *("note || id", "note && length(note)", "open && count > `3`", "!note", "!tags", "note || `null`", "(note || id)"),
    *("kafka.offset", "kafka.partition", "kafka.topic", "kafka.timestamp_type", "count | @", "items[0] | sku"),
]


def program(transforms: dict[str, str], schema: Schema) -> Program:
    return compiled(rules(transforms), schema)


def about(count: int) -> AboutColumns:
    return abouts(count)[1]


@pytest.mark.parametrize("source", EVERY_DAY)
@pytest.mark.parametrize("target", ["new", "meta.new", "tags"])
def test_what_comes_every_day_goes_fast(source: str, target: str) -> None:
    assert ways(rules({target: source})) == [(target, "fast")]
    assert agree(Case(ORDINARY, {target: source}, together(ORDINARY))) == (20, 20)


def test_order_book_goes_fast() -> None:
    given, transforms, flat = order_book()
    made = program(transforms, together([given]))
    rows, schema, declined = made.apply(batch([given] * 5, together([given])), about(5))

    assert rows.to_pylist() == [flat] * 5
    assert sorted(field.name for field in schema) == sorted(flat)
    assert not declined.any()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("items[*].sku", "a projection, such as [*] or []"),
        ("items[]", "a projection, such as [*] or []"),
        ("items[?qty > `1`]", "a filter"),
        ("items[0:2]", "a projection, such as [*] or []"),
        ("{a: id}", "an object made of expressions"),
        ("[id]", "an array made of expressions (which only join() takes)"),
        ("sort_by(items, &qty)", "sort_by()"),
        ("sum(counts)", "sum()"),
        ("`[1]`", "an array or object as a literal"),
        ("`99999999999999999999`", "a literal integer beyond 64 bits"),
        ("substr(id, count, `1`)", "substr() whose argument 2 is not a literal"),
        ("id.length(@)", "a function, comparison or literal after a dot or |"),
    ],
)
def test_what_goes_one_by_one_is_told_with_its_reason(source: str, why: str) -> None:
    assert ways(rules({"fine": "id", "x": source})) == [("fine", "fast"), ("x", why)]
    with pytest.raises(Declines) as caught:
        program({"fine": "id", "x": source}, together(ORDINARY))
    assert caught.value.why == why


TYPES = Struct(
    (
        *(Field("text", STRING), Field("whole", LONG), Field("part", DOUBLE), Field("flag", BOOLEAN)),
        *(Field("json", JSON), Field("map", Map(LONG)), Field("struct", Struct((Field("json", JSON),)))),
        *(Field("texts", Array(STRING)), Field("flags", Array(BOOLEAN)), Field("any", Array(JSON))),
    )
)


@pytest.mark.parametrize(
    "source",
    [
        *("struct", "any", "@", "length(json)", "substr(any[0], `0`, `1`)", "contains(any, 'x')"),
        *("length(struct)", "length(whole)", "length(nowhere)", "substr(whole, `0`, `1`)", "substr(text, `true`, `1`)"),
        *("to_string(struct)", "to_string(texts)", "join(',', any)", "join(whole, texts)", "join(`1`, texts)"),
        *("contains(text, text)", "contains(whole, `1`)", "contains(flags, `1`)", "contains(texts, `null`)"),
        *("texts == texts", "struct == struct", "!struct", "struct && text", "text || whole"),
        *("epoch_seconds_to_iso8601(text)", "epoch_millis_to_micro(nowhere)", "starts_with(text, text)"),
    ],
)
def test_types_can_stand_against_it(source: str) -> None:
    with pytest.raises(Declines):
        program({"x": source}, TYPES)


@pytest.mark.parametrize(
    ("transforms", "why"),
    [
        ({"TEXT": "whole"}, "differ only in case"),
        ({"new.a": "whole", "new.A": "whole"}, "differ only in case"),
        ({"json.a": "whole"}, "a target inside 'json'"),
        ({"json.a": "`null`"}, "a target inside 'json'"),
        ({".".join("abcdefghijklmnop"): "texts"}, "nested more than 16 deep"),
    ],
)
def test_targets_can_stand_against_it(transforms: dict[str, str], why: str) -> None:
    with pytest.raises(Declines, match=why):
        program(transforms, TYPES)


def test_a_column_can_be_renamed_to_another_case() -> None:
    made = program({"Text": "text", "text": "`null`"}, TYPES)

    assert "Text" in made.schema
    assert "text" not in made.schema


def test_what_no_rule_touches_stays() -> None:
    made = program({"new": "whole"}, TYPES)

    assert made.schema == Struct((*TYPES, Field("new", LONG)))


def run(transforms: dict[str, str], rows: pa.RecordBatch, written: str, nulls: Any = "remove") -> tuple[Any, Any, Any]:
    schema = parse(written)
    assert isinstance(schema, Struct)
    found, after, declined = compiled(rules(transforms, nulls), schema).apply(rows, about(rows.num_rows))
    return found, after, declined.tolist()


def test_only_the_rows_in_doubt_are_declined() -> None:
    rows = pa.RecordBatch.from_pydict({"t": ["7", "1e5", None, "x", "8", "9" * 19]})
    found, schema, declined = run({"n": "to_number(t)"}, rows, "struct<t: string>")

    assert declined == [False, True, False, False, False, True]
    assert (found["n"][0].as_py(), found["n"][2].as_py(), found["n"][3].as_py(), found["n"][4].as_py()) == (
        7,
        None,
        None,
        8,
    )
    assert schema.get("n").type == LONG


def test_a_batch_with_fractions_has_fractions() -> None:
    rows = pa.RecordBatch.from_pydict({"t": ["7", "1.5"]})
    found, schema, _ = run({"n": "to_number(t)"}, rows, "struct<t: string>")

    assert found["n"].to_pylist() == [7.0, 1.5]
    assert schema.get("n").type == DOUBLE


def test_rows_where_the_expression_fails_are_declined() -> None:
    rows = pa.RecordBatch.from_pydict({"t": ["abc", None], "n": pa.array([2**60, 0])})
    for source in ("substr(t, `0`, `1`)", "length(t)", "join('', [t, t])", "contains(t, 'a')", "ends_with(t, '')"):
        assert run({"x": source}, rows, "struct<t: string, n: long>")[2] == [False, True], source
    for source in ("epoch_seconds_to_iso8601(n)", "epoch_millis_to_micro(n)"):
        assert run({"x": source}, rows, "struct<t: string, n: long>")[2] == [True, False], source
    assert run({"x": "t > n"}, rows, "struct<t: string, n: long>")[2] == [True, False]


@pytest.mark.parametrize(
    "source", ["json", "json.x", "any[0]", "any[0].x", "json == `null`", "!any[0]", "to_string(json)"]
)
def test_of_values_of_several_kinds_only_their_absence_is_known(source: str) -> None:
    rows = pa.RecordBatch.from_pydict({"json": ["1", None, None], "any": [["1"], [], None]})
    made = compiled(rules({"x": source}), Struct((Field("json", JSON), Field("any", Array(JSON)))))

    assert made.apply(rows, about(3))[2].tolist() == [True, False, False]


def test_what_is_not_evaluated_does_not_fail() -> None:
    rows = pa.RecordBatch.from_pydict({"t": ["abc", None]})
    found, _, declined = run({"x": "t && substr(t, `0`, `1`)"}, rows, "struct<t: string>")

    assert (found["x"].to_pylist(), declined) == (["a", None], [False, False])


def test_what_hides_under_a_null_object_does_not_show() -> None:
    """A reader may leave values in the fields of an object that is not there."""
    inner = pa.array([1, 2, 3])
    meta = pa.StructArray.from_arrays([inner], fields=[pa.field("a", pa.int64())], mask=pa.array([False, True, True]))
    rows = pa.RecordBatch.from_arrays([meta, pa.array([None, "x", None])], names=["meta", "t"])
    found, _, _ = run({"meta.t": "t", "a": "meta.a"}, rows, "struct<meta: struct<a: long>, t: string>")

    assert found["meta"].to_pylist() == [{"a": 1, "t": None}, {"a": None, "t": "x"}, None]
    assert found["a"].to_pylist() == [1, None, None]


def test_what_hides_under_a_null_array_does_not_show() -> None:
    kind = pa.list_(pa.field("element", pa.string()))
    offsets, texts = pa.array([0, 1, 2], pa.int32()), pa.array(["a", "b"])
    tags = pa.ListArray.from_arrays(offsets, texts, type=kind, mask=pa.array([False, True]))
    rows = pa.RecordBatch.from_arrays([tags], names=["tags"])
    found, _, declined = run({"x": "tags[0]", "y": "tags || `null`"}, rows, "struct<tags: array<string>>")

    assert (found["x"].to_pylist(), found["y"].to_pylist(), declined) == (["a", None], [["a"], None], [False, False])


def test_removing_the_last_field_leaves_an_empty_object() -> None:
    rows = pa.RecordBatch.from_pylist([{"m": {"a": 1}}, {"m": None}])
    found, schema, _ = run({"m.a": "`null`", "x.y": "`null`"}, rows, "struct<m: struct<a: long>>")

    assert schema == Struct((Field("m", Struct()),))
    assert found["m"].to_pylist() == [{}, None]


def test_rows_without_columns_are_still_rows() -> None:
    rows = pa.RecordBatch.from_pylist([{"a": 1}, {"a": 2}])
    found, schema, declined = run({"a": "`null`"}, rows, "struct<a: long>")

    assert (found.num_rows, schema, declined) == (2, Struct(), [False, False])
    empty, _, _ = compiled(rules({"o": "kafka.offset", "w": "@"}), schema).apply(found, about(2))
    assert empty.to_pylist() == [{"o": 0, "w": {}}, {"o": 1, "w": {}}]


def test_a_parent_that_is_no_object_is_replaced_where_there_is_a_value() -> None:
    rows = pa.RecordBatch.from_pydict({"a": [1, 2, None, None], "t": ["x", None, "y", None]})
    found, _, declined = run({"a.b": "t"}, rows, "struct<a: long, t: string>")

    assert declined == [False, True, False, False]
    assert [found["a"][at].as_py() for at in (0, 2, 3)] == [{"b": "x"}, {"b": "y"}, None]


def test_nulls_can_leave_the_target() -> None:
    rows = pa.RecordBatch.from_pydict({"a": [1, 2, 3], "b": [None, 1.5, None], "t": ["x", None, None]})
    written = "struct<a: long, b: double, t: string>"

    found, schema, declined = run({"a": "b"}, rows, written, "keep")
    assert (found["a"].to_pylist(), schema.get("a").type, declined) == ([1.0, 1.5, 3.0], DOUBLE, [False] * 3)
    _, _, declined = run({"a": "t", "b": "nowhere"}, rows, written, "keep")
    assert declined == [False, True, True]


def test_times_are_only_asked_for_where_they_are_used() -> None:
    def never() -> pa.Array:
        raise AssertionError("nobody needs it")

    rows = pa.RecordBatch.from_pydict({"a": [1]})
    columns = AboutColumns("t", pa.array([3], pa.int32()), pa.array([5]), never, never)
    found, _, _ = program({"o": "kafka.offset", "p": "kafka.partition"}, Struct((Field("a", LONG),))).apply(
        rows, columns
    )

    assert found.to_pylist() == [{"a": 1, "o": 5, "p": 3}]


def test_partitions_can_have_names() -> None:
    rows = pa.RecordBatch.from_pydict({"a": [1]})
    none = pa.array([None], pa.int64())
    columns = AboutColumns("t", pa.array(["shard-1"]), pa.array([5]), lambda: none, lambda: none)
    found, _, declined = program({"p": "kafka.partition", "t": "kafka.timestamp"}, Struct((Field("a", LONG),))).apply(
        rows, columns
    )

    assert found.to_pylist() == [{"a": 1, "p": "shard-1", "t": None}]
    assert declined.dtype == np.bool_
