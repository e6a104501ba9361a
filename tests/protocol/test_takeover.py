"""Taking tables over from kafka-delta-ingest: where to begin, what to skip, and what to refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.contracts import Bound
from penstock.errors import SOURCE_LOST, USAGE, ConfigError, SourceLost
from penstock.protocol.begin import Accepted, Beginning, beginning
from penstock.protocol.entry import Entry, Portion, decode, encode
from penstock.protocol.takeover import Found, left
from tests.entries import PLACE, SOURCE, batch, claim, portion

BOUNDS = {"0": Bound(first=0, next=100, begin=0), "1": Bound(first=0, next=50, begin=50)}
partitions = st.sampled_from(["0", "1", "2"])
tables = st.dictionaries(
    st.sampled_from("abc"), st.dictionaries(partitions, st.integers(1, 40), min_size=1), max_size=3
)


def begin(
    stored: Mapping[str, Mapping[str, int]],
    head: Entry | None = None,
    bounds: Mapping[str, Bound] = BOUNDS,
    **more: Any,
) -> Beginning:
    found = Found("shop", more.pop("named", {}), stored, frozenset(more.pop("pending", ())))
    return beginning(head, SOURCE, PLACE, bounds, Accepted(**more), found)


# --- a first start -------------------------------------------------------------------------------


def test_table_that_holds_offset_0_goes_on_at_1() -> None:
    assert begin({"a": {"0": 1}}) == Beginning({"0": 1, "1": 50})


def test_tables_that_are_ahead_of_the_one_furthest_behind_skip() -> None:
    found = begin({"rare": {"0": 5, "1": 9}, "often": {"0": 90, "1": 9}, "other": {"0": 30}, "new": {}})

    assert found == Beginning({"0": 5, "1": 9}, skips={"often": {"0": 90}, "other": {"0": 30}})


@given(tables)
def test_every_table_gets_exactly_what_it_lacks(stored: dict[str, dict[str, int]]) -> None:
    bounds = {p: Bound(0, 40, begin) for p, begin in (("0", 0), ("1", 40), ("2", 7))}
    found = begin(stored, bounds=bounds)
    for name, positions in stored.items():
        for partition, at in positions.items():
            first_written = max(found.ends[partition], found.skips.get(name, {}).get(partition, 0))
            assert first_written == at
    for partition, end in found.ends.items():
        shown = [positions[partition] for positions in stored.values() if partition in positions]
        assert end == min(shown, default=bounds[partition].begin)


def test_what_the_source_dropped_of_a_tables_next_messages_is_lost() -> None:
    bounds = {"0": Bound(first=20, next=100, begin=20)}
    stored = {"rare": {"0": 5}, "often": {"0": 90}}
    with pytest.raises(SourceLost, match=r"partition 0 positions 5 to 19\. What rare stored ends there") as told:
        begin(stored, bounds=bounds)
    assert told.value.exit_status == SOURCE_LOST
    assert "if none of them was for these tables" in told.value.remedy
    assert "--accept-gap 0:5-19" in told.value.remedy

    accepted = begin(stored, bounds=bounds, gaps={"0": (5, 20)})
    assert accepted == Beginning({"0": 20}, gaps={"0": (5, 20)}, skips={"often": {"0": 90}})


@pytest.mark.parametrize(("stored", "told"), [({"0": 101}, "shop-0 at offset 100"), ({"7": 3}, "partition 7 is not")])
def test_tables_of_another_topic_are_refused(stored: dict[str, int], told: str) -> None:
    with pytest.raises(ConfigError, match=told) as refused:
        begin({"a": {"0": 5}, "b": stored})
    assert (refused.value.code, refused.value.exit_status) == ("table.another-source", USAGE)
    assert "table b" in refused.value.what
    assert "another app name" in refused.value.what


def test_table_that_has_everything_is_fine() -> None:
    assert begin({"a": {"0": 100, "1": 50}}) == Beginning({"0": 100, "1": 50})


# --- positions that were named -------------------------------------------------------------------

NAMED = {"0": Bound(0, 100, begin=16), "1": Bound(0, 50, begin=0)}


def test_named_positions_are_where_it_begins() -> None:
    assert begin({}, bounds=NAMED, named={"0": 16}) == Beginning({"0": 16, "1": 0})


@pytest.mark.parametrize("stored", [16, 17, 90])
def test_named_position_is_ignored_where_tables_are_there_already(stored: int) -> None:
    assert begin({"a": {"0": stored}}, bounds=NAMED, named={"0": 16}).ends == {"0": stored, "1": 0}


def test_tables_that_have_not_reached_a_named_position_are_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        begin({"a": {"0": 6}, "b": {"0": 20}}, bounds=NAMED, named={"0": 16})
    assert refused.value.code == "config.start-behind-tables"
    assert "[shop-0:stored=5/seek=15]" in refused.value.what


def test_named_position_that_the_source_dropped_is_lost() -> None:
    bounds = {"0": Bound(20, 100, begin=16)}
    with pytest.raises(SourceLost, match="partition 0 positions 16 to 19") as told:
        begin({}, bounds=bounds, named={"0": 16})
    assert told.value.remedy == "if that is accepted, run once with --accept-gap 0:16-19"
    assert begin({}, bounds=bounds, named={"0": 16}, gaps={"0": (16, 20)}).ends == {"0": 20}


@pytest.mark.parametrize(
    ("named", "code", "told"),
    [
        ({"0": 101}, "config.start-beyond", "position 101 of partition 0.* gets position 100"),
        ({"3": 0}, "config.start-partition", "partition 3, and the source has 0, 1"),
    ],
)
def test_named_position_that_is_not_there_is_refused(named: dict[str, int], code: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as refused:
        begin({}, bounds=NAMED, named=named)
    assert refused.value.code == code


def test_named_position_may_be_the_next_one() -> None:
    assert begin({}, bounds={"0": Bound(0, 100, begin=100)}, named={"0": 100}).ends == {"0": 100}


# --- later starts --------------------------------------------------------------------------------

HEAD = claim(5, ends={"0": 20, "1": 8}, skips={"often": {"0": 90}})


def test_skips_are_kept_until_they_are_passed() -> None:
    assert begin({}, HEAD) == Beginning({"0": 20, "1": 8}, skips={"often": {"0": 90}})
    assert begin({"often": {"0": 90}}, HEAD).skips == {"often": {"0": 90}}
    assert left({"a": {"0": 90, "1": 8}, "b": {"1": 3}}, {"0": 89, "1": 8}) == {"a": {"0": 90}}
    assert left({"a": {"0": 90, "1": 8}, "b": {"1": 3}}, {"0": 90, "1": 8}) == {}


def test_named_positions_mean_nothing_once_there_is_a_ledger() -> None:
    assert begin({}, HEAD, named={"0": 99, "9": 1}).ends == {"0": 20, "1": 8}


def test_tables_that_others_went_on_with_are_refused_until_that_is_adopted() -> None:
    stored = {"often": {"0": 95, "1": 8}, "rare": {"0": 20, "1": 30}}
    with pytest.raises(ConfigError, match="often has shop-0 at offset 94, rare has shop-1 at offset 29") as refused:
        begin(stored, HEAD)
    assert refused.value.code == "table.written-elsewhere"
    assert "--adopt" in refused.value.what

    adopted = begin(stored, HEAD, adopt=True)
    assert adopted == Beginning({"0": 20, "1": 8}, skips={"often": {"0": 95}, "rare": {"1": 30}})


def test_tables_that_others_went_on_with_while_batches_waited_cannot_be_adopted() -> None:
    with pytest.raises(ConfigError, match="rare had yet to get batches"):
        begin({"rare": {"1": 30}}, HEAD, pending=["rare"], adopt=True)


def test_log_that_was_cut_below_a_skip_is_told_and_the_skip_is_cut_with_it() -> None:
    """What comes after the cut are new messages: nobody has written them."""
    bounds = {"0": Bound(0, 60, 0), "1": Bound(0, 8, 0)}
    with pytest.raises(SourceLost, match="partition 0 positions 60 to 89") as told:
        begin({}, HEAD, bounds)
    assert told.value.code == "source.truncated"
    accepted = begin({}, HEAD, bounds, gaps={"0": (60, 90)})
    assert accepted == Beginning({"0": 20, "1": 8}, rebased={"0": 20}, skips={"often": {"0": 60}})


def test_log_that_was_cut_below_the_end_has_nothing_to_skip_any_more() -> None:
    bounds = {"0": Bound(0, 10, 0), "1": Bound(0, 8, 0)}
    assert begin({}, HEAD, bounds, gaps={"0": (10, 90)}) == Beginning({"0": 10, "1": 8}, rebased={"0": 10})


def test_new_topic_has_nothing_to_skip() -> None:
    head = claim(5, ends={"0": 20}, skips={"often": {"0": 90}}, source=SOURCE)
    other = type(SOURCE)(SOURCE.name, SOURCE.home, "topic-2")
    found = beginning(head, other, PLACE, BOUNDS, Accepted(incarnations=frozenset({"topic-2"})), Found("shop"))
    assert (found.ends, found.skips) == ({"0": 0, "1": 0}, {})


# --- the entry -----------------------------------------------------------------------------------


def test_entry_keeps_skips_and_never_takes_a_table_back() -> None:
    entry = batch(5, ends={"0": 20, "1": 8}, skips={"often": {"0": 90}}, anew=3, tables=_both())
    assert decode(encode(entry)) == entry
    assert entry.reached == {"0": 90, "1": 8}
    assert entry.share("often").ends == {"0": 90, "1": 8}
    assert entry.share("rare").ends == {"0": 20, "1": 8}


def _both() -> dict[str, Portion]:
    return {"often": portion(), "rare": portion()}
