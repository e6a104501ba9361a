"""Places that are only looked at: nothing is made, changed or removed there, not even a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit
from urllib.request import url2pathname

from penstock.errors import PenstockError
from penstock.storage import Storage, child


class Looking(Storage):
    """One folder for reading. What is put there is kept aside, for whoever looks for it in the same object. A local
    folder that is not there is as good as an empty one, which must be given: whoever opens a folder makes it."""

    def __init__(self, location: str, options: Mapping[str, str], empty: Path) -> None:
        super().__init__(location if _is_there(location) else str(empty), options)
        self.location = location
        self._aside: dict[str, bytes] = {}

    def put(self, path: str, content: bytes | memoryview) -> None:
        self._aside[path] = bytes(content)

    def get(self, path: str) -> bytes | None:
        return self._aside[path] if path in self._aside else super().get(path)

    def create(self, path: str, content: bytes) -> bool:  # noqa: ARG002
        self._refuse(path)

    def delete(self, paths: Sequence[str]) -> None:
        self._refuse(*paths[:1])

    def _refuse(self, *path: str) -> NoReturn:
        raise PenstockError(
            "storage.only-looked-at",
            f"{child(self.location, *path)} would have been changed by a command that changes nothing",
            "nothing was changed; this is a mistake in penstock: please report it",
        )


def _is_there(location: str) -> bool:
    """Is there something at a place on this machine? Elsewhere, asking makes nothing."""
    if "://" not in location:
        return Path(location).exists()
    split = urlsplit(location)
    return split.scheme != "file" or Path(url2pathname(split.path)).exists()
