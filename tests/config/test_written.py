"""Settings as text: what is read back is what was written, whatever it looks like."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.config.document import read
from penstock.config.written import written

AWKWARD = [
    "",
    "1",
    "1e5",
    "1_000",
    "0x10",
    "true",
    "null",
    "~",
    "no",
    "on",
    "a: b",
    "#",
    "- x",
    "2026-01-31",
    "=",
    "<<",
]
AWKWARD += [
    "a:",
    ":",
    "'",
    '"',
    "\\",
    "\n",
    "\t",
    " x ",
    "`0`",
    "@",
    "%",
    "!tag",
    "&a",
    "*a",
    "{a}",
    "[a]",
    "ä",
    "\u2028",
]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(AWKWARD)


@settings(deadline=None)
@given(values=st.dictionaries(TEXTS, TEXTS | st.integers(0, 2**40) | st.booleans() | st.lists(TEXTS, max_size=2)))
def test_what_is_read_is_what_was_written(values: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "written.yaml"
    path.write_bytes(written({"settings": values}).encode())

    document = read(path)

    assert document.complaints == []
    assert document.content == {"settings": values}


def test_words_need_no_quotes_and_comments_stay_in_their_line() -> None:
    text = written({"app": "shop", "base": "s3://lake/a-b", "latency": "10s"}, ["one\ntwo: three"])

    assert text == '# one two: three\napp: shop\nbase: s3://lake/a-b\nlatency: "10s"\n'
