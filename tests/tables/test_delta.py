"""Delta tables: what rides in a commit, how columns are added, which tables are refused, and tidying."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake

from penstock.contracts import Tidy
from penstock.errors import Unavailable
from penstock.schema import columns, written
from penstock.tables.delta import CHECKPOINT_EVERY, DeltaTable, relative
from penstock.tables.names import table_name
from tests.support.lake import count, plan, rows
from tests.tables.shares import NOBODY, X, files, look, share, table_with


def _actions(folder: Path, version: int, kind: str) -> list[Any]:
    """What one version of the log says, by kind of action."""
    lines = (folder / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
    return [action[kind] for action in map(json.loads, lines) if kind in action]


# --- what rides in a commit ----------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1], ids=["create", "commit"])
def test_files_batch_number_offsets_and_manifest_are_one_version(tmp_path: Path, version: int) -> None:
    table = table_with(tmp_path / "t", *[[0]] * version)
    (file,) = files(tmp_path / "t", [{"x": 1}, {"x": 2}])
    give = share(7, (file,), ends={"0": 100, "1": 0, "12": 5}, manifest={"number": 7, "text": 'a "b"'})

    if version == 0:
        table.create(give)
    else:
        table.commit(look(table), give)

    assert [add["path"] for add in _actions(tmp_path / "t", version, "add")] == [file.path]
    ids = {action["appId"]: action["version"] for action in _actions(tmp_path / "t", version, "txn")}
    assert ids == {"penstock:shop": 7, "shop-0": 99, "shop-12": 4}  # of partition 1 nothing was read yet
    (told,) = _actions(tmp_path / "t", version, "commitInfo")
    assert (told["penstock.app"], told["penstock.batch"]) == ("shop", 7)
    assert json.loads(told["penstock.manifest"]) == {"number": 7, "text": 'a "b"'}


def test_offsets_of_another_writer_are_told_until_our_own_are_newer(tmp_path: Path) -> None:
    table = table_with(tmp_path / "t", [1])
    assert look(table).stored(["0", "1"]) == {}
    log = tmp_path / "t/_delta_log"
    txn = {"txn": {"appId": "shop-0", "version": 0, "lastUpdated": 0}}
    (log / f"{1:020d}.json").write_text(json.dumps(txn))  # without a word about who wrote it
    ids = [Transaction("shop-0", 41), Transaction("shop-12", 0), Transaction("shop-1-0", 5), Transaction("other-1", 6)]

    assert look(table).stored(["0", "1"]) == {"0": 1}
    write_deltalake(
        tmp_path / "t",
        pa.table({"x": pa.array([1], pa.int64())}),
        mode="append",
        commit_properties=CommitProperties(app_transactions=ids),
    )

    assert look(table).stored(["0", "1", "12", "1-0"]) == {"0": 42, "12": 1, "1-0": 6}
    table.commit(look(table), share(9, files(tmp_path / "t", [{"x": 2}]), ends={"0": 60}))
    assert look(table).stored(["0"]) == {}
    assert look(DeltaTable(str(tmp_path / "t"), "shop-1")).stored(["0"]) == {"0": 6}


def test_offsets_that_cannot_be_read_just_now_are_waited_for(tmp_path: Path) -> None:
    table_with(tmp_path / "t", [1])
    write_deltalake(tmp_path / "t", pa.table({"x": pa.array([1], pa.int64())}), mode="append")
    state = look(DeltaTable(str(tmp_path / "t"), "other"))
    shutil.rmtree(tmp_path / "t/_delta_log")

    with pytest.raises(Unavailable, match="could not read"):
        state.stored(["0"])


def test_numbers_of_another_app_are_its_own(tmp_path: Path) -> None:
    shop, other = table_with(tmp_path / "t", [1], [2], [3]), DeltaTable(str(tmp_path / "t"), "other")
    assert look(other).carried == 0

    other.commit(look(other), share(1, files(tmp_path / "t", [{"x": 4}]), app="other", ends={"0": 5}))

    assert (look(shop).carried, look(other).carried) == (3, 1)
    log = deltalake.DeltaTable(tmp_path / "t")
    assert [log.transaction_version(f"{app}-0") for app in ("shop", "other")] == [29, 4]
    assert not look(shop).restored


def test_statistics_of_the_files_are_in_the_log_for_engines_that_skip_by_them(tmp_path: Path) -> None:
    schema = {"x": "long", "text": "string"}
    parts = [files(tmp_path / "t", [{"x": n, "text": f"t{n}"}, {"x": None, "text": "z"}], schema) for n in (1, 2, 3)]

    DeltaTable(str(tmp_path / "t"), "shop").create(share(1, tuple(file for part in parts for file in part), schema))

    wanted = ["num_records", "min.x", "max.x", "null_count.x", "min.text"]
    found = pa.table(deltalake.DeltaTable(tmp_path / "t").get_add_actions(flatten=True)).select(wanted).to_pylist()
    assert sorted(tuple(line.values()) for line in found) == [(2, n, n, 1, f"t{n}") for n in (1, 2, 3)]
    assert "Scanning Files: 1/3" in plan(tmp_path / "t", "x = 2")
    assert rows(tmp_path / "t", where="x = 2") == [{"x": 2, "text": "t2"}]


def test_partition_values_are_columns_again_when_read(tmp_path: Path) -> None:
    schema = {"x": "long", "day": "string"}
    given: list[dict[str, Any]] = [{"x": 1, "day": "a=b/c"}, {"x": 2, "day": None}]
    table = DeltaTable(str(tmp_path / "t"), "shop")

    table.create(share(1, files(tmp_path / "t", given, schema, ("day",)), schema, partition_by=("day",)))

    assert look(table).partition_by == ("day",)
    assert sorted(rows(tmp_path / "t"), key=lambda row: row["x"]) == given


@pytest.mark.parametrize(
    "type", ["order/new", "../up", "a b", "käse", "%41", "50%", "a?b#c", "x:y", "@2F", "_x", "'\"*"]
)
def test_table_of_any_type_is_where_every_reader_finds_it(tmp_path: Path, type: str) -> None:
    folder = tmp_path / table_name(type)
    table = table_with(folder, [1], [2])

    state = look(table)
    assert (state.version, state.carried) == (1, 2)
    assert len(state.refers([path.name for path in folder.glob("*.parquet")])) == 2
    assert count(folder) == 2
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("place", ["my lake", "käse", "a#b", "a?b", "[x]{y}", "a+b&c=d"])
def test_files_are_told_by_their_paths_inside_the_table_wherever_it_is(tmp_path: Path, place: str) -> None:
    folder, schema = tmp_path / place / "t", {"x": "long", "day": "string"}
    written_files = files(folder, [{"x": 1, "day": "ü /%"}, {"x": 2, "day": "a=b"}], schema, ("day",))
    table = DeltaTable(str(folder), "shop")

    table.create(share(1, written_files, schema, partition_by=("day",)))

    paths = sorted(file.path for file in written_files)
    assert look(table).refers([*paths, "another.parquet"]) == paths


# --- adding columns ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"x": "long"}, {"x": "long", "y": "string"}),
        ({"x": "long not null"}, {"x": "long not null", "j": "json", "z": "array<json>"}),
        ({"s": "struct<a: long>"}, {"s": "struct<a: long, b: string>"}),
        ({"s": "struct<a: long not null>"}, {"s": "struct<a: long not null, b: json>"}),
        ({"s": "array<struct<a: long>>"}, {"s": "array<struct<a: long, b: long>>"}),
        ({"s": "struct<a: struct<b: long>>"}, {"s": "struct<a: struct<b: long, c: array<struct<d: json>>>>"}),
        ({"s": "struct<a: json>"}, {"s": "struct<a: json, b: long>"}),
        ({"s": "struct<m: map<string, json>>"}, {"s": "struct<m: map<string, json>, b: json>"}),
    ],
)
def test_columns_are_added_also_inside_of_others(tmp_path: Path, before: dict[str, str], after: dict[str, str]) -> None:
    table = DeltaTable(str(tmp_path / "t"), "shop")
    table.create(share(1, (), before))
    state = look(table)

    table.evolve(state, columns(after))

    grown = look(DeltaTable(str(tmp_path / "t"), "shop"))
    assert written(grown.schema) == after
    assert (grown.id, grown.version, grown.carried) == (state.id, 1, 1)


def test_rows_from_before_and_after_a_new_column_are_read_together(tmp_path: Path) -> None:
    old, new = {"s": "struct<a: long>"}, {"s": "struct<a: long, b: string>", "y": "long"}
    table = DeltaTable(str(tmp_path / "t"), "shop")
    table.create(share(1, files(tmp_path / "t", [{"s": {"a": 1}}], old), old))
    table.evolve(look(table), columns(new))

    table.commit(look(table), share(2, files(tmp_path / "t", [{"s": {"a": 2, "b": "two"}, "y": 3}], new), new))

    assert sorted(rows(tmp_path / "t"), key=lambda row: row["s"]["a"]) == [
        {"s": {"a": 1, "b": None}, "y": None},
        {"s": {"a": 2, "b": "two"}, "y": 3},
    ]


def test_columns_are_not_added_if_anything_moved_since_the_look(tmp_path: Path) -> None:
    table = table_with(tmp_path / "t", [1])
    state = look(table)
    write_deltalake(tmp_path / "t", pa.table({"x": [7]}), mode="append")

    with pytest.raises(Unavailable):
        table.evolve(state, columns({"x": "long", "y": "long"}))

    assert written(look(table).schema) == X


def test_adding_columns_is_neither_a_batch_nor_a_restore(tmp_path: Path) -> None:
    table = table_with(tmp_path / "t", [1], [2])

    table.evolve(look(table), columns({"x": "long", "y": "long"}))

    for handle in (table, DeltaTable(str(tmp_path / "t"), "shop")):
        assert (look(handle).carried, look(handle).restored) == (2, False)
    assert deltalake.DeltaTable(tmp_path / "t").history(1)[0]["penstock.evolves"] == "shop"


# --- tidying and trouble -------------------------------------------------------------------------


def test_table_made_again_at_the_very_same_version_shows_by_its_id(tmp_path: Path) -> None:
    """No condition of Delta's log tells the two apart at a commit: the next look does."""
    table = table_with(tmp_path / "t", [1])
    before = look(table)
    for file in (tmp_path / "t" / "_delta_log").iterdir():
        file.unlink()
    deltalake.DeltaTable.create(tmp_path / "t", deltalake.Schema.from_arrow(pa.schema({"x": pa.int64()})))

    table.commit(before, share(2, files(tmp_path / "t", [{"x": 2}])))

    assert look(table).id != before.id


