"""Where a pipeline's things are, and how they are reached."""

from __future__ import annotations

from collections.abc import Callable

from penstock.pipeline import Pipeline
from penstock.storage import Storage, absolute, child

HOME = "_penstock"  # what apps keep for themselves, beside the tables
LETTERS = "_dead_letters"  # no type's table can have these names
UNROUTED = "_unrouted"

OpenStorage = Callable[[str], Storage]


def ledger_location(pipeline: Pipeline) -> str:
    """Where the app's own files are: by default beside its tables."""
    return absolute(pipeline.ledger.path or child(absolute(pipeline.tables.base), HOME, pipeline.app))


def storage_options(pipeline: Pipeline) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in pipeline.tables.storage.items()}


def storage_opener(pipeline: Pipeline) -> OpenStorage:
    """How this pipeline reaches the places it writes to."""
    return lambda location: Storage(location, storage_options(pipeline), fsync=pipeline.fsync)
