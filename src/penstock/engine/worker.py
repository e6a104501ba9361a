"""What Spark calls on a worker. In a module of its own, so that a worker that is used again keeps
its Kafka connection and everything else it has imported."""

from __future__ import annotations

import gc
import zipimport
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark import TaskContext

from penstock import crashpoints
from penstock.landing.land import land
from penstock.landing.recipe import Landed, Piece, Recipe

_at_home = False


def land_task(tasks: Sequence[Sequence[Piece]], recipe: Recipe, _: int, numbers: Iterator[int]) -> Iterator[Landed]:
    """One task of the landing job."""
    _settle_in()
    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        crashpoints.disarm()
    for number in numbers:
        yield land(tasks[number], recipe)


def _settle_in() -> None:
    """Once per worker process."""
    global _at_home
    if _at_home:
        return
    _at_home = True
    # PySpark invalidates import caches at the start of every task, and each archive on the path
    # then reads its directory again: a fifth of a CPU second a task.
    zipimport.zipimporter.invalidate_caches = _do_nothing  # type: ignore[method-assign, assignment]
    # Messages come as a Python object each, none of them in a cycle: looking for cycles among
    # them costs a tenth of a task's time.
    gc.set_threshold(200_000, 10, 10)
    # Tasks fill the cores already.
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def _do_nothing(_: zipimport.zipimporter) -> None: ...
