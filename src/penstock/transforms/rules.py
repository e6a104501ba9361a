"""Transforms as a user writes them: a target, and where its value comes from. All of it is checked
before the first message, so that a mistake is a sentence and not a heap of dead letters."""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from jmespath.exceptions import IncompleteExpressionError, JMESPathError, LexerError, ParseError
from jmespath.parser import Parser

from penstock.transforms.functions import Functions
from penstock.values.plain import MAX_COLUMN_DEPTH, Refusal, names, shown

MAX_RULES = 1_000
MAX_SOURCE = 4_096
MAX_DEPTH = 50
KAFKA = {f"kafka.{name}": name for name in ("offset", "partition", "topic", "timestamp", "timestamp_type")}

Nulls = Literal["remove", "keep"]
Tree = dict[str, Any]
"""An expression as the language's parser gives it: nodes with a type, perhaps a value, and children."""

_STEPS = {"field", "index", "subexpression", "index_expression", "identity", "current", "pipe"}


@dataclass(frozen=True)
class Rule:
    """One transform: the value of its source goes to its target."""

    target: str
    path: tuple[str, ...]
    source: str
    kafka: str | None
    expression: Tree | None = field(default=None, compare=False, repr=False)
    copies: bool = field(default=False, compare=False, repr=False)
    """Nothing but steps into the message: what is found is handed on as it was written."""


@dataclass(frozen=True)
class Rules:
    """Transforms in their order, what a null does: remove the target, or leave it as it is; and whether what they
    set is all that is left of the message."""

    each: tuple[Rule, ...] = ()
    nulls: Nulls = "remove"
    only: bool = False

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.each)

    def __len__(self) -> int:
        return len(self.each)


def rules(transforms: Mapping[str, str], nulls: Nulls = "remove") -> Rules:
    """Transforms from what was written; ValueError says which one is wrong, where, and what it should be."""
    if len(transforms) > MAX_RULES:
        raise ValueError(f"there are {len(transforms)} transforms, and at most {MAX_RULES} are possible")
    return Rules(tuple(rule(target, source) for target, source in transforms.items()), nulls)


def checked(given: dict[str, str], wrong: tuple[str, ...] = ()) -> dict[str, str]:
    """Transforms that can be used. A ValueError tells of every one that cannot, not only of the first."""
    if len(given) > MAX_RULES:
        raise ValueError(f"cannot be used: there are {len(given)} transforms, and at most {MAX_RULES} are possible")
    for target, source in given.items():
        try:
            rule(target, source)
        except ValueError as why:
            wrong += (str(why),)
    if wrong:
        raise ValueError("\n  ".join(["cannot be used:", *wrong] if wrong[1:] else [f"cannot be used: {wrong[0]}"]))
    return given


def rule(target: str, source: str) -> Rule:
    """One transform from what was written, or a ValueError."""
    target, source = target.strip(), source.strip()
    try:
        path = _path(target)
        if source in KAFKA:
            return Rule(target, path, source, KAFKA[source])
        tree = _parsed(source)
        _check(tree)
    except ValueError as cause:
        raise ValueError(f"transform {shown(target)}: {cause}") from None
    copies = all(node["type"] in _STEPS for node, _, _ in _nodes(tree))
    return Rule(target, path, source, None, tree, copies)


def _path(target: str) -> tuple[str, ...]:
    path = tuple(target.split("."))
    if not all(path):
        raise ValueError("a target is a name, or names with one dot between them, such as 'meta.kafka.offset'")
    if len(path) > MAX_COLUMN_DEPTH:
        raise ValueError(f"a target has at most {MAX_COLUMN_DEPTH} names, this has {len(path)}")
    try:
        for part in path:
            part.encode()
            names({part: None}, "")
    except (Refusal, UnicodeEncodeError):
        raise ValueError(
            f"{shown(part)} cannot be a column name: it has over 255 characters, or a space or one of ,;{{}}()= in it"
        ) from None
    return path


# --- the expression ------------------------------------------------------------------------------


