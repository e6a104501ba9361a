"""`penstock` in this process, by its own entry point: quick, and with everything it says."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from penstock.cli.main import main


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """What it said on stderr, without the frame and the breaks of a terminal."""
        return " ".join(self.err.replace("│", " ").split())


Call = Callable[..., Ended]


def caller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """A function that takes what the shell would give: arguments, and variables by name."""

    def called(*arguments: str, **environ: str) -> Ended:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["penstock", *arguments])
            for name, value in environ.items():
                patch.setitem(os.environ, name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        told = capsys.readouterr()
        assert "Traceback" not in told.out + told.err
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, told.out, told.err)

    return called
