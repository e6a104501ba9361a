"""The reference path: one message at a time, in plain Python, with the library of the language.

It defines what is correct. The fast path must agree with it or decline.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from jmespath.exceptions import JMESPathTypeError
from jmespath.functions import TYPES_MAP
from jmespath.visitor import Options, TreeInterpreter

from penstock.transforms.functions import MAX_SIZE, CannotCompute, Functions, Unusable, number
from penstock.transforms.rules import Rule, Rules
from penstock.values.plain import Number, Refusal


@dataclass(frozen=True)
class About:
    """Where a message came from, for the sources that begin with `kafka.`"""

    topic: str
    partition: int | str
    offset: int
    timestamp: int | None
    """In milliseconds; None if the message has none."""
    timestamp_type: int
    """-1 none, 0 set by who made the message, 1 set by the broker."""


def apply(rules: Rules, message: dict[str, Any], about: About | None) -> dict[str, Any]:
    """The message after all transforms; the given one stays as it is. Without `about`, as for
    dead letters, transforms that ask for something of Kafka are skipped."""
    given = _Given(message)
    changed = _Changed({} if rules.only else message)
    for rule in rules:
        if rule.kafka is None:
            value = given.value_of(rule)
        elif about is None:
            continue
        else:
            value = _kafka(rule.kafka, about)
        if value is not None:
            changed.set(rule.path, value)
        elif rules.nulls == "remove":
            changed.remove(rule.path)
    return changed.message


def _kafka(name: str, about: About) -> Any:
    value = getattr(about, name)
    if name == "timestamp" and value is not None:
        value *= 1_000
    return Number(value) if isinstance(value, int) else value


class _Changed:
    """A message being changed. What it shares with the original is copied before it is touched."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.message = dict(message)
        self._own = {id(self.message): self.message}

    def set(self, path: tuple[str, ...], value: Any) -> None:
        """Parents that are missing, or are not objects, become objects."""
        inner = self.message
        for name in path[:-1]:
            found = inner.get(name)
            inner[name] = inner = self._owned(found if isinstance(found, dict) else {})
        inner[path[-1]] = value

    def remove(self, path: tuple[str, ...]) -> None:
        """Where there is no such thing, nothing is changed."""
        found: Any = self.message
        for name in path:
            if not isinstance(found, dict) or name not in found:
                return
            found = found[name]
        inner = self.message
        for name in path[:-1]:
            inner[name] = inner = self._owned(inner[name])
        del inner[path[-1]]

    def _owned(self, found: dict[str, Any]) -> dict[str, Any]:
        if id(found) in self._own:
            return found
        copied = dict(found)
        self._own[id(copied)] = copied
        return copied


# --- expressions ---------------------------------------------------------------------------------


class _Interpreter(TreeInterpreter):  # type: ignore[misc]
    """The language's own, which stops before something grows beyond all messages."""

    def visit(self, node: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        found = super().visit(node, *args, **kwargs)
        if isinstance(found, list | str) and len(found) > MAX_SIZE:
            raise CannotCompute("it would make too much of the message")
        return found


_INTERPRETER = _Interpreter(Options(custom_functions=Functions()))


class _Given:
    """The original message, which all expressions see: as it was written, and as it can be computed with."""

    def __init__(self, message: dict[str, Any]) -> None:
        self._message = message
        self._computable: Any = None

    def value_of(self, rule: Rule) -> Any:
        """What the expression makes of the message, or a `Refusal`."""
        assert rule.expression is not None
        try:
            if rule.copies:
                return _INTERPRETER.visit(rule.expression, self._message)
            if self._computable is None:
                self._computable = _computable(self._message)
            return _Written().of(_INTERPRETER.visit(rule.expression, self._computable))
        except Exception as cause:  # the library lets pass what Python raises, whatever that is
            raise Refusal("transform", "transform.failed", f"{rule.target}: {_why(cause)}") from None


def _why(cause: Exception) -> str:
    """What went wrong, without anything of the message."""
    match cause:
        case CannotCompute():
            return str(cause)
        case JMESPathTypeError():
            wanted = " or ".join(kind.replace("-", " of ") for kind in cause.expected_types)
            found = TYPES_MAP.get(cause.actual_type, cause.actual_type)  # some of its errors have Python's name for it
            return f"{cause.function_name}() takes {wanted}, and was given {found}"
        case TypeError():
            return "values of these types do not go together"
        case RecursionError():
            return "values are nested too deep"
    return f"it cannot be computed ({type(cause).__name__})"


def _computable(value: Any) -> Any:
    """A value with its numbers as Python has them."""
    if isinstance(value, Number):
        return number(str(value))
    if isinstance(value, list):
        return [_computable(element) for element in value]
    if isinstance(value, dict):
        return {name: _computable(element) for name, element in value.items()}
    return value


class _Written:
    """A result with its numbers as JSON has them. The same thing may be in it many times over: what
    it comes to in all is counted."""

    def __init__(self) -> None:
        self._size = 0

    def of(self, value: Any) -> Any:
        self._size += len(value) + 1 if isinstance(value, str) else 1
        if self._size > MAX_SIZE:
            raise CannotCompute("it would make too much of the message")
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int):
            return Number(value)
        if isinstance(value, float):
            if not math.isfinite(value):
                raise CannotCompute("the result is a number beyond what a double holds")
            return Number(repr(value))
        if isinstance(value, Unusable):
            return Number(value.written)
        if isinstance(value, list):
            return [self.of(element) for element in value]
        if isinstance(value, dict):
            return {name: self.of(element) for name, element in value.items()}
        raise CannotCompute("the result is not a value")
