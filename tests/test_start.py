"""What a start must not go on with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from penstock.errors import PenstockError
from penstock.ledger import Ledger
from penstock.protocol.begin import Accepted
from penstock.storage import Storage
from penstock.testing import MemorySource, land_all
from tests.memory_shop import event, shop
from tests.support.kdi import ingest
from tests.support.lake import count


def test_older_copy_of_the_ledger_is_refused_however_often_it_is_tried(tmp_path: Path) -> None:
    """On top of it, new batches would be taken for those that the table carries already."""
    source, lake = MemorySource(), tmp_path / "lake"
    pipeline, ledger = shop(source, lake), lake / "_penstock/shop"
    source.add(event("order", 0))
    land_all(pipeline)
    shutil.copytree(ledger, tmp_path / "copy")
    for n in range(1, 4):
        source.add(event("order", n))
        land_all(pipeline)
    shutil.rmtree(ledger)
    shutil.copytree(tmp_path / "copy", ledger)
    entries = sorted((ledger / "ledger").iterdir())

    for _ in range(8):  # as many as there are numbers between the copy and the table
        with pytest.raises(PenstockError) as refused:
            land_all(pipeline)
        assert "ledger.behind" in str(refused.value)

    assert sorted((ledger / "ledger").iterdir()) == entries
    assert count(lake / "order") == 4


def test_app_that_moves_without_its_tables_is_refused(tmp_path: Path) -> None:
    source = MemorySource()
    source.add(event("order", 0))
    land_all(shop(source, tmp_path / "lake"))
    shutil.copytree(tmp_path / "lake/_penstock", tmp_path / "moved/_penstock")
    moved = shop(source, tmp_path / "moved")

    with pytest.raises(PenstockError, match=r"not there: order.*\n.*move their folders"):
        land_all(moved, accepted=Accepted(adopt=True))

    shutil.copytree(tmp_path / "lake/order", tmp_path / "moved/order")
    source.add(event("order", 1))
    land_all(moved, accepted=Accepted(adopt=True))
    assert count(tmp_path / "moved" / "order") == 2


def test_batch_of_nothing_but_what_tables_have_commits_nothing(tmp_path: Path) -> None:
    """There is no empty commit: the app goes on, and the tables stay as they were."""
    source, lake = MemorySource(), tmp_path / "lake"
    source.add(*(event("order", n) for n in range(6)))
    columns = pa.schema([("type", pa.string()), ("n", pa.int64())])
    ingest(lake / "order", "shop", {0: 5}, [{"type": "order", "n": n} for n in range(6)], columns)
    ingest(lake / "rare", "shop", {0: 0}, [], columns)

    land_all(shop(source, lake))

    assert [DeltaTable(lake / name).version() for name in ("order", "rare")] == [0, 0]
    head = Ledger(Storage(str(lake / "_penstock/shop"), {})).entry(2)
    assert (head.ends, head.tables, head.total.skipped) == ({"0": 6}, {}, 5)
    source.add(event("order", 6))
    land_all(shop(source, lake))
    assert count(lake / "order") == 7
