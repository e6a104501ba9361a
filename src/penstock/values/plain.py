"""A parsed message as plain Python values, whatever format it came in: objects, arrays, strings, truth
values, and numbers that stay the text they came as until a column says what they are, so that nothing
is rounded on the way. What formats with types have beyond that is written as JSON would have it: bytes in
base64, times as RFC 3339 has them. Only what is no number, `nan` and the infinite ones, is a `float`."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from penstock.merging import merge
from penstock.schema import BOOLEAN, DOUBLE, JSON, LONG, NOTHING, STRING, Array, Field, Struct, Type

MAX_TEXT = 500
MAX_COLUMN_DEPTH = 16
"""What is nested deeper is inferred as JSON text: readers of tables (delta-rs, DuckDB) give up on deeper columns."""

_INTEGER = re.compile(r"-?\d+", re.ASCII)
_PLAIN = re.compile(r"[\w-]{1,60}")
_BAD_IN_COLUMN_NAMES = re.compile(r"[ ,;{}()=\x00-\x1f\x7f]")


class Number(str):
    """A JSON number, as it was written."""

    __slots__ = ()


@dataclass(frozen=True)
class Refusal(Exception):
    """Why a message is not a row: at which stage, under which code, in words."""

    stage: str
    code: str
    text: str

    def __post_init__(self) -> None:
        """Keys and values of a message may be in the text: it stays short, and harmless on a screen."""
        if len(self.text) > MAX_TEXT or not self.text.isprintable():
            cut = self.text if len(self.text) <= MAX_TEXT else self.text[: MAX_TEXT - 1] + "…"
            plain = "".join(c if c.isprintable() else "\ufffd" for c in cut)
            object.__setattr__(self, "text", plain)

    def __str__(self) -> str:
        return self.text


def text(value: Any) -> str:
    """A value as compact JSON text, numbers exactly as they came."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{text(str(name))}:{text(element)}" for name, element in value.items()) + "}"
    if isinstance(value, float):
        value = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return json.dumps(value, ensure_ascii=False)


def kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, Number | float):
        return "a number"
    return "a string" if isinstance(value, str) else "an array" if isinstance(value, list) else "an object"


def shown(name: str) -> str:
    return json.dumps(name if len(name) <= 60 else name[:60] + "…").replace("\x7f", "\\u007f")


# --- what a value looks like ---------------------------------------------------------------------


def infer(value: Any, path: str = "", levels: int = MAX_COLUMN_DEPTH) -> Type:
    """The type of a value nobody declared: integers are long, fractions double, strings stay
    strings, what is nested too deep for a column is JSON text. A `Refusal` for what no column
    could hold."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, Number):
        return _infer_number(value, path)
    if isinstance(value, float):
        return DOUBLE
    if isinstance(value, str):
        return STRING
    if not levels:
        return JSON
    if isinstance(value, list):
        from_elements: Type = NOTHING
        for element in value:
            from_elements = merge(from_elements, infer(element, f"{path}[]", levels - 1))
        return Array(from_elements)
    return Struct(tuple(Field(name, infer(value[name], under(path, name), levels - 1)) for name in names(value, path)))


def _infer_number(value: Number, path: str) -> Type:
    whole = integer(value)
    if whole is not None:
        if not -(2**63) <= whole < 2**63:
            raise Refusal("fit", "number.range", f"{path}: an integer beyond 64 bits")
        return LONG
    if not math.isfinite(float(value)):
        raise Refusal("fit", "number.range", f"{path}: a number beyond what a double holds")
    return DOUBLE


def integer(value: Number) -> int | None:
    """The integer that a number was written as; None if it has a fraction or an exponent.
    Longer than any column could hold, it is not converted: that would take time with its square."""
    if not _INTEGER.fullmatch(value):
        return None
    return int(value) if len(value) <= 20 else 2**64


def under(path: str, name: str) -> str:
    """The path to a key, for people: a name that is not plain is shown as a text, and of a long path its end."""
    inner = name if _PLAIN.fullmatch(name) else shown(name)
    near = path if len(path) <= 200 else "…" + path[-200:]
    return f"{near}.{inner}" if path else inner


def names(value: dict[str, Any], path: str) -> list[str]:
    """The keys of an object as column names, in order, or a `Refusal` if they cannot be that."""
    seen: dict[str, str] = {}
    for name in sorted(value):
        where = f" in '{path}'" if path else ""
        if not name or len(name) > 255 or _BAD_IN_COLUMN_NAMES.search(name):
            raise Refusal("fit", "column.name", f"the key {shown(name)}{where} cannot be a column name")
        if name.lower() in seen:
            raise Refusal(
                "fit",
                "column.case-clash",
                f"the keys {shown(seen[name.lower()])} and {shown(name)}{where} differ only in case",
            )
        seen[name.lower()] = name
    return list(seen.values())


def type_at(value: dict[str, Any], path: str) -> str:
    """The type that a message names at a dotted path, or a `Refusal`."""
    found: Any = value
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    if found is None:
        raise Refusal("identify", "type.missing", f"there is no '{path}' in the message, which gives it its type")
    if isinstance(found, Number) or not isinstance(found, str):
        raise Refusal("identify", "type.not-text", f"'{path}', which gives the message its type, is {kind_of(found)}")
    return found
