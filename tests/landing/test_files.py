"""Writing: which rows go into which file, under which path, and when."""

from __future__ import annotations

import random
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.contracts import File
from penstock.landing import files
from penstock.landing.files import Files, segment, split
from penstock.tables.names import DEFAULT_PARTITION
from tests.landing.recipes import batch, read, table, target
from tests.support import lake

SCHEMA = {"p": "string", "q": "long", "x": "long"}


def parts(rows: list[dict[str, Any]], by: tuple[str, ...] = ("p",)) -> dict[tuple[str | None, ...], list[int]]:
    return {values: part.column("x").to_pylist() for values, part in split(batch(rows, SCHEMA), by)}


# --- splitting -----------------------------------------------------------------------------------


def test_rows_without_partition_columns_stay_together() -> None:
    rows = batch([{"p": "a", "x": 1}, {"p": "b", "x": 2}], SCHEMA)
    assert split(rows, ()) == [((), rows)]


def test_rows_are_split_by_their_partition_values_and_keep_their_order() -> None:
    rows = [{"p": p, "x": x} for x, p in enumerate(["b", "a", None, "b", "a", None, "b"])]
    assert parts(rows) == {("b",): [0, 3, 6], ("a",): [1, 4], (None,): [2, 5]}


def test_partition_columns_leave_the_rows() -> None:
    [(_, part)] = split(batch([{"p": "a", "q": 1, "x": 2}], SCHEMA), ("q", "p"))
    assert part.schema.names == ["x"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "é/", None]), st.sampled_from([0, -1, 2**62, None])), min_size=1))
def test_every_row_is_in_the_part_of_its_values(given: list[tuple[str | None, int | None]]) -> None:
    found = parts([{"p": p, "q": q, "x": x} for x, (p, q) in enumerate(given)], ("p", "q"))
    wanted: dict[tuple[str | None, str | None], list[int]] = {}
    for x, (p, q) in enumerate(given):
        wanted.setdefault((p, None if q is None else str(q)), []).append(x)
    assert found == wanted


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        ("string", "a b", "a b"),
        ("json", '{"a":1}', '{"a":1}'),
        ("long", -(2**63), "-9223372036854775808"),
        ("byte", 7, "7"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
        ("date", date(1, 2, 3), "0001-02-03"),
        ("timestamp_ntz", datetime(2024, 1, 2, 3, 4, 5, 6), "2024-01-02 03:04:05.000006"),
        ("string", None, None),
    ],
)
def test_partition_value_is_written_as_table_formats_write_it(kind: str, value: object, written: str | None) -> None:
    [(values, _)] = split(batch([{"p": value, "x": 1}], SCHEMA | {"p": kind}), ("p",))
    assert values == (written,)


# --- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["a/b", "..", ".", "%2F", "a=b", "\x00", "\n", "C:\\", "é", "~", " ", "#?&+", "*"])
def test_no_value_breaks_out_of_its_folder(value: str) -> None:
    folder = segment("p", value)
    assert folder.startswith("p=")
    assert "/" not in folder
    assert folder.isascii()
    assert folder.isprintable()


def test_null_has_the_folder_that_hive_gives_it() -> None:
    assert segment("p", None) == f"p={DEFAULT_PARTITION}"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), st.text(max_size=300), st.sampled_from(["p", "customer_segment_identifier", "é" * 80]))
def test_different_values_have_different_folders_that_file_systems_take(one: str, other: str, name: str) -> None:
    assert (segment(name, one) == segment(name, other)) is (one == other)
    assert len(segment(name, one)) <= 255


HOSTILE = [
    None,
    "a b",
    "a/b",
    "..",
    "%41",
    "A",
    "é",
    "x" * 300,
    "字" * 300,
    DEFAULT_PARTITION,
    "=",
    "a%",
    "#?&+~:",
    "\x01\n",
]


def test_rows_are_found_by_any_partition_value(tmp_path: Path) -> None:
    path = table(tmp_path, SCHEMA, [{"p": p, "q": x, "x": x} for x, p in enumerate(HOSTILE)], by=("p",))
    assert {row["p"]: row["x"] for row in lake.rows(path)} == {p: x for x, p in enumerate(HOSTILE)}
    assert lake.rows(path, "x", "p is null") == [{"x": 0}]
    assert lake.rows(path, "x", "p = 'a/b'") == [{"x": 2}]


def test_rows_are_found_by_two_partition_values_of_other_kinds(tmp_path: Path) -> None:
    schema = {"day": "date", "flag": "boolean", "x": "long"}
    rows = [{"day": date(2024, 1, 1 + x % 3), "flag": (None, True, False)[x % 3], "x": x} for x in range(6)]
    path = table(tmp_path, schema, rows, by=("day", "flag"))
    assert lake.rows(path, "x", "flag and day = '2024-01-02'") == [{"x": 1}, {"x": 4}]
    assert sorted(row["x"] for row in lake.rows(path, "x", "flag is null")) == [0, 3]


# --- files ---------------------------------------------------------------------------------------


def written(folder: Path, *batches: list[dict[str, Any]], by: tuple[str, ...] = ()) -> list[File]:
    out = Files({}, fsync=False)
    for rows in batches:
        out.add(target(folder, schema=SCHEMA, partition_by=by), batch(rows, SCHEMA))
    return out.finish()["t"]


