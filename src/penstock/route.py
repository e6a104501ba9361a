"""What gives a message its type, and which types are wanted."""

from __future__ import annotations

from typing import Annotated, Literal

import re2
from pydantic import AfterValidator, Field

from penstock.declared import Declared
from penstock.errors import shown

MAX_PATTERN = 1_000

Unrouted = Literal["create", "keep", "dead-letter", "filter"]
SCHEMA_PARTS = ("record", "subject", "schema")
"""Routes that only a format with schemas can take."""


def _pattern(text: str) -> str:
    if len(text) > MAX_PATTERN:
        raise ValueError(f"is longer than {MAX_PATTERN} characters")
    try:
        re2.compile(text, _quiet())
    except re2.error as cause:
        why = bytes(cause.args[0]).decode("utf-8", "replace")  # it comes as bytes
        raise ValueError(f"is not an RE2 pattern, such as ^(orders|returns)$: {shown(why)}") from None
    return text


def _quiet() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    return options


class FieldRoute(Declared):
    """The type is a field of the value; dots reach into objects."""

    field: str = Field(min_length=1)
    """The name of the field, or a dotted path to it."""


class HeaderRoute(Declared):
    """The type is the value of a message header."""

    header: str = Field(min_length=1)
    """The name of the header. Of several headers with this name the last one counts."""


class ConstantRoute(Declared):
    """Every message has the same type, whatever it holds."""

    constant: str = Field(min_length=1)
    """The name of the type."""


class Route(Declared):
    """What gives a message its type, and which types are wanted at all."""

    by: Literal["topic", "key", "record", "subject", "schema"] | FieldRoute | HeaderRoute | ConstantRoute = "topic"
    """What names the type: the topic, the message key, the name of the record, the subject or the id of its schema,
    a field of the value, a header, or a name for all."""
    allow: Annotated[str, AfterValidator(_pattern)] | None = None
    """An RE2 pattern, searched for in the type's name. Types without a match are counted as filtered."""

    unrouted: Unrouted = "create"
    """What becomes of types that have no table and that nobody declared: they get one, they are kept in one table
    until `penstock adopt` makes theirs, they are dead letters, or they are filtered."""

    @property
    def field(self) -> str | None:
        return self.by.field if isinstance(self.by, FieldRoute) else None
