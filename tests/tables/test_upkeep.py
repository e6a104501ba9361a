"""Maintenance of a Delta table: what is gone leaves in one commit, what is small is put together, the rest stays."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import USAGE, PenstockError
from penstock.tables.upkeep import WEEK, Rewrite, Upkeep, Where
from tests.support.lake import count, rows

ODD = [
    "plain",
    "a b",
    "a/b",
    "it's",
    'q"uote',
    "ünï 日本",
    "50%",
    "a%20b",
    "a=b",
    "x:y",
    "#?&",
    "..",
    "new\nline",
    "\\",
]
NONE = "__HIVE_DEFAULT_PARTITION__"


def _write(table: Path, colors: list[Any], batch: int = 0, size: int = 1) -> None:
    properties = deltalake.CommitProperties(
        custom_metadata={"penstock.app": "shop", "penstock.batch": batch},
        app_transactions=[deltalake.Transaction("penstock:shop", batch), deltalake.Transaction("shop-0", batch * 10)],
    )
    noise = random.Random(batch)
    found = pa.table(
        {"n": [noise.randbytes(size) for _ in colors], "color": pa.array(colors), "batch": [batch] * len(colors)}
    )
    deltalake.write_deltalake(table, found, mode="append", partition_by=["color"], commit_properties=properties)


def _newest(table: Path) -> list[dict[str, Any]]:
    newest = max((table / "_delta_log").glob("*.json"))
    return [json.loads(line) for line in newest.read_text().splitlines()]


def _only(actions: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [action[kind] for action in actions if kind in action]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Three files in each of many partitions."""
    for batch in (1, 2, 3):
        _write(tmp_path / "odd", [*ODD, None], batch)
    return tmp_path / "odd"


# --- files that are gone -------------------------------------------------------------------------


def test_nothing_is_missing_whatever_partitions_are_called_and_nothing_is_committed(odd: Path) -> None:
    table = Upkeep(str(odd))

    assert table.missing() == []
    assert table.drop_missing() == frozenset()
    assert Upkeep(str(odd)).version == 2


def test_missing_files_leave_in_one_commit_and_nothing_else_changes(odd: Path) -> None:
    table, before = Upkeep(str(odd)), deltalake.DeltaTable(odd)
    of_batch_2 = [file for file in table.active() if "batch" not in file.partition][15:30]
    for file in of_batch_2:
        (odd / file.path).unlink()

    gone = table.missing()

    assert sorted(file.path for file in gone) == sorted(file.path for file in of_batch_2)
    assert {file.partition["color"] for file in gone} == {*ODD, None}
    assert {file.rows for file in gone} == {1}
    assert Upkeep(str(odd)).version == 2
    assert table.drop_missing() == {file.path for file in gone}
    after = deltalake.DeltaTable(odd)
    assert after.version() == 3
    removed = _only(_newest(odd), "remove")
    assert [set(action) - {"commitInfo", "remove"} for action in _newest(odd)] == [set()] * 16
    assert {action["dataChange"] for action in removed} == {True}
    assert sorted(action["size"] for action in removed) == sorted(file.size for file in gone)
    assert {action["partitionValues"]["color"] for action in removed} == {*ODD, None}
    assert _only(_newest(odd), "commitInfo")[0]["operation"] == "FSCK"
    assert (after.transaction_version("penstock:shop"), after.transaction_version("shop-0")) == (3, 30)
    assert after.schema() == before.schema()
    assert count(odd) == 2 * (len(ODD) + 1)
    assert Upkeep(str(odd)).missing() == []


def _with_deletion_vector(table: Path, vector: dict[str, Any]) -> dict[str, Any]:
    """A table of two files, one of which another engine has deleted rows of; the newest `add` of that one."""
    _write(table, ["a"], 1)
    _write(table, ["a"], 2)
    feature = deltalake.TableFeatures.DeletionVectors
    deltalake.DeltaTable(table).alter.add_feature([feature], allow_protocol_versions_increase=True)
    log = [json.loads(line) for line in (table / "_delta_log" / f"{0:020d}.json").read_text().splitlines()]
    (first,) = _only(log, "add")
    left = {"path": first["path"], "deletionTimestamp": 1, "dataChange": True, "partitionValues": {"color": "a"}}
    again = first | {"deletionVector": vector | {"sizeInBytes": 40, "cardinality": 6}}
    changes = [{"remove": left}, {"add": again}]
    (table / "_delta_log" / f"{3:020d}.json").write_text("\n".join(map(json.dumps, changes)))
    return dict(again)


