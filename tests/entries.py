"""Ledger entries for tests: complete, and different only where a test says so."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.contracts import File, Identity
from penstock.protocol.entry import Counts, Entry, Place, Portion

PLACE = Place(format="delta", base="/lake", dead_letters="/lake/dead_letters")
SOURCE = Identity(name="kafka:events", home="cluster-1", incarnation="topic-1")


def claim(number: int = 1, **changes: Any) -> Entry:
    """An entry that only says: this instance is the one now."""
    plain = Entry(
        number=number,
        id=f"id-{number}",
        app="shop",
        instance="me",
        time="2026-01-31T12:00:00.000+00:00",
        config="0123456789abcdef",
        source=SOURCE,
        place=PLACE,
        ends={"0": 0},
    )
    return msgspec.structs.replace(plain, **changes)


def portion(previous: int = 0, **changes: Any) -> Portion:
    """Five rows in one file."""
    plain = Portion(rows=5, previous=previous, schema={"a": "long"}, files=[File("part-1.parquet", 100, 5)])
    return msgspec.structs.replace(plain, **changes)


def batch(number: int, **changes: Any) -> Entry:
    """A decided batch of five messages for the table `order`."""
    plain = claim(
        number,
        ends={"0": number * 5},
        ranges={"0": ((number - 1) * 5, number * 5)},
        counts={"0": Counts(read=5, rows=5, bytes=500)},
        tables={"order": portion(previous=number - 1)},
        routing=f"routing/{number}.parquet",
        heads={"order": number},
    )
    return msgspec.structs.replace(plain, **changes)
