"""Where the rows of a file came from: its table's log, read backwards through everything that rewrote it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from penstock.tables.delta_log import Batch, LogCommit, LogFile


@dataclass
class Origin:
    """What the log tells of one file."""

    version: int | None = None  # that added it
    time: datetime | None = None
    batches: dict[tuple[str, int], Batch] = field(default_factory=dict)
    exact: bool = True  # else it was put together from several files, and holds rows of some of these batches
    others: bool = False  # rows of it were written by somebody else
    complete: bool = True  # else the log no longer goes back to where its rows came from


def trace(commits: Iterable[LogCommit], paths: Iterable[str]) -> dict[str, Origin]:
    """The origins of these files. Commits come newest first; no more of them are read than are needed."""
    found = {path: Origin() for path in paths}
    wanted = {path: {path} for path in found}  # a file to look for → those that hold its rows now
    if wanted:
        for commit in commits:
            _step(commit, wanted, found)
            if not wanted:
                break
    for owners in wanted.values():
        for path in owners:
            found[path].complete = False
    return found


def _step(commit: LogCommit, wanted: dict[str, set[str]], found: dict[str, Origin]) -> None:
    if commit.operation == "RESTORE":
        return  # it puts files back that an older commit had brought
    followed: dict[str, set[str]] = defaultdict(set)
    for file in commit.added:
        owners = wanted.pop(file.path, None)
        if owners:
            sources = [] if commit.batch else _sources(commit, file)
            for path in owners:
                _note(found[path], commit, file, rewritten=bool(sources))
            for source in sources:
                followed[source].update(owners)
    for source, owners in followed.items():
        wanted.setdefault(source, set()).update(owners)


def _note(origin: Origin, commit: LogCommit, file: LogFile, *, rewritten: bool) -> None:
    if origin.version is None:
        origin.version, origin.time = commit.version, commit.time
    if commit.batch:
        origin.batches[commit.batch.app, commit.batch.number] = commit.batch
    elif not rewritten:
        origin.others = True
    elif _siblings(commit, file):
        origin.exact = False


def _sources(commit: LogCommit, file: LogFile) -> list[str]:
    """The files that a rewritten one was made of: those that left the same partition in the same commit."""
    left = [other.path for other in commit.removed if dict(other.partition) == dict(file.partition)]
    return [file.path] if file.path in left else left


def _siblings(commit: LogCommit, file: LogFile) -> bool:
    """Did the commit write more than one file to this partition? Then nobody can tell whose rows went where."""
    return sum(dict(other.partition) == dict(file.partition) for other in commit.added) > 1
