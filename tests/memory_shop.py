"""A pipeline whose source is in memory, and the loop around it taken apart: no broker, no Spark, real tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.config.parts import part
from penstock.crew import Threads
from penstock.formats.json import JsonFormat
from penstock.instance import Instance, Surroundings
from penstock.observe import Observer, Silence
from penstock.pipeline import Pipeline
from penstock.places import OpenStorage, storage_opener
from penstock.protocol.begin import Accepted
from penstock.testing import MemoryEngine, MemorySource


def event(type: str, n: int, **more: Any) -> bytes:
    return json.dumps({"type": type, "n": n} | more).encode()


def shop(source: MemorySource, lake: Path, **settings: Any) -> Pipeline:
    tables = {"base": str(lake), **settings.pop("tables", {})}
    declared = {"app": "shop", "source": source, "format": JsonFormat(), "route": {"by": {"field": "type"}}}
    return Pipeline.model_validate(declared | {"tables": tables} | settings)


@contextmanager
def instance(
    pipeline: Pipeline, observer: Observer | None = None, open_storage: OpenStorage | None = None
) -> Iterator[Instance]:
    """An instance that has not claimed anything yet."""
    crew = Threads()
    around = Surroundings(
        engine=MemoryEngine(),
        crew=crew,
        open_table=part("tables", "delta"),
        open_storage=open_storage or storage_opener(pipeline),
        observer=observer or Silence(),
    )
    try:
        yield Instance(pipeline, around, Accepted())
    finally:
        crew.close()
