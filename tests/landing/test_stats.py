"""What a file tells its readers: exactly what is in it, or a little more, never less."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pytest
from deltalake import QueryBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.landing import files
from penstock.landing.files import Files
from tests.landing.recipes import batch, table, target
from tests.support import lake


def told(
    folder: Path, schema: dict[str, str], *batches: list[dict[str, Any]], by: tuple[str, ...] = ()
) -> dict[str, Any]:
    out = Files({}, fsync=False)
    for rows in batches:
        out.add(target(folder, schema=schema, partition_by=by), batch(rows, schema))
    [file] = out.finish()["t"]
    found: dict[str, Any] = json.loads(file.stats, parse_float=Decimal)
    return found


def edges(folder: Path, kind: str, *values: object) -> tuple[Any, Any]:
    found = told(folder, {"v": kind}, [{"v": value} for value in values])
    return found["minValues"].get("v"), found["maxValues"].get("v")


def test_rows_nulls_and_edges_are_told(tmp_path: Path) -> None:
    found = told(tmp_path, {"a": "long", "b": "string"}, [{"a": 3, "b": "x"}, {"a": -1}, {"a": None, "b": "é"}])
    assert found == {
        "numRecords": 3,
        "minValues": {"a": -1, "b": "x"},
        "maxValues": {"a": 3, "b": "é"},
        "nullCount": {"a": 1, "b": 1},
    }


def test_fields_of_objects_are_told_inside_them(tmp_path: Path) -> None:
    schema = {"s": "struct<a: long, t: struct<b: string>, l: array<long>>"}
    found = told(tmp_path, schema, [{"s": {"a": 1, "t": {"b": "x"}}}, {"s": {"t": None}}, {"s": None}])
    assert found["minValues"] == {"s": {"a": 1, "t": {"b": "x"}}}
    assert found["nullCount"] == {"s": {"a": 2, "t": {"b": 2}}}


def test_arrays_and_maps_have_only_their_nulls_counted(tmp_path: Path) -> None:
    schema = {"l": "array<long>", "m": "map<string, long>", "o": "array<struct<a: long>>", "x": "long"}
    found = told(tmp_path, schema, [{"l": [1, None], "m": [("k", None)], "x": 1}, {"l": None, "o": [{"a": 1}], "x": 1}])
    assert found["nullCount"] == {"l": 1, "m": 1, "o": 1, "x": 0}
    assert found["minValues"] == found["maxValues"] == {"x": 1}


def test_column_of_nothing_but_nulls_has_no_edges(tmp_path: Path) -> None:
    assert edges(tmp_path, "long", None, None) == (None, None)


def test_partition_columns_are_not_told(tmp_path: Path) -> None:
    found = told(tmp_path, {"p": "string", "x": "long"}, [{"p": "a", "x": 1}], by=("p",))
    assert found["minValues"] == {"x": 1}
    assert found["nullCount"] == {"x": 0}


def test_edges_are_those_of_all_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROW_GROUP", 1)
    found = told(tmp_path, {"x": "long"}, [{"x": 5}], [{"x": None}], [{"x": 1}], [{"x": 9}, {"x": None}])
    assert (found["numRecords"], found["minValues"], found["maxValues"]) == (5, {"x": 1}, {"x": 9})
    assert found["nullCount"] == {"x": 2}


def test_only_the_first_columns_are_told(tmp_path: Path) -> None:
    schema = {f"c{at:02}": "long" for at in range(40)}
    found = told(tmp_path, schema, [dict.fromkeys(schema, 1)])
    assert list(found["minValues"]) == list(found["nullCount"]) == list(schema)[:32]


@pytest.mark.parametrize(
    ("longest", "low", "high"),
    [
        ("a" * 32, "a" * 32, "a" * 32),
        ("a" * 33, "a" * 32, "a" * 32 + "\U0010ffff"),
        ("é" * 100, "é" * 32, "é" * 32 + "\U0010ffff"),
        ("a" * 32 + "\U0010ffffb", "a" * 32, "a" * 32 + "\U0010ffff" * 2),
        ("\U0010ffff" * 40, "\U0010ffff" * 32, "\U0010ffff" * 40),
    ],
)
def test_long_texts_are_cut_and_the_largest_upwards(tmp_path: Path, longest: str, low: str, high: str) -> None:
    assert edges(tmp_path, "string", longest) == (low, high)
    assert low <= longest <= high


def test_text_too_long_for_a_footer_has_no_edges(tmp_path: Path) -> None:
    assert edges(tmp_path, "string", "a", "b" * 5_000) == (None, None)


@pytest.mark.parametrize(("kind", "zone"), [("timestamp", "Z"), ("timestamp_ntz", "")])
def test_times_are_cut_to_milliseconds_and_the_largest_upwards(tmp_path: Path, kind: str, zone: str) -> None:
    moment = datetime(2024, 1, 1, 0, 0, 0, 123456, UTC if zone else None)
    assert edges(tmp_path, kind, moment) == (f"2024-01-01T00:00:00.123{zone}", f"2024-01-01T00:00:00.124{zone}")
    even = moment.replace(microsecond=999000)
    assert edges(tmp_path, kind, even) == (f"2024-01-01T00:00:00.999{zone}",) * 2
    assert edges(tmp_path, kind, moment.replace(microsecond=999999))[1] == f"2024-01-01T00:00:01.000{zone}"


def test_last_moment_of_all_has_no_edge_above_it(tmp_path: Path) -> None:
    assert edges(tmp_path, "timestamp", datetime.max.replace(tzinfo=UTC)) == (None, None)
    assert edges(tmp_path, "timestamp", datetime.min.replace(tzinfo=UTC))[0] == "0001-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("decimal(38, 2)", Decimal("-999999999999999999999999999999999999.99"), Decimal("0.01")),
        ("decimal(9, 0)", Decimal(-1), Decimal(100)),
        ("double", -1.5, 1e300),
        ("float", 0.5, 2.0),
        ("boolean", False, True),
        ("byte", -128, 127),
        ("long", -(2**63), 2**63 - 1),
    ],
)
def test_numbers_are_told_exactly(tmp_path: Path, kind: str, low: Any, high: Any) -> None:
    found = edges(tmp_path, kind, high, low)
    assert tuple(type(low)(edge) for edge in found) == (low, high)


def test_dates_are_told_and_bytes_are_not(tmp_path: Path) -> None:
    assert edges(tmp_path, "date", date(2024, 1, 1), date(1, 1, 1)) == ("0001-01-01", "2024-01-01")
    assert edges(tmp_path, "binary", b"a", b"b") == (None, None)


# --- readers that skip files find every row ------------------------------------------------------

VALUES: dict[str, list[Any]] = {
    "string": [
        "",
        "a",
        "a" * 32,
        "a" * 33,
        "a" * 40 + "b",
        "a" * 32 + "\U0010ffff" * 3 + "z",
        "é" * 50,
        "\U0010ffff" * 40,
    ],
    "long": [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1],
    "double": [-1e308, -0.0, 5e-324, 0.1, 1e308],
    "decimal(38, 2)": [Decimal("-123456789012345678901234567890123456.78"), Decimal("0.01"), Decimal("9" * 36 + ".99")],
    "date": [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)],
    "timestamp": [
        datetime(1900, 1, 1, 0, 0, 0, 1, UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        datetime(2024, 1, 1, 0, 0, 0, 123456, UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    ],
    "boolean": [True, False],
}


@pytest.mark.parametrize("kind", VALUES)
def test_value_is_found_by_readers_that_skip_files(tmp_path: Path, kind: str) -> None:
    """One file per value: a file whose edges were wrong would be skipped."""
    values = VALUES[kind]
    path = table(tmp_path, {"v": kind, "n": "long"}, *([{"v": value, "n": n}] for n, value in enumerate(values)))
    delta_rs = QueryBuilder().register("t", deltalake.DeltaTable(str(path)))
    for n, value in enumerate(values):
        literal = str(value) if kind in ("long", "double", "boolean") else f"cast('{value}' as {_SQL.get(kind, kind)})"
        assert [row["n"] for row in lake.rows(path, "n", f"v = {literal}")] == [n]
        if kind == "timestamp":
            literal = f"""arrow_cast('{value}', 'Timestamp(Microsecond, Some("UTC"))')"""
        found = delta_rs.execute(f"select n from t where v = {literal}").read_all()
        assert found.column("n").to_pylist() == [n]


_SQL = {"string": "varchar", "timestamp": "timestamp with time zone"}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("a\U0010ffffé", min_size=25, max_size=45), min_size=1, max_size=5))
def test_edges_of_texts_always_enclose_them(tmp_path_factory: pytest.TempPathFactory, values: list[str]) -> None:
    low, high = edges(tmp_path_factory.mktemp("edges"), "string", *values)
    assert low <= min(values)
    assert high >= max(values)
