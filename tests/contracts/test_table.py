"""What every table must keep, run over real Delta tables and over those of the simulator, which must not lie."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.contracts import File, Share, Table, TableState
from penstock.errors import PenstockError, TableRefused
from tests.contracts.places import SCHEMA, OnDisk, Place, Simulated


@pytest.fixture(params=["delta", "simulated"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return OnDisk(tmp_path / "t") if request.param == "delta" else Simulated()


def _share(batch: int, *files: File) -> Share:
    return Share("shop", batch, batch - 1, SCHEMA, ("day",), files, {"0": batch * 10}, {"batch": batch})


def _look(table: Table) -> TableState:
    state = table.state()
    assert state is not None
    return state


def _with_batches(place: Place, count: int) -> Table:
    """A table that carries so many batches, the first of them from its creation."""
    table = place.open()
    table.create(_share(1, place.file()))
    for batch in range(2, count + 1):
        table.commit(_look(table), _share(batch, place.file()))
    return table


@contextmanager
def _in_vain(place: Place, file: File) -> Iterator[None]:
    """Whatever is tried in here fails, is worth another look, and leaves the table as it was."""
    before = place.open().state()
    with pytest.raises(PenstockError) as failed:
        yield
    assert not isinstance(failed.value, TableRefused)
    after = place.open().state()
    assert (after is None) == (before is None)
    if before is not None and after is not None:
        assert (after.id, after.version, after.carried) == (before.id, before.version, before.carried)
        assert after.refers([file.path]) == []


# --- looking and making --------------------------------------------------------------------------


def test_where_there_is_no_table_there_is_no_state(place: Place) -> None:
    assert place.open().state() is None


def test_made_table_carries_its_first_batch_its_columns_and_its_files(place: Place) -> None:
    file, stray = place.file(), place.file()

    place.open().create(_share(1, file))

    state = _look(place.open())
    assert (state.version, state.carried) == (0, 1)
    assert (state.schema, state.partition_by) == (SCHEMA, ("day",))
    assert (state.restored, state.unwritable) == (False, "")
    assert state.refers([stray.path, file.path]) == [file.path]


def test_table_that_others_made_carries_nothing_of_ours(place: Place) -> None:
    place.make_again()

    state = _look(place.open())

    assert (state.version, state.carried, state.restored) == (0, 0, False)
    assert state.schema == SCHEMA


def test_making_a_table_where_one_is_fails_and_changes_nothing(place: Place) -> None:
    table, file = _with_batches(place, 1), place.file()

    with _in_vain(place, file):
        table.create(_share(2, file))


def test_making_a_table_that_somebody_else_just_made_fails_and_changes_nothing(place: Place) -> None:
    table, file = place.open(), place.file()
    assert table.state() is None
    place.make_again()

    with _in_vain(place, file):
        table.create(_share(1, file))


# --- committing ----------------------------------------------------------------------------------


def test_commit_on_a_fresh_look_carries_the_next_batch_and_keeps_the_files_before(place: Place) -> None:
    first, second = place.file(), place.file()
    table = place.open()
    table.create(_share(1, first))
    before = _look(table)

    table.commit(before, _share(2, second))

    after = _look(table)
    assert (after.id, after.version, after.carried) == (before.id, before.version + 1, 2)
    assert sorted(after.refers([first.path, second.path])) == sorted([first.path, second.path])


def test_numbers_of_batches_may_leave_some_out(place: Place) -> None:
    table = _with_batches(place, 1)

    table.commit(_look(table), _share(7, place.file()))

    assert _look(place.open()).carried == 7


def test_commit_after_a_foreign_change_works_on_a_new_look(place: Place) -> None:
    table = _with_batches(place, 1)
    place.append()

    table.commit(_look(table), _share(2, place.file()))

    assert (_look(table).version, _look(table).carried) == (2, 2)


@pytest.mark.parametrize("change", ["append", "optimize", "restore_to_the_first_version"])
def test_commit_fails_if_anybody_changed_the_table_since_the_look(place: Place, change: str) -> None:
    table, file = _with_batches(place, 3), place.file()
    state = _look(table)
    getattr(place, change)()

    with _in_vain(place, file):
        table.commit(state, _share(4, file))


def test_commit_fails_if_another_instance_of_ours_was_quicker(place: Place) -> None:
    mine, other = _with_batches(place, 1), place.open()
    seen, file = _look(mine), place.file()
    other.commit(_look(other), _share(2, place.file()))

    with _in_vain(place, file):
        mine.commit(seen, _share(2, file))


def test_the_same_look_serves_for_one_commit_only(place: Place) -> None:
    table, file = _with_batches(place, 1), place.file()
    state = _look(table)
    table.commit(state, _share(2, place.file()))

    with _in_vain(place, file):
        table.commit(state, _share(3, file))


def test_commit_to_a_dropped_table_fails_and_brings_nothing_back(place: Place) -> None:
    table, file = _with_batches(place, 2), place.file()
    state = _look(table)
    place.drop()

    with _in_vain(place, file):
        table.commit(state, _share(3, file))

    assert place.open().state() is None


def test_table_that_was_made_again_since_the_look_gets_nothing(place: Place) -> None:
    table, file = _with_batches(place, 2), place.file()
    state = _look(table)
    place.drop()
    place.make_again()

    with _in_vain(place, file):
        table.commit(state, _share(3, file))

    assert _look(table).id != state.id


# --- taken back ----------------------------------------------------------------------------------


def test_restore_since_our_newest_batch_is_told_to_everybody(place: Place) -> None:
    table = _with_batches(place, 3)
    place.restore_to_the_first_version()

    for handle in (table, place.open()):
        assert _look(handle).restored
        assert _look(handle).carried == 3  # the number alone does not show it


def test_restore_is_told_although_others_changed_the_table_after_it(place: Place) -> None:
    table = _with_batches(place, 3)
    place.restore_to_the_first_version()
    place.append()

    assert _look(table).restored
    assert _look(place.open()).restored


@pytest.mark.parametrize("change", ["append", "optimize"])
def test_ordinary_work_of_others_is_not_told_as_restored(place: Place, change: str) -> None:
    table = _with_batches(place, 3)
    getattr(place, change)()

    assert not _look(table).restored
    assert not _look(place.open()).restored


def test_restore_before_our_newest_batch_is_not_told_any_more(place: Place) -> None:
    table = _with_batches(place, 3)
    place.restore_to_the_first_version()
    assert _look(table).restored

    table.commit(_look(table), _share(4, place.file()))

    assert not _look(table).restored
    assert not _look(place.open()).restored