def _parsed(source: str) -> Tree:
    if not source:
        raise ValueError("the source is empty; write an expression, one of " + ", ".join(KAFKA) + ", or `null`")
    if len(source) > MAX_SOURCE:
        raise ValueError(f"the expression has {len(source)} characters, the limit is {MAX_SOURCE}")
    try:
        source.encode()
        with warnings.catch_warnings():
            warnings.simplefilter("error", PendingDeprecationWarning)
            tree: Tree = Parser().parse(source).parsed
    except UnicodeEncodeError:
        raise ValueError("the expression is not valid Unicode") from None
    except PendingDeprecationWarning:
        raise ValueError("between backquotes stands JSON, such as `1` or `\"word\"`; text is also 'word'") from None
    except RecursionError:
        raise ValueError(f"the expression is nested more than {MAX_DEPTH} deep") from None
    except JMESPathError as cause:
        raise ValueError(_unreadable(source, cause)) from None
    return tree


def _unreadable(source: str, cause: JMESPathError) -> str:
    """What is wrong with an expression, with a mark under the place."""
    if not isinstance(cause, ParseError):
        return f"not a JMESPath expression: {cause}"
    if isinstance(cause, IncompleteExpressionError):
        at, what = len(source), "something is missing at its end"
    elif isinstance(cause, LexerError):
        at, what = cause.lexer_position, _harmless(str(cause.message)[:80])
    else:
        at, what = cause.lex_position, f"{shown(str(cause.token_value))} cannot stand here"
    first = max(0, at - 60)
    excerpt = _harmless(source[first : first + 100])
    return f"not a JMESPath expression at character {at + 1}: {what}\n  {excerpt}\n  {' ' * (at - first)}^"


def _harmless(text: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _nodes(tree: Tree) -> Iterator[tuple[Tree, int, Tree | None]]:
    """Every node, how deep it is, and what it stands in. Without recursion: the depth is not known yet."""
    waiting: list[tuple[Tree, int, Tree | None]] = [(tree, 1, None)]
    while waiting:
        node, depth, parent = waiting.pop()
        yield node, depth, parent
        if node["type"] != "slice":  # its children are numbers
            waiting += [(child, depth + 1, node) for child in node["children"]]


def _check(tree: Tree) -> None:
    for node, depth, parent in _nodes(tree):
        if depth > MAX_DEPTH:
            raise ValueError(f"the expression is nested more than {MAX_DEPTH} deep")
        if node["type"] in ("literal", "field", "key_val_pair"):
            _check_literal(node["value"], MAX_DEPTH - depth)
        elif node["type"] == "function_expression":
            _check_call(node)
        elif node["type"] == "slice" and node["children"][2] == 0:
            raise ValueError("the step of a slice cannot be 0")
        elif node["type"] == "expref" and (parent is None or parent["type"] != "function_expression"):
            raise ValueError("'&' can only stand before an argument of a function such as sort_by(items, &price)")


def _check_literal(value: Any, levels: int) -> None:
    if levels < 0:
        raise ValueError(f"a literal is nested more than {MAX_DEPTH} deep")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a literal number must be one that a double can hold")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("text or a name in it holds half of a surrogate pair, which is not a character") from None
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for element in value:
            _check_literal(element, levels - 1)


def _check_call(node: Tree) -> None:
    name, given = node["value"], node["children"]
    known = Functions.FUNCTION_TABLE
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}()?" if near else "there are " + ", ".join(sorted(known))
        raise ValueError(f"there is no function {name}(); {hint}")
    wanted = known[name]["signature"]
    variadic = bool(wanted) and wanted[-1].get("variadic", False)
    if len(given) < len(wanted) or (len(given) > len(wanted) and not variadic):
        least = "at least " if variadic else ""
        count = f"{len(wanted)} argument{'' if len(wanted) == 1 else 's'}"
        raise ValueError(f"{name}() takes {least}{count}, this has {len(given)}")
    for at, argument in enumerate(given):
        wants_expression = "expref" in wanted[min(at, len(wanted) - 1)]["types"]
        if wants_expression != (argument["type"] == "expref"):
            how = "is an expression with '&' before it" if wants_expression else "is a value, without '&'"
            raise ValueError(f"argument {at + 1} of {name}() {how}")
