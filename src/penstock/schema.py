"""What a row is made of: columns and their types, and how two ideas of them become one.

Types have one written form, used in YAML, in the ledger and in messages to people:
``long``, ``array<string>``, ``struct<sku: string, qty: long>``, ``decimal(10, 2)``.
``json`` is a string column that holds the JSON text of whatever came.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

SCALARS = frozenset(
    "string long int short byte double float boolean date timestamp timestamp_ntz binary json nothing".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Scalar:
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Decimal:
    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Array:
    of: Type

    def __str__(self) -> str:
        return f"array<{self.of}>"


@dataclass(frozen=True, slots=True)
class Map:
    """Text to something: the only map that JSON knows."""

    of: Type

    def __str__(self) -> str:
        return f"map<string, {self.of}>"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: Type
    required: bool = False

    def __str__(self) -> str:
        plain = re.fullmatch(r"[A-Za-z_]\w*", self.name, re.ASCII)
        name = self.name if plain else "`" + self.name.replace("`", "``") + "`"
        return f"{name}: {self.type}{' not null' if self.required else ''}"


@dataclass(frozen=True)
class Struct:
    fields: tuple[Field, ...] = ()

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {field.name: field for field in reversed(self.fields)}

    @cached_property
    def _by_lower(self) -> dict[str, Field]:
        return {field.name.lower(): field for field in reversed(self.fields)}

    def __reduce__(self) -> tuple[type[Struct], tuple[tuple[Field, ...]]]:
        return Struct, (self.fields,)  # what is only there to be quick does not travel

    def __str__(self) -> str:
        return f"struct<{', '.join(map(str, self.fields))}>"

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def get(self, name: str) -> Field | None:
        return self._by_name.get(name)

    def twin(self, name: str) -> Field | None:
        """The field of this name in any case."""
        return self._by_lower.get(name.lower())

    def without(self, names: Iterable[str]) -> Struct:
        dropped = set(names)
        return Struct(tuple(field for field in self.fields if field.name not in dropped))


Type = Scalar | Decimal | Array | Map | Struct
Schema = Struct

STRING, LONG, DOUBLE, BOOLEAN = Scalar("string"), Scalar("long"), Scalar("double"), Scalar("boolean")
JSON, NOTHING, INT = Scalar("json"), Scalar("nothing"), Scalar("int")
TIMESTAMP, DATE = Scalar("timestamp"), Scalar("date")


def depth(kind: Type) -> int:
    """How many levels there are; of a column that holds one value, one."""
    if isinstance(kind, Struct):
        return 1 + max((depth(field.type) for field in kind), default=0)
    return 1 + depth(kind.of) if isinstance(kind, Array | Map) else 1


# --- written form --------------------------------------------------------------------------------

_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)|`(?P<quoted>(?:[^`]|``)*)`|(?P<number>\d+)|(?P<mark>[<>(),:]))")


class _Words:
    """The words of a written type, one after the other."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def next(self, *wanted: str) -> str:
        found = _TOKEN.match(self.text, self.at)
        word = found and (found["name"] or found["number"] or found["mark"] or found["quoted"])
        if not found or word is None or (wanted and word not in wanted):
            hope = " or ".join(f"'{w}'" for w in wanted) or "a name or a type"
            raise ValueError(f"'{self.text}' is not a type: expected {hope} at character {self.at + 1}")
        self.at = found.end()
        return word.replace("``", "`") if found["quoted"] is not None else word

    def follows(self, word: str) -> bool:
        found = _TOKEN.match(self.text, self.at)
        return found is not None and found.group().strip() == word


def parse(text: str) -> Type:
    """The type that a written form means; ValueError says where it goes wrong."""
    words = _Words(text)
    found = _type(words)
    if text[words.at :].strip():
        raise ValueError(f"'{text}' is not a type: nothing may follow character {words.at}")
    return found


def _type(words: _Words) -> Type:
    name = words.next()
    match name:
        case "array":
            words.next("<")
            found: Type = Array(_type(words))
            words.next(">")
            return found
        case "map":
            for mark in ("<", "string", ","):
                words.next(mark)
            found = Map(_type(words))
            words.next(">")
            return found
        case "struct":
            return _struct(words)
        case "decimal":
            words.next("(")
            precision = int(words.next())
            words.next(",")
            scale = int(words.next())
            words.next(")")
            return Decimal(precision, scale)
    if name not in SCALARS or name == "nothing":
        raise ValueError(
            f"'{name}' is not a type; there are {', '.join(sorted(SCALARS - {'nothing'}))}, array, map, struct, decimal"
        )
    return Scalar(name)


def _struct(words: _Words) -> Struct:
    words.next("<")
    fields: list[Field] = []
    while not words.follows(">"):
        if fields:
            words.next(",")
        name = words.next()
        words.next(":")
        fields.append(_field(words, name))
    words.next(">")
    return Struct(tuple(fields))


def _field(words: _Words, name: str) -> Field:
    found = _type(words)
    required = words.follows("not")
    if required:
        words.next("not")
        words.next("null")
    return Field(name, found, required)


def columns(written: Mapping[str, str]) -> Schema:
    """A schema from its columns, each in written form."""
    return Struct(tuple(_column(name, text) for name, text in written.items()))


@lru_cache(maxsize=10_000)
def _column(name: str, text: str) -> Field:
    words = _Words(text)
    found = _field(words, name)
    if text[words.at :].strip():
        raise ValueError(f"column '{name}': '{text}' is not a type")
    return found


def written(schema: Schema) -> dict[str, str]:
    """The columns of a schema, each in written form: the inverse of `columns`."""
    return {f.name: f"{f.type}{' not null' if f.required else ''}" for f in schema}