def test_file_with_a_deletion_vector_leaves_with_it(tmp_path: Path) -> None:
    vector = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
    file = _with_deletion_vector(tmp_path / "t", vector)
    (tmp_path / "t" / file["path"]).unlink()

    table = Upkeep(str(tmp_path / "t"))

    assert table.drop_missing() == {file["path"]}
    assert _only(_newest(tmp_path / "t"), "remove")[0]["deletionVector"] == file["deletionVector"]
    assert Upkeep(str(tmp_path / "t")).missing() == []
    assert len(Upkeep(str(tmp_path / "t")).active()) == 1


@pytest.mark.parametrize("path", ["/other/f.parquet", "file:///other/f.parquet", "s3://bucket/f.parquet"])
def test_clone_is_refused_because_its_files_are_elsewhere(tmp_path: Path, path: str) -> None:
    _write(tmp_path / "t", ["a"])
    log = tmp_path / "t" / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    _only(actions, "add")[0]["path"] = path
    log.write_text("\n".join(map(json.dumps, actions)))

    with pytest.raises(PenstockError, match=f"by absolute paths, such as {path}") as refused:
        Upkeep(str(tmp_path / "t")).missing()

    assert refused.value.code == "table.absolute-paths"


@pytest.mark.parametrize("spelled", ["color=a//", "./color=a/", "color=b/../color=a/"])
def test_file_that_a_listing_spells_in_another_way_is_not_taken_for_missing(tmp_path: Path, spelled: str) -> None:
    _write(tmp_path / "t", ["a"])
    log = tmp_path / "t" / "_delta_log" / f"{0:020d}.json"
    log.write_text(log.read_text().replace('"path":"color=a/', f'"path":"{spelled}'))

    with pytest.raises(PenstockError, match="does not show 1 files that may be there all the same") as refused:
        Upkeep(str(tmp_path / "t")).missing()

    assert spelled in refused.value.what
    assert refused.value.code == "repair.doubtful"


def test_files_as_other_engines_name_them_are_found(tmp_path: Path) -> None:
    """Spark leaves most characters of a folder as they are and escapes them in the log only."""
    log = tmp_path / "t" / "_delta_log"
    log.mkdir(parents=True)
    deltalake.DeltaTable.create(tmp_path / "t", pa.schema({"n": pa.int64(), "c": pa.string()}), partition_by=["c"])
    actions = []
    for folder, path in {"c=a b": "c=a%20b", "c=ü": "c=%C3%BC", "c=a%3Ab": "c=a%253Ab", "c=[x]": "c=%5Bx%5D"}.items():
        (tmp_path / "t" / folder).mkdir()
        pq.write_table(pa.table({"n": [1]}), tmp_path / "t" / folder / "f.parquet")
        size = (tmp_path / "t" / folder / "f.parquet").stat().st_size
        values = {"partitionValues": {"c": folder[2:]}, "size": size, "modificationTime": 1, "dataChange": True}
        actions.append({"add": {"path": f"{path}/f.parquet", **values}})
    (log / f"{1:020d}.json").write_text("\n".join(map(json.dumps, actions)))

    table = Upkeep(str(tmp_path / "t"))

    assert (len(table.active()), table.missing()) == (4, [])
    assert {file.rows for file in table.active()} == {None}
    table.check_vacuum(table.vacuum(0, dry_run=True))
    assert table.vacuum(0, dry_run=True) == []


# --- tables that cannot be opened ----------------------------------------------------------------


def test_table_that_is_not_there_is_told_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match="there is no Delta table at") as refused:
        Upkeep(str(tmp_path / "nowhere"))

    assert (refused.value.code, refused.value.exit_status) == ("table.missing", 1)
    assert not (tmp_path / "nowhere").exists()


def _drop(name: str) -> Callable[[Path], object]:
    return lambda log: list(map(Path.unlink, log.glob(name)))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "the whole log": (shutil.rmtree, "table.missing"),
    "everything in the log": (_drop("*"), "table.missing"),
    "the first commit": (_drop(f"{0:020d}.json"), "table.log-damaged"),
    "a commit in between": (_drop(f"{1:020d}.json"), "table.log-damaged"),
    "the checkpoint": (_drop("*.parquet"), "table.log-damaged"),
    "half of a commit": (lambda log: (log / f"{2:020d}.json").write_text('{"add": {"pa'), "table.log-damaged"),
}


