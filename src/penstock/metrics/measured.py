"""A run with the metrics its pipeline asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.metrics.numbers import Numbers
from penstock.metrics.prometheus import PrometheusPage
from penstock.metrics.statsd import StatsdSender
from penstock.metrics.watch import Metering
from penstock.observe import Observer, Together
from penstock.pipeline import Pipeline


@contextmanager
def measured(pipeline: Pipeline, observer: Observer) -> Iterator[Observer]:
    """The observer, and beside it one that counts if the pipeline wants metrics. They are told until the end."""
    asked = pipeline.metrics
    if asked.statsd is None and asked.prometheus is None:
        yield observer
        return
    numbers = Numbers(pipeline.app, pipeline.tables.limit + 1, keep_samples=asked.statsd is not None)
    teller = (
        StatsdSender(asked.statsd, asked.prefix, numbers, observer.warned)
        if asked.statsd is not None
        else PrometheusPage(str(asked.prometheus), numbers, observer.warned)
    )
    with teller:
        yield Together(observer, Metering(numbers))
