"""`penstock` as a user runs it: a process of its own, with its own signals and its own end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

PENSTOCK = [sys.executable, "-m", "penstock"]
PATIENCE = 120.0


class Process:
    """A running `penstock run`, in a process group of its own."""

    def __init__(self, *arguments: str | Path, crash: str = "", env: dict[str, str] | None = None) -> None:
        given = {**os.environ, **(env or {})}
        if crash:
            given["PENSTOCK_CRASH"] = crash
        self._out, self._err = _scratch(), _scratch()
        self.process = subprocess.Popen(
            [*PENSTOCK, *map(str, arguments)],
            stdout=self._out,
            stderr=self._err,
            stdin=subprocess.DEVNULL,
            env=given,
            start_new_session=True,
            preexec_fn=_as_from_a_terminal,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait(self, seconds: float = PATIENCE) -> Finished:
        """The end of it; killed if it does not come in time."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"penstock did not end within {seconds} s:\n{self.printed()[1][-3000:]}") from None
        finally:
            self.kill()
        return Finished(self.process.returncode, *self.printed())

    def printed(self) -> tuple[str, str]:
        """Its standard output and its standard error, so far."""
        return _all_of(self._out), _all_of(self._err)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Everything of it that is left."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def command_lines() -> dict[int, str]:
    """What everybody on this machine can read of every process: its command line, by its number."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            line = (process / "cmdline").read_bytes().decode(errors="replace")
            found[int(process.name)] = line.replace("\0", " ")
    return found


def _as_from_a_terminal() -> None:
    """A shell that runs the tests in its background has SIGINT ignored, and so would everything below it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _scratch() -> IO[bytes]:
    return tempfile.TemporaryFile()


def _all_of(file: IO[bytes]) -> str:
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode()


class Finished:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def events(self) -> list[dict[str, Any]]:
        """The structured log lines."""
        return [json.loads(line) for line in self.err.splitlines() if line.startswith("{")]


def penstock(
    *arguments: str | Path, crash: str = "", seconds: float = PATIENCE, env: dict[str, str] | None = None
) -> Finished:
    """Run a command to its end."""
    return Process(*arguments, crash=crash, env=env).wait(seconds)


def eventually(what: Callable[[], bool], seconds: float = 60.0, tell: Callable[[], str] = str) -> None:
    """Wait until something is true; if it does not become so, say what is known of it."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, f"it did not become true in time. {tell()}"
        time.sleep(0.05)
