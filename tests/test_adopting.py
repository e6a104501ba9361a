"""Kept messages get their table exactly once, whoever dies, whoever else adopts, whatever keeps coming."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import deltalake
import fastavro
import msgspec
import pyarrow as pa
import pytest
from deltalake.transaction import AddAction

from penstock import adopting
from penstock.commit import Commits
from penstock.contracts import File
from penstock.errors import ConfigError, PenstockError, Transient
from penstock.formats.avro import AvroFormat
from penstock.formats.json import JsonFormat
from penstock.kept import still_held
from penstock.ledger import Ledger
from penstock.loop import Loop, Until
from penstock.messages import Details
from penstock.observe import BatchReport, Silence
from penstock.operate.adopt import adopt
from penstock.operate.audit import audit
from penstock.places import LETTERS, UNROUTED
from penstock.protocol.begin import Accepted
from penstock.protocol.entry import Counts, encode
from penstock.storage import Storage
from penstock.testing import land_all
from tests.kept_shop import KeptShop
from tests.memory_shop import event, instance
from tests.support.lake import rows
from tests.support.process import eventually


@pytest.fixture
def shop(tmp_path: Path) -> KeptShop:
    return KeptShop(tmp_path)


# --- what it does --------------------------------------------------------------------------------


def test_kept_messages_move_to_their_table_and_later_ones_are_landed_there(shop: KeptShop) -> None:
    shop.keep("order", 1, 2)
    shop.keep("page", 3)
    shop.keep("order", 4)

    done = shop.adopt("order")
    shop.keep("order", 5)

    assert (done.table, done.counts.rows, done.counts.dead) == ("order", 3, 0)
    assert shop.held("order", "_unrouted") == [Counter([1, 2, 4, 5]), Counter([3])]
    assert list(shop.wishes) == []
    shop.assert_audited()


def test_rows_are_as_they_would_have_been(tmp_path: Path) -> None:
    """With the same numbers, names and times from the source, and the same columns."""
    told = ("offset", "partition", "topic", "timestamp", "timestamp_type")
    settings: dict[str, Any] = {"transforms": {f"meta.{name}": f"kafka.{name}" for name in told}}
    kept, direct = (
        KeptShop(tmp_path / how, route={"unrouted": how}, tables={"defaults": {"source_columns": True}}, **settings)
        for how in ("keep", "create")
    )
    for shop in (kept, direct):
        shop.source.details["1", 1] = Details(b"k", [("h", b"\xff"), ("i", None)], 1_700_000_000_001, 0)
        shop.source.add(event("login", 0), event("order", 1), event("order", 3, extra={"x": 1.5}), partition="1")
        shop.keep("order", 2)

    kept.adopt("order")

    found, wanted = (sorted(rows(shop.lake / "order"), key=lambda row: row["n"]) for shop in (kept, direct))
    assert len(found) == 3
    assert found == wanted


def test_envelopes_are_opened_as_ever(tmp_path: Path) -> None:
    envelope = {"payload": "payload", "columns": {"kind": "type"}}
    kept, direct = (
        KeptShop(tmp_path / how, route={"unrouted": how}, envelope=envelope, tables={"types": {}})
        for how in ("keep", "create")
    )
    for shop in (kept, direct):
        shop.source.add(*(event("order", -1, payload={"n": n, "word": "x"}) for n in range(3)))
        land_all(shop.pipeline)

    kept.adopt("order")

    found, wanted = (sorted(rows(shop.lake / "order"), key=lambda row: row["n"]) for shop in (kept, direct))
    assert [row["n"] for row in found] == [0, 1, 2]
    assert found == wanted


def test_records_of_a_format_with_schemas_are_decoded_as_ever(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "order", "fields": [{"name": "n", "type": "long"}]}
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(schema))
    form = fastavro.schema.to_parsing_canonical_form(schema)
    mark = b"\xc3\x01" + bytes.fromhex(fastavro.schema.fingerprint(form, "CRC-64-AVRO"))
    avro = AvroFormat.model_validate({"single_object": str(file)})
    shop = KeptShop(tmp_path, format=avro, route={"by": "record"}, tables={"types": {}})
    shop.source.add(*(mark + bytes([2 * n]) for n in (0, 63, 5)))  # zigzag; some are no UTF-8 text, some are
    land_all(shop.pipeline)
    assert len(rows(shop.lake / "_unrouted", "type", "type = 'order'")) == 3

    shop.adopt("order")

    assert shop.held("order") == [Counter([0, 63, 5])]
    assert rows(shop.lake / "_unrouted") == []
    shop.assert_audited()


def test_messages_that_cannot_be_rows_are_dead_letters_of_the_same_batch(tmp_path: Path) -> None:
    shop = KeptShop(tmp_path, transforms={"half": "substr(word, `0`, `1`)"})
    shop.source.add(event("order", 1, word="ab"), event("order", 2, word=["no", "text"]))
    land_all(shop.pipeline)

    done = shop.adopt("order")

    assert done.counts == Counts(read=2, rows=1, dead=1, bytes=done.counts.bytes)
    assert shop.held("order", "dead_letters", "_unrouted") == [Counter([1]), Counter([2]), Counter()]
    letter = rows(shop.lake / "dead_letters", "position, topic, partition, type")
    assert letter == [{"position": 1, "topic": "memory", "partition": "0", "type": "order"}]
    shop.assert_audited()


def test_one_entry_decides_it_and_positions_stay(shop: KeptShop) -> None:
    shop.keep("order", 1, 2)
    before = Ledger(Storage(str(shop.lake / "_penstock" / "shop"))).head()

    shop.adopt("order")

    book = Ledger(Storage(str(shop.lake / "_penstock" / "shop")))
    entry = book.head()
    assert before is not None
    assert entry is not None
    assert (entry.number, entry.ranges, entry.ends, entry.counts) == (before.number + 2, {}, before.ends, {})
    assert (entry.adopted["order"].rows, entry.is_claim, entry.total) == (2, False, Counts())
    assert sorted(entry.tables) == [UNROUTED, "order"]
    assert [file.rows for file in entry.tables[UNROUTED].removed] == [2]
    log = deltalake.DeltaTable(shop.lake / "_unrouted")
    assert log.transaction_version("penstock:shop") == entry.number
    assert book.strip(entry.number + 1, lambda _: True) == entry.number
    shop.assert_audited()


def test_type_that_is_declared_later_takes_what_was_kept_before(tmp_path: Path) -> None:
    shop = KeptShop(tmp_path)
    shop.keep("order", 1, 2)
    later = KeptShop(tmp_path, tables={"types": {"order": {"schema": {"n": "long", "more": "string"}}}})
    later.source.partitions = shop.source.partitions
    later.keep("order", 3)

    later.adopt("order")

    assert later.held("order", "_unrouted") == [Counter([1, 2, 3]), Counter()]
    later.assert_audited()


@pytest.mark.parametrize("type", ["a/b", "é'\"x", "a b%2F", "..", "_x", "x=1", "a\\b", "@2F"])
def test_types_with_any_name(type: str, shop: KeptShop) -> None:
    shop.keep(type, 1)
    shop.keep("order", 2)

    table = shop.adopt(type).table

    assert shop.held(table, "_unrouted") == [Counter([1]), Counter([2])]
    shop.assert_audited()


# --- what it refuses -----------------------------------------------------------------------------


def test_type_that_nobody_sent_is_refused_and_nothing_is_wished(shop: KeptShop) -> None:
    with pytest.raises(ConfigError, match="keeps no message of type 'order'"):
        shop.adopt("order")
    shop.keep("page", 1)

    with pytest.raises(ConfigError, match="keeps no message of type 'order'"):
        shop.adopt("order")

    assert list(shop.wishes) == []


@pytest.mark.parametrize("type", ["", "x" * 300])
def test_type_that_can_have_no_table_is_refused(type: str, shop: KeptShop) -> None:
    with pytest.raises(ConfigError, match="can have no table"):
        shop.adopt(type)


@pytest.mark.parametrize(
    ("settings", "type", "message", "why"),
    [
        ({"tables": {"limit": 1}}, "order", event("order", 1), "tables.limit"),
        ({}, "LOGIN", event("LOGIN", 1), "differs only in case"),
        ({}, "dead_letters", event("dead_letters", 1), "the name of the dead-letter table"),
        ({"transforms": {"x": "substr(n, `0`, `1`)"}}, "order", event("order", 1), "no message of this type"),
    ],
)
def test_what_cannot_be_adopted_stays_kept_and_the_pipeline_goes_on(
    settings: dict[str, Any], type: str, message: bytes, why: str, tmp_path: Path
) -> None:
    shop = KeptShop(tmp_path, **settings)
    shop.source.add(message)
    land_all(shop.pipeline)

    with pytest.raises(PenstockError, match=why):
        shop.adopt(type)

    assert shop.held("_unrouted") == [Counter([1])]
    assert list(shop.wishes) == []
    shop.assert_audited()
    adopt(shop.pipeline, type, wait=False)
    land_all(shop.pipeline)  # the wish is refused there too, and the run ends well
    (left,) = shop.wishes
    assert why in left.refused
    assert not list((shop.lake / type).rglob("*.parquet"))


def test_flood_of_dead_letters_is_not_let_through(tmp_path: Path) -> None:
    strict = {"min_messages": 2, "max_share": 0.2}
    shop = KeptShop(tmp_path, transforms={"half": "substr(word, `0`, `1`)"}, dead_letters=strict)
    shop.source.add(event("order", 1, word="ab"), event("order", 2, word=["no", "text"]))
    land_all(shop.pipeline)

    with pytest.raises(PenstockError, match="50% of its 2 kept messages would be dead letters, such as memory"):
        shop.adopt("order")

    assert shop.held("order", "dead_letters", "_unrouted") == [Counter(), Counter(), Counter([1, 2])]


def test_type_of_which_nothing_can_be_a_row_gets_no_table(tmp_path: Path) -> None:
    shop = KeptShop(tmp_path)
    shop.keep("order", 1)
    shop.pipeline = shop.pipeline.model_copy(update={"format": JsonFormat(max_bytes=10)})

    with pytest.raises(PenstockError, match="none of its 1 kept messages can be a row: memory partition 0 position 0"):
        shop.adopt("order")

    assert shop.held("dead_letters", "_unrouted") == [Counter(), Counter([1])]


def test_wish_that_was_refused_can_be_wished_again(tmp_path: Path) -> None:
    shop = KeptShop(tmp_path, tables={"limit": 1})
    shop.keep("order", 1)
    adopt(shop.pipeline, "order", wait=False)
    shop.run()
    assert [bool(wish.refused) for wish in shop.wishes] == [True]

    wider = KeptShop(tmp_path)
    wider.source.partitions = shop.source.partitions
    done = wider.adopt("order")

    assert done.counts.rows == 1
    assert list(wider.wishes) == []


def test_instance_is_told_of_what_was_refused(tmp_path: Path) -> None:
    class Ears(Silence):
        def __init__(self) -> None:
            self.heard: list[str] = []

        def warned(self, why: Transient) -> None:
            self.heard.append(f"{why.code}: {why.what}")

    shop, ears = KeptShop(tmp_path, tables={"limit": 1}), Ears()
    shop.keep("order", 1)
    adopt(shop.pipeline, "order", wait=False)

    shop.run(observer=ears)

    assert ears.heard == [
        "adopt.refused: type 'order' was not adopted: there are as many tables as tables.limit allows"
    ]


# --- others --------------------------------------------------------------------------------------


def test_messages_that_another_app_keeps_there_stay(tmp_path: Path) -> None:
    north, south = KeptShop(tmp_path, app="north"), KeptShop(tmp_path, app="south")
    south.source.topic = "other"
    north.keep("order", 1)
    south.keep("order", 2)
    north.keep("order", 3)

    done = north.adopt("order")

    assert done.counts.rows == 2
    assert north.held("order", "_unrouted") == [Counter([1, 3]), Counter([2])]
    assert south.adopt("order").counts.rows == 1
    assert north.held("order", "_unrouted") == [Counter([1, 2, 3]), Counter()]
    assert (audit(north.pipeline).wrong, audit(south.pipeline).wrong) == ([], [])


def test_topic_that_was_made_again_has_the_same_positions_twice(shop: KeptShop) -> None:
    shop.keep("order", 1, 2)
    shop.source.partitions, shop.source.incarnation = {"0": [event("order", 3)]}, "2"
    land_all(shop.pipeline, accepted=Accepted(incarnations=frozenset({"2"})))

    shop.adopt("order")

    assert shop.held("order", "_unrouted") == [Counter([1, 2, 3]), Counter()]
    shop.assert_audited()


def test_table_of_kept_messages_that_others_put_together_is_read_all_the_same(shop: KeptShop) -> None:
    shop.keep("order", 1)
    shop.keep("order", 2)
    shop.keep("page", 3)
    deltalake.DeltaTable(shop.lake / "_unrouted").optimize.compact()

    shop.adopt("order")

    assert shop.held("order", "_unrouted") == [Counter([1, 2]), Counter([3])]
    assert audit(shop.pipeline).wrong == []


def test_two_adopters_at_once_move_everything_once(shop: KeptShop) -> None:
    shop.keep("order", *range(20))
    outcomes, errors = [], []

    def one() -> None:
        try:
            outcomes.append(adopt(shop.pipeline, "order", run=shop.run, patience=0.3))
        except PenstockError as why:
            errors.append(why)

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert errors == []
    assert {outcome.counts.rows for outcome in outcomes} <= {0, 20}
    assert shop.held("order", "_unrouted") == [Counter(range(20)), Counter()]
    shop.assert_audited()


# --- while an instance runs ----------------------------------------------------------------------


class _Running:
    """An instance in a thread, until it is told to stop."""

    def __init__(self, shop: KeptShop) -> None:
        self.stop, self._shop = False, shop
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with instance(self._shop.pipeline) as one:
            one.around = replace(one.around, stop=lambda: self.stop)
            one.claim()
            Loop(one, Until()).run()

    def __enter__(self) -> _Running:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop = True
        self._thread.join(60)
        assert not self._thread.is_alive()


def _nobody_here(_: object) -> None:
    raise AssertionError("an instance runs: it must not be fenced")


def test_running_instance_does_it_between_batches_while_messages_keep_coming(tmp_path: Path) -> None:
    shop = KeptShop(tmp_path, batch={"latency": 0.05, "messages": 7})
    shop.keep("order", *range(10))
    sent = 10
    with _Running(shop):
        outcomes = []
        adopter = threading.Thread(
            target=lambda: outcomes.append(adopt(shop.pipeline, "order", run=_nobody_here, patience=60))
        )
        adopter.start()
        while adopter.is_alive():
            shop.source.add(event("order", sent), event("page", sent))
            sent += 1
            adopter.join(0.01)
        eventually(lambda: sum(shop.held("order")[0].values()) == sent)

    assert outcomes[0].counts.rows >= 10
    order, kept = shop.held("order", "_unrouted")
    assert order == Counter(range(sent))
    assert kept == Counter(range(10, sent))  # the pages
    shop.assert_audited()


def test_run_that_ends_by_itself_does_what_was_wished_first(shop: KeptShop) -> None:
    shop.keep("order", 1)
    adopt(shop.pipeline, "order", wait=False)

    shop.keep("order", 2)

    assert shop.held("order", "_unrouted") == [Counter([1, 2]), Counter()]


def test_batches_are_told_to_whoever_watches(shop: KeptShop) -> None:
    class Eyes(Silence):
        def __init__(self) -> None:
            self.reports: list[BatchReport] = []

        def batch(self, report: BatchReport) -> None:
            self.reports.append(report)

    eyes = Eyes()
    shop.keep("order", 1, 2)
    adopt(shop.pipeline, "order", wait=False)

    shop.run(observer=eyes)

    (report,) = eyes.reports
    assert {name: portion.rows for name, portion in report.entry.tables.items()} == {"order": 2, UNROUTED: 0}


# --- tables in trouble ---------------------------------------------------------------------------


def _restore(table: Path) -> None:
    deltalake.DeltaTable(table).restore(0)


def test_while_the_table_of_kept_messages_is_parked_the_wish_waits_and_the_rest_goes_on(shop: KeptShop) -> None:
    shop.keep("order", 1)
    shop.keep("order", 2)
    log = shop.lake / "_unrouted" / "_delta_log"
    hidden = log.with_name("hidden")
    log.rename(hidden)

    with pytest.raises(PenstockError, match="parked"):
        shop.adopt("order")
    with pytest.raises(PenstockError, match="_unrouted"):
        shop.keep("login", 3)

    assert shop.held("login") == [Counter([3])]
    hidden.rename(log)
    land_all(shop.pipeline)
    assert shop.held("order", "_unrouted") == [Counter([1, 2]), Counter()]
    shop.assert_audited()


def test_table_of_kept_messages_that_was_taken_back_is_not_read(shop: KeptShop) -> None:
    shop.keep("order", 1)
    shop.keep("order", 2)
    _restore(shop.lake / "_unrouted")

    with pytest.raises(PenstockError, match=r"parked|restored"):
        shop.adopt("order")

    assert not (shop.lake / "order").exists()


def test_what_is_away_for_long_keeps_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = KeptShop(tmp_path, tables={"park_after": 0.2})
    shop.keep("order", 1)
    adopt(shop.pipeline, "order", wait=False)

    def away(*_: object) -> None:
        raise Transient("x.away", "it is not there just now")

    with monkeypatch.context() as patch:
        patch.setattr(adopting, "waiting", away)
        shop.keep("login", 2)
        assert shop.held("login", "_unrouted") == [Counter([2]), Counter([1])]
        with pytest.raises(PenstockError, match=r"adopt\.waits"):
            shop.adopt("order")

    land_all(shop.pipeline)
    assert shop.held("order", "_unrouted") == [Counter([1]), Counter()]


def test_files_of_kept_messages_that_are_gone_are_told_and_nothing_moves(shop: KeptShop) -> None:
    shop.keep("order", 1)
    shop.keep("order", 2)
    oldest = min((shop.lake / "_unrouted").rglob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    oldest.unlink()  # of the newest batch it would have been noticed at the start

    with pytest.raises(PenstockError, match="gone"):
        shop.adopt("order")

    assert not list((shop.lake / "order").rglob("*.parquet"))


def test_types_table_that_refuses_gets_its_rows_when_it_is_well_again(shop: KeptShop) -> None:
    shop.keep("order", 1)
    (shop.lake / "order").mkdir()
    deltalake.write_deltalake(shop.lake / "order", pa.table({"n": ["text"]}))  # somebody else's, of another type

    done = shop.adopt("order")
    shop.keep("page", 2)

    assert done.counts.rows + done.counts.dead == 1
    assert shop.held("_unrouted") == [Counter([2])]


def test_rows_that_others_added_or_deleted_meanwhile_are_not_taken_along(shop: KeptShop) -> None:
    shop.keep("order", 1)
    shop.keep("order", 2)
    with instance(shop.pipeline) as one:
        one.claim()
        state = one.catalog.open(UNROUTED).state()
        assert state is not None
        files = state.holds({"type": "order"})
        gone = File("type=order/gone.parquet", 1, 1, {"type": "order"})
        share = one.commits.entry(one.head.heads[UNROUTED]).share(UNROUTED)
        whole = still_held(state, replace(share, removed=tuple(files)))
        again = still_held(state, replace(share, removed=(files[0], gone)))  # put together since
        with pytest.raises(PenstockError, match=r"table\.kept-changed"):
            still_held(state, replace(share, removed=(gone,)))

    assert whole.removed == tuple(files)
    assert again.removed == tuple(files)


# --- what an audit finds -------------------------------------------------------------------------


def test_audit_finds_kept_messages_that_are_back(shop: KeptShop) -> None:
    shop.keep("order", 1, 2)
    shop.adopt("order")
    entry = Ledger(Storage(str(shop.lake / "_penstock" / "shop"))).head()
    assert entry is not None
    (file,) = entry.tables[UNROUTED].removed
    table = deltalake.DeltaTable(shop.lake / "_unrouted")
    again = AddAction(file.path, file.size, file.partition, 1, True, '{"numRecords": 2}')
    table.create_write_transaction([again], "append", table.schema(), ["type"])

    (wrong,) = audit(shop.pipeline).wrong

    assert wrong == (
        f"table _unrouted: {file.path} is still part of the table, "
        f"although batch {entry.number} moved its rows to another"
    )


def test_audit_finds_moved_messages_that_are_not_accounted_for(shop: KeptShop) -> None:
    shop.keep("order", 1, 2)
    shop.adopt("order")
    storage = Storage(str(shop.lake / "_penstock" / "shop"))
    entry = Ledger(storage).head()
    assert entry is not None
    false = msgspec.structs.replace(entry, adopted={"order": Counts(read=3, rows=2)})
    storage.put(f"ledger/{entry.number:020d}.json", encode(false))

    wrong = audit(shop.pipeline).wrong

    assert wrong[0] == (
        f"entry {entry.number}: 3 kept messages of type order moved to their table, 2 were taken away, "
        "and it accounts for others"
    )
    assert wrong[1] == "table _unrouted holds 0 rows, the ledger accounts for -1"


# --- whoever dies --------------------------------------------------------------------------------

_DYING = """
import sys
from pathlib import Path
from tests.kept_shop import KeptShop
from tests.test_adopting import sent
shop = KeptShop(Path(sys.argv[1]), transforms={"half": "substr(word, `0`, `1`)"})
shop.source.add(*sent())
shop.run()
"""

POINTS = [
    "claim.after",
    "adopt.before",
    "routing.after",
    "decide.after",
    "adopt.after",
    "commit.before:1",
    "commit.before:2",
    "commit.before:3",
    "commit.after:1",
    "commit.after:2",
    "commit.after:3",
]


def sent() -> list[bytes]:
    """Five orders, one of them a dead letter, and a page."""
    return [*(event("order", n, word=["x"] if n == 3 else "ab") for n in range(5)), event("page", 5, word="a")]


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_any_point_everything_is_in_one_place_once(point: str, tmp_path: Path) -> None:
    shop = KeptShop(tmp_path, transforms={"half": "substr(word, `0`, `1`)"})
    shop.source.add(*sent())
    land_all(shop.pipeline)
    adopt(shop.pipeline, "order", wait=False)

    given = {**os.environ, "PENSTOCK_CRASH": point, "PYTHONPATH": str(Path(__file__).parents[1])}
    died = subprocess.run([sys.executable, "-c", _DYING, str(tmp_path)], env=given, capture_output=True, text=True)
    assert died.returncode == -9, died.stderr

    land_all(shop.pipeline)

    assert shop.held("order", "dead_letters", "_unrouted") == [Counter([0, 1, 2, 4]), Counter([3]), Counter([5])]
    assert list(shop.wishes) == []
    assert shop.accounts() == {"order": (4, 4), LETTERS: (1, 1), UNROUTED: (1, 1)}
    shop.assert_audited()


def test_files_that_vanish_before_their_table_took_them_are_landed_again_from_where_they_were_kept(
    tmp_path: Path,
) -> None:
    shop = KeptShop(tmp_path, transforms={"half": "substr(word, `0`, `1`)"})
    shop.source.add(*sent())
    land_all(shop.pipeline)
    adopt(shop.pipeline, "order", wait=False)
    given = {**os.environ, "PENSTOCK_CRASH": "adopt.after", "PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run([sys.executable, "-c", _DYING, str(tmp_path)], env=given, capture_output=True)
    for table in ("order", "dead_letters"):
        for file in (shop.lake / table).rglob("*.parquet"):
            file.unlink()

    land_all(shop.pipeline)

    assert shop.held("order", "dead_letters", "_unrouted") == [Counter([0, 1, 2, 4]), Counter([3]), Counter([5])]
    found = audit(shop.pipeline)
    assert found.wrong == []
    assert any("landed again" in note for note in found.notes)


def test_kept_messages_whose_files_vanish_are_kept_again_with_their_types(
    shop: KeptShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(BaseException): ...

    def die(*_: object) -> None:
        raise Died

    shop.keep("order", 1)
    there = set((shop.lake / "_unrouted").rglob("*.parquet"))
    shop.source.add(event("order", 2), event("page", 3))
    with monkeypatch.context() as patch:
        patch.setattr(Commits, "take", die)  # decided, and given to nobody
        with pytest.raises(Died):
            land_all(shop.pipeline)
    for file in set((shop.lake / "_unrouted").rglob("*.parquet")) - there:
        file.unlink()

    land_all(shop.pipeline)

    found = rows(shop.lake / "_unrouted", "type, position")
    assert sorted((row["type"], row["position"]) for row in found) == [("order", 0), ("order", 1), ("page", 2)]
    assert shop.adopt("order").counts.rows == 2
    assert shop.held("order", "_unrouted") == [Counter([1, 2]), Counter([3])]
    assert audit(shop.pipeline).wrong == []