@pytest.mark.parametrize("lost", DAMAGES)
def test_where_the_log_itself_is_gone_repair_says_that_it_cannot_help(tmp_path: Path, lost: str) -> None:
    for batch in range(3):
        _write(tmp_path / "t", ["a"], batch)
    damage, code = DAMAGES[lost]
    if lost == "the checkpoint":
        deltalake.DeltaTable(tmp_path / "t").create_checkpoint()
    damage(tmp_path / "t" / "_delta_log")

    with pytest.raises(PenstockError) as refused:
        Upkeep(str(tmp_path / "t"))

    assert refused.value.code == code
    assert "from a backup" in refused.value.remedy
    assert "repair" in refused.value.remedy


# --- small files ---------------------------------------------------------------------------------


def test_optimize_puts_files_of_a_partition_together_in_one_commit_that_changes_no_row(odd: Path) -> None:
    table, before = Upkeep(str(odd)), sorted(rows(odd), key=str)
    expected = table.would_rewrite(10**8, None)

    done = table.optimize(10**8, None)

    assert done == expected
    assert (done.removed, done.added) == (3 * (len(ODD) + 1), len(ODD) + 1)
    after = Upkeep(str(odd))
    assert after.version == 3
    actions = _newest(odd)
    assert {action["dataChange"] for kind in ("add", "remove") for action in _only(actions, kind)} == {False}
    assert len({action["path"] for action in _only(actions, "add")}) == done.added
    assert sorted(rows(odd), key=str) == before
    assert after.missing() == []
    newest = odd / after.active()[0].path
    assert pq.read_metadata(newest).row_group(0).column(0).compression == "ZSTD"
    assert len(list(odd.rglob("*.parquet"))) == 4 * (len(ODD) + 1)  # the old ones stay for a vacuum
    assert deltalake.DeltaTable(odd).transaction_version("penstock:shop") == 3


def test_nothing_to_put_together_is_no_commit(odd: Path) -> None:
    Upkeep(str(odd)).optimize(10**8, None)

    assert Upkeep(str(odd)).would_rewrite(10**8, None) == Rewrite()
    assert Upkeep(str(odd)).optimize(10**8, None) == Rewrite()
    assert Upkeep(str(odd)).optimize(1, None) == Rewrite()  # everything is larger than that
    assert Upkeep(str(odd)).version == 3


@pytest.mark.parametrize("seed", range(4))
def test_what_would_be_rewritten_is_what_is_rewritten(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for batch in range(12):
        _write(tmp_path / "t", chance.sample(["a", "b", None], 2), batch, size=chance.choice([10, 2_000, 9_000]))
    target = chance.choice([8_000, 12_000, 30_000])
    table = Upkeep(str(tmp_path / "t"))

    expected = table.would_rewrite(target, None)

    assert expected.removed
    assert table.optimize(target, None) == expected


@pytest.mark.parametrize("value", [*ODD, None])
def test_one_partition_is_optimized_whatever_its_value_is(odd: Path, value: str | None) -> None:
    table, where = Upkeep(str(odd)), Where.of("color", NONE if value is None else value)

    table.check_where(where)
    expected = table.would_rewrite(10**8, where)

    assert table.optimize(10**8, where) == expected
    assert (expected.removed, expected.added) == (3, 1)
    assert {action["partitionValues"]["color"] for action in _only(_newest(odd), "remove")} == {value}


@pytest.mark.parametrize("value", ["no such", "' or 1=1 --", "plain' or color = 'a b", "*", "%"])
def test_value_that_no_partition_has_is_nothing_to_do(odd: Path, value: str) -> None:
    table = Upkeep(str(odd))

    table.check_where(Where("color", value))

    assert table.would_rewrite(10**8, Where("color", value)) == Rewrite()
    assert table.optimize(10**8, Where("color", value)) == Rewrite()


@pytest.mark.parametrize("column", ["n", "batch", "Color", "nope", "color = 'a' or color", ""])
def test_only_partition_columns_can_be_asked_for(odd: Path, column: str) -> None:
    with pytest.raises(PenstockError, match="is not a partition column") as refused:
        Upkeep(str(odd)).check_where(Where(column, "a"))

    assert refused.value.exit_status == USAGE
    assert "it is partitioned by color" in str(refused.value)


@pytest.mark.parametrize(
    ("values", "good", "bad"),
    [
        ([1, 2, None], "2", "two"),
        ([date(2026, 1, 31), date(2026, 2, 1)], "2026-01-31", "31.1.2026"),
        ([True], "true", "yes!"),
    ],
)
def test_value_must_be_one_of_the_columns_type(tmp_path: Path, values: list[Any], good: str, bad: str) -> None:
    _write(tmp_path / "t", values, 1)
    _write(tmp_path / "t", values, 2)
    table = Upkeep(str(tmp_path / "t"))

    assert table.optimize(10**8, Where("color", good)).removed == 2
    with pytest.raises(PenstockError, match="cannot be asked of") as refused:
        table.check_where(Where("color", bad))
    assert refused.value.exit_status == USAGE


def test_table_without_partitions_says_so(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path / "t", pa.table({"n": [1]}))

    with pytest.raises(PenstockError, match="it is not partitioned"):
        Upkeep(str(tmp_path / "t")).check_where(Where("n", "1"))


# --- old files, and the log ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (None, WEEK),
        ("interval 1 weeks", WEEK),
        ("interval 30 days", 30 * 86400.0),
        ("INTERVAL 90 MINUTES", 5400.0),
        ("interval 1 day 12 hours", 36 * 3600.0),
    ],
)
def test_retention_is_what_the_table_says(tmp_path: Path, written: str | None, kept: float) -> None:
    settings = {"delta.deletedFileRetentionDuration": written} if written else None
    deltalake.DeltaTable.create(tmp_path / "t", pa.schema({"n": pa.int64()}), configuration=settings)

    assert Upkeep(str(tmp_path / "t")).retention == kept


