"""The landing job: tasks on Spark's workers, one answer each.

No row goes through the JVM: a task reads the source and writes files by itself, and what comes back
is its account. Spark does what Spark is for: it spreads the tasks and runs them again if a worker dies.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from functools import partial

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext

from penstock.engine.worker import land_task
from penstock.errors import PenstockError, landing_failed, spark_gone
from penstock.landing.recipe import Landed, Piece, Recipe


class SparkEngine:
    """Landing on a Spark context, whatever its master."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._group = f"penstock-{uuid.uuid4().hex}"
        self._process = getattr(context._gateway, "proc", None)

    @property
    def cores(self) -> int:
        return max(1, self._context.defaultParallelism)

    def land(self, tasks: Sequence[Sequence[Piece]], recipe: Recipe) -> list[Landed]:
        try:
            self._context.setJobGroup(self._group, "penstock: land", interruptOnCancel=True)
            numbers = self._context.parallelize(range(len(tasks)), len(tasks))
            found: list[Landed] = numbers.mapPartitionsWithIndex(partial(land_task, tasks, recipe)).collect()
        except Exception as cause:
            raise self._meaning(cause) from cause
        return found

    def cancel(self) -> None:
        try:
            self._context.cancelJobGroup(self._group)
        except (Py4JError, OSError):
            return  # then there is nothing left to cancel

    def ensure(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise spark_gone(f"its process ended with status {self._process.returncode}")

    def _meaning(self, cause: Exception) -> PenstockError:
        if isinstance(cause, Py4JJavaError):
            return landing_failed(_last_line(str(cause.java_exception.toString())))
        if isinstance(cause, Py4JNetworkError | ConnectionError | EOFError | OSError):
            return spark_gone("the connection to its JVM broke")
        if isinstance(cause, Py4JError):
            return spark_gone(_last_line(str(cause)))
        return landing_failed(f"{type(cause).__name__}: {cause}")


def _last_line(text: str) -> str:
    """What a worker said last: the error itself, below Spark's account of who failed where."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told: Iterator[str] = (
        line for line in reversed(lines) if not line.startswith(("at ", "...", "Driver stacktrace", "Caused by"))
    )
    return next(told, "no reason given")[:500]
