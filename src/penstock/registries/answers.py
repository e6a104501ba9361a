"""What a registry answered, taken apart. Nothing of it is believed before it has been looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import shown
from penstock.registries.http import MAX_BODY, Answer
from penstock.values.plain import Refusal

KINDS = ("AVRO", "PROTOBUF", "JSON")
MAX_REFERENCES = 100
MAX_DEPTH = 10


class Odd(ValueError):
    """An answer that is not what was asked for. Its text is fit to be shown."""


@dataclass(frozen=True)
class Reference:
    """How one schema names another: as its text calls it, and where the registry has it."""

    name: str
    subject: str
    version: int

    def __str__(self) -> str:
        return f"version {self.version} of '{shown(self.subject)}'"


@dataclass(frozen=True)
class Stored:
    """A schema as one answer shows it, with references that lead to further ones. What was not told is missing."""

    kind: str
    text: str
    references: tuple[Reference, ...] = ()
    id: int | None = None
    version: int | None = None


def content(answer: Answer) -> dict[str, Any]:
    """The object that an answer consists of."""
    if answer.status != 200:
        raise Odd(f"status {answer.status} {answer.message}".strip())
    if not isinstance(answer.content, dict):
        raise Odd("no JSON object")
    return answer.content


def stored(answer: Answer, *, id: int | None = None, subject: str | None = None, version: int | None = None) -> Stored:
    """The schema that an answer holds: the one that was asked for, as far as the answer tells."""
    told = content(answer)
    for name, asked in (("id", id), ("subject", subject), ("version", version)):
        if asked is not None and told.get(name, asked) != asked:
            raise Odd(f"another {name} than the one that was asked for")
    schema = text(told["schema"])
    kind = text(told.get("schemaType") or "AVRO")
    if kind not in KINDS:
        raise _unusable(f"is of a kind that penstock does not know: '{shown(kind, 60)}'")
    listed = told.get("references") or []
    if len(listed) > MAX_REFERENCES:
        raise _unusable(f"refers to more than {MAX_REFERENCES} others")
    references = tuple(Reference(text(r["name"]), text(r["subject"]), number(r["version"])) for r in listed)
    return Stored(
        kind, schema, references, *(None if told.get(n) is None else number(told[n]) for n in ("id", "version"))
    )


def names(answer: Answer) -> list[str]:
    return [text(name) for name in _elements(answer)]


def subjects_in(answer: Answer) -> list[str]:
    """The subjects of the versions that an answer lists."""
    return [text(version["subject"]) for version in _elements(answer)]


def numbers(answer: Answer) -> list[int]:
    return [number(value) for value in _elements(answer)]


def obstacles(answer: Answer) -> list[str]:
    """What the registry has against a schema."""
    told = content(answer)
    if not isinstance(told["is_compatible"], bool):
        raise Odd("neither yes nor no to whether a schema is compatible")
    if told["is_compatible"]:
        return []
    return [shown(text(message), 500) for message in (told.get("messages") or [])[:100]] or ["it is not compatible"]


def _elements(answer: Answer) -> list[Any]:
    if answer.status != 200 or not isinstance(answer.content, list):
        raise Odd(f"status {answer.status}, and no list {answer.message}".strip())
    return answer.content


def text(value: object) -> str:
    """A text that can be written down; JSON may hold halves of characters that cannot."""
    if not isinstance(value, str) or not value:
        raise Odd("no text where one is needed")
    value.encode()
    return value


def number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**32:
        raise Odd("no number where one is needed")
    return value


# --- references ----------------------------------------------------------------------------------


@dataclass
class Needed:
    """The schemas that one refers to, directly or not, in the order in which each can be read after what it needs."""

    find: Callable[[Reference], Stored]
    texts: dict[str, str] = field(default_factory=dict)
    _seen: dict[tuple[str, int], Stored] = field(default_factory=dict)

    def collect(self, schema: Stored, above: tuple[Reference, ...] = ()) -> None:
        for reference in schema.references:
            if reference in above or len(above) >= MAX_DEPTH:
                raise _unusable(f"refers to others more than {MAX_DEPTH} deep, or to itself")
            referred = self._referred(reference)
            if reference.name not in self.texts:
                self.collect(referred, (*above, reference))
                self.texts[reference.name] = referred.text
            if self.texts[reference.name] != referred.text:
                raise _unusable(f"means two different schemas by the name '{shown(reference.name)}'")
            if len(self.texts) > MAX_REFERENCES:
                raise _unusable(f"refers to more than {MAX_REFERENCES} others")

    def _referred(self, reference: Reference) -> Stored:
        place = (reference.subject, reference.version)
        if place not in self._seen:
            if len(self._seen) >= MAX_REFERENCES:
                raise _unusable(f"refers to more than {MAX_REFERENCES} others")
            self._seen[place] = self.find(reference)
            if sum(len(schema.text) for schema in self._seen.values()) > MAX_BODY:
                raise _unusable(f"and those that it refers to have more than {MAX_BODY:,} characters")
        return self._seen[place]


def _unusable(why: str) -> Refusal:
    """A schema that the registry has, and will always have like this: waiting would not help."""
    return Refusal("parse", "schema.unusable", f"the schema of the message {why}")
