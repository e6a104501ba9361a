"""What an audit reads of a table: its log and the feet of its files, and nothing that penstock remembers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from penstock.errors import Unavailable
from penstock.schema import columns
from penstock.tables.account import TableAccount, account
from penstock.tables.delta import DeltaTable
from tests.tables.shares import NOBODY, files, look, share, table_with


def _account(folder: Path, app: str = "shop") -> TableAccount:
    found = account(str(folder), app, {})
    assert found is not None
    return found


def test_place_without_a_table_has_no_account(tmp_path: Path) -> None:
    assert account(str(tmp_path / "nowhere"), "shop", {}) is None


def test_batches_files_and_rows_are_told(tmp_path: Path) -> None:
    table_with(tmp_path, [1, 2], [3], [4, 5, 6])

    found = _account(tmp_path)

    assert (found.version, found.carried, found.batches, found.since) == (2, 3, (1, 2, 3), 0)
    assert sorted(found.live.values()) == [1, 2, 3]
    assert (found.missing, found.foreign_commits, found.rewritten, found.restored) == ((), 0, "", False)


def test_rows_are_counted_in_the_files_and_not_in_the_log(tmp_path: Path) -> None:
    table_with(tmp_path, [1, 2])
    (path,) = _account(tmp_path).live
    pq.write_table(pa.table({"x": range(100_000), "wide": ["text"] * 100_000}), tmp_path / path, row_group_size=100)

    assert _account(tmp_path).live == {path: 100_000}  # although its foot is longer than the first guess


def test_files_that_are_gone_are_told_and_not_counted(tmp_path: Path) -> None:
    table_with(tmp_path, [1, 2], [3])
    gone = next(path for path, rows in _account(tmp_path).live.items() if rows == 2)
    (tmp_path / gone).unlink()

    found = _account(tmp_path)

    assert found.missing == (gone,)
    assert list(found.live.values()) == [1]


def test_partitioned_files_are_found_in_their_folders(tmp_path: Path) -> None:
    schema = {"x": "long", "day": "string"}
    written = files(tmp_path, [{"x": 1, "day": "a b"}, {"x": 2, "day": "ü/%"}], schema, ("day",))
    DeltaTable(str(tmp_path), "shop").create(share(1, written, schema, partition_by=("day",)))

    found = _account(tmp_path)

    assert found.live == {file.path: 1 for file in written}
    assert found.missing == ()


def test_work_of_others_is_told_apart_from_ours(tmp_path: Path) -> None:
    table, other = table_with(tmp_path, [1], [2]), DeltaTable(str(tmp_path), "other")
    write_deltalake(tmp_path, pa.table({"x": [7]}), mode="append")
    other.commit(look(other), share(9, files(tmp_path, [{"x": 8}]), app="other"))
    table.evolve(look(table), columns({"x": "long", "y": "long"}))

    ours, theirs = _account(tmp_path), _account(tmp_path, "other")

    assert (ours.carried, ours.batches, ours.foreign_commits) == (2, (1, 2), 2)
    assert (theirs.carried, theirs.batches, theirs.foreign_commits) == (9, (9,), 3)
    assert sum(ours.live.values()) == 4
    assert ours.rewritten == ""


@pytest.mark.parametrize(
    ("operation", "act"),
    [
        ("OPTIMIZE", lambda handle: handle.optimize.compact()),
        ("DELETE", lambda handle: handle.delete("x = 1")),
        ("RESTORE", lambda handle: handle.restore(1)),
    ],
)
def test_operations_that_move_rows_are_named_with_their_version(
    tmp_path: Path, operation: str, act: Callable[[deltalake.DeltaTable], object]
) -> None:
    table_with(tmp_path, [1], [2], [3])
    act(deltalake.DeltaTable(tmp_path))

    found = _account(tmp_path)

    assert found.rewritten == f"{operation} in version 3"
    assert found.restored == (operation == "RESTORE")


def test_restore_that_our_batches_came_after_is_history(tmp_path: Path) -> None:
    table = table_with(tmp_path, [1], [2])
    deltalake.DeltaTable(tmp_path).restore(0)
    table.commit(look(table), share(3, files(tmp_path, [{"x": 3}])))

    assert not _account(tmp_path).restored


def test_log_that_was_cleaned_up_says_since_when_it_tells(tmp_path: Path) -> None:
    table_with(tmp_path, [1], [2], [3], [4])
    deltalake.DeltaTable(tmp_path).create_checkpoint()
    for version in (0, 1):
        (tmp_path / "_delta_log" / f"{version:020d}.json").unlink()

    found = _account(tmp_path)

    assert (found.carried, found.batches, found.since) == (4, (3, 4), 2)
    assert len(found.live) == 4


def test_unreachable_place_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="Connection refused"):
        account("s3://bucket/t", "shop", NOBODY)
