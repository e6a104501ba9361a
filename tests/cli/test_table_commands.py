"""`penstock repair` and `penstock table …` as they are typed: with flags, with variables, and wrongly."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from tests.support.command_line import caller
from tests.support.lake import count
from tests.support.process import penstock

VARIABLES = ("TABLE_URL", "OPTIMIZE_TARGET_SIZE", "OPTIMIZE_PARTITION", "OPTIMIZE_PARTITION_PREDICATE")

# The entry point takes what the shell gave, and so must the tests.
pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """`penstock` with these arguments, by its own entry point: status, stdout, stderr without a terminal's frames."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    ask = caller(monkeypatch, capsys)

    def called(*arguments: str) -> tuple[int, str, str]:
        ended = ask(*arguments)
        return ended.status, ended.out, ended.words

    return called


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two files in each of three partitions."""
    for batch in (1, 2):
        told = {"penstock.app": "shop", "penstock.batch": batch}
        deltalake.write_deltalake(
            tmp_path / "t",
            pa.table({"n": [batch] * 3, "color": ["red", "it's -1", None]}),
            mode="append",
            partition_by=["color"],
            commit_properties=deltalake.CommitProperties(custom_metadata=told),
        )
    return tmp_path / "t"


def _version(table: Path) -> int:
    return int(deltalake.DeltaTable(table).version())


def _lose(table: Path) -> Path:
    gone = min((table / "color=red").glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    gone.unlink()
    return gone


# --- repair --------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--table_url", "--table-url"])
def test_repair_takes_missing_files_out_and_optimizes(call: Call, table: Path, option: str) -> None:
    gone = _lose(table)

    status, out, err = call("repair", option, "t")

    assert status == 0
    assert "t: 1 files are gone and were taken out of the table, with 1 rows" in out
    assert f"  color=red/{gone.name}, 1 rows, " in out
    assert "color=red, from batch 1 of shop, version 0" in out
    assert "optimize: put 4 files of " in out
    assert "the table is at version 3" in out
    assert "listing every file of the table …" in err
    assert count(table) == 5


def test_repair_reads_the_environment(call: Call, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = dict(zip(VARIABLES, (str(table), "1MB", "color", "it's -1"), strict=True))
    for name, value in values.items():
        monkeypatch.setenv(name, value)

    status, out, _ = call("repair")

    assert (status, "optimize: put 2 files of" in out, len(deltalake.DeltaTable(table).file_uris())) == (0, True, 5)


def test_empty_variables_are_as_good_as_none(call: Call, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES[1:]:
        monkeypatch.setenv(name, "")

    status, out, _ = call("repair", "--table_url", str(table))

    assert (status, "optimize: put 6 files of" in out) == (0, True)


@pytest.mark.parametrize(
    "words",
    [
        ("--optimize_partition", "--optimize_partition_predicate"),
        ("--optimize-partition", "--optimize-partition-predicate"),
    ],
)
@pytest.mark.parametrize(
    ("value", "files"), [("it's -1", 2), ("__HIVE_DEFAULT_PARTITION__", 2), ("-1", 0), ("' or 1=1", 0)]
)
def test_repair_optimizes_one_partition(
    call: Call, table: Path, words: tuple[str, str], value: str, files: int
) -> None:
    column, predicate = words

    status, out, _ = call("repair", "--table_url", "t", column, "color", predicate, value)

    assert status == 0
    assert (f"optimize: put {files} files of" if files else "optimize: nothing to do") in out
    assert _version(table) == (2 if files else 1)


def test_small_target_leaves_everything_as_it_is(call: Call, table: Path) -> None:
    status, out, _ = call("repair", "--table_url", "t", "--optimize_target_size", "10")

    assert (status, "optimize: nothing to do" in out, _version(table)) == (0, True, 1)


@pytest.mark.parametrize("option", ["--dry-run", "--dry_run"])
def test_dry_run_writes_nothing(call: Call, table: Path, option: str) -> None:
    _lose(table)

    status, out, _ = call("repair", "--table_url", "t", option, "--json")

    told: dict[str, Any] = json.loads(out)
    assert (status, told["dry_run"], told["lost"]["rows"], told["optimize"]["files_removed"]) == (0, True, 1, 4)
    assert _version(table) == 1


def test_optimize_that_fails_ends_with_1_and_what_was_lost_is_told(call: Call, table: Path) -> None:
    _lose(table)
    for path in table.glob("color=it*/*.parquet"):
        path.write_bytes(b"torn")

    status, out, err = call("repair", "--table_url", "t")

    assert (status, _version(table)) == (1, 2)
    assert "from batch 1 of shop" in out
    assert "penstock: could not optimize" in err
    assert "[table.upkeep-failed]" in err


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ([], 2, "no table is given give --table_url, or set TABLE_URL"),
        (["--table_url", "nowhere"], 1, "there is no Delta table at"),
        (["--table_url", ""], 2, "the location of the table is empty"),
        (["--table_url", "s3://key:secret@bucket/t"], 2, "must not hold a password"),
        (["--table_url", "az://c/t?sig=secret"], 2, "must not hold a password or a token"),
        (["--table_url", "http://[::1/t"], 2, "is not a location"),
        (["--table_url", "t\udcff"], 2, "is not UTF-8"),
        (["--table_url", "t", "--optimize_partition", "color"], 2, "belong together: only the column was given"),
        (["--table_url", "t", "--optimize_partition_predicate", "x"], 2, "belong together: only the value was given"),
        (["--table_url", "t", "--optimize_partition", "n", "--optimize_partition_predicate", "1"], 2, "by color"),
        (["--table_url", "t", "--optimize_target_size", "0"], 2, "the target size 0 makes no sense"),
        (["--table_url", "t", "--optimize_target_size", "-5"], 2, "'-5' is not a size"),
        (["--table_url", "t", "--optimize_target_size", "lots"], 2, "'lots' is not a size"),
        (["--table_url", "t", "--optimize_target_size", "9" * 5000], 2, "is not a size"),
        (["--table_url", "t", "--optimize_target_size", "9" * 400 + "GB"], 2, "[usage.value]"),
        (["--table_url", "t", "--optimize_target_size", "9223372036854775808"], 2, "makes no sense"),
    ],
)  # fmt: skip
def test_repair_that_makes_no_sense_is_refused(
    call: Call, table: Path, arguments: list[str], status: int, told: str
) -> None:
    before = _version(table)

    ended, out, err = call("repair", *arguments)

    assert (ended, out, _version(table)) == (status, "", before)
    assert told in err
    assert "secret" not in err
    assert not Path("nowhere").exists()


# --- table ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["color=red", "color = red", "color=__HIVE_DEFAULT_PARTITION__", "color=it's -1"])
def test_table_optimize_puts_files_of_one_partition_together(call: Call, table: Path, where: str) -> None:
    status, out, _ = call("table", "optimize", "t", "--where", where, "--target-size", "64MB")

    assert (status, out.startswith("optimize: put 2 files of "), out.endswith(" together into 1\n")) == (0, True, True)
    assert count(table) == 6


def test_table_vacuum_lists_what_it_would_delete_and_deletes_it(call: Call, table: Path) -> None:
    call("table", "optimize", "t")
    settings = {"delta.deletedFileRetentionDuration": "interval 1 hours"}
    deltalake.DeltaTable(table).alter.set_table_properties(settings)
    left = table / "left.parquet"
    left.write_bytes(b"PAR1")

    os.utime(left, (0, 0))

    assert call("table", "vacuum", "t", "--keep", "1h", "--without", "shop", "--dry-run")[:2] == (
        0,
        "left.parquet\nvacuum: 1 files would be deleted\n",
    )
    assert left.exists()
    assert call("table", "vacuum", "t", "--keep", "1h", "--without", "shop")[:2] == (
        0,
        "vacuum: 1 files were deleted\n",
    )
    assert (left.exists(), count(table)) == (False, 6)


def test_table_history_shows_who_did_what(call: Call, table: Path) -> None:
    call("table", "optimize", "t")

    status, out, _ = call("table", "history", "t")

    lines = [line.split() for line in out.splitlines()]
    assert status == 0
    assert [[line[0], *line[3:]] for line in lines[1:]] == [
        ["2", "OPTIMIZE", "3", "6", "6"],
        ["1", "WRITE", "shop", "2", "3", "0", "3"],
        ["0", "WRITE", "shop", "1", "3", "0", "3"],
    ]


def test_table_history_for_programs(call: Call, table: Path) -> None:
    status, out, _ = call("table", "history", "t", "--limit", "1", "--json")

    (told,) = json.loads(out)
    assert (status, told["version"], told["app"], told["batch"]) == (0, 1, "shop", 2)
    assert (told["files_added"], told["files_removed"], told["rows_added"]) == (3, 0, 3)


def test_table_history_shows_hostile_names_as_text(call: Call, tmp_path: Path) -> None:
    told = {"penstock.app": "[red]\x1b[2J", "penstock.batch": 1}
    properties = deltalake.CommitProperties(custom_metadata=told)
    deltalake.write_deltalake(tmp_path / "t", pa.table({"n": [1]}), commit_properties=properties)

    _, out, _ = call("table", "history", "t")

    assert "\x1b" not in out
    assert r"[red]\x1b[2J" in out


def test_table_checkpoint_writes_one(call: Call, table: Path) -> None:
    assert call("table", "checkpoint", "t")[:2] == (0, "the log is checkpointed at version 1\n")

    assert (table / "_delta_log" / f"{1:020d}.checkpoint.parquet").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["optimize"], 2, "requires an argument"),
        (["optimize", "nowhere"], 1, "there is no Delta table at"),
        (["optimize", "t", "--where", "color"], 2, "is not column=value"),
        (["optimize", "t", "--where", "=red"], 2, "is not column=value"),
        (["optimize", "t", "--where", "n=1"], 2, "is not a partition column"),
        (["optimize", "t", "--target-size", "1 parsec"], 2, "is not a size"),
        (["vacuum", "t", "--keep", "59m"], 2, "at least 1h"),
        (["vacuum", "t", "--keep", "soon"], 2, "'soon' is not a duration"),
        (["vacuum", "t", "--keep", "9" * 400 + "d"], 2, "at most 100 years"),
        (["vacuum", "t"], 2, "app 'shop' writes to"),
        (["vacuum", "t", "--ledger", "nowhere"], 2, "there is no ledger at"),
        (["vacuum", "t", "--without", "shop", "--keep", "6d"], 2, "--keep is below what"),
        (["history", "t", "--limit", "0"], 2, "Must be >= 1"),
        (["history", "nowhere"], 1, "there is no Delta table at"),
        (["checkpoint", "nowhere"], 1, "there is no Delta table at"),
        (["optimise", "t"], 2, "Unknown command"),
    ],
)
def test_table_command_that_makes_no_sense_is_refused(
    call: Call, table: Path, arguments: list[str], status: int, told: str
) -> None:
    ended, out, err = call("table", *arguments)

    assert (ended, out, _version(table)) == (status, "", 1)
    assert told in err
    assert not Path("nowhere").exists()


def test_the_installed_command_repairs(table: Path) -> None:
    gone = _lose(table)

    done = penstock("repair", "--table_url", table, "--dry-run", env={"COLUMNS": "40"})

    assert done.status == 0
    assert f"  color=red/{gone.name}, 1 rows" in done.out
    assert done.err.splitlines()[0] == "opening the table …"
