"""How fast tables and columns may come into being: a producer gone wild must not make hundreds in a night."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

HOUR = 3_600.0


class Pace:
    """What was made within the last hour, and what the batch in hand would make beyond that."""

    def __init__(self, tables: int | None, columns: int | None, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = {"tables": tables, "columns": columns}, now
        self._made: deque[tuple[float, str, int]] = deque()
        self._asked = {"tables": 0, "columns": 0}

    def begin(self) -> None:
        """A batch is looked at: nothing was asked for it yet."""
        self._asked = {"tables": 0, "columns": 0}

    def allows(self, what: str, count: int = 1) -> bool:
        """May the batch make so many more `tables` or `columns`?"""
        while self._made and self._made[0][0] <= self._now() - HOUR:
            self._made.popleft()
        most = self._most[what]
        made = sum(number for _, kind, number in self._made if kind == what) + self._asked[what]
        if most is not None and made + count > most:
            return False
        self._asked[what] += count
        return True

    def settle(self) -> None:
        """The batch was decided: what was asked for it is made."""
        self._made.extend((self._now(), what, count) for what, count in self._asked.items() if count)
        self.begin()
