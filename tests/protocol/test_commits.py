"""What to do with a table next: every answer, and the chain of batches a table still lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.contracts import Share, TableState
from penstock.protocol.commits import Carried, Commit, Create, Evolve, Park, another, next_step, pending
from penstock.protocol.entry import Entry
from penstock.schema import columns
from tests.entries import batch, portion

SHARE = Share(
    app="shop",
    batch=7,
    previous=5,
    schema=columns({"a": "long"}),
    partition_by=("date",),
    files=(),
    ends={},
    manifest={},
)
STATE = TableState(id="id-1", version=3, carried=5, schema=columns({"a": "long"}), partition_by=("date",))


def step(state: TableState | None = STATE, expected_id: str | None = "id-1", **share: Any) -> object:
    return next_step(state, replace(SHARE, **share), expected_id)


def parked(found: object) -> str:
    assert isinstance(found, Park)
    assert found.reason
    return found.code


# --- next_step -----------------------------------------------------------------------------------


def test_table_that_carries_the_previous_batch_gets_the_next() -> None:
    assert step() == Commit()
    assert step(expected_id=None) == Commit()


def test_table_that_is_not_there_yet_is_created() -> None:
    assert step(None, None, is_new=True, previous=0) == Create()


def test_table_that_vanished_after_its_first_batch_is_not_created_again() -> None:
    """Two batches were decided before the first made the table: the second says `is_new` too."""
    assert parked(step(None, None, is_new=True, previous=5)) == "table.dropped"


def test_table_that_appeared_meanwhile_is_appended_to() -> None:
    assert step(replace(STATE, carried=0), None, is_new=True, previous=0) == Commit()


@pytest.mark.parametrize("carried", [7, 8, 100])
def test_table_that_carries_the_batch_already_is_left_alone(carried: int) -> None:
    assert step(replace(STATE, carried=carried)) == Carried()


def test_table_that_carries_the_batch_already_is_left_alone_even_if_nobody_can_write_to_it() -> None:
    assert step(replace(STATE, carried=7, unwritable="a feature")) == Carried()


def test_new_table_that_a_lost_reply_created_is_left_alone() -> None:
    assert step(replace(STATE, carried=7), None, is_new=True, previous=0) == Carried()


def test_dropped_table_is_parked() -> None:
    assert parked(step(None)) == "table.dropped"


def test_dropped_table_is_not_made_again_from_an_emptied_entry() -> None:
    """A ledger that no longer lists the files has seen the table carry them, whatever is known of it now."""
    found = step(None, None, is_new=True, previous=0, is_emptied=True)
    assert parked(found) == "table.dropped"
    assert "batch 7" in str(found)


def test_table_of_somebody_else_that_vanished_before_our_first_batch_is_parked() -> None:
    assert parked(step(None, None, is_new=False, previous=0)) == "table.dropped"


def test_table_made_again_is_parked_whatever_it_carries() -> None:
    assert parked(step(replace(STATE, id="id-2"))) == "table.recreated"
    assert parked(step(replace(STATE, id="id-2", carried=7))) == "table.recreated"


def test_restored_table_is_parked_whatever_it_carries() -> None:
    assert parked(step(replace(STATE, restored=True))) == "table.restored"
    assert parked(step(replace(STATE, restored=True, carried=7))) == "table.restored"


@pytest.mark.parametrize("carried", [0, 4, 6])
def test_table_off_its_chain_is_parked(carried: int) -> None:
    found = step(replace(STATE, carried=carried))
    assert parked(found) == "table.off-chain"
    assert isinstance(found, Park)
    assert found.reason == f"it carries batch {carried} where batch 5 belongs"


def test_table_without_a_batch_that_it_carried_long_ago_is_parked() -> None:
    assert parked(step(is_emptied=True)) == "table.withdrawn"


def test_emptied_batch_that_the_table_carries_is_done() -> None:
    assert step(replace(STATE, carried=7), is_emptied=True) == Carried()


def test_unwritable_table_is_parked_with_its_reason() -> None:
    assert step(replace(STATE, unwritable="it maps columns")) == Park("table.unwritable", "it maps columns")


def test_table_that_lacks_columns_gets_them_first() -> None:
    schema = columns({"a": "long", "b": "struct<c: long>"})
    assert step(schema=schema) == Evolve(schema)


def test_table_keeps_its_own_columns_when_it_gets_more() -> None:
    state = replace(STATE, schema=columns({"theirs": "string", "a": "long"}))
    assert step(state, schema=columns({"b": "long", "a": "long"})) == Evolve(
        columns({"theirs": "string", "a": "long", "b": "long"})
    )


def test_table_with_more_columns_than_the_files_takes_them_as_they_are() -> None:
    assert step(replace(STATE, schema=columns({"a": "long", "theirs": "string"}))) == Commit()


def test_files_that_the_table_cannot_show_park_it() -> None:
    assert parked(step(schema=columns({"a": "string"}))) == "table.schema"
    assert parked(step(replace(STATE, schema=columns({"a": "long", "b": "long not null"})))) == "table.schema"


@pytest.mark.parametrize("partition_by", [(), ("day",), ("date", "hour")])
def test_files_partitioned_otherwise_park_the_table(partition_by: tuple[str, ...]) -> None:
    found = step(partition_by=partition_by)
    assert parked(found) == "table.partitioning"
    assert isinstance(found, Park)
    assert "['date']" in found.reason


# --- another -------------------------------------------------------------------------------------


def test_table_as_we_left_it_is_ours() -> None:
    assert another(STATE, 5, "id-1") is None
    assert another(STATE, 5, None) is None
    assert another(replace(STATE, carried=9), 5, "id-1") is None


def test_table_that_is_not_as_we_left_it_is_told() -> None:
    for state in (None, replace(STATE, id="id-2"), replace(STATE, restored=True), replace(STATE, carried=4)):
        assert another(state, 5, "id-1") is not None


# --- pending -------------------------------------------------------------------------------------

# Batches 2, 4 and 7 have rows for `order`, the others have not.
CHAIN = {
    2: batch(2, tables={"order": portion(0)}),
    3: batch(3, tables={"page": portion(0)}),
    4: batch(4, tables={"order": portion(2), "page": portion(3)}),
    7: batch(7, tables={"order": portion(4)}, heads={"order": 7, "page": 4}),
}


def lacking(state: TableState | None, name: str = "order", **head: Any) -> list[int]:
    newest = batch(9, tables={}, **({"heads": {"order": 7, "page": 4}} | head))
    return pending(newest, name, state, CHAIN.__getitem__)


@pytest.mark.parametrize(("carried", "lacks"), [(0, [2, 4, 7]), (2, [4, 7]), (4, [7]), (7, []), (8, [])])
def test_table_lacks_the_rest_of_its_own_chain(carried: int, lacks: list[int]) -> None:
    assert lacking(replace(STATE, carried=carried)) == lacks


def test_every_table_has_a_chain_of_its_own() -> None:
    assert lacking(replace(STATE, carried=3), "page") == [4]


def test_table_that_was_never_there_lacks_everything() -> None:
    assert lacking(None) == [2, 4, 7]


def test_dropped_table_lacks_what_it_did_not_surely_carry() -> None:
    assert lacking(None, carried={"order": 4}) == [7]


def test_word_of_a_table_made_again_is_not_trusted() -> None:
    other = replace(STATE, id="id-2", carried=7)
    assert lacking(other, ids={"order": "id-1"}, carried={"order": 2}) == [4, 7]
    assert lacking(other, ids={"order": "id-2"}, carried={"order": 2}) == []


def test_only_entries_of_the_chain_are_read() -> None:
    read: list[int] = []

    def entry(number: int) -> Entry:
        read.append(number)
        return CHAIN[number]

    assert pending(CHAIN[7], "order", replace(STATE, carried=2), entry) == [4, 7]
    assert read == [7, 4]
