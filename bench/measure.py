"""What a process and everything it started has used so far: CPU seconds and memory, from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    name: str
    cpu: float  # its own seconds, and those of children that ended and were waited for


def tree(root: int) -> list[Process]:
    """A process and all that descend from it, parents first."""
    found = {process.pid: process for process in map(_process, _pids()) if process is not None}
    children: dict[int, list[Process]] = {}
    for process in found.values():
        children.setdefault(process.parent, []).append(process)
    family = [found[root]] if root in found else []
    for process in family:
        family += children.get(process.pid, [])  # the list grows while we walk it
    return family


def cpu_seconds(root: int | None = None) -> float:
    """CPU used by the whole tree up to now, ended processes included: a parent inherits the time
    of the children that it waited for, as Spark's daemon does for its Python workers."""
    return sum(process.cpu for process in tree(root or os.getpid()))


def machine_cpu_seconds() -> float:
    """CPU used by everybody on this machine since it started."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / _TICK


def rss(pid: int | None = None) -> int:
    """Bytes of memory that a process holds now."""
    return _status(pid or os.getpid()).get("VmRSS", 0)


@dataclass(frozen=True)
class Peaks:
    """The most memory that each part of a Spark application held at any time, in bytes."""

    driver: int
    jvm: int
    worker: int  # the largest of the Python workers


def peaks() -> Peaks:
    """Of this process and its children. Python workers are the children of Spark's daemon."""
    family = tree(os.getpid())
    jvms = {process.pid for process in family if process.name == "java"}
    daemons = {process.pid for process in family if process.parent in jvms}
    workers = [process.pid for process in family if process.parent in daemons]
    return Peaks(_peak(os.getpid()), max(map(_peak, jvms), default=0), max(map(_peak, workers), default=0))


def _peak(pid: int) -> int:
    return _status(pid).get("VmHWM", 0)


def _pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208


def _process(pid: int) -> Process | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None  # it ended meanwhile
    name, _, rest = text.partition("(")[2].rpartition(")")  # a name may hold anything
    fields = rest.split()
    return Process(pid, int(fields[1]), name, sum(map(int, fields[11:15])) / _TICK)


def _status(pid: int) -> dict[str, int]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return {
        name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines) if "kB" in rest
    }
