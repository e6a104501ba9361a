"""Schemas that lie in files beside a pipeline: read on the driver, taken along to workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from penstock.errors import ConfigError, refused
from penstock.registries.files import files_at

Texts = Mapping[str, bytes]
"""The content of files by their names."""

T = TypeVar("T")
_good: dict[str, Texts] = {}  # by path: what a format could last make something of


def texts(path: str) -> dict[str, bytes]:
    """What the files hold now, or held when they were last good. Raises ConfigError if they never were."""
    try:
        return files_at(path).newest()
    except ValueError as why:
        raise refused("config.schema-file", str(why), "correct the path or the file") from None


def only(files: Texts) -> tuple[str, bytes]:
    """The one file that there is, by name; a ValueError if there are more."""
    if len(files) != 1:
        raise ValueError("it is a folder with several schema files, and one is needed: name it")
    return next(iter(files.items()))


def in_force(path: str, make: Callable[[Texts], T]) -> T:
    """What is made of the files as they are now, or as they were when something could last be made of them: whole
    files may hold half of what somebody means to write. Raises ConfigError if nothing ever could be."""
    files = texts(path)
    try:
        made = make(files)
    except ConfigError:
        if _good.get(path, files) == files:
            raise
        return make(_good[path])
    _good[path] = files
    return made