def test_every_tenth_version_wants_a_checkpoint_and_gets_one(tmp_path: Path) -> None:
    table = table_with(tmp_path / "t", [0])
    assert isinstance(table, Tidy)
    untidy = []
    for batch in range(2, 24):
        table.commit(look(table), share(batch, files(tmp_path / "t", [{"x": batch}])))
        if table.is_untidy:
            untidy.append(look(table).version)
            table.tidy()

    assert untidy == [CHECKPOINT_EVERY, 2 * CHECKPOINT_EVERY]
    made = sorted(path.name for path in (tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet"))
    assert made == [f"{version:020d}.checkpoint.parquet" for version in untidy]
    for old in (tmp_path / "t" / "_delta_log").glob("0000000000000000000*.json"):
        old.unlink()  # from the checkpoint on, the log before it is not needed
    assert (look(table).carried, look(table).restored, count(tmp_path / "t")) == (23, False, 23)


def test_unreachable_place_is_unavailable_and_its_cause_is_told_without_secrets() -> None:
    table = DeltaTable("s3://bucket/t", "shop", NOBODY)

    for attempt in (table.state, lambda: table.create(share(1, ()))):
        with pytest.raises(Unavailable, match=r"s3://bucket/t.*Connection refused") as away:
            attempt()
        assert "\n" not in away.value.what
        assert "c4n4ry" not in str(away.value)


def test_place_below_a_file_cannot_get_a_table(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(Unavailable, match="could not create"):
        DeltaTable(str(tmp_path / "file" / "t"), "shop").create(share(1, ()))


def test_damaged_log_is_not_taken_for_no_table(tmp_path: Path) -> None:
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    (tmp_path / "t" / "_delta_log" / f"{0:020d}.json").write_text("half a line")

    with pytest.raises(Unavailable, match="could not read"):
        DeltaTable(str(tmp_path / "t"), "shop").state()


@pytest.mark.parametrize(
    ("location", "uri"),
    [
        ("/lake/t", "/lake/t"),
        ("/my lake/t", "/my%20lake/t"),
        ("/lake/t", "file:///lake/t"),
        ("file:///lake/t", "/lake/t"),
        ("s3://bucket/lake/t", "s3://bucket/lake/t"),
    ],
)
def test_paths_of_data_files_are_told_from_inside_their_table(location: str, uri: str) -> None:
    assert relative(f"{uri}/day=1/part-1.parquet", location) == "day=1/part-1.parquet"
