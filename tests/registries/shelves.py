"""Where a shelf keeps things."""

from __future__ import annotations

from pathlib import Path

from penstock.registries.confluent import ConfluentRegistry
from penstock.registries.shelf import Shelf


def copy_of(kept: Shelf, registry: ConfluentRegistry, id: int = 7) -> Path:
    return Path(kept.location, "schemas", registry.folder, f"{id}.json")


def marker_of(kept: Shelf, registry: ConfluentRegistry, id: int) -> Path:
    return Path(kept.location, "schemas", registry.folder, "unknown", f"{id}.json")
