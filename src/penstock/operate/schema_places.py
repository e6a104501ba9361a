"""Places where schemas are kept, spoken to the same way: a registry by id, a registry of types, a folder of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from penstock.errors import PenstockError, in_one_line, refused, shown
from penstock.operate.schema_records import Kept, records
from penstock.registries import UnknownSchema
from penstock.registries.answers import Needed, Reference, Stored
from penstock.registries.confluent import ConfluentRegistry
from penstock.values.plain import Refusal


@dataclass(frozen=True)
class Line:
    """One name at a place: what is there, or what is wrong with it."""

    name: str
    kind: str = ""
    versions: tuple[int, ...] = ()
    wrong: str = ""


@dataclass(frozen=True)
class Which:
    """Which schema of a name is meant; nothing set: the newest."""

    version: int | None = None
    id: int | None = None


NEWEST = Which()


class SchemaPlace(Protocol):
    """Somewhere that schemas are kept by name. What it cannot do raises PenstockError with a sentence."""

    @property
    def address(self) -> str:
        """Where it is, without credentials."""
        ...

    def lines(self) -> Iterator[Line]:
        """All that there is, in order."""
        ...

    def find(self, name: str, which: Which = NEWEST) -> Kept | None:
        """A schema with all that it needs; None if nothing has that name."""
        ...

    def needed(self, schema: Kept, references: Sequence[Reference]) -> Kept:
        """A schema that is not registered yet, with what it refers to."""
        ...

    def register(self, schema: Kept, references: Sequence[Reference]) -> int | None:
        """Keep a schema under its name. Its id, where schemas have one."""
        ...


def obstacles(place: SchemaPlace, schema: Kept, references: Sequence[Reference]) -> list[str]:
    """What a place has against a schema, before it is registered. Only registries by id have an opinion."""
    if isinstance(place, Subjects):
        return place.registry.compatibility(schema.name, schema.kind, schema.text, references)
    return []


def unusable(schema: Kept, why: object) -> PenstockError:
    return PenstockError(
        "schema.not-usable",
        f"the schema '{shown(schema.name)}' cannot be used: {why}",
        "messages that are written with it would be dead letters; correct the schema",
    )


def wrong_with(schema: Kept) -> str:
    try:
        records(schema)
    except ValueError as why:
        return in_one_line(why)
    return ""


# --- a registry by id ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Subjects:
    """The subjects of a schema registry, each with its versions."""

    registry: ConfluentRegistry

    @property
    def address(self) -> str:
        url = self.registry.url
        return url if isinstance(url, str) else ", ".join(url)

    def lines(self) -> Iterator[Line]:
        for subject in self.registry.subjects():
            try:
                versions = tuple(self.registry.versions(subject))
                newest = self.registry.latest(subject)
            except Refusal as why:
                yield Line(subject, wrong=why.text)
                continue
            except PenstockError as why:
                if why.code == "registry.no-subject":
                    continue  # it was deleted since it was listed
                raise
            yield Line(subject, newest.kind, versions, self._wrong(subject, newest))

    def _wrong(self, subject: str, newest: Stored) -> str:
        try:
            return wrong_with(self._whole(subject, newest))
        except (Refusal, UnknownSchema) as why:
            return why.text if isinstance(why, Refusal) else str(why)

    def find(self, name: str, which: Which = NEWEST) -> Kept | None:
        with self._sentences(name):
            if which.id is not None:
                return self._by_id(name, which.id)
            if which.version is not None:
                found = self._version(Reference(name, name, which.version))
                return self._whole(name, replace(found, version=which.version))
            try:
                return self._whole(name, self.registry.latest(name))
            except PenstockError as why:
                if why.code == "registry.no-subject":
                    return None
                raise

    def needed(self, schema: Kept, references: Sequence[Reference]) -> Kept:
        with self._sentences(schema.name):
            return self._whole(schema.name, Stored(schema.kind, schema.text, tuple(references)))

    def register(self, schema: Kept, references: Sequence[Reference]) -> int:
        return self.registry.register(schema.name, schema.kind, schema.text, references)

    def references(self, name: str) -> tuple[Reference, ...]:
        """What the newest version of a subject refers to."""
        try:
            return self.registry.latest(name).references
        except PenstockError as why:
            if why.code == "registry.no-subject":
                return ()
            raise

    def _by_id(self, name: str, id: int) -> Kept:
        found = self.registry.look_up(id)
        if found.subjects and name not in found.subjects:
            raise refused(
                "usage.other-subject",
                f"schema id {id} is not of '{shown(name)}' but of {shown(', '.join(found.subjects))}",
                "name that subject, or another id",
            )
        return Kept(name, found.kind, found.text, found.references, id)

    def _version(self, reference: Reference) -> Stored:
        return self.registry.version(reference)

    def _whole(self, name: str, found: Stored) -> Kept:
        needed = Needed(self._version)
        needed.collect(found)
        return Kept(name, found.kind, found.text, tuple(needed.texts.items()), found.id, found.version)

    @contextmanager
    def _sentences(self, name: str) -> Iterator[None]:
        """What is meant for messages, told to whoever asked."""
        try:
            yield
        except UnknownSchema as why:
            raise PenstockError(
                "registry.no-schema", str(why), "`penstock schemas list` shows the versions that there are"
            ) from None
        except Refusal as why:
            raise unusable(Kept(name, "", ""), why.text) from None
