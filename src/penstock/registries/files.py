"""Schemas in files, which people edit while a pipeline runs."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from penstock.errors import in_one_line, shown

SUFFIXES = (".avsc", ".json", ".proto", ".desc")
MAX_FILE = 4 * 10**6
MAX_FILES = 1_000
MAX_TOGETHER = 64 * 10**6

T = TypeVar("T")
Signature = tuple[tuple[str, int, int, int], ...]


class SchemaFiles(Generic[T]):
    """What a reader makes of a file, or of all schema files below a folder. Once it was good it stays so: files that
    are half-written, damaged or gone leave what was read before in force."""

    def __init__(self, path: str, read: Callable[[Mapping[str, bytes]], T]) -> None:
        """`read` gets the files' content by name, relative to the folder, and raises ValueError if it is not good.
        So does this, naming the file, if nothing good was ever read."""
        self.path, self._read = Path(path), read
        self._signature = _signature(self.path)
        self._good = self._loaded()
        self.trouble: str | None = None
        """Why the newest files are not the ones in force; None if they are."""

    def newest(self) -> T:
        """What the files say now, or said when they were last good."""
        try:
            signature = _signature(self.path)
            if signature != self._signature:
                self._good, self._signature = self._loaded(), signature
            self.trouble = None
        except ValueError as why:
            self.trouble = str(why)
        return self._good

    def _loaded(self) -> T:
        content = load(self.path)
        try:
            return self._read(content)
        except ValueError as why:
            raise ValueError(f"the schemas in {shown(str(self.path))} cannot be used: {in_one_line(why)}") from None


@cache
def files_at(path: str) -> SchemaFiles[dict[str, bytes]]:
    """The files as they are, the same for everyone in this process, so that what was good stays known."""
    return SchemaFiles(path, dict)


def load(path: Path) -> dict[str, bytes]:
    """The content of a schema file, or of those below a folder, by name. A ValueError names what is no good."""
    found: dict[str, bytes] = {}
    together = 0
    for name, file in _listed(path):
        found[name] = _content(file)
        together += len(found[name])
        if together > MAX_TOGETHER:
            raise ValueError(f"the schema files in {shown(str(path))} have more than {MAX_TOGETHER:,} bytes together")
    return found


def _listed(path: Path) -> list[tuple[str, Path]]:
    """The files to read, by name, in order."""
    if path.is_file():
        return [(path.name, path)]
    if not path.is_dir():
        raise ValueError(f"there is no file or folder {shown(str(path))}")
    listed = sorted((file.relative_to(path).as_posix(), file) for file in _below(path))
    if not listed:
        raise ValueError(f"there is no schema file in {shown(str(path))}: no name ends in {', '.join(SUFFIXES)}")
    return listed


def _below(folder: Path) -> Iterator[Path]:
    """The schema files below a folder. Names that begin with a dot are for what editors and mounts keep there."""
    count = 0
    for place, folders, names in os.walk(folder):  # does not follow links to folders: no circles
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            if name.endswith(SUFFIXES) and not name.startswith("."):
                count += 1
                if count > MAX_FILES:
                    raise ValueError(f"there are more than {MAX_FILES:,} schema files in {shown(str(folder))}")
                yield Path(place, name)


def _content(file: Path) -> bytes:
    """All of a file, as it was at one time."""
    named = shown(str(file))
    try:
        # Without waiting: there may be a pipe in the folder.
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:
            before = os.fstat(opened.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise ValueError(f"{named} is not a file")
            content = opened.read(MAX_FILE + 1)
            after = os.fstat(opened.fileno())
    except OSError as cause:
        raise ValueError(f"{named} cannot be read: {cause.strerror}") from None
    if len(content) > MAX_FILE:
        raise ValueError(f"{named} has more than {MAX_FILE:,} bytes")
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size) or len(content) != after.st_size:
        raise ValueError(f"{named} is being written to")
    _refuse_damaged(content, file.suffix, named)
    return content


def _refuse_damaged(content: bytes, suffix: str, named: str) -> None:
    if not content.strip():
        raise ValueError(f"{named} is empty")
    try:
        if suffix in (".avsc", ".json"):
            json.loads(content)
        elif suffix == ".proto":
            content.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{named} is not UTF-8 text") from None
    except (ValueError, RecursionError) as cause:
        raise ValueError(f"{named} is not JSON: {in_one_line(cause)}") from None


def _signature(path: Path) -> Signature:
    """What changes when files do. A ValueError if they cannot be listed."""
    found = []
    for name, file in _listed(path):
        try:
            status = file.stat()
        except OSError as cause:
            raise ValueError(f"{shown(str(file))} cannot be read: {cause.strerror}") from None
        found.append((name, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)
