"""What a table would do with another schema: told from types, and true of values."""

from __future__ import annotations

import base64
import json
import struct
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import load
from penstock.contracts import Shape
from penstock.operate.schema_diff import Difference, Effect, difference
from penstock.operate.schema_records import Kept
from penstock.pipeline import Pipeline
from penstock.registries.spark_json import to_spark
from penstock.schema import columns
from penstock.values.fit import fit
from penstock.values.plain import Number, Refusal


def schema(**fields: str) -> Kept:
    """The schema of a type with these columns."""
    return Kept("order", "SPARK", to_spark(columns(fields)))


def avro(*fields: tuple[str, Any], version: int | None = None, record: str = "Order") -> Kept:
    listed = [{"name": name, "type": kind} for name, kind in fields]
    text = json.dumps({"type": "record", "name": record, "fields": listed})
    return Kept("order-value", "AVRO", text, version=version)


def words(effect: Effect) -> dict[str, str]:
    return {change.path: change.word for change in effect.changes}


def compared(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    (effect,) = difference(schema(**new), schema(**old), None).effects
    return words(effect)


# --- columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("have", "comes", "word"),
    [
        ("int", "long", "widened"),
        ("byte", "int", "widened"),
        ("float", "double", "widened"),
        ("decimal(5, 2)", "decimal(10, 2)", "widened"),
        ("long", "int", "fits"),
        ("double", "float", "fits"),
        ("double", "int", "fits"),
        ("double", "long", "partly"),
        ("decimal(20, 0)", "long", "fits"),
        ("long", "decimal(20, 0)", "partly"),
        ("string", "long", "refused"),
        ("long", "string", "refused"),
        ("boolean", "string", "refused"),
        ("timestamp", "string", "partly"),
        ("date", "timestamp", "refused"),
        ("timestamp", "timestamp_ntz", "refused"),
        ("string", "timestamp", "fits"),
        ("json", "struct<a: long>", "fits"),
        ("array<long>", "long", "refused"),
        ("map<string, int>", "map<string, long>", "partly"),
        ("map<string, struct<a: long>>", "map<string, struct<a: long, b: long>>", "refused"),
        ("struct<a: long>", "string", "refused"),
    ],
)
def test_changed_type(have: str, comes: str, word: str) -> None:
    assert compared({"c": have}, {"c": comes}) == {"c": word}


def test_same_columns_change_nothing() -> None:
    kinds = {"a": "long", "b": "array<struct<x: long, y: map<string, date>>>"}

    assert compared(kinds, kinds) == {}


def test_columns_inside_of_others_are_told_by_path() -> None:
    found = compared(
        {"line": "struct<sku: string, qty: int, old: long>", "many": "array<struct<n: int>>"},
        {"line": "struct<sku: long, qty: long, new: date>", "many": "array<struct<n: string, m: long>>"},
    )

    assert found == {
        "line.sku": "refused",
        "line.qty": "widened",
        "line.new": "added",
        "line.old": "dropped",
        "many[].n": "refused",
        "many[].m": "added",
    }


def test_number_without_fraction_may_be_written_so_in_json_only() -> None:
    assert compared({"c": "long"}, {"c": "double"}) == {"c": "widened"}
    (effect,) = difference(avro(("c", "double")), avro(("c", "long")), None).effects
    assert words(effect) == {"c": "refused"}


def test_records_of_a_schema_are_compared_by_name() -> None:
    old = Kept("p", "PROTOBUF", 'syntax = "proto3"; message A { int32 x = 1; } message B { int32 x = 1; }', version=4)
    new = Kept("p", "PROTOBUF", 'syntax = "proto3"; message B { int64 x = 1; } message C { int32 x = 1; }')

    found = difference(new, old, None)

    assert [(effect.record, effect.against, words(effect)) for effect in found.effects] == [
        ("B", "version 4", {"x": "widened"})
    ]
    assert found.notes == ("C is new in the schema",)
    assert (found.ok, found.is_strictly_ok) == (True, False)


def test_first_schema_of_a_name_is_compatible() -> None:
    found = difference(schema(a="long"), None, None)

    assert (found.effects, found.notes, found.is_strictly_ok) == ((), ("nothing is registered as order yet",), True)


def test_schema_that_cannot_be_used_is_not_compared() -> None:
    with pytest.raises(ValueError, match="not JSON"):
        difference(schema(a="long"), Kept("order", "SPARK", "{"), None)


# --- tables --------------------------------------------------------------------------------------


def pipeline(folder: Path, *more: str, by: str = "record", spec: str = "") -> Pipeline:
    path = folder / "shop.yaml"
    lines = [
        "app: shop",
        "source: {kafka: {servers: 'nobody:1', topic: Order}}",
        "format: {avro: {registry: {url: 'http://nobody:1'}}}",
        f"tables: {{base: '{folder}/lake'{spec}}}",
    ]
    route = [] if any(line.startswith("route") for line in more) else [f"route: {{by: {by}}}"]
    path.write_text("\n".join([*lines, *route, *more]) + "\n")
    return load(path)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    place = tmp_path / "lake" / "Order"
    deltalake.write_deltalake(place, pa.table({"n": pa.array([1], pa.int32()), "who": ["x"], "Note": ["y"]}))
    return place


NEW = avro(("n", "long"), ("note", "string"), ("more", "int"))


