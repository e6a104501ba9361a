"""PySpark's daemon, with workers that end in silence when Spark has hung up on them.

A Spark that stops, or cancels a task, closes the sockets of its workers and ends them after that. A
worker that is quick enough to notice prints a stack trace about it, below a run that ended well. What
a task raises goes to Spark through that socket, and is told there, as ever.
"""

from __future__ import annotations

import sys
import traceback
from types import SimpleNamespace

from pyspark import daemon

_HUNG_UP = (BrokenPipeError, ConnectionResetError, EOFError)


def print_exc() -> None:
    """What ended a worker outside of its task: there it has only Spark's socket to fail on, or a
    defect, which is told."""
    if not isinstance(sys.exception(), _HUNG_UP):
        traceback.print_exc()


if __name__ == "__main__":
    quiet = SimpleNamespace(print_exc=print_exc, format_exc=traceback.format_exc)
    daemon.traceback = quiet  # type: ignore[attr-defined, assignment]
    daemon.manager()  # type: ignore[no-untyped-call]
