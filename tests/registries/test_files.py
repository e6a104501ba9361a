"""Schemas in files that people edit."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from penstock.registries import files
from penstock.registries.files import SchemaFiles, load

ORDER = b'{"type": "record", "name": "order", "fields": []}'


def named(content: Mapping[str, bytes]) -> dict[str, str]:
    """What a format might make of files: it knows more about them than that they are JSON."""
    found = {}
    for file, text in content.items():
        if "name" not in json.loads(text):
            raise ValueError(f"{file} has no name")
        found[file] = json.loads(text)["name"]
    return found


@pytest.fixture
def order(tmp_path: Path) -> Path:
    """A folder with one schema."""
    (tmp_path / "order.avsc").write_bytes(ORDER)
    return tmp_path / "order.avsc"


def test_a_file_is_loaded_whole(order: Path) -> None:
    assert load(order) == {"order.avsc": ORDER}


def test_a_folder_is_loaded_with_what_is_below(order: Path) -> None:
    folder = order.parent
    (folder / "google" / "type").mkdir(parents=True)
    (folder / "google" / "type" / "money.proto").write_text('syntax = "proto3";')
    (folder / "all.desc").write_bytes(b"\x0a\x00")
    (folder / "README.md").write_text("not a schema")
    (folder / ".order.avsc").write_text("half an edi")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.json").write_text("nothing of ours")

    assert list(load(folder)) == ["all.desc", "google/type/money.proto", "order.avsc"]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.avsc", ORDER[:20], "is not JSON"),
        ("a.json", b"", "is empty"),
        ("a.json", b" \n", "is empty"),
        ("a.json", b"[" * 100_000, "is not JSON"),
        ("a.json", b'"\xff"', "is not UTF-8"),
        ("a.proto", b"\xff\xfe", "is not UTF-8"),
        ("a.desc", b"", "is empty"),
        ("a.avsc", b" " * (files.MAX_FILE + 1), "4,000,000 bytes"),
    ],
)
def test_a_file_that_is_no_good_at_first_is_named(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(ValueError, match=complaint) as told:
        SchemaFiles(str(tmp_path), named)
    assert name in str(told.value)


def test_what_is_not_there_is_told(tmp_path: Path, order: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(ValueError, match="there is no file or folder"):
        load(tmp_path / "missing.avsc")
    with pytest.raises(ValueError, match="no schema file"):
        load(tmp_path / "empty")


def test_file_that_is_named_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "order.txt").write_bytes(ORDER)

    assert load(tmp_path / "order.txt") == {"order.txt": ORDER}


def test_what_the_reader_refuses_is_told(order: Path) -> None:
    order.write_bytes(b"{}")

    with pytest.raises(ValueError, match=r"order\.avsc has no name"):
        SchemaFiles(str(order), named)


def test_a_change_is_noticed(order: Path) -> None:
    schemas = SchemaFiles(str(order.parent), named)
    order.write_bytes(ORDER.replace(b'"order"', b'"order2"'))
    assert schemas.newest() == {"order.avsc": "order2"}
    (order.parent / "item.avsc").write_bytes(b'{"name": "item"}')

    assert schemas.newest() == {"item.avsc": "item", "order.avsc": "order2"}
    assert schemas.trouble is None


@pytest.mark.parametrize("length", range(len(ORDER)))
def test_a_half_written_file_leaves_the_good_one_in_force(order: Path, length: int) -> None:
    schemas = SchemaFiles(str(order), named)
    order.write_bytes(ORDER.replace(b'"order"', b'"other"')[:length])
    for _ in range(2):
        assert schemas.newest() == {"order.avsc": "order"}
        assert schemas.trouble is not None
        assert "order.avsc" in schemas.trouble

    order.write_bytes(ORDER.replace(b'"order"', b'"other"'))
    assert schemas.newest() == {"order.avsc": "other"}
    assert schemas.trouble is None


def test_files_that_are_gone_leave_the_good_ones_in_force(order: Path) -> None:
    schemas = SchemaFiles(str(order.parent), named)
    order.unlink()
    assert schemas.newest() == {"order.avsc": "order"}
    assert schemas.trouble is not None
    order.parent.rmdir()

    assert schemas.newest() == {"order.avsc": "order"}


def test_files_that_did_not_change_are_not_read_again(order: Path) -> None:
    read: list[int] = []
    schemas = SchemaFiles(str(order), lambda content: read.append(len(content)))
    schemas.newest()

    assert read == [1]


def test_a_pipe_in_the_folder_keeps_nobody_waiting(order: Path) -> None:
    os.mkfifo(order.parent / "pipe.json")

    with pytest.raises(ValueError, match=r"pipe\.json is not a file"):
        load(order.parent)


def test_links_in_circles_end(order: Path) -> None:
    (order.parent / "again").symlink_to(order.parent)

    assert list(load(order.parent)) == ["order.avsc"]


def test_a_link_to_nowhere_is_named(order: Path) -> None:
    (order.parent / "gone.json").symlink_to("nowhere")

    with pytest.raises(ValueError, match=r"gone\.json cannot be read"):
        load(order.parent)


def test_files_are_limited_in_number_and_together(order: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (order.parent / "item.avsc").write_bytes(ORDER)
    monkeypatch.setattr(files, "MAX_TOGETHER", len(ORDER) * 2 - 1)
    with pytest.raises(ValueError, match="bytes together"):
        load(order.parent)
    monkeypatch.setattr(files, "MAX_FILES", 1)
    with pytest.raises(ValueError, match="more than 1 schema files"):
        load(order.parent)