def test_vacuum_deletes_what_was_put_together_and_what_nobody_committed_and_nothing_that_is_read(odd: Path) -> None:
    table = Upkeep(str(odd))
    table.optimize(10**8, None)
    (odd / "color=plain" / "left-behind.parquet").write_bytes(b"PAR1")
    expected, before = table.vacuum(0, dry_run=True), sorted(rows(odd), key=str)
    table.check_vacuum(expected)

    deleted = table.vacuum(0, dry_run=False)

    assert deleted == expected
    assert len(deleted) == 3 * (len(ODD) + 1) + 1
    assert len(list(odd.rglob("*.parquet"))) == len(ODD) + 1
    assert sorted(rows(odd), key=str) == before
    assert Upkeep(str(odd)).missing() == []


@pytest.mark.parametrize("column", ["_delta", "_", "_delta_log", ".hidden"])
def test_vacuum_does_not_take_the_log_for_a_partition_nor_a_partition_for_garbage(tmp_path: Path, column: str) -> None:
    deltalake.write_deltalake(tmp_path / "t", pa.table({"n": [1], column: ["a"]}), partition_by=[column])
    table = Upkeep(str(tmp_path / "t"))

    table.check_vacuum(table.vacuum(0, dry_run=True))


def test_vacuum_of_what_the_table_needs_is_refused_whatever_the_engine_says(odd: Path) -> None:
    table = Upkeep(str(odd))

    for path in (f"_delta_log/{0:020d}.json", table.active()[7].path):
        with pytest.raises(PenstockError, match="which the table needs"):
            table.check_vacuum(["color=plain/other.parquet", path])


def test_vacuum_that_would_delete_deletion_vectors_is_refused(tmp_path: Path) -> None:
    _with_deletion_vector(tmp_path / "t", {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1})
    vector = tmp_path / "t" / "ab" / "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    vector.parent.mkdir()
    vector.write_bytes(b"in use")
    table = Upkeep(str(tmp_path / "t"))

    with pytest.raises(PenstockError, match="would delete deletion vectors such as ab/deletion_vector_d2c639aa"):
        table.check_vacuum(table.vacuum(0, dry_run=True))


def test_checkpoint_is_enough_to_open_the_table(odd: Path) -> None:
    assert Upkeep(str(odd)).checkpoint() == 2

    for path in (odd / "_delta_log").glob("*.json"):
        path.unlink()
    assert deltalake.DeltaTable(odd).transaction_version("penstock:shop") == 3
    assert len(Upkeep(str(odd)).active()) == 3 * (len(ODD) + 1)
    assert list(Upkeep(str(odd)).commits()) == []
