"""Running a pipeline for real: Spark, threads and signals around the loop."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from penstock.catalog import Catalog
from penstock.config.load import fingerprint
from penstock.config.parts import part
from penstock.crew import Threads
from penstock.engine.session import open_context, running_context
from penstock.engine.spark import SparkEngine
from penstock.instance import Surroundings
from penstock.loop import Until
from penstock.loop import run as loop
from penstock.metrics import measured
from penstock.observe import Observer, Silence
from penstock.pipeline import Pipeline, Spark
from penstock.places import storage_opener
from penstock.protocol.begin import Accepted

if TYPE_CHECKING:
    from penstock.engine.session import SparkSession


def run(
    pipeline: Pipeline,
    *,
    until: Until | None = None,
    accepted: Accepted | None = None,
    spark: SparkSession | None = None,
    observer: Observer | None = None,
    handle_signals: bool = False,
) -> None:
    """Land a pipeline's source in its tables until it is told to stop.

    A Spark session that exists is used as it is. SIGTERM and SIGINT finish the batch in hand if
    `handle_signals` is set; a second one ends the process at once.
    """
    crew, until = Threads(), until or Until()
    existing = spark.sparkContext if spark is not None else running_context()
    engine = SparkEngine(lambda: existing or open_context(pipeline.app, pipeline.spark))
    if not until.caught_up:
        engine.warm()  # who waits for messages wants them landed soon, not after Spark has started
    try:
        with _stopping(crew, install=handle_signals) as stop, measured(pipeline, observer or Silence()) as watching:
            around = Surroundings(
                engine=engine,
                crew=crew,
                open_table=part("tables", pipeline.tables.format),
                open_storage=storage_opener(pipeline),
                observer=watching,
                config=fingerprint(pipeline),
                stop=stop,
            )
            loop(pipeline, around, until, accepted or Accepted())
    finally:
        crew.close()
        if existing is None:
            engine.close()


def catalog_of(pipeline: Pipeline) -> Catalog:
    """The pipeline's tables, without an engine to land in them."""
    return Catalog(pipeline, part("tables", pipeline.tables.format), storage_opener(pipeline))


def with_spark(pipeline: Pipeline, master: str | None, conf: dict[str, str]) -> Pipeline:
    """The pipeline with what the command line says about Spark."""
    spark = Spark(master=master or pipeline.spark.master, conf={**pipeline.spark.conf, **conf})
    return pipeline.model_copy(update={"spark": spark})


@contextmanager
def _stopping(crew: Threads, *, install: bool) -> Iterator[Any]:
    """Turn the first signal into a wish to stop, and the second into an end."""
    wished: list[int] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        if wished:
            os._exit(128 + number)
        wished.append(number)
        crew.wake()

    if not install:
        yield lambda: False
        return
    before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: bool(wished)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