def test_one_file_holds_all_rows_of_a_partition_value(tmp_path: Path) -> None:
    found = written(
        tmp_path, [{"p": "a", "x": 1}, {"p": "b", "x": 2}], [{"p": "b", "x": 3}, {"p": "a", "x": 4}], by=("p",)
    )
    by_value = {file.partition["p"]: [row["x"] for row in read(target(tmp_path), file)] for file in found}
    assert by_value == {"a": [1, 4], "b": [2, 3]}


def test_nothing_is_there_before_the_task_is_done(tmp_path: Path) -> None:
    out = Files({}, fsync=False)
    out.add(target(tmp_path, schema=SCHEMA), batch([{"x": 1}], SCHEMA))
    assert not list(tmp_path.rglob("*.parquet"))
    assert len(out.finish()["t"]) == len(list(tmp_path.rglob("*.parquet"))) == 1


def test_file_has_a_row_group_whenever_enough_came_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROW_GROUP", 1_000)
    [file] = written(tmp_path, *([{"p": "a", "x": n * 10 + x} for x in range(10)] for n in range(20)))
    found = pq.ParquetFile(tmp_path / "t" / file.path)
    assert 2 < found.metadata.num_row_groups < 20
    assert found.read().column("x").to_pylist() == list(range(200))


def test_largest_buffers_are_written_out_when_all_together_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BUFFERED", 2_000)
    rows = [{"p": "large", "x": 0}] * 90 + [{"p": "small", "x": 0}] * 10
    found = written(tmp_path, *[rows] * 10, by=("p",))
    groups = {f.partition["p"]: pq.read_metadata(tmp_path / "t" / f.path).num_row_groups for f in found}
    assert groups["large"] > 3
    assert groups["small"] < groups["large"]
    assert sum(file.rows for file in found) == 1_000


def test_no_more_files_are_open_than_allowed_and_no_row_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "OPEN_FILES", 3)
    values = [random.Random(n).choice("abcdefgh") for n in range(100)]
    found = written(tmp_path, *([{"p": p, "x": x}] for x, p in enumerate(values)), by=("p",))
    assert len(found) > 8
    landed = {row["x"]: row["p"] for file in found for row in read(target(tmp_path), file)}
    assert landed == dict(enumerate(values))


def test_file_used_last_stays_open_longest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "OPEN_FILES", 2)
    found = written(tmp_path, *([{"p": p, "x": 0}] for p in "abacab"), by=("p",))
    assert sorted((file.partition["p"], file.rows) for file in found) == [("a", 3), ("b", 1), ("b", 1), ("c", 1)]


def test_columns_whose_values_repeat_have_a_dictionary_and_others_do_not(tmp_path: Path) -> None:
    schema = {
        "word": "string",
        "id": "string",
        "place": "struct<city: string, id: string>",
        "tags": "array<string>",
        "counts": "map<string, long>",
        "n": "decimal(10, 2)",
        "day": "date",
        "at": "timestamp",
        "flag": "boolean",
        "raw": "binary",
    }
    rows = [
        {"word": "ab"[n % 2], "id": f"id {n}", "place": {"city": "ab"[n % 2], "id": f"id {n}"}, "tags": ["a", "b"]}
        | {"counts": [("k", n)], "n": n, "at": n, "raw": b"%d" % n}
        for n in range(100)
    ]
    out = Files({}, fsync=False)
    out.add(target(tmp_path, schema=schema), batch(rows, schema))
    [file] = out.finish()["t"]
    group = pq.read_metadata(tmp_path / "t" / file.path).row_group(0)
    columns = [group.column(at) for at in range(group.num_columns)]
    coded = {column.path_in_schema for column in columns if "RLE_DICTIONARY" in column.encodings}
    assert coded == {"word", "place.city", "tags.list.element", "counts.key_value.key", "day"}


def test_file_is_compressed_with_zstd(tmp_path: Path) -> None:
    [file] = written(tmp_path, [{"x": 1}])
    assert file.path.endswith(".zstd.parquet")
    assert pq.read_metadata(tmp_path / "t" / file.path).row_group(0).column(0).compression == "ZSTD"


def test_file_of_a_table_with_every_kind_of_column_can_be_read_back(tmp_path: Path) -> None:
    kinds = [
        "string",
        "json",
        "long",
        "int",
        "short",
        "byte",
        "double",
        "float",
        "boolean",
        "date",
        "timestamp",
        "binary",
    ]
    kinds += [
        "timestamp_ntz",
        "decimal(38, 3)",
        "array<struct<a: long>>",
        "map<string, array<long>>",
        "struct<a: long>",
    ]
    schema = {f"c{at}": kind for at, kind in enumerate(kinds)}
    out = Files({}, fsync=True)
    out.add(target(tmp_path, schema=schema), batch([{}, {}], schema))
    [file] = out.finish()["t"]
    assert read(target(tmp_path), file) == [dict.fromkeys(schema)] * 2
    assert pq.read_schema(tmp_path / "t" / file.path).field("c9").type == pa.date32()