def _at_table(found: Difference) -> Effect:
    (effect,) = [effect for effect in found.effects if effect.table]
    return effect


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("", {"n": "widened", "note": "refused", "more": "added", "who": "dropped", "Note": "dropped"}),
        (
            ", defaults: {evolve: freeze}",
            {"n": "widened", "note": "refused", "more": "refused", "who": "dropped", "Note": "dropped"},
        ),
        (
            ", defaults: {evolve: ignore}",
            {"n": "widened", "note": "ignored", "more": "ignored", "who": "dropped", "Note": "dropped"},
        ),
        (
            ", defaults: {evolve: rescue}",
            {"n": "rescued", "note": "rescued", "more": "rescued", "who": "dropped", "Note": "dropped"},
        ),
        (
            ", max_columns: 3",
            {"n": "widened", "note": "refused", "more": "refused", "who": "dropped", "Note": "dropped"},
        ),
    ],
)
def test_policy_of_the_table_decides(tmp_path: Path, spec: str, expected: dict[str, str]) -> None:
    found = difference(NEW, None, pipeline(tmp_path, spec=spec))

    assert words(_at_table(found)) == expected
    assert found.ok == ("refused" not in expected.values())


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("by", ["record", "topic", "{constant: Order}"])
def test_route_leads_to_the_table(tmp_path: Path, by: str) -> None:
    assert _at_table(difference(NEW, None, pipeline(tmp_path, by=by))).table == "Order"


def test_table_that_is_there_decides_and_not_the_version(tmp_path: Path, table: Path) -> None:
    deltalake.write_deltalake(
        table, pa.table({"n": pa.array([1], pa.int64())}), mode="overwrite", schema_mode="overwrite"
    )
    old, new = avro(("n", "string"), version=1), avro(("n", "long"))

    assert difference(new, old, None).ok is False
    assert difference(new, old, pipeline(tmp_path)).ok is True


def test_table_that_would_be_made_is_told(tmp_path: Path) -> None:
    found = difference(avro(("n", "int"), ("N", "int"), ("_source", "int")), None, pipeline(tmp_path))
    effect = _at_table(found)

    assert (effect.is_new, words(effect)) == (True, {"n": "added", "_source": "added", "N": "refused"})
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize(
    ("more", "spec", "refused", "note"),
    [
        ("route: {by: record, unrouted: dead-letter}", "", "route.unrouted is dead-letter", ""),
        ("route: {by: record, unrouted: keep}", "", "", "are kept aside"),
        ("route: {by: record, allow: ^page$}", "", "", "its messages are filtered"),
        ("", ", max_columns: 1", "[schema.too-many-columns]", ""),
    ],
)
def test_type_without_a_table_may_get_none(tmp_path: Path, more: str, spec: str, refused: str, note: str) -> None:
    found = difference(NEW, None, pipeline(tmp_path, *filter(None, [more]), spec=spec))
    effect = _at_table(found)

    assert refused in effect.refused
    assert note in effect.note
    assert found.ok == (not refused)


@pytest.mark.usefixtures("table")
def test_transforms_are_part_of_what_comes(tmp_path: Path) -> None:
    found = difference(avro(("n", "int")), None, pipeline(tmp_path, "transforms: {who: kafka.offset}"))

    assert words(_at_table(found))["who"] == "refused"


def test_what_only_messages_tell_is_said(tmp_path: Path) -> None:
    found = difference(NEW, None, pipeline(tmp_path, "envelope: {payload: body}"))

    assert (found.effects, found.ok) == ((), True)
    assert any("`penstock plan` looks at some" in note for note in found.notes)


def test_column_that_must_not_be_null_needs_its_field(tmp_path: Path) -> None:
    rows = pa.table({"n": [1]}, schema=pa.schema([pa.field("n", pa.int64(), nullable=False)]))
    deltalake.write_deltalake(tmp_path / "lake" / "Order", rows)

    (change,) = [
        c for c in _at_table(difference(avro(("m", "int")), None, pipeline(tmp_path))).changes if c.path == "n"
    ]

    assert (change.word, "must not be null" in change.why) == ("refused", True)


# --- words are true of values --------------------------------------------------------------------


def _integers(bits: int) -> st.SearchStrategy[Any]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1).map(lambda number: Number(str(number)))


def _shortest(number: float) -> Any:
    texts = (f"{number:.{digits}g}" for digits in range(1, 18))
    return Number(next(text for text in texts if struct.pack("f", float(text)) == struct.pack("f", number)))


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Any]:
    def text(digits: int) -> Number:
        whole = f"{digits:0{scale + 1}d}"
        return Number(f"{whole[:-scale]}.{whole[-scale:]}" if scale else whole)

    return st.integers(0, 10**precision - 1).map(text)


_MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "byte": _integers(8),
    "short": _integers(16),
    "int": _integers(32),
    "long": _integers(64),
    "double": st.floats(allow_nan=False, allow_infinity=False).map(lambda number: Number(repr(number))),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False).map(_shortest),
    "decimal(5, 2)": _decimals(5, 2),
    "decimal(20, 0)": _decimals(20, 0),
    "string": st.text(st.characters(codec="utf-8")),
    "boolean": st.booleans(),
    "date": st.dates(date(1, 1, 1)).map(date.isoformat),
    "timestamp": _MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC).isoformat().replace("+00:00", "Z")),
    "timestamp_ntz": _MOMENTS.map(datetime.isoformat),
    "binary": st.binary(min_size=1).map(lambda content: base64.b64encode(content).decode()),
}
KINDS = st.sampled_from(sorted(VALUES))


@given(have=KINDS, comes=KINDS, values=st.data())
def test_what_is_said_of_types_is_true_of_values(have: str, comes: str, values: st.DataObject) -> None:
    (effect,) = difference(schema(c=comes), schema(c=have), None).effects
    word = words(effect).get("c", "fits")
    value = values.draw(VALUES[comes])
    try:
        fit({"c": value}, Shape(columns({"c": have}), "freeze"))
    except Refusal:
        assert word in ("refused", "partly", "widened")
    else:
        assert word in ("fits", "partly", "widened")
