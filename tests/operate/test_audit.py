"""An audit finds what was done to tables and ledger behind penstock's back, and says it in a sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.cli import commands
from penstock.ledger import Ledger
from penstock.operate import audit as auditing
from penstock.operate.audit import audit
from penstock.places import LETTERS
from penstock.protocol.entry import Counts, decode
from penstock.storage import Storage
from penstock.tables.delta import DeltaTable
from tests.operate.shop import Shop
from tests.tables.shares import look


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """Ledger entries 1 and 3 are claims; 2 and 4 are batches of orders, the first with a page and a dead letter."""
    monkeypatch.setattr(auditing, "PATIENCE", 0.0)  # nothing is on its way
    made = Shop(tmp_path)
    made.land("order", "order", "page", "bad")
    made.land("order", "order", "order")
    return made


def _wrong(shop: Shop, capsys: pytest.CaptureFixture[str]) -> str:
    """The only thing that is wrong; and the command says so too."""
    found = audit(shop.pipeline)
    assert len(found.wrong) == 1, found.wrong
    assert commands.audit(shop.path) == 1
    assert "1 thing(s) wrong" in capsys.readouterr().out
    return found.wrong[0]


# --- nothing is wrong ----------------------------------------------------------------------------


def test_everything_is_accounted_for(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    found = audit(shop.pipeline)

    assert (found.ok, found.wrong, found.notes, found.entries) == (True, [], [], 4)
    line = found.partitions["0"]
    assert (line.start, line.end, line.gaps) == (0, 7, [])
    assert line.counts == Counts(read=7, rows=6, dead=1, bytes=line.counts.bytes)
    told = {name: (t.batches, t.rows, t.recounted, t.files, t.version) for name, t in found.tables.items()}
    assert told == {"order": (2, 5, 5, 2, 1), "page": (1, 1, 1, 1, 0), LETTERS: (1, 1, 1, 1, 0)}
    assert commands.audit(shop.path) == 0
    assert "shop: 4 ledger entries, nothing lost, nothing doubled" in capsys.readouterr().out


def test_account_is_there_for_programs(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.files("page")[0].unlink()

    assert commands.audit(shop.path, as_json=True) == 1

    told = json.loads(capsys.readouterr().out)
    assert (told["app"], told["entries"], told["ok"]) == ("shop", 4, False)
    assert told["partitions"]["0"]["counts"]["read"] == 7
    assert told["tables"]["order"] == {"batches": 2, "rows": 5, "files": 2, "version": 1, "recounted": 5}
    assert "table page refers to 1 files that are gone" in told["wrong"][0]


def test_entries_that_were_emptied_and_logs_that_were_cleaned_are_proved_by_totals(shop: Shop) -> None:
    Ledger(Storage(str(shop.entry(1).parents[1]))).strip(upto=4, may_go=lambda _: True)
    assert decode(shop.entry(2).read_bytes()).tables["order"].files is None
    deltalake.DeltaTable(shop.lake / "order").create_checkpoint()
    (shop.lake / "order" / "_delta_log" / f"{0:020d}.json").unlink()

    found = audit(shop.pipeline)

    assert found.wrong == []
    assert found.notes == [
        "table order: its log tells of batches only since version 1; older ones are proved by totals"
    ]


def test_work_of_others_is_noted_and_not_held_against_anybody(shop: Shop) -> None:
    deltalake.write_deltalake(shop.lake / "page", pa.table({"n": [1], "type": ["x"]}), mode="append")
    deltalake.DeltaTable(shop.lake / "order").optimize.compact()

    found = audit(shop.pipeline)

    assert found.wrong == []
    assert found.notes == [
        "table order: others rewrote it (OPTIMIZE in version 2); since then rows cannot be recounted by batch",
        "table page: 1 commits are not ours; its total includes their rows",
    ]


def test_two_apps_that_share_tables_are_both_accounted_for(shop: Shop, tmp_path: Path) -> None:
    other = Shop(tmp_path, app="other")
    other.land("order", "bad")
    shop.land("order")

    for one in (shop, other):
        found = audit(one.pipeline)
        assert found.wrong == []
        assert any(note.startswith("table order: ") and "not ours" in note for note in found.notes)


def test_partition_of_a_topic_made_again_with_fewer_begins_at_0_when_it_comes_back(shop: Shop) -> None:
    shop.edit(2, ends={"0": 4, "1": 9})
    shop.edit(1, ends={"0": 0, "1": 9})
    shop.edit(3, ends={"0": 0}, rebased={"0": 0})
    shop.edit(4, ranges={"1": [0, 3]}, ends={"0": 0, "1": 3}, counts=_IN_PARTITION_1)

    assert audit(shop.pipeline).wrong == []


# --- something was done to the tables ------------------------------------------------------------


def test_removed_data_file_is_named(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    gone = shop.files("order")[0]
    gone.unlink()

    assert _wrong(shop, capsys) == f"table order refers to 1 files that are gone, such as {gone.name}"


def test_data_file_that_holds_other_rows_than_it_did_is_named(shop: Shop) -> None:
    second = shop.files("order")[1]
    pq.write_table(pa.table({"n": [1], "type": ["order"]}), second)

    found = audit(shop.pipeline)

    assert found.wrong == [
        f"table order, batch 4: {second.name} holds 1 rows, not 3",
        "table order holds 3 rows, the ledger accounts for 5",
    ]


def test_batch_that_is_there_twice_is_told(shop: Shop) -> None:
    table, first = DeltaTable(str(shop.lake / "order"), "shop"), shop.files("order")[0]
    shutil.copy(first, first.with_name("copy.parquet"))
    decided = decode(shop.entry(2).read_bytes()).share("order")
    files = tuple(type(file)("copy.parquet", file.size, file.rows) for file in decided.files)
    again = type(decided)(**{**vars(decided), "files": files})

    table.commit(look(table), again)

    wrong = audit(shop.pipeline).wrong
    assert "table order carries batch 2 more than once" in wrong
    assert "table order holds 7 rows, the ledger accounts for 2" in wrong  # its number went back to 2
    assert "table order does not carry batch 4 yet: it is parked, or the app is down" in wrong


def test_table_that_was_overwritten_lacks_its_files(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = shop.files("page")
    deltalake.write_deltalake(shop.lake / "page", pa.table({"n": [1], "type": ["x"]}), mode="overwrite")

    assert _wrong(shop, capsys) == f"table page, batch 2: {file.name} is not part of the table"


def test_restored_table_is_told(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    deltalake.DeltaTable(shop.lake / "order").restore(0)

    assert _wrong(shop, capsys) == "table order was restored to an older version after batch 4"


def test_table_from_a_backup_lacks_a_decided_batch(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(shop.lake / "order", shop.lake.parent / "backup")
    shop.land("order")
    shutil.rmtree(shop.lake / "order")
    shutil.copytree(shop.lake.parent / "backup", shop.lake / "order")

    told = _wrong(shop, capsys)

    assert told == "table order does not carry batch 6 yet: it is parked, or the app is down"


def test_dropped_table_is_told_with_what_belongs_in_it(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(shop.lake / "order")

    assert _wrong(shop, capsys) == "table order is not there; batches 2 to 4 belong in it"


def test_dropped_dead_letters_are_told_too(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(shop.lake / "dead_letters")

    assert "is not there; batches 2 to 2 belong in it" in _wrong(shop, capsys)


# --- something was done to the ledger ------------------------------------------------------------


def test_lost_ledger_is_told(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(shop.lake / "_penstock")

    assert _wrong(shop, capsys).startswith(f"there is no ledger at {shop.lake}/_penstock/shop")


def test_number_that_is_missing_from_the_ledger_is_told(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.entry(3).unlink()

    assert _wrong(shop, capsys) == "numbers are missing from the ledger: 3"


def test_entry_that_is_cut_off_is_an_error_and_not_a_traceback(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.entry(2).write_bytes(shop.entry(2).read_bytes()[:200])

    assert commands.audit(shop.path) == 1

    assert "penstock: entry 2 of the ledger" in capsys.readouterr().err


_IN_PARTITION_1 = {"1": {"read": 3, "rows": 3}}
EDITS: dict[str, tuple[Callable[[Shop], None], str]] = {
    "a gap between batches": (
        lambda shop: shop.edit(4, ranges={"0": [5, 7]}),
        "entry 4: partition 0 starts at 5, not at 4 as it must",
    ),
    "batches that overlap": (
        lambda shop: shop.edit(4, ranges={"0": [3, 7]}),
        "entry 4: partition 0 starts at 3, not at 4 as it must",
    ),
    "an end that is elsewhere": (
        lambda shop: shop.edit(4, ends={"0": 8}),
        "entry 4: its ends do not follow from its ranges",
    ),
    "a partition that appeared later and was not read from its beginning": (
        lambda shop: shop.edit(4, ranges={"1": [2, 5], "0": [4, 4]}, ends={"0": 4, "1": 5}, counts=_IN_PARTITION_1),
        "entry 4: partition 1 starts at 2, not at 0 as it must",
    ),
    "a partition that is forgotten": (
        lambda shop: shop.edit(3, ends={}),
        "entry 3: its ends do not follow from its ranges",
    ),
    "a message that is nowhere": (
        lambda shop: shop.edit(4, counts={"0": {"read": 4, "rows": 3}}),
        "entry 4: partition 0 read 4 messages, accounts for others",
    ),
    "rows that no table got": (
        lambda shop: shop.edit(4, counts={"0": {"read": 4, "rows": 4}}),
        "entry 4: its tables hold 3 rows and 0 dead letters, its partitions 4 and 0",
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_entry_that_does_not_add_up_is_told(shop: Shop, capsys: pytest.CaptureFixture[str], what: str) -> None:
    tamper, told = EDITS[what]
    tamper(shop)

    assert _wrong(shop, capsys) == told
