"""Schemas that were looked up before."""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import Transient
from penstock.registries import Registered, shelf
from penstock.registries.confluent import ConfluentRegistry
from penstock.registries.shelf import Shelf, forget
from tests.registries.hostile import FAULTS, SLOW, Small
from tests.registries.shelves import copy_of

DOWN = "status 503"


def test_a_schema_is_asked_for_once(kept: Shelf, registry: ConfluentRegistry, server: Small) -> None:
    found = kept.find(registry, 7)
    asked = len(server.asked)
    assert kept.find(registry, 7) == found
    forget()

    assert (
        kept.find(registry, 7) == found == Registered(7, "AVRO", '"orders"', (("money", "money's text"),), ("orders",))
    )
    assert len(server.asked) == asked


@pytest.mark.parametrize("fault", FAULTS)
def test_a_known_schema_needs_no_registry(kept: Shelf, registry: ConfluentRegistry, server: Small, fault: str) -> None:
    found = kept.find(registry, 7)
    server.fault = fault
    assert kept.find(registry, 7) == found
    forget()
    assert kept.find(registry, 7) == found


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_trusted_is_never_kept(
    kept: Shelf, registry: ConfluentRegistry, server: Small, fault: str
) -> None:
    server.fault = fault
    quick = registry.model_copy(update={"timeout": 0.2 if fault in SLOW else 5.0})
    with pytest.raises(Transient) as told:
        kept.find(quick, 7)

    assert told.value.code != shelf.UNCONFIRMED
    assert [path for path in Path(kept.location).rglob("*") if path.is_file()] == []
    server.fault = None
    assert kept.find(registry, 7).text == '"orders"', "and it is found as soon as the registry is well"


def test_a_shelf_travels_and_keeps_its_secrets(kept: Shelf) -> None:
    assert pickle.loads(pickle.dumps(kept)) == kept
    assert "hush" not in repr(kept)


@pytest.mark.parametrize(
    "damage",
    [
        lambda copy: copy[: len(copy) // 2],
        lambda copy: b"",
        lambda copy: copy.replace(b"orders", b"0rders"),
        lambda copy: copy.replace(b'"id": 7', b'"id": 8'),
        lambda copy: b"[" * 100_000,
        lambda copy: b'{"schema": {}, "sha256": 1}',
        lambda copy: b"\xff\xfe",
    ],
)
def test_a_damaged_copy_is_replaced(kept: Shelf, registry: ConfluentRegistry, damage: object) -> None:
    found = kept.find(registry, 7)
    copy = copy_of(kept, registry)
    good = copy.read_bytes()
    assert callable(damage)
    copy.write_bytes(damage(good))
    forget()

    assert kept.find(registry, 7) == found
    assert copy.read_bytes() == good


def test_a_copy_of_another_id_is_not_taken(kept: Shelf, registry: ConfluentRegistry, server: Small) -> None:
    kept.find(registry, 7)
    copy_of(kept, registry).rename(copy_of(kept, registry, 8))
    server.fault = DOWN

    with pytest.raises(Transient):
        kept.find(registry, 8)


def test_a_copy_that_somebody_put_there_first_counts(kept: Shelf, registry: ConfluentRegistry) -> None:
    class Late:
        """A registry whose answer comes after somebody else's has been kept."""

        folder = registry.folder

        def look_up(self, id: int) -> Registered:
            kept.find(registry, id)
            return replace(registry.look_up(id), subjects=("another",))

    assert kept.find(Late(), 7).subjects == ("orders",)


def test_registries_do_not_mix(kept: Shelf, registry: ConfluentRegistry) -> None:
    kept.find(registry, 7)

    with pytest.raises(Transient):
        kept.find(ConfluentRegistry(url="http://127.0.0.1:1"), 7)


def test_workers_at_once_find_the_same(kept: Shelf, registry: ConfluentRegistry) -> None:
    found: list[Registered] = []
    workers = [threading.Thread(target=lambda: found.append(kept.find(registry, 7))) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert len(found) == 8
    assert len(set(found)) == 1


# --- memory


def test_memory_is_bounded(
    kept: Shelf, registry: ConfluentRegistry, server: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "MAX_KEPT", 2)
    for id in (20, 21, 22):
        server.holds(id, f'"{id}"')
        kept.find(registry, id)
    for id in (20, 21, 22):
        copy_of(kept, registry, id).unlink()
    server.fault = DOWN

    assert kept.find(registry, 22).id == 22
    with pytest.raises(Transient):
        kept.find(registry, 20)


def test_large_schemas_make_room_for_each_other(
    kept: Shelf, registry: ConfluentRegistry, server: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "MAX_KEPT_TEXT", 150)
    for id, size in ((20, 100), (21, 100), (22, 40)):
        server.holds(id, "x" * size)
        kept.find(registry, id)
        copy_of(kept, registry, id).unlink()
    server.fault = DOWN

    assert [kept.find(registry, id).id for id in (21, 22)] == [21, 22]
    with pytest.raises(Transient):
        kept.find(registry, 20)
