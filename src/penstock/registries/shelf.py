"""Schemas that were looked up before, kept beside the ledger: what an id means never changes, and a registry that
is away keeps nobody from reading messages whose schemas are known."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.errors import Transient
from penstock.registries import Registered, Registry, UnknownSchema
from penstock.storage import Storage, child
from penstock.values.plain import Refusal

MAX_KEPT = 1_000  # schemas in memory, and
MAX_KEPT_TEXT = 64 * 10**6  # characters of them
MAX_MARKERS = 1_000
FORGOTTEN_AFTER = 90_000.0  # seconds: longer than any grace
FORGET_AFTER = 5.0  # seconds: how long an id is not asked for again that was unknown

Key = tuple[str, str, int]


class _Memory:
    """What this process knows: schemas, and for some seconds what was unknown."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._schemas: OrderedDict[Key, tuple[Registered, int]] = OrderedDict()
        self._unknown: OrderedDict[Key, tuple[float, Exception]] = OrderedDict()
        self._characters = 0

    def get(self, key: Key) -> Registered | None:
        with self._lock:
            if key not in self._schemas:
                return None
            self._schemas.move_to_end(key)
            return self._schemas[key][0]

    def put(self, key: Key, schema: Registered) -> None:
        size = len(schema.text) + sum(len(text) for _, text in schema.references)
        with self._lock:
            self._unknown.pop(key, None)
            self._characters += size - self._schemas.pop(key, (schema, 0))[1]
            self._schemas[key] = (schema, size)
            while len(self._schemas) > MAX_KEPT or (self._characters > MAX_KEPT_TEXT and len(self._schemas) > 1):
                self._characters -= self._schemas.popitem(last=False)[1][1]

    def refused(self, key: Key) -> Exception | None:
        with self._lock:
            until, why = self._unknown.get(key, (0.0, None))
            return why if time.monotonic() < until else None

    def refuse(self, key: Key, why: Exception) -> None:
        with self._lock:
            self._unknown.pop(key, None)
            self._unknown[key] = (time.monotonic() + FORGET_AFTER, why)
            while len(self._unknown) > MAX_KEPT:
                self._unknown.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._schemas.clear()
            self._unknown.clear()
            self._characters = 0


_memory = _Memory()


def forget() -> None:
    """Let this process know nothing, as one that has just begun."""
    _memory.clear()


@dataclass(frozen=True)
class Shelf:
    """Where schemas are kept for all workers, under `<location>/schemas/<registry>/`."""

    location: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    grace: float = 60.0
    """For how many seconds an id may be unknown before its messages are dead letters: registries lag behind."""

    def find(self, registry: Registry, id: int) -> Registered:
        """The schema with an id: from memory, from the shelf, or from the registry. `Transient` if it cannot be known
        now, `Refusal` if there is none, or none that could be used."""
        key = (self.location, registry.folder, id)
        if known := _memory.get(key):
            return known
        if why := _memory.refused(key):
            raise why.with_traceback(None)
        storage = Storage(child(self.location, "schemas"), self.options)
        path = f"{registry.folder}/{id}.json"
        found = _read(storage.get(path), id) or self._ask(registry, id, storage, key)
        _memory.put(key, found)
        return found

    def find_all(self, registry: Registry, ids: Iterable[int]) -> dict[int, Registered | Refusal]:
        """What `find` finds, or why not, for each id. `Transient` only after all were asked for: many that are unknown
        wait out their grace together, not one after the other."""
        found: dict[int, Registered | Refusal] = {}
        away: Transient | None = None
        for id in ids:
            try:
                found[id] = self.find(registry, id)
            except Refusal as why:
                found[id] = why
            except Transient as cause:
                away = away or cause
                if cause.code != UNCONFIRMED:
                    break
        if away is not None:
            raise away
        return found

    def _ask(self, registry: Registry, id: int, storage: Storage, key: Key) -> Registered:
        marker = f"{registry.folder}/unknown/{id}.json"
        try:
            schema = registry.look_up(id)
        except UnknownSchema as unknown:
            why = self._unknown(storage, marker, id, str(unknown))
            _memory.refuse(key, why)
            raise why from None
        except Refusal as unusable:
            _memory.refuse(key, unusable)
            raise
        kept = _keep(storage, f"{registry.folder}/{id}.json", schema)
        storage.delete([marker])
        return kept

    def _unknown(self, storage: Storage, marker: str, id: int, told: str) -> Transient | Refusal:
        """Why there is no such schema: not yet for sure, or for good."""
        since = _since(storage, marker)
        if since is not None and time.time() - since >= self.grace:
            return Refusal("parse", "schema.unknown-id", f"schema id {id}: {told}")
        return Transient(
            UNCONFIRMED,
            f"schema id {id}: {told}, so far",
            f"penstock waits; if it stays unknown for {self.grace:g} seconds, its messages become dead letters",
        )


UNCONFIRMED = "schema.unconfirmed"


def _since(storage: Storage, marker: str) -> float | None:
    """Since when an id has been unknown to the registry, by the marker that the first one left who noticed."""
    now = time.time()
    found = _time(storage.get(marker), now)
    if found is not None:
        return found
    # Ids come with messages, so anyone can make up any number of them. They get a grace, but not all the room.
    if not _has_room(storage, marker.rpartition("/")[0], now):
        return 0.0
    ours = json.dumps({"since": now}).encode()
    if storage.create(marker, ours):
        return now
    theirs = _time(storage.get(marker), now)
    if theirs is None:
        storage.put(marker, ours)
    return now if theirs is None else theirs


def _has_room(storage: Storage, folder: str, now: float) -> bool:
    """Are there not too many markers? Those of long ago mean nothing any more, and go."""
    names = [f"{folder}/{name}" for name in storage.names(folder)]
    if len(names) < MAX_MARKERS:
        return True
    stale = [name for name in names if _time(storage.get(name), now) is None]
    storage.delete(stale)
    return len(names) - len(stale) < MAX_MARKERS


def _time(content: bytes | None, now: float) -> float | None:
    """When a marker was left; None if it is damaged, from a clock that is far ahead, or of long ago: registries
    learn, and who asks again after a day gets a grace again."""
    try:
        since = json.loads(content or b"")["since"]
        return float(since) if now - FORGOTTEN_AFTER <= since <= now + 60 else None
    except (ValueError, KeyError, TypeError):
        return None


# --- copies of schemas ---------------------------------------------------------------------------


def _keep(storage: Storage, path: str, schema: Registered) -> Registered:
    """Put a schema on the shelf. A good copy that somebody else put there first is the one that counts."""
    copy = _written(schema)
    if storage.create(path, copy):
        return schema
    if theirs := _read(storage.get(path), schema.id):
        return theirs
    storage.put(path, copy)
    return schema


def _written(schema: Registered) -> bytes:
    plain = asdict(schema)
    return json.dumps({"schema": plain, "sha256": _digest(plain)}, ensure_ascii=False).encode()


def _read(content: bytes | None, id: int) -> Registered | None:
    """The schema that a copy holds; None if there is no copy, or it is damaged."""
    try:
        copy = json.loads(content or b"")
        plain = copy["schema"]
        if copy["sha256"] != _digest(plain) or plain["id"] != id:
            return None
        references = tuple((str(name), str(text)) for name, text in plain["references"])
        return Registered(id, plain["kind"], plain["text"], references, tuple(plain["subjects"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _digest(plain: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
