"""What a start must not go on with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.protocol.begin import Accepted
from penstock.testing import MemorySource, land_all
from tests.memory_shop import event, shop
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
