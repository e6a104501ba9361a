"""Type names are hostile, table names are folders: safe, reversible, and never shared."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.tables.names import table_name, type_name

LONGEST = 200

any_character = st.one_of(st.sampled_from("./\\_-%:~*?{}[] \x00\n\u202eéA"), st.integers(0, 0x10FFFF).map(chr))
any_text = st.text(any_character, min_size=1, max_size=12)

TRAVERSAL = [".", "..", "../x", "x/..", "a/../../b", "/abs", "//host/share", "~", "~root", "...", ". .", "./x", "x/./y"]
ENCODED = [
    "%2e%2e%2f",
    "%2E%2E/",
    "..%2fx",
    "%00",
    "%25",
    "%",
    "%%",
    "%zz",
    "a%2Fb",
    "..%c0%af",
    "&#46;&#46;/",
    "\\u002e",
]
WINDOWS = ["..\\x", "C:\\x", "C:", "\\\\host\\share", "CON", "nul", "LPT1", "aux.txt", "x.", "x ", "a:b", "file:stream"]
SCHEMES = ["s3://bucket/x", "file:///etc/passwd", "http://x/?y#z", "hdfs:x", "s3a://k:s@b"]
GLOBS = ["*", "?", "[a]", "{a,b}", "**/x", "a*b", "!x", "x[!a]"]
RESERVED = ["_delta_log", "_penstock", "_dead_letters", "_SUCCESS", "_metadata", ".part.crc", ".hidden", "_", "__"]
CONTROL = ["\x00", "a\x00b", "a\nb", "a\rb", "a\tb", "\x1b[31m", "\x7f", "\u2028", "\u0085", "\ufeffx", "\u202egpj.exe"]
UNICODE = ["é", "e\u0301", "ﬁ", "／", "․․／", "Ⅷ", "ß", "İ", "ı", "日本語", "\U0001f600", "a\u200bb", "\u0430bc", "ſ"]
SURROGATES = ["\ud800", "\udfff", "\udc80x", "\ud83d\ude00", "x\ud800y"]
SHELL = [
    "$(id)",
    "`id`",
    "; rm -rf /",
    "| cat",
    "a'b",
    'a"b',
    "-rf",
    "--help",
    "a=b",
    "date=2026",
    "a&b",
    "<x>",
    "${HOME}",
]
SQL = ["x'; DROP TABLE y; --", "`a`.`b`", "a.b.c", "delta.`/x`", "1e5", "NULL", "null", "true", "0"]
PLAIN = ["order", "order.v1", "Order", "ORDER", "order-v1", "order_v1", "0day", "a..b", "a.", "a_", "-"]
SEPARATED = [
    separator.join(parts)
    for separator in ("/", "\\", "%2F", "//", "\u2215", "\u2044")
    for parts in itertools.product(("..", "a", ""), ("..", "_x", ""), ("b", "."))
]
HOSTILE = sorted(
    {name for group in (TRAVERSAL, ENCODED, WINDOWS, SCHEMES, GLOBS, RESERVED, CONTROL) for name in group if name}
    | {name for group in (UNICODE, SURROGATES, SHELL, SQL, PLAIN, SEPARATED) for name in group if name}
)


def test_corpus_is_worth_its_name() -> None:
    assert len(HOSTILE) >= 200


# --- safe ----------------------------------------------------------------------------------------


def _is_safe(name: str) -> bool:
    """One segment of signs that no file system, glob, shell or URL reads as anything but a name."""
    return len(name) <= LONGEST and re.fullmatch(r"[A-Za-z0-9@-][A-Za-z0-9._@-]*", name) is not None


@settings(deadline=None)
@given(any_text)
def test_table_name_is_one_safe_segment(type: str) -> None:
    assert _is_safe(table_name(type))


@pytest.mark.parametrize("type", HOSTILE, ids=ascii)
def test_hostile_type_has_a_safe_table_and_comes_back_from_it(type: str) -> None:
    assert _is_safe(table_name(type))
    assert type_name(table_name(type)) == type


def test_folders_of_hostile_types_are_all_below_the_base_and_all_different(tmp_path: Path) -> None:
    base = tmp_path / "lake"
    for type in HOSTILE:
        (base / table_name(type)).mkdir(parents=True)
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]
    assert sorted(path.name for path in base.iterdir()) == sorted(map(table_name, HOSTILE))
    assert all(path.is_dir() and not list(path.iterdir()) for path in base.iterdir())


def test_plain_type_is_its_own_table() -> None:
    for type in ("order", "order.v1", "Order-2_x", "0"):
        assert table_name(type) == type


def test_names_that_tools_hide_or_keep_for_themselves_are_never_used() -> None:
    for type in RESERVED:
        assert not table_name(type).startswith((".", "_"))


# --- reversible ----------------------------------------------------------------------------------


@settings(deadline=None)
@given(any_text)
def test_type_comes_back_from_its_table(type: str) -> None:
    assert type_name(table_name(type)) == type


@settings(deadline=None)
@given(any_text, any_text)
def test_no_two_types_share_a_table(one: str, other: str) -> None:
    assume(one != other)
    assert table_name(one) != table_name(other)


def test_type_that_looks_like_an_escaped_one_has_another_table() -> None:
    for type in HOSTILE:
        escaped = table_name(type)
        if escaped != type:
            assert table_name(escaped) != escaped


def test_signs_that_look_alike_are_different_types() -> None:
    alike = ["é", "e\u0301", "\ud83d\ude00", "\U0001f600", "a/b", "a\u2215b", "a", "\u0430"]
    assert len({table_name(type) for type in alike}) == len(alike)


@pytest.mark.parametrize("folder", ["a b", "someone@AB.org", "x@2", "@@", "caf\u00e9", "%2F", "a@2f"])
def test_folder_of_somebody_else_has_no_type_that_would_take_it_for_its_own(folder: str) -> None:
    assert table_name(type_name(folder)) != folder


# --- impossible ----------------------------------------------------------------------------------


def test_empty_type_has_no_table() -> None:
    with pytest.raises(ValueError, match="empty type"):
        table_name("")


@pytest.mark.parametrize("sign", ["a", "/", "é", "\U0001f600"])
def test_name_too_long_for_a_folder_is_refused_and_never_cut(sign: str) -> None:
    width = len(table_name(f"x{sign}")) - 1
    fits = LONGEST // width
    assert type_name(table_name(sign * fits)) == sign * fits
    with pytest.raises(ValueError, match=f"{width * (fits + 1)} characters, the limit is {LONGEST}"):
        table_name(sign * (fits + 1))
