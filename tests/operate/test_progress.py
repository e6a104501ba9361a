"""A command says how far it is: with a bar on a terminal, with a line per step anywhere else."""

from __future__ import annotations

import io

from rich.console import Console

from penstock.operate.progress import Steps


def _told(*, terminal: bool) -> str:
    screen = io.StringIO()
    with Steps(2, Console(file=screen, force_terminal=terminal, width=300, color_system=None)) as steps:
        steps.step("opening \x1b[2J the [red]table[/]")
        steps.step("listing its files")
    return screen.getvalue()


def test_steps_are_lines_where_there_is_no_terminal() -> None:
    assert _told(terminal=False).splitlines() == ["opening \\x1b[2J the [red]table[/] …", "listing its files …"]


def test_steps_are_a_bar_on_a_terminal() -> None:
    told = _told(terminal=True)

    assert "━" in told
    assert "listing its files …" in told
    assert "0:00:00" in told
    assert "\x1b[2J" not in told
