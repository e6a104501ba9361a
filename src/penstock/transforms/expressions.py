"""Expressions that can be computed for many rows at once, told from those that cannot by their form alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from penstock.transforms.rules import Tree


class Declines(Exception):
    """Why rules cannot be computed for many rows at once; the reference path computes them one by one."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True)
class Steps:
    """Steps by name and by number, into the message or into what another expression gives."""

    steps: tuple[str | int, ...]
    into: Expression | None = None


@dataclass(frozen=True)
class Constant:
    value: str | int | float | bool | None


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Listed:
    """Several expressions as an array, which only `join` takes here."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Comparison:
    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Logic:
    """`&&` or `||`: the left value if that decides it, otherwise the right one."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Negation:
    of: Expression


Expression = Steps | Constant | Call | Listed | Comparison | Logic | Negation

EPOCHS = {
    "epoch_seconds_to_iso8601": 1_000_000_000,
    "epoch_millis_to_iso8601": 1_000_000,
    "epoch_micros_to_iso8601": 1_000,
    "epoch_nanos_to_iso8601": 1,
}
"""Nanoseconds in the unit of each function."""

_CALLS = frozenset(
    [
        *("substr", "to_number", "to_string", "join", "length", "contains", "starts_with", "ends_with"),
        *("epoch_millis_to_micro", "now_epoch_seconds", *EPOCHS),
    ]
)
_NAMES = {
    "projection": "a projection, such as [*] or []",
    "value_projection": "a projection, such as *",
    "filter_projection": "a filter",
    "flatten": "[]",
    "slice": "a slice",
    "multi_select_list": "an array made of expressions (which only join() takes)",
    "multi_select_dict": "an object made of expressions",
    "expref": "an expression with '&'",
}


def translated(tree: Tree) -> Expression:
    """The expression that a parsed one means, or `Declines`."""
    children: list[Tree] = tree["children"]
    match tree["type"]:
        case "field" | "index":
            return Steps((tree["value"],))
        case "current" | "identity":
            return Steps(())
        case "subexpression" | "index_expression" | "pipe":
            return _chained([translated(child) for child in children])
        case "literal":
            return _constant(tree["value"])
        case "comparator":
            return Comparison(tree["value"], translated(children[0]), translated(children[1]))
        case "and_expression" | "or_expression":
            sign = "&&" if tree["type"] == "and_expression" else "||"
            return Logic(sign, translated(children[0]), translated(children[1]))
        case "not_expression":
            return Negation(translated(children[0]))
        case "function_expression":
            return _call(tree["value"], children)
    name: str = tree["type"]
    raise Declines(_NAMES.get(name, name))


def _chained(parts: list[Expression]) -> Expression:
    """Each part looks at what the part before it gave. Only steps can do that here."""
    found = parts[0]
    for part in parts[1:]:
        if not isinstance(part, Steps) or part.into is not None:
            raise Declines("a function, comparison or literal after a dot or |")
        found = Steps((*found.steps, *part.steps), found.into) if isinstance(found, Steps) else Steps(part.steps, found)
    return found


def _constant(value: Any) -> Constant:
    if isinstance(value, list | dict):
        raise Declines("an array or object as a literal")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Declines("a literal integer beyond 64 bits")
    return Constant(value)


def _call(name: str, children: list[Tree]) -> Call:
    if name not in _CALLS:
        raise Declines(f"{name}()")
    if name == "join" and children[1]["type"] == "multi_select_list":
        listed = Listed(tuple(map(translated, children[1]["children"])))
        found = Call(name, (translated(children[0]), listed))
    else:
        found = Call(name, tuple(map(translated, children)))
    for at in {"substr": (1, 2), "join": (0,), "starts_with": (1,), "ends_with": (1,)}.get(name, ()):
        if not isinstance(found.arguments[at], Constant):
            raise Declines(f"{name}() whose argument {at + 1} is not a literal")
    return found


def bounds(call: Call) -> tuple[int, int]:
    """From which character to which `substr` goes: no further than any text is long."""
    ends = []
    for argument in call.arguments[1:]:
        assert isinstance(argument, Constant)
        if isinstance(argument.value, bool) or not isinstance(argument.value, int | float):
            raise Declines("substr() fails for every message: skip and take are numbers")
        ends.append(min(max(0, math.trunc(argument.value)), 2**31))
    return ends[0], ends[0] + ends[1]
