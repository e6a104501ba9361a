"""Where schemas are kept by those who write messages, and what penstock needs to know of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Registered:
    """A schema as a registry has it."""

    id: int
    kind: str
    """`AVRO`, `PROTOBUF` or `JSON`."""
    text: str
    references: tuple[tuple[str, str], ...] = ()
    """Name → text of all the schemas that this one needs, each after those that it needs itself."""
    subjects: tuple[str, ...] = ()
    """The subjects that have it, sorted."""


class UnknownSchema(Exception):
    """The registry answered clearly: it has no such schema."""


class Registry(Protocol):
    """Somewhere that gives out schemas by id. What an id means never changes."""

    @property
    def folder(self) -> str:
        """What copies of its schemas are filed under: the same for everyone who uses this registry, no other's."""
        ...

    def look_up(self, id: int) -> Registered:
        """The schema with an id. Raises `UnknownSchema` if the registry says that it has none, `Transient` if it
        says nothing that can be trusted, `Refusal` if the schema is there and cannot be used."""
        ...
