"""Files that a batch takes out of a Delta table: just those, with the batch's number, or nothing at all."""

from __future__ import annotations

import json
from pathlib import Path

import deltalake
import pytest

from penstock.contracts import File
from penstock.errors import TableRefused, Unavailable
from penstock.tables.delta import DeltaTable
from tests.support.lake import rows
from tests.tables.shares import files, look, share

SCHEMA = {"type": "string", "x": "long"}
NAMES = ["order", "a/b", "é'\"x", "a b%2F", "..", "x=1", "a\\b", "order "]


@pytest.fixture
def table(tmp_path: Path) -> DeltaTable:
    """Two batches, with a row of every name in each."""
    made = DeltaTable(str(tmp_path), "shop")
    for batch in (1, 2):
        written = files(tmp_path, [{"type": name, "x": batch} for name in NAMES], SCHEMA, ("type",))
        given = share(batch, written, SCHEMA, partition_by=("type",))
        if batch == 1:
            made.create(given)
        else:
            made.commit(look(made), given)
    return made


def _held(table: DeltaTable, name: str) -> tuple[File, ...]:
    return tuple(look(table).holds({"type": name}))


@pytest.mark.parametrize("name", NAMES)
def test_files_of_one_partition_are_found_and_taken_out(name: str, table: DeltaTable) -> None:
    found = _held(table, name)
    assert [(file.rows, file.partition) for file in found] == [(1, {"type": name})] * 2
    assert look(table).refers([file.path for file in found]) == sorted(file.path for file in found)

    table.commit(look(table), share(3, (), SCHEMA, partition_by=("type",), removed=found))

    left = sorted((row["type"], row["x"]) for row in rows(table.location))
    assert left == sorted((other, x) for other in NAMES if other != name for x in (1, 2))
    assert (look(table).carried, _held(table, name)) == (3, ())


def test_nothing_is_taken_out_if_the_table_moved_on(table: DeltaTable) -> None:
    before, found = look(table), _held(table, "order")
    table.commit(look(table), share(3, (), SCHEMA, partition_by=("type",)))

    with pytest.raises(Unavailable):
        table.commit(before, share(4, (), SCHEMA, partition_by=("type",), removed=found))

    assert (look(table).carried, len(_held(table, "order"))) == (3, 2)


def test_files_can_come_and_go_in_one_commit(table: DeltaTable, tmp_path: Path) -> None:
    found = _held(table, "order")
    written = files(tmp_path, [{"type": "order", "x": 9}], SCHEMA, ("type",))

    table.commit(look(table), share(3, written, SCHEMA, partition_by=("type",), removed=found))

    assert [row["x"] for row in rows(table.location, "x", "type = 'order'")] == [9]


def test_rows_that_are_only_marked_as_deleted_are_not_taken_for_rows(table: DeltaTable) -> None:
    handle = deltalake.DeltaTable(table.location)
    handle.alter.add_feature([deltalake.TableFeatures.DeletionVectors], allow_protocol_versions_increase=True)
    assert len(_held(table, "order")) == 2  # nothing is marked yet
    log = Path(table.location) / "_delta_log"
    first = next(json.loads(line)["add"] for line in (log / f"{1:020d}.json").read_text().splitlines() if "add" in line)
    vector = {"storageType": "i", "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
    left = {"path": first["path"], "deletionTimestamp": 1, "dataChange": True}
    marked = first | {"stats": '{"numRecords": 40}', "deletionVector": vector | {"sizeInBytes": 44, "cardinality": 6}}
    (log / f"{3:020d}.json").write_text("\n".join(map(json.dumps, [{"remove": left}, {"add": marked}])))

    with pytest.raises(TableRefused, match="1 of its files have deletion vectors"):
        _held(table, "order")


def test_partition_that_nobody_has_holds_nothing(table: DeltaTable) -> None:
    assert _held(table, "nobody") == ()
