"""YAML without surprises: data with line numbers, or a complaint that says where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.config.document import MAX_BYTES, Document, read
from penstock.errors import USAGE, ConfigError

Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A file that says so."""

    def written(text: str | bytes) -> Path:
        path = tmp_path / "shop.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return written


def complaints(document: Document) -> list[str]:
    return [f"{complaint.where}: {complaint.what} [{complaint.code}]" for complaint in document.complaints]


# --- data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("NO", "NO"),
        ("True", "True"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("'null'", "null"),
        ("42", 42),
        ("-7", -7),
        ("'42'", "42"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2026-01-31", "2026-01-31"),
        (".inf", ".inf"),
        ("9" * 40, "9" * 40),
        ("<<", "<<"),
        ("[a, 1, [true]]", ["a", 1, [True]]),
        ("{b: {c: 1}}", {"b": {"c": 1}}),
        ("|\n  two\n  lines", "two\nlines\n"),
    ],
)
def test_value_means_what_it_looks_like(write: Write, text: str, meant: Any) -> None:
    document = read(write(f"a: {text}\n"))
    assert document.content == {"a": meant}
    assert type(document.content["a"]) is type(meant)
    assert document.complaints == []


def test_keys_are_words_whatever_they_look_like(write: Write) -> None:
    assert read(write("1: a\ntrue: b\nno: c\n")).content == {"1": "a", "true": "b", "no": "c"}


def test_alias_repeats_what_its_anchor_says(write: Write) -> None:
    assert read(write("a: &same {x: 1}\nb: *same\n")).content == {"a": {"x": 1}, "b": {"x": 1}}


def test_merge_key_is_a_key_like_any_other(write: Write) -> None:
    assert read(write("a: &same {x: 1}\nb:\n  <<: *same\n")).content["b"] == {"<<": {"x": 1}}


def test_empty_file_says_nothing(write: Write) -> None:
    assert read(write("")).content == {}
    assert read(write("# only a comment\n")).content == {}


def test_byte_order_mark_is_no_part_of_the_first_key(write: Write) -> None:
    assert read(write(b"\xef\xbb\xbfapp: shop\n")).content == {"app": "shop"}


# --- lines ---------------------------------------------------------------------------------------


def test_every_value_is_found_on_its_line(write: Write) -> None:
    document = read(write("app: shop\n\ntables:\n  base: ./lake\n  types:\n    order.v1:\n      - a\n      - b\n"))
    assert document.where(("app",)) == "shop.yaml:1"
    assert document.where(("tables",)) == "shop.yaml:3"
    assert document.where(("tables", "base")) == "shop.yaml:4"
    assert document.where(("tables", "types", "order.v1")) == "shop.yaml:6"
    assert document.where(("tables", "types", "order.v1", 1)) == "shop.yaml:8"


def test_value_that_is_not_there_is_found_at_what_is_around_it(write: Write) -> None:
    document = read(write("app: shop\n\ntables:\n  base: ./lake\n"))
    assert document.where(("tables", "format")) == "shop.yaml:3"
    assert document.where(("tables", "types", "order", "evolve")) == "shop.yaml:3"
    assert document.where(("source",)) == "shop.yaml:1"
    assert Document("shop.yaml").where(("source",)) == "shop.yaml"


# --- refused with a line, and reading goes on ----------------------------------------------------


def test_duplicate_key_is_refused_where_it_stands_the_second_time(write: Write) -> None:
    document = read(write("app: shop\ntables:\n  base: a\n  limit: 3\n  base: b\n"))
    assert complaints(document) == ["shop.yaml:5: 'base' is set twice [config.duplicate-key]"]
    assert document.content["tables"] == {"base": "a", "limit": 3}


def test_every_duplicate_is_told(write: Write) -> None:
    document = read(write("a: 1\na: 2\nb: {c: 1, c: 2}\na: 3\n"))
    assert sorted(complaint.where for complaint in document.complaints) == ["shop.yaml:2", "shop.yaml:3", "shop.yaml:4"]


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['touch /tmp/never']",
        "!!python/name:os.system",
        "!custom thing",
        "!!binary aGVsbG8=",
        "!!timestamp 2026-01-31",
        "!!set {a, b}",
        "!!omap [a: 1]",
    ],
)
def test_tag_is_refused_and_does_nothing(write: Write, value: str) -> None:
    document = read(write(f"app: shop\na: {value}\n"))
    (complaint,) = document.complaints
    assert (complaint.where, complaint.code) == ("shop.yaml:2", "config.tag")
    assert document.content == {"app": "shop", "a": None}


def test_key_that_is_no_word_is_refused(write: Write) -> None:
    (complaint,) = read(write("a: 1\n? [b, c]\n: 2\n")).complaints
    assert (complaint.what, complaint.code) == ("a key must be a word", "config.key")


# --- refused altogether --------------------------------------------------------------------------


def refusal(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as refused:
        read(path)
    assert refused.value.exit_status == USAGE
    return refused.value


def test_alias_bomb_is_refused_before_it_unfolds(write: Write) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    assert len(bomb) < 1_000
    assert refusal(write(bomb)).code == "config.too-large"


def test_alias_to_itself_is_refused(write: Write) -> None:
    assert refusal(write("a: &a [*a]\n")).code == "config.too-large"


def test_nesting_that_no_pipeline_needs_is_refused(write: Write) -> None:
    assert refusal(write(f"a: {'[' * 60}{']' * 60}\n")).code == "config.too-large"
    assert refusal(write(f"a: {'[' * 49}{']' * 49}\nb: *nobody")).code == "config.not-yaml"


@pytest.mark.parametrize(
    "deep", ["[" * 3_000 + "]" * 3_000, "[" * 500_000, "{a: " * 3_000, "- " * 3_000, "? [" * 3_000]
)
def test_nesting_deeper_than_the_interpreters_stack_is_refused_with_its_line(write: Write, deep: str) -> None:
    refused = refusal(write(f"a:\n  {deep}\n"))
    assert str(refused) == "shop.yaml:2: unfolds into more than any pipeline needs  [config.too-large]"


def test_file_that_no_pipeline_needs_is_refused(write: Write) -> None:
    assert refusal(write("# " + "x" * MAX_BYTES)).code == "config.too-large"


@pytest.mark.parametrize(
    ("text", "line"),
    [("app: shop\na: [1, 2\nb: 3\n", 3), ("app: shop\n\ta: 1\n", 2), ("a: 1\n---\nb: 2\n", 2), ("a: *nobody\n", 1)],
)
def test_what_is_not_yaml_is_refused_with_its_line(write: Write, text: str, line: int) -> None:
    refused = refusal(write(text))
    assert refused.code == "config.not-yaml"
    assert str(refused).startswith(f"shop.yaml:{line}: is not YAML: ")


@pytest.mark.parametrize("content", [b"app: caf\xe9\n", b"\xff\xfea\x00"])
def test_what_is_not_text_is_refused(write: Write, content: bytes) -> None:
    assert str(refusal(write(content))) == "shop.yaml: is not UTF-8 text  [config.unreadable]"


def test_control_character_is_refused(write: Write) -> None:
    assert refusal(write("a: \x01\n")).code == "config.not-yaml"


def test_file_that_is_not_there_is_told_with_its_whole_path(tmp_path: Path) -> None:
    assert str(refusal(tmp_path / "gone.yaml")).startswith(f"{tmp_path}/gone.yaml: cannot be read: No such file")
    assert refusal(tmp_path).code == "config.unreadable"
