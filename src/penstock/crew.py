"""Who does the work that goes on beside the loop: threads when it is real, a scheduler when it is tested.

The loop asks nothing else of its surroundings: a clock, a way to start something, a way to wait.
That is what lets a simulator run the very same loop and stop it at every step.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol


class Crew(Protocol):
    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        ...

    def chance(self) -> float:
        """A number in [0, 1): for jitter, never for decisions."""
        ...

    def spawn(self, work: Callable[[], None]) -> None:
        """Start something beside us. It must not raise."""
        ...

    def every(self, seconds: float, work: Callable[[], None]) -> None:
        """Do something again and again, until the crew is closed. It must not raise."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait until somebody calls `wake`, at most so long."""
        ...

    def wake(self) -> None: ...


class Threads:
    """A crew of threads."""

    def __init__(self, size: int = 4) -> None:
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="penstock")
        self._news = threading.Condition()
        self._woken = False
        self._closed = threading.Event()

    def now(self) -> float:
        return time.monotonic()

    def chance(self) -> float:
        return random.random()

    def spawn(self, work: Callable[[], None]) -> None:
        self._pool.submit(work)

    def every(self, seconds: float, work: Callable[[], None]) -> None:
        def again() -> None:
            while not self._closed.wait(seconds):
                with suppress(Exception):  # it has its own way to tell; what matters is the next time
                    work()

        threading.Thread(target=again, daemon=True, name="penstock-guard").start()

    def wait(self, seconds: float) -> None:
        with self._news:
            self._news.wait_for(lambda: self._woken, seconds)
            self._woken = False

    def wake(self) -> None:
        with self._news:
            self._woken = True
            self._news.notify_all()

    def close(self) -> None:
        self._closed.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
