"""Where a run begins: at the end of the last entry, and nowhere else.

The exceptions are a first start, and what an operator accepts in so many words: records that are
lost, a topic that was made again, a pipeline that moved to another source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.contracts import Bound, Identity
from penstock.errors import another_place, another_source, cluster_exchanged, records_lost, topic_recreated
from penstock.protocol.entry import Entry, Place, Range, Skips
from penstock.protocol.plan import expired, lost
from penstock.protocol.takeover import Found, holders, joined, left, starts, went_on

NOTHING = Found()


@dataclass(frozen=True)
class Accepted:
    """What the operator said may be given up: `--accept-gap` and `--adopt`, for this start only."""

    gaps: Mapping[str, Range] = field(default_factory=dict)
    incarnations: frozenset[str] = frozenset()
    homes: frozenset[str] = frozenset()
    adopt: bool = False


@dataclass(frozen=True)
class Beginning:
    """The positions to go on from, and what was given up to get there."""

    ends: Mapping[str, int]
    gaps: Mapping[str, Range] = field(default_factory=dict)
    rebased: Mapping[str, int] = field(default_factory=dict)
    skips: Skips = field(default_factory=dict)


def same_stream(head: Entry, found: Identity) -> None:
    """Raise if this is not the stream that the app has read so far."""
    if head.source.home != found.home:
        raise cluster_exchanged(found.name, head.source.home, found.home)
    if head.source.incarnation != found.incarnation:
        raise topic_recreated(found.name, head.source.incarnation, found.incarnation, head.ends)


def beginning(
    head: Entry | None,
    source: Identity,
    place: Place,
    bounds: Mapping[str, Bound],
    accepted: Accepted,
    found: Found = NOTHING,
) -> Beginning:
    """Where to begin, or an error that says what would have to be accepted first."""
    if head is None:
        return _first(bounds, accepted, found)
    _same_place(head, place, accepted)
    if head.source.name != source.name:
        if not accepted.adopt:
            raise another_source(head.app, head.source.name, source.name)
        return _anew({p: bound.begin for p, bound in bounds.items()})
    if head.source.home != source.home and source.home in accepted.homes:
        return _anew({p: bound.first for p, bound in bounds.items()})
    if (
        head.source.home == source.home
        and head.source.incarnation != source.incarnation
        and source.incarnation in accepted.incarnations
    ):
        return _anew({p: bound.first for p, bound in bounds.items()})
    same_stream(head, source)
    return _go_on(head, bounds, accepted, found)


def _first(bounds: Mapping[str, Bound], accepted: Accepted, found: Found) -> Beginning:
    """By the start policy, or after what others have written. What the source no longer holds of that
    is lost like anything else."""
    begin = starts(bounds, found)
    gaps = expired(begin, bounds)
    if unaccepted := {p: gap for p, gap in gaps.items() if accepted.gaps.get(p) != gap}:
        raise records_lost(unaccepted, "expired", holders(found, {p: begin[p] for p in unaccepted}))
    ends = begin | {p: end for p, (_, end) in gaps.items()}
    return Beginning(ends, gaps, skips=left(found.stored, ends))


def _anew(positions: Mapping[str, int]) -> Beginning:
    return Beginning(ends=positions, rebased=positions)


def _go_on(head: Entry, bounds: Mapping[str, Bound], accepted: Accepted, found: Found) -> Beginning:
    lost(head.ends, bounds, accepted.gaps, head.reached)
    skips = joined(head.skips, went_on(head, bounds, found, adopt=accepted.adopt))
    ends, gaps, rebased = dict(head.ends), {}, {}
    for partition, bound in bounds.items():
        end = head.ends.get(partition, 0)  # the first claim lists all there are: others came later, and began at 0
        if bound.first > end:
            gaps[partition] = (end, bound.first)
            ends[partition] = bound.first
        elif bound.next < head.reached.get(partition, 0):
            rebased[partition] = ends[partition] = min(end, bound.next)
    held = {name: {p: min(at, bounds[p].next) for p, at in stored.items()} for name, stored in skips.items()}
    return Beginning(ends, gaps, rebased, left(held, ends))


def _same_place(head: Entry, place: Place, accepted: Accepted) -> None:
    if accepted.adopt:
        return
    for what in ("format", "base", "dead_letters"):
        recorded, configured = getattr(head.place, what), getattr(place, what)
        if recorded != configured:
            raise another_place(head.app, what.replace("_", "-"), recorded, configured)
