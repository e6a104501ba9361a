"""A JSON Schema as columns: what its messages have, by the schema alone.

Whether a message keeps its schema is not judged here, only what its values look like. What has no one look (any
value, a choice between kinds, a type inside itself, what is nested too deep for a column) is JSON text: that holds
whatever comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from penstock.errors import shown
from penstock.formats.json_schema.meeting import BINARY, both, either
from penstock.formats.json_schema.references import Documents
from penstock.registries.documents import MAX_TYPES, check_names, is_text, parsed
from penstock.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    JSON,
    LONG,
    NOTHING,
    STRING,
    TIMESTAMP,
    Array,
    Field,
    Map,
    Schema,
    Struct,
    Type,
)
from penstock.values.plain import MAX_COLUMN_DEPTH, Number, integer, kind_of, under

MAX_STEPS = 100  # from a schema into a schema
MAX_CHOICES = 100  # of one schema: more are JSON text

_FORMATS = {"date": DATE, "date-time": TIMESTAMP}
_SCALARS = {"integer": LONG, "number": DOUBLE, "boolean": BOOLEAN, "null": NOTHING}
_OF_OBJECTS = ("properties", "additionalProperties", "patternProperties")
_OF_ARRAYS = ("items", "prefixItems")


def document(text: str) -> dict[str, Any]:
    """The JSON of a schema. A ValueError if it is none."""
    found = parsed(text)
    if not isinstance(found, dict):
        raise ValueError(f"the schema is {kind_of(found)}, and a JSON Schema of messages is an object")
    return found


def record_name(document: Mapping[str, Any]) -> str | None:
    """What a schema calls its messages: its `$id` (`id` in draft 4), or else its `title`."""
    is_old = "draft-04" in str(document.get("$schema"))
    for word in ("$id", "id", "title") if is_old else ("$id", "title"):
        name = document.get(word)
        if is_text(name) and name:
            return name
    return None


def columns(document: Mapping[str, Any], references: Mapping[str, Any] | None = None) -> Schema:
    """The columns of messages with this schema. `references`: the documents that it may refer to, by name.

    An object that says nothing of its properties has no columns yet. A ValueError if it is not an object, or if
    a table could not have its columns."""
    found = _Reading(Documents(document, references or {})).type(document, _Place(document))
    if isinstance(found, Struct):
        _check_names(found, "")
        return found
    if isinstance(found, Map) or found == JSON:
        return Struct()
    raise ValueError(f"the schema is one of {shown(str(found))}, and messages are objects")


@dataclass(frozen=True)
class _Place:
    """Where a schema is met: the document it is in, how deep its values are, how far we went."""

    document: Any
    depth: int = 0
    steps: int = 0

    @property
    def inside(self) -> _Place:
        return replace(self, depth=self.depth + 1)


class _Reading:
    """One schema on its way in. Its types are counted, and those that are being read are known."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._types = 0
        self._open: list[int] = []

    def type(self, schema: Any, place: _Place) -> Type:
        """What values of a schema look like."""
        self._types += 1
        if self._types > MAX_TYPES:
            raise ValueError(f"the schema has more than {MAX_TYPES} types")
        if not isinstance(schema, dict) or id(schema) in self._open or place.steps == MAX_STEPS:
            return JSON
        self._open.append(id(schema))
        found = self._all(schema, replace(place, steps=place.steps + 1))
        self._open.pop()
        return found

    def _all(self, schema: dict[str, Any], place: _Place) -> Type:
        """All that a schema says of the same value, together."""
        said = [self._own(schema, place)]
        if "$ref" in schema and (found := self._documents.find(schema["$ref"], place.document)):
            said.append(self.type(found[0], replace(place, document=found[1])))
        said += [self.type(each, place) for each in _schemas(schema, "allOf")]
        for word in ("anyOf", "oneOf"):
            if choices := _schemas(schema, word):
                said.append(self._any(choices, place))
        return reduce(both, said)

    def _any(self, choices: list[Any], place: _Place) -> Type:
        if not choices or len(choices) > MAX_CHOICES:
            return JSON
        kinds = (self.type(each, place) for each in choices)
        return reduce(either, kinds)

    def _own(self, schema: dict[str, Any], place: _Place) -> Type:
        """What a schema says by itself, without those it points to."""
        named = schema.get("type", _implied(schema))
        kinds = named if isinstance(named, list) else [named]
        if not kinds or len(kinds) > MAX_CHOICES:
            return JSON
        found = (self._kind(kind, schema, place) for kind in kinds)
        return reduce(either, found)

    def _kind(self, kind: Any, schema: dict[str, Any], place: _Place) -> Type:
        if kind == "string":
            return _text(schema)
        if kind in ("object", "array") and place.depth < MAX_COLUMN_DEPTH:
            return self._object(schema, place) if kind == "object" else self._array(schema, place)
        if kind is None:
            return _looks(schema)
        return _SCALARS.get(kind, JSON) if is_text(kind) else JSON

    def _object(self, schema: dict[str, Any], place: _Place) -> Type:
        given = schema.get("properties")
        if isinstance(given, dict) and given:
            # What is never there, or never anything but null, has no column.
            read = ((name, self.type(inner, place.inside)) for name, inner in given.items() if inner is not False)
            fields = tuple(Field(name, kind) for name, kind in read if kind != NOTHING)
            return Struct(fields) if fields else JSON
        patterns, rest = schema.get("patternProperties"), schema.get("additionalProperties")
        others = [
            *(patterns.values() if isinstance(patterns, dict) else ()),
            *([rest] if isinstance(rest, dict) else ()),
        ]
        if not others:
            return JSON
        of = self._any(others, place.inside)
        return Map(JSON if of == NOTHING else of)

    def _array(self, schema: dict[str, Any], place: _Place) -> Type:
        items = schema.get("items")
        inner = [*_schemas(schema, "prefixItems"), *(items if isinstance(items, list) else [items])]
        of = self._any(inner, place.inside)
        return Array(JSON if of == NOTHING else of)


def _check_names(kind: Type, path: str) -> None:
    if isinstance(kind, Array | Map):
        _check_names(kind.of, f"{path}[]" if isinstance(kind, Array) else f"{path}{{}}")
    elif isinstance(kind, Struct):
        check_names([field.name for field in kind], path)
        for field in kind:
            _check_names(field.type, under(path, field.name))


def _schemas(schema: dict[str, Any], word: str) -> list[Any]:
    found = schema.get(word)
    return found if isinstance(found, list) else []


def _implied(schema: dict[str, Any]) -> str | None:
    """The kind of a schema that names none, where its words are meant for one."""
    if any(word in schema for word in _OF_OBJECTS):
        return "object"
    return "array" if any(word in schema for word in _OF_ARRAYS) else None


def _text(schema: dict[str, Any]) -> Type:
    if schema.get("contentEncoding") == "base64":
        return BINARY
    format = schema.get("format")
    return _FORMATS.get(format, STRING) if is_text(format) else STRING


def _looks(schema: dict[str, Any]) -> Type:
    """The type of the only values that there may be; JSON text if there may be any."""
    values = [schema["const"]] if "const" in schema else _schemas(schema, "enum")
    if not values or len(values) > MAX_TYPES:
        return JSON
    return reduce(either, map(_look, values))


def _look(value: Any) -> Type:
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, Number):
        return DOUBLE if integer(value) is None else LONG
    return STRING if isinstance(value, str) else JSON
