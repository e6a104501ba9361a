"""The log of a Delta table, read backwards: who added which files, with which batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from penstock.storage import Storage
from penstock.tables.delta_log import Batch, LogCommit, newest_first

MANIFEST = {"source": {"name": "kafka:events", "home": "x"}, "ranges": {"0": [5, 9]}, "number": 4}


def _commits(table: Path, limit: int | None = None) -> list[LogCommit]:
    return list(newest_first(Storage(str(table)), deltalake.DeltaTable(table).version(), limit))


def _write(table: Path, rows: int = 1, **told: Any) -> None:
    properties = deltalake.CommitProperties(
        custom_metadata=told, app_transactions=[deltalake.Transaction("shop-0", rows)]
    )
    found = pa.table({"n": list(range(rows)), "color": ["a b"] * rows})
    deltalake.write_deltalake(table, found, mode="append", partition_by=["color"], commit_properties=properties)


def test_commits_tell_batch_files_rows_and_transactions(tmp_path: Path) -> None:
    _write(tmp_path / "t", 2)
    told = {"penstock.app": "shop", "penstock.batch": 4, "penstock.manifest": json.dumps(MANIFEST)}
    _write(tmp_path / "t", 3, **told)

    second, first = _commits(tmp_path / "t")

    assert (second.version, second.operation, second.app) == (1, "WRITE", "shop")
    assert second.batch == Batch("shop", 4, "kafka:events", {"0": (5, 9)})
    (file,) = second.added
    assert (tmp_path / "t" / file.path).exists()
    assert (file.partition, file.rows, second.rows) == ({"color": "a b"}, 3, 3)
    assert (second.removed, second.transactions) == ((), {"shop-0": 3})
    assert second.time is not None
    assert (first.batch, first.app, first.rows) == (None, "", 2)


def test_only_as_many_as_wanted_are_read_and_the_log_ends_where_it_was_cleaned(tmp_path: Path) -> None:
    for _ in range(40):
        _write(tmp_path / "t")

    assert [commit.version for commit in _commits(tmp_path / "t", 35)] == list(range(39, 4, -1))
    deltalake.DeltaTable(tmp_path / "t").create_checkpoint()
    for version in range(4):
        (tmp_path / "t" / "_delta_log" / f"{version:020d}.json").unlink()
    assert [commit.version for commit in _commits(tmp_path / "t")] == list(range(39, 3, -1))


@pytest.mark.parametrize(
    "told",
    [
        {"penstock.app": 7, "penstock.batch": 1},
        {"penstock.app": "shop", "penstock.batch": "one"},
        {"penstock.app": "shop"},
    ],
)
def test_commit_that_only_pretends_to_be_a_batch_is_none(tmp_path: Path, told: dict[str, Any]) -> None:
    _write(tmp_path / "t", **told)

    assert _commits(tmp_path / "t")[0].batch is None


@pytest.mark.parametrize("manifest", ["{", "[]", '{"ranges": 3}', '{"ranges": {"0": ["a", 1]}}', '{"source": "x"}'])
def test_batch_with_a_manifest_that_makes_no_sense_is_a_batch_all_the_same(tmp_path: Path, manifest: str) -> None:
    told: dict[str, Any] = {"penstock.app": "shop", "penstock.batch": 1, "penstock.manifest": manifest}
    _write(tmp_path / "t", **told)

    assert _commits(tmp_path / "t")[0].batch == Batch("shop", 1)


def test_commit_without_information_and_files_without_statistics_are_told_as_far_as_they_go(tmp_path: Path) -> None:
    _write(tmp_path / "t")
    path = tmp_path / "t" / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [action for action in actions if "commitInfo" not in action]
    for action in kept:
        action.get("add", {}).pop("stats", None)
    path.write_text("\n".join(map(json.dumps, kept)))

    (only,) = _commits(tmp_path / "t")

    assert (only.operation, only.time, only.rows, len(only.added)) == ("", None, None, 1)
