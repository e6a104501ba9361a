"""Wishes: which types an operator wants to have adopted, kept beside the ledger until it is done.

Whoever wishes may go away; the instance that runs finds the wish, or the next one does.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import msgspec

from penstock.storage import Storage
from penstock.tables.names import table_name, type_name

WISHES = "adopt"
SIGN = "adopt-sign.json"


class Wish(msgspec.Struct, frozen=True, omit_defaults=True):
    """One type that should get its table."""

    type: str
    after: int  # the newest ledger entry when it was wished: the answer comes later
    id: str = ""
    refused: str = ""  # why it was not done; the messages are where they were


class Sign(msgspec.Struct, frozen=True):
    """That an instance runs and has seen the wishes."""

    instance: str
    beat: int


class Wishes:
    """The wishes of one app."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __iter__(self) -> Iterator[Wish]:
        for name in self._storage.names(WISHES):
            wish = self._read(f"{WISHES}/{name}")
            if wish is not None and wish.type == type_name(name.removesuffix(".json")):
                yield wish

    def get(self, type: str) -> Wish | None:
        return self._read(_path(type))

    def make(self, type: str, after: int) -> Wish:
        """Wish for a type, or join whoever wishes for it already. What was refused before is wished anew."""
        fresh = Wish(type, after, uuid.uuid4().hex)
        while True:
            if self._storage.create(_path(type), msgspec.json.encode(fresh)):
                return fresh
            found = self.get(type)
            if found is not None and not found.refused:
                return found
            self.drop(type)

    def refuse(self, wish: Wish, why: str) -> None:
        self._storage.put(_path(wish.type), msgspec.json.encode(msgspec.structs.replace(wish, refused=why)))

    def drop(self, type: str) -> None:
        self._storage.delete([_path(type)])

    def give_sign(self, sign: Sign) -> None:
        self._storage.put(SIGN, msgspec.json.encode(sign))

    def sign(self) -> bytes | None:
        return self._storage.get(SIGN)

    def _read(self, path: str) -> Wish | None:
        text = self._storage.get(path)
        try:
            return None if text is None else msgspec.json.decode(text, type=Wish)
        except msgspec.DecodeError:
            return None  # not ours


def _path(type: str) -> str:
    return f"{WISHES}/{table_name(type)}.json"
