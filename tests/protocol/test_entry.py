"""Entries of the ledger: what they say, how they are written, and what is left of them in the end."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.contracts import File
from penstock.protocol.entry import Counts, Entry, Known, decode, encode, strip
from penstock.schema import columns
from tests.entries import PLACE, batch, claim, portion

WHOLE = batch(
    7,
    gaps={"1": (3, 9)},
    rebased={"2": 4},
    counts={"0": Counts(10, 4, 3, 2, 1, 0, 999), "1": Counts(read=2, skipped=2, bytes=1)},
    reasons={"json.not-json": 3},
    tables={
        "order": portion(6, partition_by=["date"], files=[File("date=x/1", 10, 4, {"date": None}, '{"numRecords":4}')]),
        "new": portion(is_new=True, schema={"a": "struct<`b c`: json not null>"}),
    },
    heads={"order": 7, "new": 7, "page": 3},
    ids={"order": "id-of-order"},
    carried={"order": 6, "page": 3},
)

numbers, words = st.integers(0, 2**63 - 1), st.text('a0 é"\\/\n\x00\U0001f600', max_size=5)


# --- text ----------------------------------------------------------------------------------------


def test_entry_is_read_back_from_its_text() -> None:
    for entry in (claim(1), batch(2), WHOLE, strip(WHOLE)):
        assert decode(encode(entry)) == entry


def test_text_is_json_with_a_line_for_every_field() -> None:
    text = encode(WHOLE)
    assert json.loads(text)["tables"]["order"]["files"][0]["path"] == "date=x/1"
    assert b'\n "app": "shop",\n' in text


def test_entry_of_an_older_release_is_readable() -> None:
    old = json.loads(encode(claim(3)))
    assert old.keys() == {"number", "id", "app", "instance", "time", "config", "source", "place", "ends"}
    assert decode(json.dumps(old).encode()) == claim(3)


def test_entry_of_a_newer_release_is_readable() -> None:
    newer = json.loads(encode(batch(3))) | {"brand_new": {"a": 1}}
    assert decode(json.dumps(newer).encode()) == batch(3)


@settings(deadline=None)
@given(st.dictionaries(words, st.tuples(numbers, numbers), max_size=3), words)
def test_any_partition_and_any_app_survive_the_text(ranges: dict[str, tuple[int, int]], app: str) -> None:
    entry = batch(1, ranges=ranges, app=app)
    assert decode(encode(entry)) == entry


# --- counts --------------------------------------------------------------------------------------


def test_every_message_read_must_have_become_something() -> None:
    assert Counts().accounted
    assert Counts(read=15, rows=5, dead=4, filtered=3, tombstones=2, skipped=1, bytes=7).accounted
    assert not Counts(read=15, rows=5, dead=4, filtered=3, tombstones=2).accounted
    assert not Counts(rows=1).accounted


def test_counts_of_partitions_add_up() -> None:
    one, two = Counts(1, 2, 3, 4, 5, 6, 7), Counts(10, 20, 30, 40, 50, 60, 70)
    assert one + two == Counts(11, 22, 33, 44, 55, 66, 77)
    assert batch(1, counts={"0": one, "1": two}).total == Counts(11, 22, 33, 44, 55, 66, 77)
    assert claim(1).total == Counts()


def test_entry_without_ranges_is_a_claim() -> None:
    assert claim(1).is_claim
    assert not batch(2).is_claim


# --- what a table gets of it ---------------------------------------------------------------------


def test_share_is_what_one_table_must_take() -> None:
    share = WHOLE.share("order")
    assert (share.app, share.batch, share.previous) == ("shop", 7, 6)
    assert share.schema == columns({"a": "long"})
    assert share.partition_by == ("date",)
    assert [file.path for file in share.files] == ["date=x/1"]
    assert share.ends == {"0": 35}
    assert (share.is_new, share.is_emptied) == (False, False)
    assert WHOLE.share("new").is_new


def test_share_without_files_is_not_an_emptied_one() -> None:
    """No files to add is a fact; files that the ledger no longer lists are not known."""
    entry = decode(encode(batch(2, tables={"order": portion(files=[])})))
    assert entry.share("order").files == ()
    assert not entry.share("order").is_emptied
    assert strip(entry).share("order").is_emptied


def test_manifest_tells_the_batch_without_files_and_without_other_tables() -> None:
    told = WHOLE.manifest()
    assert told.keys().isdisjoint({"tables", "heads", "ids", "carried"})
    assert msgspec.convert(told["ranges"]["0"], tuple[int, int]) == (30, 35)
    assert told["counts"]["0"]["read"] == 10
    assert "date=x/1" not in json.dumps(told)
    assert WHOLE.share("order").manifest == told


def test_what_is_known_of_tables_only_ever_grows() -> None:
    older = Known(ids={"order": "id-1"}, carried={"order": 4, "page": 3})
    later = Known(ids={"page": "id-2"}, carried={"order": 2, "cart": 5})
    both = Known(ids={"order": "id-1", "page": "id-2"}, carried={"cart": 5, "order": 4, "page": 3})
    assert older | later == both
    assert both | both == both | Known() == Known() | both == both
    assert WHOLE.known == Known(WHOLE.ids, WHOLE.carried)


# --- stripping -----------------------------------------------------------------------------------


def test_stripped_entry_keeps_all_but_its_files() -> None:
    emptied = strip(WHOLE)
    assert emptied.stripped
    assert [p.files for p in emptied.tables.values()] == [None, None]
    whole_again = msgspec.structs.replace(emptied, stripped=False, tables=WHOLE.tables)
    assert whole_again == WHOLE
    for name, was in WHOLE.tables.items():
        assert msgspec.structs.replace(emptied.tables[name], files=was.files) == was


def test_stripping_twice_is_stripping_once() -> None:
    assert strip(strip(WHOLE)) == strip(WHOLE)
    assert len(encode(strip(WHOLE))) < len(encode(WHOLE))


def test_entry_says_where_the_app_writes() -> None:
    found: Entry = decode(encode(claim(1)))
    assert found.place == PLACE
