"""Which batches a table has not taken yet, as the ledgers tell it."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pytest

from penstock.errors import PenstockError
from penstock.operate.waiting import Waiting, ledgers_beside, open_ledger, waiting
from penstock.testing import land_all
from tests.memory_shop import shop as pipeline_of
from tests.operate.shop import Shop


def _waits(shop: Shop, table: str) -> list[Waiting]:
    found: list[Waiting] = []
    for location in ledgers_beside(str(shop.lake / table), {}):
        opened = open_ledger(location, {})
        if opened is not None:
            found += waiting(*opened, str(shop.lake / table), {})
    return found


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made = Shop(tmp_path)
    made.land("order", "page", "bad")
    return made


def park(shop: Shop, table: str, *kinds: str) -> None:
    """A table that penstock must not write to: its batches wait, those of the others land."""
    deltalake.DeltaTable(shop.lake / table).alter.add_constraint({"closed": "1 = 1"})
    with pytest.raises(PenstockError, match=r"tables\.parked"):
        shop.land(*kinds)


def test_nothing_waits_where_every_table_carries_its_batches(shop: Shop) -> None:
    shop.land("order")

    assert [_waits(shop, table) for table in ("order", "page", "dead_letters")] == [[], [], []]


def test_decided_batches_of_a_parked_table_wait_with_their_files(shop: Shop) -> None:
    park(shop, "order", "order", "page")
    with pytest.raises(PenstockError, match=r"tables\.parked"):
        shop.land("order")

    first, second = _waits(shop, "order")

    assert (first.app, first.batch, second.batch) == ("shop", 4, 6)
    known = {file.rpartition("/")[2] for file in deltalake.DeltaTable(shop.lake / "order").file_uris()}
    assert first.files | second.files == {path.name for path in shop.files("order")} - known
    assert _waits(shop, "page") == []


def test_dead_letters_are_known_to_their_ledger_by_another_name(shop: Shop) -> None:
    park(shop, "dead_letters", "bad")

    assert [each.batch for each in _waits(shop, "dead_letters")] == [4]


def test_table_that_was_made_again_lacks_what_nobody_saw_it_carry(shop: Shop) -> None:
    park(shop, "order", "order")
    for path in (shop.lake / "order" / "_delta_log").glob("*"):
        path.unlink()
    deltalake.DeltaTable.create(shop.lake / "order", deltalake.DeltaTable(shop.lake / "page").schema())

    assert 4 in [each.batch for each in _waits(shop, "order")]


def test_every_app_beside_the_table_is_asked(shop: Shop, tmp_path: Path) -> None:
    other = Shop(tmp_path, app="other")
    other.land("order")

    park(other, "order", "order")

    assert [(each.app, each.batch) for each in _waits(shop, "order")] == [("other", 4)]


def test_looking_for_ledgers_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "lake" / "order").mkdir(parents=True)

    assert ledgers_beside(str(tmp_path / "lake" / "order"), {}) == []
    assert open_ledger(str(tmp_path / "nowhere"), {}) is None
    assert [path.name for path in tmp_path.rglob("*")] == ["lake", "order"]


def test_ledger_that_never_decided_anything_is_none(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert open_ledger(str(tmp_path / "empty"), {}) is None


def test_table_that_a_ledger_does_not_know_waits_for_nothing(shop: Shop, tmp_path: Path) -> None:
    ledger = str(tmp_path / "books")
    land_all(pipeline_of(shop.source, shop.lake.parent / "other", app="third", ledger={"path": ledger}))
    opened = open_ledger(ledger, {})

    assert opened is not None
    assert list(waiting(*opened, str(shop.lake / "unheard-of"), {})) == []
