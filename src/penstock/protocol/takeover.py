"""Taking tables over: where others left off, and what of it must not be written a second time.

kafka-delta-ingest keeps in every table, per partition, the last offset that it has written there. The
app begins at the least of them. A table that is ahead of that has a *skip*: its messages before that
position are counted and not written, until the app has passed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.contracts import Bound, Positions
from penstock.errors import ConfigError, refused
from penstock.protocol.entry import Entry, Skips


@dataclass(frozen=True)
class Found:
    """What a start finds beside the ledger: positions that the pipeline names, and those that tables
    show under the app's name. As everywhere, a position is the next one to read."""

    app: str = ""
    named: Positions = field(default_factory=dict)
    stored: Mapping[str, Positions] = field(default_factory=dict)  # table → partition → position
    pending: frozenset[str] = frozenset()  # tables that have yet to get batches of this app


def starts(bounds: Mapping[str, Bound], found: Found) -> dict[str, int]:
    """Where each partition begins at a first start: after what the table that is furthest behind has of
    it. Tables that have nothing of a partition say nothing about it; if none has, the start policy does."""
    _named_exist(bounds, found.named)
    _stored_exist(bounds, found)
    least: dict[str, int] = {}
    for stored in found.stored.values():
        least |= {p: min(at, least.get(p, at)) for p, at in stored.items()}
    if behind := {p: (at, found.named[p]) for p, at in least.items() if at < found.named.get(p, 0)}:
        raise _start_behind(found.app, behind)
    return {p: least.get(p, bound.begin) for p, bound in bounds.items()}


def holders(found: Found, positions: Positions) -> list[str]:
    """The tables that make partitions begin at these positions."""
    return sorted(name for name, stored in found.stored.items() if stored.items() & positions.items())


def left(skips: Mapping[str, Positions], ends: Positions) -> Skips:
    """The skips that the app has not passed yet."""
    ahead = {name: {p: at for p, at in stored.items() if at > ends.get(p, 0)} for name, stored in skips.items()}
    return {name: positions for name, positions in ahead.items() if positions}


def went_on(head: Entry, bounds: Mapping[str, Bound], found: Found, *, adopt: bool) -> Skips:
    """What others wrote under this app's name since it last ran: a table shows positions that the app
    has not reached. Without the operator's word nothing may go on, or it would be written twice."""
    ahead = left(found.stored, head.ends)
    news = {name: left({name: stored}, head.skips.get(name, {})).get(name, {}) for name, stored in ahead.items()}
    news = {name: stored for name, stored in news.items() if stored}
    waiting = sorted(news.keys() & found.pending)
    if news and (waiting or not adopt):
        raise _written_elsewhere(found.app, news, waiting)
    _stored_exist(bounds, Found(found.app, stored=news))
    return news


def joined(skips: Skips, more: Skips) -> Skips:
    return skips | {name: skips.get(name, {}) | stored for name, stored in more.items()}


def _named_exist(bounds: Mapping[str, Bound], named: Positions) -> None:
    if unknown := sorted(named.keys() - bounds.keys()):
        raise refused(
            "config.start-partition",
            f"`start` names partition {', '.join(unknown)}, and the source has {', '.join(sorted(bounds)) or 'none'}",
            "name only partitions that it has",
        )
    for partition, position in sorted(named.items()):
        if position > bounds[partition].next:
            raise refused(
                "config.start-beyond",
                f"`start` names position {position} of partition {partition}, "
                f"and the next message there gets position {bounds[partition].next}",
                "name a position up to that one",
            )


def _stored_exist(bounds: Mapping[str, Bound], found: Found) -> None:
    """Raise if tables have more of the source than it ever held: then it was another one."""
    ends = {p: bound.next for p, bound in bounds.items()}
    for name, stored in sorted(found.stored.items()):
        if beyond := {p: (at, ends.get(p)) for p, at in stored.items() if p not in ends or at > ends[p]}:
            raise _another_source(found.app, name, beyond)


def _start_behind(app: str, behind: Mapping[str, tuple[int, int]]) -> ConfigError:
    """Told by kafka-delta-ingest's measure: the last offset that is there, not the next one."""
    told = ",".join(f"{app}-{p}:stored={at - 1}/seek={start - 1}" for p, (at, start) in sorted(behind.items()))
    return refused(
        "config.start-behind-tables",
        f"`start` names positions that tables have not reached: [{told}]",
        "what lies between would be in no table; leave `start` out to go on after the stored offsets",
    )


def _another_source(app: str, name: str, beyond: Mapping[str, tuple[int, int | None]]) -> ConfigError:
    held = {p: "is not there" if end is None else f"ends at {end}" for p, (_, end) in beyond.items()}
    ids = ", ".join(f"{app}-{p} at offset {at - 1} (partition {p} {held[p]})" for p, (at, _) in sorted(beyond.items()))
    return refused(
        "table.another-source",
        f"table {name} was written from a source that held more than this one: it carries {ids}",
        "point `source` at the topic that it was written from. If that is gone, give the pipeline another app name: "
        "it begins by its start policy, and writes to the same tables",
    )


def _written_elsewhere(app: str, news: Skips, waiting: list[str]) -> ConfigError:
    ids = ", ".join(f"{name} has {app}-{p} at offset {at - 1}" for name in sorted(news) for p, at in news[name].items())
    what = f"somebody else wrote to tables under the name of app '{app}', beyond what its ledger has reached: {ids}"
    if waiting:
        what += f". {', '.join(waiting)} had yet to get batches of this app, which may be there now, or not"
        return refused("table.written-elsewhere", what, "give the pipeline another app name and another base")
    remedy = "run once with --adopt to go on from here: what the tables hold already is skipped, table by table"
    return refused("table.written-elsewhere", what, remedy)
