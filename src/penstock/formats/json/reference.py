"""The reference path: one message at a time, in plain Python, written to be obviously right.

It defines what is correct. The fast path must agree with it or decline.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from penstock.values.plain import Number, Refusal, kind_of, shown

MAX_DEPTH = 100

# A string is taken whole and never looked at twice, also one without an end: time stays linear.
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(value: bytes, max_bytes: int, *, reject_duplicates: bool = False) -> dict[str, Any]:
    """The one object that a message holds, or a `Refusal`."""
    if not value:
        raise _refuse("json.empty", "the value is empty")
    if len(value) > max_bytes:
        raise _refuse("json.too-large", f"the value has {len(value)} bytes, the limit is {max_bytes}")
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise _refuse("json.not-utf8", f"byte {cause.start} is not valid UTF-8") from None
    if _is_too_deep(text):
        raise _refuse("json.too-deep", f"values are nested more than {MAX_DEPTH} deep")
    found = _load(text, reject_duplicates)
    if not isinstance(found, dict):
        raise _refuse("json.not-an-object", f"the value is {kind_of(found)}, not an object")
    return found


def _refuse(code: str, text: str) -> Refusal:
    return Refusal("parse", code, text)


def _is_too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False  # so few cannot nest deeper
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += bool(found[1]) - bool(found[2])
        if depth > MAX_DEPTH:
            return True
    return False


def _load(text: str, reject_duplicates: bool) -> Any:
    def constant(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if reject_duplicates and len(found) != len(items):
            twice = Counter(name for name, _ in items).most_common(1)[0][0]
            raise _refuse("json.duplicate-key", f"the key {shown(twice)} occurs more than once in an object")
        return found

    try:
        found = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=constant, object_pairs_hook=pairs)
    except (ValueError, RecursionError) as cause:
        raise _refuse("json.malformed", f"not well-formed JSON: {cause}") from None
    _check_text(found)
    return found


def _check_text(value: Any) -> None:
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise _refuse("json.surrogate", "a string holds half of a surrogate pair, which is not a character")
    elif isinstance(value, list):
        for element in value:
            _check_text(element)
    elif isinstance(value, dict):
        for name, element in value.items():
            _check_text(name)
            _check_text(element)
