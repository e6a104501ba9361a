"""The landing job: tasks on Spark's workers, one answer each.

No row goes through the JVM: a task reads the source and writes files by itself, and what comes back
is its account. Spark does what Spark is for: it spreads the tasks and runs them again if a worker dies.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext

from penstock.engine.worker import land_task
from penstock.errors import PenstockError, landing_failed, spark_gone
from penstock.landing.recipe import Landed, Piece, Recipe

_PATIENCE = 5.0


class SparkEngine:
    """Landing on a Spark context, whatever its master. It is opened when it is first needed: until
    then there is no JVM, and an error that needs none is told at once."""

    def __init__(self, open_context: Callable[[], SparkContext]) -> None:
        self._open = open_context
        self._context: Future[SparkContext] | None = None
        self._group = f"penstock-{uuid.uuid4().hex}"
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Begin to open the context, beside whatever else goes on."""
        self._opening()

    def _opening(self) -> Future[SparkContext]:
        with self._lock:
            if self._context is None:
                self._context = Future()
                # Not in the main thread: there, PySpark takes SIGINT for itself.
                threading.Thread(target=self._start, args=(self._context,), name="penstock-spark").start()
            return self._context

    def _start(self, promise: Future[SparkContext]) -> None:
        try:
            promise.set_result(self._open())
        except BaseException as why:
            promise.set_exception(why)

    @property
    def cores(self) -> int:
        context = self._opening().result()
        try:
            return max(1, int(context.defaultParallelism))
        except Exception as cause:
            raise self._meaning(cause) from cause

    def land(self, tasks: Sequence[Sequence[Piece]], recipe: Recipe) -> list[Landed]:
        context = self._opening().result()
        try:
            context.setJobGroup(self._group, "penstock: land", interruptOnCancel=True)
            numbers = context.parallelize(range(len(tasks)), len(tasks))
            found: list[Landed] = numbers.mapPartitionsWithIndex(partial(land_task, tasks, recipe)).collect()
        except Exception as cause:
            raise self._meaning(cause) from cause
        return found

    def cancel(self) -> None:
        if self._context is not None and self._context.done():
            with suppress(Py4JError, OSError):  # then there is nothing left to cancel
                self._context.result().cancelJobGroup(self._group)

    def ensure(self) -> None:
        if self._context is None or not self._context.done():
            return
        process = getattr(self._context.result()._gateway, "proc", None)
        if process is not None and process.poll() is not None:
            raise spark_gone(f"its process ended with status {process.returncode}")

    def close(self) -> None:
        """Stop the context, if it was ever opened. Tasks that nobody waits for end before it: Spark
        prints a stack trace about each that ends while it stops."""
        if self._context is None:
            return
        with suppress(Exception):  # it is gone already, and that was reported
            context = self._context.result()
            with suppress(Exception):
                context.cancelJobGroup(self._group)
                _wait_for_tasks(context)
            context.stop()

    def _meaning(self, cause: Exception) -> PenstockError:
        if isinstance(cause, Py4JJavaError):
            return landing_failed(_last_line(str(cause.java_exception.toString())))
        if isinstance(cause, Py4JNetworkError | ConnectionError | EOFError | OSError):
            return spark_gone("the connection to its JVM broke")
        if isinstance(cause, Py4JError):
            return spark_gone(_last_line(str(cause)))
        return landing_failed(f"{type(cause).__name__}: {cause}")


def _wait_for_tasks(context: SparkContext) -> None:
    """Until no task runs. It is no more than manners: one that does not end is not waited for long."""
    deadline = time.monotonic() + _PATIENCE
    scheduler = context._jsc.sc().taskScheduler()
    while scheduler.runningTasksByExecutors().values().mkString().strip("0") and time.monotonic() < deadline:
        time.sleep(0.02)


def _last_line(text: str) -> str:
    """What a worker said last: the error itself, below Spark's account of who failed where."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told: Iterator[str] = (
        line for line in reversed(lines) if not line.startswith(("at ", "...", "Driver stacktrace", "Caused by"))
    )
    return next(told, "no reason given")[:500]
