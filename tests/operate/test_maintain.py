"""A vacuum deletes what nobody needs, and nothing that a batch still waits with."""

from __future__ import annotations

import os
import time
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from penstock.errors import USAGE, PenstockError
from penstock.operate.maintain import Keep, vacuum
from penstock.tables.upkeep import Upkeep
from penstock.testing import MemorySource, land_all
from tests.memory_shop import event
from tests.memory_shop import shop as pipeline_of
from tests.operate.shop import Shop
from tests.operate.test_waiting import park
from tests.support.lake import count

HOUR, DAY = 3600.0, 86400.0


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made = Shop(tmp_path)
    made.land("order", "page")
    made.land("order", "page")
    return made


def _aged(folder: Path, seconds: float) -> None:
    """Let so much time have passed since the files were written."""
    for path in folder.rglob("*.parquet"):
        os.utime(path, (time.time() - seconds, time.time() - seconds))


def _vacuum(table: Path, keep: Keep | None = None, *, dry_run: bool = False) -> list[str]:
    return vacuum(Upkeep(str(table)), keep or Keep(), dry_run=dry_run)


def _orphan(table: Path, name: str = "left-behind.parquet") -> Path:
    (table / name).write_bytes(b"PAR1")
    return table / name


def test_leftovers_of_a_batch_that_was_never_decided_go_when_they_are_old(shop: Shop) -> None:
    table = shop.lake / "order"
    old = _orphan(table)
    _aged(table, 8 * DAY)
    young = _orphan(table, "in-flight.parquet")

    assert _vacuum(table, dry_run=True) == [old.name]
    assert old.exists()
    assert _vacuum(table) == [old.name]

    assert (old.exists(), young.exists(), count(table)) == (False, True, 2)
    assert deltalake.DeltaTable(table).version() == 3  # penstock's two, and the beginning and the end of a vacuum
    shop.land("order")
    assert count(table) == 3


def test_nothing_to_delete_is_no_commit(shop: Shop) -> None:
    _aged(shop.lake, 30 * DAY)

    assert _vacuum(shop.lake / "order") == []
    assert deltalake.DeltaTable(shop.lake / "order").version() == 1


@pytest.mark.parametrize("seconds", [0.0, 1.0, HOUR - 0.1, 1e300, float("inf")])
def test_less_than_an_hour_is_always_refused(shop: Shop, seconds: float) -> None:
    with pytest.raises(PenstockError, match="at least 1h") as refused:
        _vacuum(shop.lake / "order", Keep(seconds), dry_run=True)

    assert (refused.value.exit_status, refused.value.code) == (USAGE, "usage.keep")


def test_table_that_says_less_than_an_hour_keeps_an_hour(shop: Shop) -> None:
    table = shop.lake / "order"
    setting = {"delta.deletedFileRetentionDuration": "interval 0 seconds"}
    deltalake.DeltaTable(table).alter.set_table_properties(setting)
    _orphan(table)

    assert _vacuum(table) == []
    _aged(table, HOUR + 60)
    assert len(_vacuum(table)) == 1


def test_less_than_the_tables_own_retention_is_kept_where_the_ledger_tells_what_waits(shop: Shop) -> None:
    table = shop.lake / "order"
    Upkeep(str(table)).optimize(10**8, None)
    _orphan(table)
    _aged(table, 3 * HOUR)

    assert _vacuum(table, Keep(4 * HOUR)) == []
    assert _vacuum(table, Keep(1.5 * HOUR)) == ["left-behind.parquet"]  # rounded up to two hours
    assert count(table) == 2


def test_table_that_no_ledger_knows_keeps_what_it_says_itself(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path / "t", pa.table({"n": [1]}))
    _orphan(tmp_path / "t")
    _aged(tmp_path / "t", 8 * DAY)

    with pytest.raises(PenstockError, match="keeps, 168 hours, and no ledger beside it") as refused:
        _vacuum(tmp_path / "t", Keep(6 * DAY))

    assert refused.value.exit_status == USAGE
    assert _vacuum(tmp_path / "t", Keep(7 * DAY)) == ["left-behind.parquet"]


