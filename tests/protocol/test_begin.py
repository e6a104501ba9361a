"""Where a run begins: at the end of the last entry, or where an operator said in so many words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.contracts import Bound, Identity
from penstock.errors import SOURCE_LOST, USAGE, ConfigError, SourceLost, Transient
from penstock.protocol.begin import Accepted, Beginning, beginning, same_stream
from penstock.protocol.entry import Entry, Place
from tests.entries import PLACE, SOURCE, claim

BOUNDS = {"0": Bound(first=10, next=30, begin=25), "1": Bound(first=0, next=8, begin=8)}
HEAD = claim(5, ends={"0": 20, "1": 8})


def begin(head: Entry | None = HEAD, source: Identity = SOURCE, place: Place = PLACE, **accepted: Any) -> Beginning:
    return beginning(head, source, place, BOUNDS, Accepted(**accepted))


def changed(**changes: str) -> Identity:
    return msgspec.structs.replace(SOURCE, **changes)


# --- as it should be -----------------------------------------------------------------------------


def test_first_start_begins_by_the_start_policy() -> None:
    assert begin(None) == Beginning({"0": 25, "1": 8})


def test_first_start_asks_nothing_about_places_and_sources() -> None:
    assert begin(None, changed(name="kafka:other"), Place("x", "y", "z")).ends == {"0": 25, "1": 8}


def test_later_start_goes_on_where_the_last_entry_ends() -> None:
    assert begin() == Beginning({"0": 20, "1": 8})


def test_partition_that_appeared_meanwhile_has_no_position_yet() -> None:
    """It is read from its beginning: the plan says so, not the start policy."""
    assert begin(claim(5, ends={"0": 20})) == Beginning({"0": 20})


# --- lost records --------------------------------------------------------------------------------


def test_expired_records_stop_the_start() -> None:
    with pytest.raises(SourceLost, match="partition 0 positions 4 to 9") as told:
        begin(claim(5, ends={"0": 4, "1": 8}))
    assert told.value.exit_status == SOURCE_LOST


def test_accepted_gap_is_recorded_and_skipped() -> None:
    found = begin(claim(5, ends={"0": 4, "1": 8}), gaps={"0": (4, 10)})
    assert found == Beginning({"0": 10, "1": 8}, gaps={"0": (4, 10)})


def test_expired_records_of_a_partition_that_appeared_meanwhile_are_given_up_only_on_a_word() -> None:
    with pytest.raises(SourceLost, match="partition 0 positions 0 to 9"):
        begin(claim(5, ends={"1": 8}))
    found = begin(claim(5, ends={"1": 8}), gaps={"0": (0, 10)})
    assert found == Beginning({"0": 10, "1": 8}, gaps={"0": (0, 10)})


def test_other_gap_than_the_accepted_one_stops_the_start() -> None:
    with pytest.raises(SourceLost, match="positions 4 to 9"):
        begin(claim(5, ends={"0": 4, "1": 8}), gaps={"0": (4, 9)})


def test_truncated_log_stops_the_start() -> None:
    with pytest.raises(SourceLost, match="partition 1 positions 8 to 99") as told:
        begin(claim(5, ends={"0": 20, "1": 100}))
    assert told.value.code == "source.truncated"


def test_accepted_truncation_goes_on_from_the_new_end() -> None:
    found = begin(claim(5, ends={"0": 20, "1": 100}), gaps={"1": (8, 100)})
    assert found == Beginning({"0": 20, "1": 8}, rebased={"1": 8})


def test_acceptance_that_is_not_needed_changes_nothing() -> None:
    """Also if the flags of the last start are still there: what was accepted then is the stream now."""
    assert begin(gaps={"0": (3, 9)}, incarnations=frozenset({"x"}), homes=frozenset({"y"}), adopt=True) == begin()
    assert begin(incarnations=frozenset({SOURCE.incarnation}), homes=frozenset({SOURCE.home})) == begin()


def test_partition_that_is_away_is_waited_for() -> None:
    with pytest.raises(Transient, match="partition 7"):
        begin(claim(5, ends={"0": 20, "1": 8, "7": 3}))


# --- another stream ------------------------------------------------------------------------------


def test_recreated_topic_stops_the_start_and_says_how_to_accept_it() -> None:
    with pytest.raises(SourceLost, match="topic-1 and is now topic-2") as told:
        begin(source=changed(incarnation="topic-2"))
    assert told.value.code == "source.recreated"
    assert "partition 0 position 20, partition 1 position 8" in told.value.what
    assert "--accept-gap topic=topic-2" in told.value.remedy


def test_accepted_topic_is_read_from_its_beginning() -> None:
    found = begin(source=changed(incarnation="topic-2"), incarnations=frozenset({"topic-2"}))
    assert found == Beginning({"0": 10, "1": 0}, rebased={"0": 10, "1": 0})


def test_other_topic_than_the_accepted_one_stops_the_start() -> None:
    with pytest.raises(SourceLost, match="topic-3"):
        begin(source=changed(incarnation="topic-3"), incarnations=frozenset({"topic-2"}))


def test_exchanged_cluster_stops_the_start_and_says_how_to_accept_it() -> None:
    with pytest.raises(SourceLost, match="cluster-1 and is now cluster-2") as told:
        begin(source=changed(home="cluster-2", incarnation="topic-2"))
    assert told.value.code == "source.cluster-exchanged"
    assert "--accept-gap cluster=cluster-2" in told.value.remedy


def test_accepted_cluster_is_read_from_its_beginning() -> None:
    found = begin(source=changed(home="cluster-2", incarnation="topic-2"), homes=frozenset({"cluster-2"}))
    assert found == Beginning({"0": 10, "1": 0}, rebased={"0": 10, "1": 0})


def test_accepted_topic_does_not_accept_another_cluster() -> None:
    with pytest.raises(SourceLost, match="cluster-2"):
        begin(source=changed(home="cluster-2", incarnation="topic-2"), incarnations=frozenset({"topic-2"}))


def test_stream_is_the_same_only_with_the_same_home_and_incarnation() -> None:
    same_stream(HEAD, SOURCE)
    for other in (changed(home="cluster-2"), changed(incarnation="topic-2")):
        with pytest.raises(SourceLost):
            same_stream(HEAD, other)


# --- another pipeline under the same name --------------------------------------------------------


def test_other_source_under_the_same_app_is_refused() -> None:
    with pytest.raises(ConfigError, match="kafka:events, and is now configured to read kafka:other") as told:
        begin(source=changed(name="kafka:other"))
    assert told.value.code == "config.source-changed"
    assert told.value.exit_status == USAGE


def test_adopted_source_begins_by_the_start_policy() -> None:
    found = begin(source=Identity("kafka:other", "cluster-2", "topic-9"), adopt=True)
    assert found == Beginning({"0": 25, "1": 8}, rebased={"0": 25, "1": 8})


@pytest.mark.parametrize("what", ["format", "base", "dead_letters"])
def test_changed_place_is_refused_unless_adopted(what: str) -> None:
    place = msgspec.structs.replace(PLACE, **{what: "elsewhere"})
    with pytest.raises(ConfigError, match="is now configured for elsewhere") as told:
        begin(place=place)
    assert told.value.code == "config.place-changed"
    assert getattr(PLACE, what) in str(told.value)
    assert begin(place=place, adopt=True) == Beginning({"0": 20, "1": 8})


def test_adopting_does_not_accept_lost_records() -> None:
    with pytest.raises(SourceLost):
        begin(claim(5, ends={"0": 4, "1": 8}), adopt=True)
    with pytest.raises(SourceLost):
        begin(source=changed(incarnation="topic-2"), adopt=True)
