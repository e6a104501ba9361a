"""The columns that messages bring: what they have together, which of them a table may get, and how many it has then."""

from __future__ import annotations

from collections.abc import Collection

from penstock.merging import merge, settled
from penstock.schema import NOTHING, Array, Field, Map, Schema, Struct, Type

TOO_WIDE = Struct((Field("", NOTHING),))
"""All that is told of a message that alone is too wide for its table. No key is empty, and what is never anything
but null makes no column: it can be merged with what others have."""


def merged(seen: Schema, found: Type) -> Schema:
    """The columns that were seen, with those of one more message, or of many."""
    both = merge(seen, found)
    assert isinstance(both, Struct)
    return both


def admitted(seen: Schema, table: Schema, reserved: Collection[str] = ()) -> Schema:
    """What was seen, without names that are penstock's own and without names that differ from another
    only in case: many readers could not tell those apart. The table's name stays, else the first one.
    Messages with the others are told so when they are fitted into the table."""
    taken = {field.name.lower(): field.name for field in table}
    fields = []
    for field in settled(seen):
        lower = field.name.lower()
        if lower not in reserved and taken.setdefault(lower, field.name) == field.name:
            have = table.get(field.name)
            fields.append(Field(field.name, _inside(field.type, have.type if have else None)))
    return Struct(tuple(fields))


def _inside(seen: Type, have: Type | None) -> Type:
    if isinstance(seen, Struct):
        return admitted(seen, have if isinstance(have, Struct) else Struct())
    if isinstance(seen, Array):
        return Array(_inside(seen.of, have.of if isinstance(have, Array) else None))
    return seen


def leaves(kind: Type) -> int:
    """How many columns a file has for it: those inside structs, also inside arrays, are columns too."""
    if isinstance(kind, Struct):
        return sum(leaves(field.type) for field in kind)
    return leaves(kind.of) if isinstance(kind, Array | Map) else 1


def bearable(found: Type, table: Schema, limit: int) -> Type:
    """The columns that one message brings to its table, unless with those alone there would be more than the limit."""
    have = leaves(table)
    if not isinstance(found, Struct) or leaves(found) + have <= limit:  # nulls count here, and are columns nowhere
        return found
    return found if leaves(settled(found)) + have <= limit else TOO_WIDE


def tells_too_wide(seen: Schema) -> bool:
    """Was there a message that alone is too wide for its table?"""
    return "" in seen


def beyond(schema: Schema, table: Schema) -> Schema:
    """The columns that a table lacks, also inside of others."""
    fields = []
    for field in schema:
        have = table.get(field.name)
        if have is None:
            fields.append(field)
        elif (inner := _beyond_inside(field.type, have.type)) is not None:
            fields.append(Field(field.name, inner))
    return Struct(tuple(fields))


def _beyond_inside(kind: Type, have: Type) -> Type | None:
    if isinstance(kind, Struct) and isinstance(have, Struct):
        found = beyond(kind, have)
        return found if found.fields else None
    if isinstance(kind, Array | Map) and type(kind) is type(have):
        inner = _beyond_inside(kind.of, have.of)
        return None if inner is None else type(kind)(inner)
    return None
