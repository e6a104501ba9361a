"""What expressions can call beyond the language: parts of text, and moments as text.

A function that cannot give an answer raises `CannotCompute`; the message then becomes a dead letter.
"""

from __future__ import annotations

import json
import math
import numbers
import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from jmespath import functions

MAX_SIZE = 10_000_000
"""Characters or elements: what an expression makes of a message may not outgrow every message."""

MAX_DIGITS = 300
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)  # all of it is UTC, and the Z is written by hand

_Function = TypeVar("_Function", bound=Callable[..., Any])

clock: Callable[[], float] = time.time


class CannotCompute(ValueError):
    """Why an expression has no answer for a message: short, and without anything from the message."""


class Unusable(numbers.Number):
    """A number that cannot be computed with, as it was written: it can be handed on, and nothing else."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, written: str) -> None:
        self.written = written

    def _refuse(self, _other: object) -> Any:
        raise CannotCompute("a number beyond what can be computed with")

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def number(written: str) -> int | float | Unusable:
    """The number that a JSON number means: exact if it is an integer, the nearest double otherwise."""
    if not written.lstrip("-").isdecimal():
        fraction = float(written)
        return fraction if math.isfinite(fraction) else Unusable(written)
    return int(written) if len(written) <= MAX_DIGITS else Unusable(written)


def _takes(*kinds: str) -> Callable[[_Function], _Function]:
    """What the language is told about a function: the kinds of its arguments."""

    def described(function: _Function) -> _Function:
        function.signature = tuple({"types": [kind] if kind else []} for kind in kinds)  # type: ignore[attr-defined]
        return function

    return described


class Functions(functions.Functions):  # type: ignore[misc]
    """The functions of the language, and those of penstock."""

    def call_function(self, function_name: str, resolved_args: list[Any]) -> Any:
        if any(isinstance(argument, Unusable) for argument in resolved_args):
            raise CannotCompute(f"{function_name}() was given a number beyond what can be computed with")
        return super().call_function(function_name, resolved_args)

    @_takes("string", "number", "number")
    def _func_substr(self, text: str, skip: float, take: float) -> str:
        start = max(0, math.trunc(skip))
        return text[start : start + max(0, math.trunc(take))]

    @_takes("number")
    def _func_epoch_seconds_to_iso8601(self, epoch: float) -> str:
        return iso8601(math.trunc(epoch) * 1_000_000)

    @_takes("number")
    def _func_epoch_millis_to_iso8601(self, epoch: float) -> str:
        return iso8601(math.trunc(epoch) * 1_000)

    @_takes("number")
    def _func_epoch_micros_to_iso8601(self, epoch: float) -> str:
        return iso8601(math.trunc(epoch))

    @_takes("number")
    def _func_epoch_nanos_to_iso8601(self, epoch: float) -> str:
        nanos = math.trunc(epoch)
        return iso8601(-(-nanos // 1_000) if nanos < 0 else nanos // 1_000)

    @_takes("number")
    def _func_epoch_millis_to_micro(self, epoch: float) -> int:
        micros = math.trunc(epoch) * 1_000
        if not -(2**63) <= micros < 2**63:
            raise CannotCompute("epoch_millis_to_micro() would go beyond 64 bits")
        return micros

    @_takes()
    def _func_now_epoch_seconds(self) -> int:
        return int(clock())

    @_takes("")
    def _func_to_number(self, given: Any) -> int | float | None:
        """Text is a number if JSON would read it as one; no signs, spaces or digits that only Python knows."""
        if isinstance(given, str):
            if not _NUMBER.fullmatch(given):
                return None
            found = number(given)
            if isinstance(found, Unusable):
                raise CannotCompute("to_number() was given a number beyond what can be computed with")
            return found
        return given if isinstance(given, int | float) and not isinstance(given, bool) else None

    @_takes("")
    def _func_to_string(self, given: Any) -> str:
        return given if isinstance(given, str) else _json(given)


def _json(given: Any) -> str:
    """Compact JSON, other letters than English ones as they are, like the text of a `json` column."""
    parts, size = [], 0
    for part in _TEXT.iterencode(given):
        parts.append(part)
        size += len(part)
        if size > MAX_SIZE:
            raise CannotCompute("to_string() would make too long a text")
    return "".join(parts)


def _no_text(given: Any) -> Any:
    if isinstance(given, Unusable):
        given._refuse(None)
    raise CannotCompute("to_string() was given something that is not a value")


_TEXT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_no_text)


def iso8601(micros: int) -> str:
    """A moment as text: no fraction if there is none, otherwise three digits or six."""
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise CannotCompute("the epoch is outside the years 1 to 9999") from None
    digits = "seconds" if not micros % 1_000_000 else "microseconds" if micros % 1_000 else "milliseconds"
    return moment.isoformat(timespec=digits) + "Z"
