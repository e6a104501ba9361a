"""DynamoDB's typed JSON as plain values: `{"N": "12"}` is the number 12, at every depth."""

from __future__ import annotations

import base64
import binascii
import decimal
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.values.plain import Number, Refusal, kind_of, shown, under

MAX_DEPTH = 100
MAX_DIGITS, FIRST_EXPONENT, LAST_EXPONENT = 38, -130, 125
"""What DynamoDB itself can hold of a number: so many digits, and the first of them this far from the point."""

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,4})?", re.ASCII)


def item(attributes: Any, path: str = "") -> dict[str, Any]:
    """An item's attributes by name, or a `Refusal` with the path to what is not one."""
    try:
        return _map(attributes, 0)
    except _Fault as fault:
        raise fault.refusal(path) from None


def unmarshalled(attribute: Any, path: str = "") -> Any:
    """The value of one typed attribute, or a `Refusal` with the path to what is not one.

    Sets are arrays in the order given. Numbers stay the text they came as, bytes their base64 text."""
    try:
        return _value(attribute, 0)
    except _Fault as fault:
        raise fault.refusal(path) from None


class _Fault(Exception):
    """What is wrong, and on the way out the steps to it: good attributes need no paths."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why, self.steps = why, list[str | int]()

    def refusal(self, path: str) -> Refusal:
        for step in reversed(self.steps):
            path = under(path, step) if isinstance(step, str) else f"{path}[{step}]"
        return Refusal("parse", "dynamodb.attribute", f"{path}: {self.why}" if path else self.why)


def _value(attribute: Any, depth: int) -> Any:
    if not isinstance(attribute, dict):
        raise _Fault(f"an attribute is an object with its type, and this is {kind_of(attribute)}")
    if len(attribute) != 1:
        found = " and ".join(shown(tag) for tag in list(attribute)[:3]) or "none"
        raise _Fault(f"an attribute has exactly one type, and this has {found}")
    [(tag, value)] = attribute.items()
    if tag in _SCALARS:
        return _SCALARS[tag](value)
    if tag in _SETS:
        return _list(tag, value, _SETS[tag])
    if tag not in ("M", "L"):
        raise _Fault(f"there is no type {shown(tag)}: there are {', '.join([*_SCALARS, *_SETS, 'M', 'L'])}")
    if depth == MAX_DEPTH:
        raise _Fault(f"values are nested more than {MAX_DEPTH} deep")
    return _map(value, depth + 1) if tag == "M" else _list(tag, value, partial(_value, depth=depth + 1))


def _map(attributes: Any, depth: int) -> dict[str, Any]:
    if not isinstance(attributes, dict):
        raise _Fault(f"attributes are an object of names, and this is {kind_of(attributes)}")
    found, name = {}, ""
    try:
        for name, attribute in attributes.items():
            found[name] = _value(attribute, depth)
    except _Fault as fault:
        fault.steps.append(name)
        raise
    return found


def _list(tag: str, elements: Any, read: Callable[[Any], Any]) -> list[Any]:
    if not isinstance(elements, list):
        raise _Fault(f"{tag} holds an array, and this is {kind_of(elements)}")
    found: list[Any] = []
    try:
        for element in elements:
            found.append(read(element))  # noqa: PERF401 (its length tells where a fault is)
    except _Fault as fault:
        fault.steps.append(len(found))
        raise
    return found


# --- one value -----------------------------------------------------------------------------------


def _text(value: Any, tag: str = "S") -> str:
    if not isinstance(value, str) or isinstance(value, Number):
        raise _Fault(f"{tag} holds a string, and this is {kind_of(value)}")
    return value


def _number(value: Any) -> Number:
    text = _text(value, "N")
    if len(text) > 300 or not _NUMBER.fullmatch(text):
        raise _Fault(f"N holds a number as text, and {shown(text)} is none")
    if len(text) > MAX_DIGITS or "e" in text or "E" in text:
        _check_reach(text)  # shorter ones are never out of reach
    return Number(text)


def _check_reach(text: str) -> None:
    number = decimal.Decimal(text)
    digits = len("".join(map(str, number.as_tuple().digits)).strip("0"))
    if digits > MAX_DIGITS:
        raise _Fault(f"the number has {digits} digits, and DynamoDB holds {MAX_DIGITS}")
    if digits and not FIRST_EXPONENT <= number.adjusted() <= LAST_EXPONENT:
        raise _Fault(f"the number {shown(text)} is beyond what DynamoDB holds")


def _bytes(value: Any) -> str:
    text = _text(value, "B")
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _Fault("B holds bytes as base64 text, and this is none") from None
    return text


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Fault(f"BOOL holds true or false, and this is {kind_of(value)}")
    return value


def _null(value: Any) -> None:
    if value is not True:
        raise _Fault("NULL holds true, and nothing else")


_SCALARS: dict[str, Callable[[Any], Any]] = {"S": _text, "N": _number, "BOOL": _truth, "NULL": _null, "B": _bytes}
_SETS: dict[str, Callable[[Any], Any]] = {"SS": _text, "NS": _number, "BS": _bytes}
