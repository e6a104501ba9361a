"""Where a run begins: at the end of the last entry, and nowhere else.

The exceptions are a first start, and what an operator accepts in so many words: records that are
lost, a topic that was made again, a pipeline that moved to another source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.contracts import Bound, Identity
from penstock.errors import another_place, another_source, cluster_exchanged, topic_recreated
from penstock.protocol.entry import Entry, Place, Range
from penstock.protocol.plan import lost


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


def same_stream(head: Entry, found: Identity) -> None:
    """Raise if this is not the stream that the app has read so far."""
    if head.source.home != found.home:
        raise cluster_exchanged(found.name, head.source.home, found.home)
    if head.source.incarnation != found.incarnation:
        raise topic_recreated(found.name, head.source.incarnation, found.incarnation, head.ends)


def beginning(
    head: Entry | None, source: Identity, place: Place, bounds: Mapping[str, Bound], accepted: Accepted
) -> Beginning:
    """Where to begin, or an error that says what would have to be accepted first."""
    if head is None:
        return Beginning({p: bound.begin for p, bound in bounds.items()})
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
    return _go_on(head, bounds, accepted)


def _anew(positions: Mapping[str, int]) -> Beginning:
    return Beginning(ends=positions, rebased=positions)


def _go_on(head: Entry, bounds: Mapping[str, Bound], accepted: Accepted) -> Beginning:
    lost(head.ends, bounds, accepted.gaps)
    ends, gaps, rebased = dict(head.ends), {}, {}
    for partition, bound in bounds.items():
        end = head.ends.get(partition, 0)  # the first claim lists all there are: others came later, and began at 0
        if bound.first > end:
            gaps[partition] = (end, bound.first)
            ends[partition] = bound.first
        elif bound.next < end:
            rebased[partition] = ends[partition] = bound.next
    return Beginning(ends, gaps, rebased)


def _same_place(head: Entry, place: Place, accepted: Accepted) -> None:
    if accepted.adopt:
        return
    for what in ("format", "base", "dead_letters"):
        recorded, configured = getattr(head.place, what), getattr(place, what)
        if recorded != configured:
            raise another_place(head.app, what.replace("_", "-"), recorded, configured)
