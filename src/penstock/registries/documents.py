"""Schemas that are JSON documents: read with a limit on their size, and their names held against what columns may
be called. A document from a registry is anybody's: every fault is a ValueError with a sentence."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, TypeGuard

from penstock.values.plain import Number, Refusal, names, shown

MAX_TEXT = 1_000_000  # characters
MAX_TYPES = 10_000  # in one schema, at all depths

_SURROGATE = re.compile("[\ud800-\udfff]")


def parsed(text: str) -> Any:
    """The JSON of a schema; numbers stay the text they are."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"the schema is longer than {MAX_TEXT} characters")
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_int=Number, parse_float=Number, parse_constant=_constant
        )
    except RecursionError:
        raise ValueError("the schema is nested too deep") from None
    except json.JSONDecodeError as why:
        raise ValueError(f"the schema is not JSON: {why}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("the schema has an object with the same key twice")
    return found


def _constant(name: str) -> None:
    raise ValueError(f"the schema is not JSON: {name}")


def is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and not isinstance(value, Number)


def at(path: str) -> str:
    """The place of a fault, for people."""
    return f"the field '{path}'" if path else "the schema"


def check_names(given: list[str], path: str) -> None:
    """Can these be columns side by side? A ValueError says why not."""
    if _SURROGATE.search("".join(given)):
        raise ValueError(f"{at(path)} has a field whose name holds half of a surrogate pair")
    twice, times = Counter(given).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{at(path)} has two fields {shown(twice)}")
    try:
        names(dict.fromkeys(given), path)
    except Refusal as why:
        raise ValueError(why.text.replace("the key", "the field", 1)) from None
