"""Repair takes files that are gone out of a table, says what was lost, and leaves penstock able to go on."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path
from typing import Any

import deltalake
import pytest
from rich.console import Console

from penstock.errors import PenstockError, Unavailable
from penstock.operate import audit as auditing
from penstock.operate.audit import audit
from penstock.operate.progress import Steps
from penstock.operate.repair import Repair, repair
from penstock.operate.show_tables import repair_values, show_repair
from penstock.protocol.entry import decode
from penstock.tables.delta import DeltaTable
from penstock.tables.upkeep import Rewrite, Upkeep, Where
from penstock.testing import MemorySource, land_all
from tests.memory_shop import event
from tests.memory_shop import shop as pipeline_of
from tests.operate.shop import Shop
from tests.support.lake import count, rows
from tests.tables.shares import look


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """Batches 2, 4 and 6 hold 1, 2 and 3 orders; entries in between are claims."""
    monkeypatch.setattr(auditing, "PATIENCE", 0.0)
    made = Shop(tmp_path)
    for orders in (1, 2, 3):
        made.land(*["order"] * orders, "page")
    return made


def _repair(table: Path, *, where: Where | None = None, dry_run: bool = False) -> Repair:
    with Steps(5, Console(file=io.StringIO())) as steps:
        return repair(Upkeep(str(table)), target=10**8, where=where, dry_run=dry_run, steps=steps)


def _lines(done: Repair) -> list[str]:
    screen = io.StringIO()
    show_repair(done, Console(file=screen, width=40))
    return screen.getvalue().splitlines()


def _picture(table: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in table.rglob("*") if path.is_file()}


def test_what_was_lost_is_listed_with_files_rows_and_batches(shop: Shop) -> None:
    first, second, third = shop.files("order")
    second.unlink()

    done = _repair(shop.lake / "order")

    assert [(lost.file.path, lost.file.rows) for lost in done.lost] == [(second.name, 2)]
    (batch,) = done.batches
    assert (batch.app, batch.number, batch.source, batch.ranges) == ("shop", 4, "memory:memory", {"0": (2, 5)})
    assert (done.rows, done.uncounted, done.rewrite.removed, done.rewrite.added) == (2, 0, 2, 1)
    assert done.version == 4  # one commit without the file, one with the others put together
    assert sorted(row["n"] for row in rows(shop.lake / "order")) == [0, 5, 6, 7]
    table = deltalake.DeltaTable(shop.lake / "order")
    assert [commit["operation"] for commit in table.history(2)] == ["OPTIMIZE", "FSCK"]
    assert (table.transaction_version("penstock:shop"), table.transaction_version("shop-0")) == (6, 8)
    assert (first.exists(), third.exists()) == (True, True)


def test_it_is_told_in_lines_that_are_never_broken(shop: Shop) -> None:
    gone = shop.files("order")[1]
    size = gone.stat().st_size
    gone.unlink()

    told = _lines(_repair(shop.lake / "order", dry_run=True))

    assert told[0] == f"{shop.lake}/order: 1 files are gone and would be taken out of the table, with 2 rows"
    assert told[1].startswith(f"  {gone.name}, 2 rows, {size:,} bytes, from batch 4 of shop, version 1 (")
    assert told[2:4] == ["what to load again:", "  batch 4 of shop: memory:memory partition 0 positions 2 to 4"]
    assert told[4].startswith("optimize: would put 2 files of ")
    assert told[5] == "the table is at version 2"


def test_dry_run_shows_what_would_be_done_and_writes_nothing(shop: Shop) -> None:
    shop.files("order")[0].unlink()
    before = _picture(shop.lake)

    shown = _repair(shop.lake / "order", dry_run=True)

    assert _picture(shop.lake) == before
    done = _repair(shop.lake / "order")
    assert (shown.lost, shown.rewrite) == (done.lost, done.rewrite)
    assert (shown.version, done.version) == (2, 4)


def test_healthy_table_gets_no_commit(shop: Shop) -> None:
    _repair(shop.lake / "page")

    done = _repair(shop.lake / "page")

    assert (done.lost, done.rewrite, done.version) == ([], Rewrite(), 3)
    assert _lines(done)[:2] == [f"{shop.lake}/page: no file is missing", "optimize: nothing to do"]


def test_file_that_was_optimized_before_it_was_lost_names_all_its_batches(shop: Shop) -> None:
    _repair(shop.lake / "order")
    shop.files("order")[-1].unlink()

    done = _repair(shop.lake / "order")

    assert [batch.number for batch in done.batches] == [2, 4, 6]
    assert (done.rows, count(shop.lake / "order")) == (6, 0)
    assert "from batch 2 of shop and batch 4 of shop and batch 6 of shop, version 3" in _lines(done)[1]


def test_programs_get_the_same(shop: Shop) -> None:
    gone = shop.files("order")[1]
    gone.unlink()

    told: dict[str, Any] = json.loads(json.dumps(repair_values(_repair(shop.lake / "order"))))

    (file,) = told["lost"]["files"]
    assert (file["path"], file["rows"], file["version"], file["exact"]) == (gone.name, 2, 1, True)
    assert file["batches"] == [{"app": "shop", "batch": 4}]
    assert told["lost"]["batches"] == [{"app": "shop", "batch": 4, "source": "memory:memory", "ranges": {"0": [2, 5]}}]
    assert (told["lost"]["rows"], told["optimize"]["files_removed"], told["version"]) == (2, 2, 4)


def test_filter_is_refused_before_anything_is_done(shop: Shop) -> None:
    shop.files("order")[0].unlink()
    before = _picture(shop.lake)

    with pytest.raises(PenstockError, match="is not a partition column"):
        _repair(shop.lake / "order", where=Where("n", "1"))

    assert _picture(shop.lake) == before


def test_missing_files_of_all_partitions_leave_and_only_the_asked_one_is_optimized(tmp_path: Path) -> None:
    source = MemorySource()
    pipeline = pipeline_of(source, tmp_path / "lake", tables={"types": {"order": {"partition_by": ["color"]}}})
    for number in range(3):
        source.add(*[event("order", number, color=color) for color in ("it's", "a/b", None)])
        land_all(pipeline)
    table = tmp_path / "lake" / "order"
    next(table.glob("color=a%2Fb/*")).unlink()

    done = _repair(table, where=Where.of("color", "it's"))

    assert [lost.file.partition for lost in done.lost] == [{"color": "a/b"}]
    assert (done.rewrite.removed, done.rewrite.added) == (3, 1)
    assert count(table) == 8
    assert len(Upkeep(str(table)).active()) == 1 + 2 + 3


def test_what_was_lost_is_told_although_the_optimize_fails(shop: Shop) -> None:
    first, second, _ = shop.files("order")
    first.unlink()
    second.write_bytes(b"not parquet at all")

    done = _repair(shop.lake / "order")

    assert [batch.number for batch in done.batches] == [2]
    assert done.failed is not None
    assert done.failed.code == "table.upkeep-failed"
    assert repair_values(done)["optimize"]["failed"].startswith("could not optimize ")
    assert deltalake.DeltaTable(shop.lake / "order").history(1)[0]["operation"] == "FSCK"


# --- penstock goes on ----------------------------------------------------------------------------


def test_landing_goes_on_and_audit_tells_what_was_lost(shop: Shop) -> None:
    gone = shop.files("order")[0]
    gone.unlink()
    assert audit(shop.pipeline).wrong == [f"table order refers to 1 files that are gone, such as {gone.name}"]
    _repair(shop.lake / "order")
    _repair(shop.lake / "page")

    shop.land("order", "page", "order")

    assert (count(shop.lake / "order"), count(shop.lake / "page")) == (5 + 2, 3 + 1)
    found = audit(shop.pipeline)
    assert found.wrong == ["table order: a repair (version 3) took out files that had gone; their rows are lost"]
    assert found.notes == [
        "table order: others rewrote it (OPTIMIZE in version 4); since then rows cannot be recounted by batch",
        "table page: others rewrote it (OPTIMIZE in version 3); since then rows cannot be recounted by batch",
    ]


def test_table_that_was_parked_because_files_vanished_heals(shop: Shop) -> None:
    shop.files("order")[-1].unlink()  # of the newest batch: the next start notices
    with pytest.raises(PenstockError, match=r"order: 1 files of batch 6 are gone.*\[table\.files-vanished\]"):
        shop.land("order")
    assert count(shop.lake / "page") == 3

    done = _repair(shop.lake / "order")
    shop.land("order")

    assert [batch.number for batch in done.batches] == [6]
    assert sorted(row["n"] for row in rows(shop.lake / "order")) == [0, 2, 3, 9, 10]


def test_commit_that_meets_a_repair_looks_again_and_lands(shop: Shop, tmp_path: Path) -> None:
    table = DeltaTable(str(shop.lake / "order"), "shop")
    newest = decode(shop.entry(6).read_bytes()).share("order")
    copy = newest.files[0].path.replace("part-", "copy-")
    (shop.lake / "order" / copy).write_bytes((shop.lake / "order" / newest.files[0].path).read_bytes())
    files = tuple(type(file)(copy, file.size, file.rows, file.partition, file.stats) for file in newest.files)
    share = type(newest)(**{**vars(newest), "batch": 8, "previous": 6, "files": files})
    seen = look(table)

    shop.files("order")[0].unlink()
    done = _repair(shop.lake / "order")

    assert (len(done.lost), done.rewrite.removed) == (1, 2)
    with pytest.raises(Unavailable):
        table.commit(seen, share)
    again = look(table)
    assert (again.carried, again.restored, again.unwritable) == (6, False, "")
    table.commit(again, share)
    assert look(table).carried == 8
    assert count(shop.lake / "order") == 5 + 3


def test_penstock_that_lands_meanwhile_is_not_disturbed(shop: Shop) -> None:
    """Repairs beside a running penstock: every message is there once, and every optimize has found work or not."""

    def land() -> None:
        for _ in range(8):
            shop.land("order", "page")

    landing = threading.Thread(target=land)
    landing.start()
    done = []
    while landing.is_alive():
        done += [_repair(shop.lake / name) for name in ("order", "page")]
    landing.join()

    assert [each.lost for each in done] == [[]] * len(done)
    assert any(each.rewrite.removed for each in done)
    assert sorted(row["n"] for name in ("order", "page") for row in rows(shop.lake / name)) == list(range(9 + 16))
    assert audit(shop.pipeline).wrong == []
