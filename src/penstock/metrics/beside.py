"""Work in a thread of its own that nobody waits for long."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Self

from penstock.errors import Transient

GRACE = 2.0  # seconds that the end of a run gives to whoever tells its numbers

Warn = Callable[[Transient], None]


class Beside(ABC):
    """A daemon thread that lives as long as the `with` block, and says what is wrong once until it is well again."""

    def __init__(self, name: str, warn: Warn) -> None:
        self._warn, self._warned = warn, False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name=name)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._thread.join(GRACE)

    @abstractmethod
    def _run(self) -> None:
        """What the thread does until `_closed` is set."""

    def _trouble(self, why: Transient) -> None:
        if not self._warned:
            self._warned = True
            self._warn(why)

    def _well(self) -> None:
        self._warned = False


def host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
