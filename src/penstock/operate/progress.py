"""How far a command is: a bar on a terminal, a line per step anywhere else."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from penstock.errors import shown


class Steps:
    """Steps of a command, told on stderr as they begin."""

    def __init__(self, total: int, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        columns = (SpinnerColumn(), BarColumn(20), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        self._bar = Progress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal)
        self._task = self._bar.add_task("", total=total)
        self._begun = 0

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, why, trace)

    def step(self, what: str) -> None:
        """The steps before this one are done."""
        told = f"{shown(what)} …"
        self._bar.update(self._task, description=told, completed=self._begun)
        self._begun += 1
        if not self._console.is_terminal:
            self._console.print(told, markup=False, highlight=False, soft_wrap=True)