# --- files that wait -----------------------------------------------------------------------------


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("keep", [None, 7 * DAY, HOUR])
def test_files_of_a_parked_table_survive_and_land(shop: Shop, keep: float | None, dry_run: bool) -> None:
    table = shop.lake / "order"
    park(shop, "order", "order", "page")
    _orphan(table)
    _aged(shop.lake, 8 * DAY)

    with pytest.raises(PenstockError, match="batch 6 of app 'shop' was decided at") as refused:
        _vacuum(table, Keep(keep), dry_run=dry_run)

    assert (refused.value.exit_status, refused.value.code) == (1, "vacuum.still-needed")
    assert str(table) in refused.value.what
    assert (table / "left-behind.parquet").exists()
    assert deltalake.DeltaTable(table).version() == 2
    deltalake.DeltaTable(table).alter.drop_constraint("closed")
    shop.land("order")
    assert count(table) == 4
    assert _vacuum(table, Keep(keep)) == ["left-behind.parquet"]
    assert count(table) == 4


def test_the_other_tables_of_the_app_are_not_held_up(shop: Shop) -> None:
    park(shop, "order", "order", "page")
    _orphan(shop.lake / "page")
    _aged(shop.lake, 8 * DAY)

    assert _vacuum(shop.lake / "page") == ["left-behind.parquet"]


def test_files_that_wait_for_less_than_is_kept_do_not_stop_a_vacuum(shop: Shop) -> None:
    park(shop, "order", "order")
    _orphan(shop.lake / "order", "old.parquet")
    _aged(shop.lake / "order", 3 * HOUR)
    os.utime(shop.lake / "order" / "old.parquet", (0, 0))

    with pytest.raises(PenstockError, match="batch 6"):  # near the limit: they might be past it in a moment
        _vacuum(shop.lake / "order", Keep(3.5 * HOUR))
    assert _vacuum(shop.lake / "order", Keep(5 * HOUR)) == ["old.parquet"]


def test_batch_that_is_committed_after_the_table_was_opened_is_seen(shop: Shop) -> None:
    park(shop, "order", "order")
    _aged(shop.lake, 8 * DAY)
    opened = Upkeep(str(shop.lake / "order"))
    deltalake.DeltaTable(shop.lake / "order").alter.drop_constraint("closed")
    shop.land("page")

    assert vacuum(opened, Keep(), dry_run=False) == []

    assert count(shop.lake / "order") == 3


# --- ledgers that are elsewhere ------------------------------------------------------------------


def test_app_whose_ledger_is_not_beside_the_table_must_be_told_of(tmp_path: Path) -> None:
    source, ledger, table = MemorySource(), tmp_path / "books" / "shop", tmp_path / "lake" / "order"
    source.add(event("order", 1))
    land_all(pipeline_of(source, tmp_path / "lake", ledger={"path": str(ledger)}))
    _orphan(table)
    _aged(table, 8 * DAY)

    with pytest.raises(PenstockError, match=r"app 'shop' writes to .*, and its ledger is not beside") as refused:
        _vacuum(table)

    assert "--ledger" in str(refused.value)
    assert "--without shop" in str(refused.value)
    with pytest.raises(PenstockError, match="there is no ledger at"):
        _vacuum(table, Keep(ledgers=[str(tmp_path / "nowhere")]))
    assert not (tmp_path / "nowhere").exists()
    assert _vacuum(table, Keep(ledgers=[str(ledger)]), dry_run=True) == ["left-behind.parquet"]
    assert _vacuum(table, Keep(without=frozenset({"shop"}))) == ["left-behind.parquet"]


def test_ledger_that_is_damaged_stops_a_vacuum(shop: Shop) -> None:
    park(shop, "order", "order")
    shop.entry(6).write_bytes(b"{")
    _aged(shop.lake, 8 * DAY)

    with pytest.raises(PenstockError) as refused:
        _vacuum(shop.lake / "order")

    assert refused.value.code == "ledger.damaged"
