"""Named places where the process can be made to die, to prove that it does not matter.

Off unless `PENSTOCK_CRASH=name[:n][@whom]` names one: the n-th time it is reached, SIGKILL goes to
`python` (this process, the default), to the `jvm`, or to the whole process `group`.
"""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass
from typing import Final

POINTS: Final = (
    "claim.before",
    "claim.after",
    "plan.after",
    "land.read",
    "land.written",
    "land.after",
    "routing.after",
    "decide.after",
    "commit.before",
    "evolve.after",
    "commit.after",
    "publish.before",
    "tidy.before",
    "hint.after",
    "adopt.before",
    "adopt.after",
)
"""Every crash point there is. `land.read` and `land.written` are in the workers."""


@dataclass
class _Target:
    name: str
    nth: int
    whom: str


def _armed(text: str | None) -> _Target | None:
    if not text:
        return None
    place, _, whom = text.partition("@")
    name, _, nth = place.partition(":")
    return _Target(name, int(nth or 1), whom or "python")


_target = _armed(os.environ.get("PENSTOCK_CRASH"))
_lock = threading.Lock()
_jvm: int | None = None


def know_jvm(pid: int | None) -> None:
    """Tell which process the JVM is, so that it can be the one to die."""
    global _jvm
    _jvm = pid


def disarm() -> None:
    """Never again in this process: a task that Spark retries must get past the place."""
    global _target
    _target = None


def reach(name: str) -> None:
    """Die here if that was asked for."""
    if _target is None or _target.name != name or (_target.whom == "jvm" and _jvm is None):
        return
    with _lock:
        _target.nth -= 1
        if _target.nth == 0:
            os.write(2, f"penstock: killed at {name}\n".encode())
            _die(_target.whom)


def _die(whom: str) -> None:
    match whom:
        case "group":
            os.killpg(0, signal.SIGKILL)
        case "jvm" if _jvm is not None:
            os.kill(_jvm, signal.SIGKILL)
        case _:
            os.kill(os.getpid(), signal.SIGKILL)
