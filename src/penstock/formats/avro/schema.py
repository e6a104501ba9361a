"""What an Avro schema says: a tree of types, read from text that nobody vouches for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.formats.avro.model import (
    PRIMITIVES,
    AvroType,
    Entries,
    Enum,
    Fixed,
    Items,
    Logical,
    Named,
    Primitive,
    Record,
    RecordField,
    Union,
    kind,
)
from penstock.values.plain import shown

MAX_TEXT = 1_000_000
MAX_DEPTH = 64
MAX_NODES = 10_000
MAX_REFERENCES = 1_000
MAX_PRECISION = 1_000
MAX_FIXED = 2**31 - 1

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}", re.ASCII)  # a message can repeat one as often as it has bytes
_LOGICAL = {
    "int": {"date", "time-millis"},
    "long": {
        "time-micros",
        "timestamp-millis",
        "timestamp-micros",
        "timestamp-nanos",
        "local-timestamp-millis",
        "local-timestamp-micros",
        "local-timestamp-nanos",
    },
    "bytes": {"decimal"},
    "string": {"uuid"},
    "fixed": {"decimal", "uuid", "duration"},
}
_FIXED_SIZES = {"uuid": 16, "duration": 12}


def parse(text: str, references: Sequence[str] = ()) -> AvroType:
    """The type that a schema text describes; `references` are the texts that define names it uses, each after those
    it needs itself. ValueError says what is wrong, for people."""
    if len(references) > MAX_REFERENCES:
        raise ValueError(f"the Avro schema has {len(references)} references, the limit is {MAX_REFERENCES}")
    names: dict[str, _Known] = {}
    try:
        for reference in dict.fromkeys(references):
            _Parser(names).top(reference)
        return _Parser(names).top(text)
    except RecursionError:
        raise ValueError("the Avro schema is nested too deep") from None


@dataclass(slots=True)
class _Known:
    """A named type, and what it costs to use it once more. There is no type yet while it is being defined."""

    type: Named | None
    nodes: int = 0
    height: int = 0


class _Parser:
    """One schema text on its way to types. Nodes count as often as they are used: ten lines could mean 2^64 columns."""

    def __init__(self, names: dict[str, _Known]) -> None:
        self._names, self._nodes, self._deepest = names, 0, 0

    def top(self, text: str) -> AvroType:
        if len(text) > MAX_TEXT:
            raise ValueError(f"the Avro schema has {len(text)} characters, the limit is {MAX_TEXT}")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as cause:
            raise ValueError(f"the Avro schema is not well-formed JSON: {cause}") from None
        return self._type(found, "", 1)

    def _type(self, given: Any, space: str, depth: int) -> AvroType:
        self._count(1, depth)
        if isinstance(given, str):
            return Primitive(given) if given in PRIMITIVES else self._reference(given, space, depth)
        if isinstance(given, list):
            return self._union(given, space, depth)
        if not isinstance(given, dict):
            raise ValueError(f"the Avro schema has {_shown(given)} where a type is expected")
        inner = given.get("type")
        if not isinstance(inner, str):
            if inner is None:
                raise ValueError(f"the Avro schema has an object without 'type': {_shown(given)}")
            return self._type(inner, space, depth + 1)
        return self._described(inner, given, space, depth)

    def _described(self, word: str, given: dict[str, Any], space: str, depth: int) -> AvroType:
        if word in ("record", "error", "enum", "fixed"):
            return self._named(word, given, space, depth)
        if word in ("array", "map"):
            inner = "items" if word == "array" else "values"
            if inner not in given:
                raise ValueError(f"the Avro schema has a type '{word}' without '{inner}'")
            of = self._type(given[inner], space, depth + 1)
            return Items(of) if word == "array" else Entries(of)
        if word in PRIMITIVES:
            return Primitive(word, _logical(given, word, None))
        return self._reference(word, space, depth)

    def _count(self, nodes: int, depth: int) -> None:
        self._nodes += nodes
        self._deepest = max(self._deepest, depth)
        if self._nodes > MAX_NODES:
            raise ValueError(f"the Avro schema has more than {MAX_NODES} types, counted as often as they are used")
        if depth > MAX_DEPTH:
            raise ValueError(f"the Avro schema is nested more than {MAX_DEPTH} deep")

    def _reference(self, name: str, space: str, depth: int) -> AvroType:
        known = self._names.get(_full(name, space)) or self._names.get(name)
        if known is None:
            raise ValueError(f"the Avro schema uses the type {shown(name)}, which is not defined before")
        if known.type is None:
            raise ValueError(f"the Avro type {shown(name)} contains itself: recursive types cannot be columns")
        self._count(known.nodes - 1, depth + known.height)
        return known.type

    def _named(self, word: str, given: dict[str, Any], space: str, depth: int) -> Named:
        name = _name_of(given, word, space)
        if name in self._names:
            raise ValueError(f"the Avro schema defines the name {shown(name)} twice")
        known = self._names[name] = _Known(None)
        before, self._deepest, outer = self._nodes, depth, self._deepest
        inside = name.rpartition(".")[0]
        aliases = tuple(_full(alias, inside) for alias in _texts(given, "aliases"))
        known.type = (
            _enum(given, name, aliases)
            if word == "enum"
            else _fixed(given, name, aliases)
            if word == "fixed"
            else Record(name, self._fields(given, name, depth), aliases)
        )
        known.nodes, known.height = self._nodes - before + 1, self._deepest - depth
        self._deepest = max(outer, self._deepest)
        return known.type

    def _fields(self, given: dict[str, Any], record: str, depth: int) -> tuple[RecordField, ...]:
        listed = given.get("fields")
        if not isinstance(listed, list):
            raise ValueError(f"the Avro record {shown(record)} has no list of fields")
        found: dict[str, RecordField] = {}
        for field in listed:
            name = field.get("name") if isinstance(field, dict) else None
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise ValueError(f"the Avro record {shown(record)} has a field without a proper name: {_shown(field)}")
            if name in found:
                raise ValueError(f"the Avro record {shown(record)} has two fields {shown(name)}")
            if "type" not in field:
                raise ValueError(f"the field {shown(name)} of the Avro record {shown(record)} has no type")
            type = self._type(field["type"], record.rpartition(".")[0], depth + 1)
            default = json.dumps(field["default"]) if "default" in field else None
            found[name] = RecordField(name, type, default, tuple(_texts(field, "aliases")))
        return tuple(found.values())

    def _union(self, given: list[Any], space: str, depth: int) -> Union:
        if not given:
            raise ValueError("the Avro schema has a union of nothing")
        branches = tuple(self._type(branch, space, depth + 1) for branch in given)
        seen = set()
        for branch in branches:
            word = branch.name if isinstance(branch, Named) else kind(branch)
            if word == "union":
                raise ValueError("the Avro schema has a union directly inside a union")
            if word in seen:
                raise ValueError(f"the Avro schema has a union with two branches {shown(word)}")
            seen.add(word)
        return Union(branches)


def _shown(given: Any) -> str:
    return shown(given if isinstance(given, str) else json.dumps(given))


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _texts(given: dict[str, Any], key: str) -> list[str]:
    listed = given.get(key, [])
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise ValueError(f"the Avro schema has '{key}' that is not a list of texts: {_shown(listed)}")
    return listed


def _name_of(given: dict[str, Any], word: str, space: str) -> str:
    name, own = given.get("name"), given.get("namespace", space)
    if not isinstance(name, str) or not isinstance(own, str):
        raise ValueError(f"the Avro schema has a type '{word}' without a proper name: {_shown(given)}")
    full = _full(name, own)
    parts = full.removeprefix(".").split(".")
    if not all(_NAME.fullmatch(part) for part in parts) or parts[-1] in PRIMITIVES:
        raise ValueError(f"the Avro schema has a type '{word}' whose name is not allowed: {shown(full)}")
    return ".".join(parts)


def _enum(given: dict[str, Any], name: str, aliases: tuple[str, ...]) -> Enum:
    symbols, default = _texts(given, "symbols"), given.get("default")
    if not symbols or len(set(symbols)) != len(symbols) or not all(map(_NAME.fullmatch, symbols)):
        raise ValueError(f"the symbols of the Avro enum {shown(name)} are not names, each once")
    if len(symbols) > MAX_NODES:
        raise ValueError(f"the Avro enum {shown(name)} has more than {MAX_NODES} symbols")
    if default is not None and default not in symbols:
        raise ValueError(f"the default of the Avro enum {shown(name)} is none of its symbols")
    return Enum(name, tuple(symbols), default, aliases)


def _fixed(given: dict[str, Any], name: str, aliases: tuple[str, ...]) -> Fixed:
    size = given.get("size")
    if type(size) is not int or not 0 <= size <= MAX_FIXED:
        raise ValueError(f"the Avro fixed {shown(name)} has no proper size: {_shown(size)}")
    return Fixed(name, size, _logical(given, "fixed", size), aliases)


def _logical(given: dict[str, Any], word: str, size: int | None) -> Logical | None:
    """The logical type of a described type. One that is unknown or does not hold together counts as none, as the
    specification has it."""
    name = given.get("logicalType")
    if not isinstance(name, str) or name not in _LOGICAL.get(word, ()):
        return None
    if name == "decimal":
        return _decimal(given, size)
    return Logical(name) if size is None or size == _FIXED_SIZES[name] else None


def _decimal(given: dict[str, Any], size: int | None) -> Logical | None:
    precision, scale = given.get("precision"), given.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or not (0 <= scale <= precision and precision > 0):
        return None
    if precision > MAX_PRECISION:
        raise ValueError(f"the Avro schema has a decimal of {precision} digits, the limit is {MAX_PRECISION}")
    fits = size is None or (size > 0 and (size > 1_000 or 10**precision - 1 < 2 ** (8 * size - 1)))
    return Logical("decimal", precision, scale) if fits else None
