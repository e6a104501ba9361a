"""Planning: batches that respect their limits and tasks that share them, for any backlog."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.contracts import Bound, File, Slice
from penstock.errors import SourceLost, Transient
from penstock.protocol.entry import Range, strip
from penstock.protocol.plan import Limits, Measure, Pressure, backlog, covers, lost, plan, tasks, workers
from tests.entries import batch, claim, portion

starts, lags = st.integers(0, 2**40), st.integers(1, 50_000)
backlogs = st.dictionaries(
    st.sampled_from([str(number) for number in range(12)]),
    st.builds(lambda start, lag: (start, start + lag), starts, lags),
    min_size=1,
)
slices = backlogs.map(lambda found: [Slice(p, start, end) for p, (start, end) in sorted(found.items())])
NOW = Pressure(waited=0.0, like=Measure(100.0), hurry=True)


def _taken(planned: list[Slice]) -> dict[str, int]:
    return {piece.partition: piece.end - piece.start for piece in planned}


# --- what waits ----------------------------------------------------------------------------------


def test_backlog_is_what_was_not_read_yet() -> None:
    bounds = {"0": Bound(0, 10, 0), "1": Bound(5, 9, 5), "2": Bound(0, 3, 0)}
    assert backlog({"0": 4, "1": 9, "2": 0}, bounds) == {"0": (4, 10), "2": (0, 3)}


def test_partition_that_appeared_later_is_read_from_its_beginning() -> None:
    assert backlog({"0": 4}, {"0": Bound(0, 4, 4), "1": Bound(0, 6, begin=6)}) == {"1": (0, 6)}


# --- when a batch is due -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lag", "pressure", "due"),
    [
        (0, Pressure(waited=99.0, like=Measure(100.0), hurry=True), False),
        (1, Pressure(waited=9.9, like=Measure(100.0)), False),
        (1, Pressure(waited=10.0, like=Measure(100.0)), True),
        (1, Pressure(waited=0.0, like=Measure(100.0), hurry=True), True),
        (999, Pressure(waited=0.0, like=Measure(1.0)), False),
        (1_000, Pressure(waited=0.0, like=Measure(1.0)), True),
        (99, Pressure(waited=0.0, like=Measure(100.0)), False),
        (100, Pressure(waited=0.0, like=Measure(100.0)), True),
    ],
)
def test_batch_is_due_when_it_is_full_or_has_waited_or_the_run_ends(lag: int, pressure: Pressure, due: bool) -> None:
    limits = Limits(messages=1_000, bytes=10_000, latency=10.0)
    assert bool(plan({"0": (5, 5 + lag)}, limits, pressure)) is due


@settings(deadline=None)
@given(backlogs, st.integers(1, 10**6), st.integers(1, 10**9), st.floats(1, 10**7))
def test_planned_slices_begin_where_the_last_ended_and_respect_the_limits(
    waiting: dict[str, Range], messages: int, size: int, average: float
) -> None:
    planned = plan(waiting, Limits(messages, size, 0.0), Pressure(0.0, Measure(average)))
    assert planned
    assert [piece.partition for piece in planned] == sorted({piece.partition for piece in planned})
    for piece in planned:
        start, end = waiting[piece.partition]
        assert piece.start == start < piece.end <= end
    total = sum(_taken(planned).values())
    assert total <= messages
    assert total * average <= max(size, average) * (1 + 1e-9)


@settings(deadline=None)
@given(backlogs, st.integers(1, 10**6))
def test_room_in_a_batch_is_not_left_empty(waiting: dict[str, Range], messages: int) -> None:
    planned = plan(waiting, Limits(messages, 10**12, 0.0), NOW)
    assert sum(_taken(planned).values()) == min(messages, sum(end - start for start, end in waiting.values()))


@settings(deadline=None)
@given(backlogs, st.integers(1, 10**6))
def test_no_partition_starves_and_none_hogs(waiting: dict[str, Range], messages: int) -> None:
    """As long as there is room for one message of each: all get some, and whoever gets less than
    another gets all it has."""
    assume(messages >= len(waiting))
    taken = _taken(plan(waiting, Limits(messages, 10**12, 0.0), NOW))
    assert taken.keys() == waiting.keys()
    most = max(taken.values())
    for partition, (start, end) in waiting.items():
        assert taken[partition] >= most - 1 or taken[partition] == end - start


def test_partition_with_a_long_backlog_leaves_room_for_the_others() -> None:
    waiting = {"0": (0, 1_000_000), "1": (0, 10), "2": (0, 400)}
    assert _taken(plan(waiting, Limits(1_000, 10**12, 0.0), NOW)) == {"0": 590, "1": 10, "2": 400}


def test_message_larger_than_a_batch_is_a_batch_of_its_own() -> None:
    planned = plan({"0": (7, 9)}, Limits(1_000, 100, 0.0), Pressure(0.0, Measure(5_000.0)))
    assert planned == [Slice("0", 7, 8)]


# --- files of a size -----------------------------------------------------------------------------

FILES = Limits(messages=1_000, bytes=10**9, latency=300.0, file_bytes=50_000)


@pytest.mark.parametrize(
    ("lag", "like", "taken"),
    [
        (1_000, Measure(100.0, written=10.0), 0),  # 10 kB: a fifth of a file
        (4_999, Measure(100.0, written=10.0), 0),
        (5_000, Measure(100.0, written=10.0), 5_000),
        (1_000, Measure(100.0, written=50.0), 1_000),
        (1_999, Measure(100.0, written=10_000.0), 1_000),  # whole multiples of `messages`, as many as needed
        (9_999, Measure(100.0, written=10.0, tables=2), 0),  # each table wants a file of that size
        (10_000, Measure(100.0, written=10.0, tables=2), 10_000),
    ],
)
def test_batch_is_full_when_its_files_are_large_enough(lag: int, like: Measure, taken: int) -> None:
    assert sum(_taken(plan({"0": (0, lag)}, FILES, Pressure(0.0, like))).values()) == taken


def test_small_files_are_made_when_time_is_up_or_memory_is() -> None:
    waiting, like = {"0": (0, 700)}, Measure(100.0, written=10.0)
    assert not plan(waiting, FILES, Pressure(299.0, like))
    assert plan(waiting, FILES, Pressure(300.0, like)) == [Slice("0", 0, 700)]
    assert plan(waiting, replace(FILES, bytes=60_000), Pressure(0.0, like)) == [Slice("0", 0, 600)]


def test_long_backlog_makes_large_files_on_every_core() -> None:
    like = Measure(100.0, written=10.0)
    planned = plan({"0": (0, 10**6)}, FILES, Pressure(0.0, like, cores=4))
    assert planned == [Slice("0", 0, 20_000)]
    assert workers(planned, FILES, like, cores=4) == 4


def test_little_to_write_is_written_by_few_tasks() -> None:
    like = Measure(100.0, written=10.0)
    assert workers([Slice("0", 0, 14_999)], FILES, like, cores=8) == 2
    assert workers([Slice("0", 0, 1)], FILES, like, cores=8) == 1
    assert workers([Slice("0", 0, 1)], replace(FILES, file_bytes=None), like, cores=8) == 8


def test_first_batch_stays_small_however_large_files_should_be() -> None:
    limits = replace(FILES, file_bytes=10**9).at_first()
    assert _taken(plan({"0": (0, 10**7)}, limits, Pressure(0.0, Measure(), cores=8))) == {"0": 100_000}


def test_jitter_only_lengthens_the_wait() -> None:
    limits = FILES.stretched(0.1)
    assert limits == replace(FILES, latency=limits.latency)
    assert not plan({"0": (0, 1)}, limits, Pressure(329.0, Measure()))
    assert plan({"0": (0, 1)}, limits, Pressure(331.0, Measure()))


def test_batch_tells_what_the_next_will_be_like() -> None:
    entry = batch(3, tables={"a": portion(), "b": portion(files=[File("x", 300, 5)])})
    assert Measure().after(entry) == Measure(size=100.0, written=80.0, tables=2)
    assert Measure(7.0, 8.0, 9).after(claim(4)) == Measure(7.0, 8.0, 9)
    assert Measure(7.0, 8.0, 9).after(strip(entry)) == Measure(100.0, 8.0, 2)


# --- tasks ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(slices, st.integers(1, 64), st.integers(1, 20_000))
def test_tasks_read_exactly_the_planned_slices(planned: list[Slice], cores: int, smallest: int) -> None:
    pieces = [piece for task in tasks(planned, cores, smallest) for piece in task]
    assert covers(pieces, planned)
    assert sum(piece.end - piece.start for piece in pieces) == sum(_taken(planned).values())
    assert all(piece.start < piece.end for piece in pieces)


@settings(deadline=None)
@given(slices, st.integers(1, 64), st.integers(1, 20_000))
def test_tasks_have_about_the_same_to_read(planned: list[Slice], cores: int, smallest: int) -> None:
    sizes = [sum(piece.end - piece.start for piece in task) for task in tasks(planned, cores, smallest)]
    total = sum(sizes)
    count = max(1, min(cores, -(-total // smallest)))
    assert 1 <= len(sizes) <= count
    assert max(sizes) <= -(-total // count) + smallest // 4
    assert all(size >= total // count for size in sizes[:-1])


def test_small_batch_is_one_task() -> None:
    planned = [Slice("0", 0, 100), Slice("1", 5, 50)]
    assert tasks(planned, cores=8) == [planned]


def test_large_partition_is_shared_by_all_cores() -> None:
    assert tasks([Slice("0", 0, 40_000)], cores=2) == [[Slice("0", 0, 20_000)], [Slice("0", 20_000, 40_000)]]


def test_crumb_of_a_partition_is_not_worth_a_task() -> None:
    planned = [Slice("0", 0, 10_001), Slice("1", 0, 9_999)]
    assert tasks(planned, cores=2) == [[planned[0]], [planned[1]]]


def test_nothing_planned_is_no_task() -> None:
    assert tasks([], cores=4) == []


# --- covering ------------------------------------------------------------------------------------


@settings(deadline=None)
@given(slices, st.data())
def test_pieces_that_lack_or_double_anything_do_not_cover(planned: list[Slice], data: st.DataObject) -> None:
    pieces = [piece for task in tasks(planned, 8, 100) for piece in task]
    at = data.draw(st.integers(0, len(pieces) - 1))
    assert covers(data.draw(st.permutations(pieces)), planned)
    assert not covers(pieces[:at] + pieces[at + 1 :], planned)
    assert not covers([*pieces, pieces[at]], planned)
    shorter = Slice(pieces[at].partition, pieces[at].start, pieces[at].end - 1)
    assert not covers([*pieces[:at], shorter, *pieces[at + 1 :]], planned)


# --- lost ----------------------------------------------------------------------------------------

HELD = {"0": Bound(10, 20, 10), "1": Bound(0, 5, 0)}


def test_what_comes_next_is_still_held() -> None:
    lost({"0": 10, "1": 5}, HELD, {})
    lost({"0": 20}, HELD, {})


def test_partition_that_appeared_later_and_does_not_begin_at_0_any_more_lost_records() -> None:
    with pytest.raises(SourceLost, match="partition 0 positions 0 to 9") as told:
        lost({"1": 5}, HELD, {})
    assert told.value.code == "source.expired"
    assert told.value.remedy.endswith("--accept-gap 0:0-9")
    lost({"1": 5}, HELD, {"0": (0, 10)})


def test_records_that_expired_unread_are_told_exactly() -> None:
    with pytest.raises(SourceLost) as told:
        lost({"0": 7, "1": 0}, HELD, {})
    assert told.value.code == "source.expired"
    assert "partition 0 positions 7 to 9" in told.value.what
    assert "--accept-gap 0:7-9" in told.value.remedy


def test_log_shorter_than_what_was_landed_is_told_exactly() -> None:
    with pytest.raises(SourceLost) as told:
        lost({"0": 10, "1": 8}, HELD, {})
    assert told.value.code == "source.truncated"
    assert "partition 1 positions 5 to 7" in told.value.what
    assert "--accept-gap 1:5-7" in told.value.remedy


def test_exactly_what_was_accepted_may_be_lost() -> None:
    lost({"0": 7, "1": 8}, HELD, {"0": (7, 10), "1": (5, 8)})
    with pytest.raises(SourceLost, match="positions 7 to 9"):
        lost({"0": 7}, HELD, {"0": (7, 9)})
    with pytest.raises(SourceLost, match="positions 7 to 9"):
        lost({"0": 7}, HELD, {"0": (0, 10)})
    with pytest.raises(SourceLost, match="partition 1"):
        lost({"0": 7, "1": 8}, HELD, {"0": (7, 10)})


def test_log_shorter_than_what_others_landed_is_told_exactly() -> None:
    with pytest.raises(SourceLost, match="partition 1 positions 5 to 8") as told:
        lost({"0": 10, "1": 3}, HELD, {}, {"0": 10, "1": 9})
    assert told.value.code == "source.truncated"
    lost({"0": 10, "1": 3}, HELD, {"1": (5, 9)}, {"0": 10, "1": 9})


def test_partition_that_is_not_shown_is_waited_for() -> None:
    with pytest.raises(Transient, match="partition 2, 3") as told:
        lost({"0": 7, "3": 1, "2": 0}, HELD, {})
    assert told.value.code == "source.partitions-away"
