"""Which of the columns that messages bring a table may get, and how many it has then."""

from __future__ import annotations

from collections.abc import Collection

from penstock.schema import Array, Field, Map, Schema, Struct, Type, settled


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
