"""Schema files beside a pipeline, which people edit while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import ConfigError, refused
from penstock.formats.schema_files import Texts, in_force, texts


def _made(files: Texts) -> list[str]:
    """What a format would make of them, if it only took those that hold a list of words."""
    if any(not content.startswith(b"[") for content in files.values()):
        raise refused("config.schema-file", "that is no list", "correct it")
    return sorted(files)


def test_files_are_read_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.avsc").write_text('"string"')
    (tmp_path / "b.proto").write_text('syntax = "proto3";')
    (tmp_path / "README.md").write_text("not a schema")

    assert texts(str(tmp_path)) == {"a.avsc": b'"string"', "b.proto": b'syntax = "proto3";'}


def test_files_that_change_are_read_again_and_half_of_one_is_not(tmp_path: Path) -> None:
    file = tmp_path / "a.avsc"
    file.write_text('"string"')
    texts(str(tmp_path))
    file.write_text('{"type": "rec')
    assert texts(str(tmp_path)) == {"a.avsc": b'"string"'}

    file.write_text('"long"')

    assert texts(str(tmp_path)) == {"a.avsc": b'"long"'}


@pytest.mark.parametrize("content", [None, "", "{"])
def test_files_that_never_were_good_are_refused_with_their_name(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "a.avsc").write_text(content)

    with pytest.raises(ConfigError, match=tmp_path.name) as told:
        texts(str(tmp_path / "a.avsc"))

    assert told.value.exit_status == 2


def test_what_was_last_made_of_files_stays_in_force_while_nothing_can_be_made_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[1]")
    assert in_force(str(tmp_path), _made) == ["a.json"]
    (tmp_path / "b.json").write_text("{}")  # good JSON, and of no use
    assert in_force(str(tmp_path), _made) == ["a.json"]

    (tmp_path / "b.json").write_text("[2]")

    assert in_force(str(tmp_path), _made) == ["a.json", "b.json"]


def test_what_nothing_could_ever_be_made_of_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")

    for _ in range(2):
        with pytest.raises(ConfigError, match="no list"):
            in_force(str(tmp_path), _made)
