"""What to do with a table next: one look at it, one share of a batch, one answer.

This is rule 5 of the protocol. A table is given batch k only if it carries exactly the batch
that precedes k in its own chain, is the table we left, and was not taken back since. Nothing is
ever committed from memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.contracts import Share, TableState
from penstock.merging import extended, holds
from penstock.protocol.entry import Entry
from penstock.schema import Schema


@dataclass(frozen=True)
class Carried:
    """The table has it already: a lost reply, another instance, a restart."""


@dataclass(frozen=True)
class Create:
    """There is no table yet: make it with the files in it."""


@dataclass(frozen=True)
class Evolve:
    """The table lacks columns of the files: add them first."""

    schema: Schema


@dataclass(frozen=True)
class Commit:
    """Everything is as the entry says: add the files."""


@dataclass(frozen=True)
class Park:
    """The table is not what we left, or cannot take the files. Somebody must look."""

    code: str
    reason: str


Step = Carried | Create | Evolve | Commit | Park


def next_step(state: TableState | None, share: Share, expected_id: str | None) -> Step:
    """What to do with a table in this state, given the share of the next batch in its chain."""
    if state is None and share.is_new and not share.previous and not share.is_emptied:
        return Create()
    if why := another(state, share.batch if state is None and share.is_emptied else share.previous, expected_id):
        return why
    assert state is not None
    if state.carried >= share.batch:
        return Carried()
    if share.is_emptied:
        return Park("table.withdrawn", f"it carried batch {share.batch} long ago, and does not any more")
    if state.unwritable:
        return Park("table.unwritable", state.unwritable)
    if state.carried != share.previous:
        return Park("table.off-chain", f"it carries batch {state.carried} where batch {share.previous} belongs")
    return _fit(state, share)


def another(state: TableState | None, carried: int, expected_id: str | None) -> Park | None:
    """Why this is not the table that we left, carrying that batch; None if it is."""
    if state is None:
        return Park("table.dropped", f"it is gone, although it carried batch {carried}")
    if expected_id is not None and state.id != expected_id:
        return Park("table.recreated", f"it was dropped and made again: its id was {expected_id} and is now {state.id}")
    if state.restored:
        return Park("table.restored", "somebody restored an older version of it, and with it withdrew batches")
    if state.carried < carried:
        return Park("table.off-chain", f"it carries batch {state.carried} where batch {carried} belongs")
    return None


def _fit(state: TableState, share: Share) -> Step:
    if why := holds(state.schema, share.schema):
        return Park("table.schema", why)
    if state.partition_by != share.partition_by:
        return Park(
            "table.partitioning",
            f"it is partitioned by {list(state.partition_by)} and the files by {list(share.partition_by)}",
        )
    wanted = extended(state.schema, share.schema)
    return Commit() if wanted == state.schema else Evolve(wanted)


def pending(head: Entry, name: str, state: TableState | None, entry: Callable[[int], Entry]) -> list[int]:
    """The decided batches that a table does not carry yet, oldest first: its chain, walked back
    from the newest entry that lists it. Costs as many entries as there are pending."""
    known = head.ids.get(name)
    trusted = state is not None and known in (None, state.id)
    low = state.carried if state is not None and trusted else head.carried.get(name, 0)
    found: list[int] = []
    number = head.heads[name]
    while number > low:
        found.append(number)
        number = entry(number).tables[name].previous
    return found[::-1]
