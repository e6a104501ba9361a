"""The types that an Avro schema is made of, as values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


@dataclass(frozen=True, slots=True)
class Logical:
    """What the values of a type mean beyond their encoding."""

    name: str
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Primitive:
    name: str
    logical: Logical | None = None


@dataclass(frozen=True, slots=True)
class Fixed:
    name: str
    size: int
    logical: Logical | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    symbols: tuple[str, ...]
    default: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Items:
    """An array of one type."""

    of: AvroType

    @cached_property
    def width(self) -> int:
        """How many values an element makes in its columns."""
        return width(self.of)


@dataclass(frozen=True)
class Entries:
    """A map from text to one type."""

    of: AvroType

    @cached_property
    def width(self) -> int:
        """How many values an entry makes in its columns."""
        return 1 + width(self.of)


@dataclass(frozen=True, slots=True)
class RecordField:
    name: str
    type: AvroType
    default: str | None = None
    """As JSON text; None if there is no default."""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    fields: tuple[RecordField, ...]
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Union:
    branches: tuple[AvroType, ...]

    @cached_property
    def filled(self) -> tuple[int, ...]:
        """The places of the branches that hold something."""
        return tuple(place for place, branch in enumerate(self.branches) if kind(branch) != "null")

    @cached_property
    def wide(self) -> str | None:
        """The one number type that holds the values of all branches, where there is one."""
        branches = [self.branches[place] for place in self.filled]
        plain = {branch.name for branch in branches if isinstance(branch, Primitive) and not branch.logical}
        if len(plain) != len(branches):
            return None
        return {frozenset({"int", "long"}): "long", frozenset({"float", "double"}): "double"}.get(frozenset(plain))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names under which the values of the branches stand: that of the type, without its namespace where it is
        the only one of that name in any case."""
        plain = [short(branch.name) if isinstance(branch, Named) else kind(branch) for branch in self.branches]
        uses = Counter(name.lower() for name in plain)
        found: dict[str, str] = {}
        for name, branch in zip(plain, self.branches, strict=True):
            if uses[name.lower()] > 1 and isinstance(branch, Named) and "." in branch.name:
                name = branch.name.replace(".", "_")
            while name.lower() in found:
                name += "_"
            found[name.lower()] = name
        return tuple(found.values())


AvroType = Primitive | Fixed | Enum | Items | Entries | Record | Union
Named = Record | Enum | Fixed

_KINDS = {Fixed: "fixed", Enum: "enum", Items: "array", Entries: "map", Record: "record", Union: "union"}


def short(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition(".")[2]


def kind(type: AvroType) -> str:
    """The word that Avro has for what a type is encoded as."""
    return type.name if isinstance(type, Primitive) else _KINDS[type.__class__]


def width(type: AvroType) -> int:
    """How many values one value makes in its columns, besides those inside of its arrays and maps."""
    if isinstance(type, Record):
        return max(1, sum(width(field.type) for field in type.fields))
    return sum(map(width, type.branches)) if isinstance(type, Union) else 1


def least_size(type: AvroType) -> int:
    """The fewest bytes that a value takes."""
    if isinstance(type, Record):
        return sum(least_size(field.type) for field in type.fields)
    if isinstance(type, Fixed):
        return type.size
    return {"null": 0, "float": 4, "double": 8}.get(kind(type), 1)
