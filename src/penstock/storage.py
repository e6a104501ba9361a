"""Where files are: a folder on a local disk or a prefix in an object store, spoken to the same way.

Foreign exceptions end here. A failed call is `Unavailable`: its outcome may be unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from penstock.errors import PenstockError, Unavailable

# Settings of the HTTP client below a store: delta-rs takes them among the store's own, obstore wants them apart.
_CLIENT = {"allow_http", "allow_invalid_certificates", "connect_timeout", "timeout", "proxy_url", "user_agent"}


def absolute(location: str) -> str:
    """A location as every process understands it, wherever it runs: a URL, or an absolute path."""
    if _is_url(location):
        return location.rstrip("/")
    return str(Path(location).expanduser().absolute())


def child(location: str, *segments: str) -> str:
    return "/".join((location.rstrip("/"), *segments))


def _is_url(location: str) -> bool:
    return "://" in location


class Storage:
    """One folder, and what penstock does with the files in it."""

    def __init__(self, location: str, options: Mapping[str, str] | None = None, *, fsync: bool = False) -> None:
        self.location = location
        self._folder: Path | None = None if _is_url(location) else Path(location)
        self._fsync = fsync and self._folder is not None
        self._store: ObjectStore = self._open(dict(options or {}))

    def _open(self, options: dict[str, str]) -> ObjectStore:
        try:
            if self._folder is not None:
                return LocalStore(self._folder, mkdir=True)
            if urlsplit(self.location).scheme == "file":
                return from_url(self.location, mkdir=True)
            plain = {name: re.sub("^(aws|azure|google)_", "", name.lower()) for name in options}
            client = {plain[name]: value for name, value in options.items() if plain[name] in _CLIENT}
            own = {name: value for name, value in options.items() if plain[name] not in _CLIENT}
            return from_url(self.location, config=own, client_options=client)  # type: ignore[call-overload,no-any-return]
        except (BaseError, OSError, ValueError) as cause:
            raise PenstockError(
                "storage.unusable",
                f"cannot use {self.location}: {_first_line(cause)}",
                "check the path and its permissions",
            ) from cause

    def put(self, path: str, content: bytes | memoryview) -> None:
        """Write a file whole; nobody ever sees half of it."""
        with self._wrapped("write", path):
            obstore.put(self._store, path, content)
            self._settle(path)

    def create(self, path: str, content: bytes) -> bool:
        """Write a file only if there is none: exactly one of any number of callers gets True."""
        with self._wrapped("write", path):
            try:
                obstore.put(self._store, path, content, mode="create")
            except AlreadyExistsError:
                return False
            self._settle(path)
            return True

    def get(self, path: str) -> bytes | None:
        with self._wrapped("read", path):
            try:
                return bytes(obstore.get(self._store, path).bytes())
            except FileNotFoundError:
                return None

    def tail(self, path: str, count: int) -> bytes:
        """The last so many bytes of a file, or all of a smaller one."""
        with self._wrapped("read", path):
            size = int(obstore.head(self._store, path)["size"])
            return bytes(obstore.get_range(self._store, path, start=max(0, size - count), end=size))

    def missing(self, paths: Sequence[str]) -> list[str]:
        """Those of the files that are not there."""
        return [path for path in paths if not self._exists(path)]

    def _exists(self, path: str) -> bool:
        with self._wrapped("look for", path):
            try:
                obstore.head(self._store, path)
            except FileNotFoundError:
                return False
            return True

    def names(self, folder: str, after: str = "") -> list[str]:
        """The names of the files in a folder, in order, from the one after a given name on."""
        with self._wrapped("list", folder):
            offset = f"{folder}/{after}" if after else None
            found = obstore.list(self._store, prefix=folder, offset=offset)
            return sorted(meta["path"].rpartition("/")[2] for chunk in found for meta in chunk)

    def folders(self) -> list[str]:
        """The names of the folders directly below."""
        with self._wrapped("list", ""):
            return sorted(obstore.list_with_delimiter(self._store)["common_prefixes"])

    def delete(self, paths: Sequence[str]) -> None:
        with self._wrapped("delete", paths[0] if paths else ""):
            for path in paths:
                try:
                    obstore.delete(self._store, path)
                except FileNotFoundError:
                    continue

    def _settle(self, path: str) -> None:
        """Make a local file survive a power cut too, where that was asked for."""
        if not self._fsync or self._folder is None:
            return
        target = self._folder / path
        for place in (target, *list(target.parents)[: len(Path(path).parts)]):
            handle = os.open(place, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    @contextmanager
    def _wrapped(self, verb: str, path: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as cause:
            raise Unavailable(
                "storage.unavailable",
                f"cannot {verb} {child(self.location, path)}: {_first_line(cause)}",
                "penstock waits; check that the place exists, has room, and may be written to",
            ) from cause


def _first_line(cause: BaseException) -> str:
    return str(cause).partition("\n")[0][:300]
