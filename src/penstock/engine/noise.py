"""What a starting JVM prints whether or not anybody can do something about it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NOISE = (b"WARNING: Using incubator modules",)


@contextmanager
def without_noise() -> Iterator[None]:
    """Processes started here write to our stderr through a filter; everything else passes."""
    reading, writing = os.pipe()
    before = os.dup(2)
    threading.Thread(target=_forward, args=(reading, os.dup(before)), daemon=True, name="penstock-stderr").start()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


def _forward(reading: int, to: int) -> None:
    with os.fdopen(reading, "rb") as lines, os.fdopen(to, "wb", buffering=0) as out:
        for line in lines:
            if not line.startswith(_NOISE):
                out.write(line)
