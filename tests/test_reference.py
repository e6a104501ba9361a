"""The reference pages say what the shipped code says; `make reference` writes them anew."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
PAGES: dict[str, str] = runpy.run_path(str(REFERENCE / "generate.py"))["pages"]()


@pytest.mark.parametrize("name", PAGES)
def test_reference_page_is_as_the_code_has_it(name: str) -> None:
    assert (REFERENCE / name).read_text() == PAGES[name], "run `make reference`"


def test_every_page_of_the_reference_is_generated() -> None:
    assert {path.name for path in REFERENCE.glob("*.md")} == set(PAGES)


def test_every_field_of_a_pipeline_has_a_meaning() -> None:
    rows = [line for line in PAGES["pipeline.md"].splitlines() if line.startswith("| `")]

    assert rows
    assert [row for row in rows if row.endswith("|  |")] == []


@pytest.mark.parametrize(
    "code", ["app.fenced", "source.truncated", "table.restored", "json.malformed", "config.not-set"]
)
def test_codes_are_found_wherever_they_are_raised(code: str) -> None:
    assert f"| `{code}` |" in PAGES["errors.md"]
