"""Where the rows of a file came from, through everything that rewrote it."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.operate.origin import Origin, trace
from penstock.tables.delta_log import Batch, LogCommit, LogFile


def _commit(
    version: int, added: str, removed: str = "", operation: str = "WRITE", batch: int | None = None
) -> LogCommit:
    """Files are named by letters; a capital letter is a file of another partition."""
    return LogCommit(
        version=version,
        time=None,
        operation=operation,
        app="shop" if batch else "",
        batch=Batch("shop", batch) if batch else None,
        added=tuple(_file(name) for name in added),
        removed=tuple(_file(name) for name in removed),
        transactions={},
    )


def _file(name: str) -> LogFile:
    return LogFile(name, {"color": "red" if name.islower() else "blue"})


def _told(commits: list[LogCommit], name: str) -> tuple[list[int], Origin]:
    origin = trace(reversed(commits), [name])[name]
    return sorted(number for _, number in origin.batches), origin


LANDED = [_commit(0, "aA", batch=2), _commit(1, "bB", batch=4), _commit(2, "cC", batch=5)]


def test_file_of_a_batch_came_with_that_batch() -> None:
    numbers, origin = _told(LANDED, "b")

    assert (numbers, origin.version) == ([4], 1)
    assert (origin.exact, origin.complete, origin.others) == (True, True, False)


def test_file_of_somebody_else_is_told_as_such() -> None:
    numbers, origin = _told([*LANDED, _commit(3, "d")], "d")

    assert (numbers, origin.version, origin.others) == ([], 3, True)


def test_optimized_file_holds_the_rows_of_the_files_it_was_made_of_in_its_own_partition() -> None:
    numbers, origin = _told([*LANDED, _commit(3, "dD", "abAB", "OPTIMIZE")], "d")

    assert (numbers, origin.version, origin.exact) == ([2, 4], 3, True)


def test_file_that_was_optimized_twice_is_followed_to_its_batches() -> None:
    again = [_commit(3, "d", "ab", "OPTIMIZE"), _commit(4, "e", "cd", "OPTIMIZE")]

    numbers, origin = _told([*LANDED, *again], "e")

    assert (numbers, origin.version, origin.exact) == ([2, 4, 5], 4, True)


def test_where_several_files_were_written_nobody_can_tell_whose_rows_went_where() -> None:
    numbers, origin = _told([*LANDED, _commit(3, "de", "abc", "OPTIMIZE")], "d")

    assert (numbers, origin.exact) == ([2, 4, 5], False)


def test_file_of_which_rows_were_deleted_is_still_the_file_that_was_landed() -> None:
    numbers, origin = _told([*LANDED, _commit(3, "b", "ab", "DELETE")], "b")

    assert (numbers, origin.version, origin.exact) == ([4], 3, True)


def test_restored_file_came_with_the_commit_that_brought_it_first() -> None:
    undone = [_commit(3, "", "abc", "DELETE"), _commit(4, "abc", "", "RESTORE")]

    assert _told([*LANDED, *undone], "b")[0] == [4]


def test_log_that_does_not_go_back_far_enough_is_told() -> None:
    numbers, origin = _told([*LANDED[1:], _commit(3, "d", "ab", "OPTIMIZE")], "d")

    assert (numbers, origin.complete) == ([4], False)
    assert _told(LANDED[1:], "a")[1] == Origin(complete=False)


def test_no_more_of_the_log_is_read_than_is_needed() -> None:
    read: list[int] = []

    def commits() -> Iterator[LogCommit]:
        for commit in reversed(LANDED):
            read.append(commit.version)
            yield commit

    trace(commits(), ["b", "C"])
    assert read == [2, 1]
    read.clear()
    assert (trace(commits(), []), read) == ({}, [])
