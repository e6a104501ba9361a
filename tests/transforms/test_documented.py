"""The examples for users: each one is run, both ways where there are two."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.formats.json.reference import parse
from penstock.transforms.program import ways
from penstock.transforms.reference import About, apply
from penstock.transforms.rules import rules
from penstock.values.plain import text
from tests.transforms.generated import Case, together
from tests.transforms.test_agreement import agree

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "transforms.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.S | re.M)
ABOUT = About("web_requests", 0, 42, 1626823098519, 0)


def examples() -> list[tuple[dict[str, str], dict[str, Any], Any]]:
    """Transforms with the message before and after them, which stand one after the other."""
    found = []
    for at, (language, block) in enumerate(BLOCKS):
        if language == "yaml":
            before, after = (written for _, written in BLOCKS[at + 1 : at + 3])
            found.append((yaml.safe_load(block)["transforms"], parse(before.encode(), 10**6), json.loads(after)))
    return found


def expressions() -> list[tuple[str, str]]:
    table = PAGE.split("| expression | result |\n")[1].split("\n\n")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:3] for line in table.splitlines()[1:]]
    return [(_unquoted(expression), _unquoted(result)) for expression, result in rows]


def _unquoted(cell: str) -> str:
    """What stands in a cell between backquotes, of which there are two if there are any inside."""
    cell = cell.strip().replace("\\|", "|")
    return cell[3:-3] if cell.startswith("`` ") else cell[1:-1]


MESSAGE = next(parse(block.encode(), 10**6) for language, block in BLOCKS if language == "json" and "William" in block)


@pytest.mark.parametrize("at", range(3))
def test_examples_do_what_they_say(at: int) -> None:
    transforms, before, after = examples()[at]

    assert len(examples()) == 3
    assert json.loads(text(apply(rules(transforms), before, ABOUT))) == after
    assert agree(Case([before], transforms, together([before]))) == (1, 1)


@pytest.mark.parametrize(("expression", "result"), expressions())
def test_expressions_give_what_they_say(expression: str, result: str) -> None:
    found = apply(rules({"found": expression}), MESSAGE, None).get("found")

    assert text(found) == text(parse(f'{{"found": {result}}}'.encode(), 10**6)["found"])


def test_the_dead_letter_is_told_as_shown() -> None:
    shown = next(block for language, block in BLOCKS if language == "text").strip()
    made = rules({"date": "substr(ts, `0`, `10`)"})

    with pytest.raises(Exception, match=re.escape(shown)):
        apply(made, {}, ABOUT)
    assert apply(rules({"date": "ts && substr(ts, `0`, `10`)"}), {}, ABOUT) == {}


@pytest.mark.parametrize(("expression", "result"), expressions())
def test_what_is_called_fast_is(expression: str, result: str) -> None:
    slow = any(mark in expression for mark in ("[*]", "[?", "[]", "{"))

    assert (ways(rules({"x": expression}))[0][1] == "fast") is not slow
