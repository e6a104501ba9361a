"""A measurement in a process of its own: what it is told, what it answers, and how it is started and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import pyarrow.parquet as pq
from deltalake import DeltaTable

from bench import measure
from bench.measure import Peaks
from bench.topics import Topic

HERE = Path(__file__).parent


class Job(msgspec.Struct, frozen=True):
    """What a process is to measure. The warm topic is landed first, and not counted."""

    kind: str
    servers: str
    broker: int  # its process: what it uses is not counted as somebody else's
    folder: str
    warm: Topic
    topics: list[Topic]
    repeat: int = 1
    registry: str = ""  # its URL, where messages have schemas

    @property
    def place(self) -> Path:
        return Path(self.folder)


class Part(msgspec.Struct, frozen=True):
    messages: int
    seconds: float
    cpu: float


class Run(msgspec.Struct, frozen=True):
    """One topic landed from its first message to its last."""

    topic: str
    whole: Part
    written: int  # bytes of Parquet
    others: float  # cores that neither this process, its children nor the broker used
    first: Part | None = None  # penstock's first batch, or the one that made its tables
    phases: dict[str, list[float]] = {}  # seconds of each batch


class SmallBatch(msgspec.Struct, frozen=True):
    """One batch, alone: nothing of the one before or after it at the same time."""

    seconds: float
    phases: dict[str, float]
    driver: int  # bytes of memory after it


class Result(msgspec.Struct, frozen=True):
    runs: list[Run]
    peaks: Peaks
    batches: list[SmallBatch] = []


class Clock:
    """Wall time, CPU of this process and its children, and what everybody else used meanwhile."""

    def __init__(self, job: Job) -> None:
        self._broker = job.broker
        self.seconds = self.cpu = self.others = 0.0

    def __enter__(self) -> Self:
        self._start = self._read()
        return self

    def part(self, messages: int) -> Part:
        """What it took up to now."""
        seconds, cpu, _, _ = (now - then for now, then in zip(self._read(), self._start, strict=True))
        return Part(messages, seconds, cpu)

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None) -> None:
        self.seconds, self.cpu, broker, machine = (
            now - then for now, then in zip(self._read(), self._start, strict=True)
        )
        self.others = max(0.0, machine - self.cpu - broker) / self.seconds

    def _read(self) -> tuple[float, float, float, float]:
        ours, broker = measure.cpu_seconds(), measure.cpu_seconds(self._broker)
        return time.monotonic(), ours, broker, measure.machine_cpu_seconds()


def told() -> Job:
    return msgspec.json.decode(sys.argv[1], type=Job)


def answer(job: Job, result: Result) -> None:
    (job.place / "result.json").write_bytes(msgspec.json.encode(result))


def run(module: str, job: Job) -> Result:
    """Have it measured, and leave no process behind, however it ends."""
    job.place.mkdir(parents=True)
    log = job.place.parent / f"{job.place.name}.log"
    command = [sys.executable, "-m", module, msgspec.json.encode(job).decode()]
    with log.open("wb") as out:
        # A session of its own: Ctrl-C reaches us, and we end it.
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=HERE.parent, start_new_session=True)
        try:
            status = process.wait()
        finally:
            _end(process)
    if status:
        raise SystemExit(f"{module} failed with status {status}:\n{log.read_text(errors='replace')[-4_000:]}")
    return msgspec.json.decode((job.place / "result.json").read_bytes(), type=Result)


def _end(process: subprocess.Popen[bytes]) -> None:
    for member in measure.tree(process.pid):
        with suppress(ProcessLookupError):
            os.kill(member.pid, signal.SIGKILL)
    process.wait()


def landed(tables: list[Path]) -> tuple[dict[str, int], int]:
    """Rows per type as the files of these tables say, and the bytes of those files. A table is one
    type, or is partitioned by type."""
    rows: dict[str, int] = {}
    size = 0
    for table in tables:
        for uri in DeltaTable(table).file_uris():
            path = Path(uri.removeprefix("file://"))
            type = path.parent.name.partition("=")[2] or table.name
            rows[type] = rows.get(type, 0) + pq.read_metadata(path).num_rows
            size += path.stat().st_size
    return rows, size


def expect(topic: Topic, tables: list[Path]) -> int:
    """End the benchmark if a row is missing or too many; otherwise how many bytes were written."""
    rows, size = landed(tables)
    if rows != topic.rows():
        wrong = {name: (count, rows.get(name)) for name, count in topic.rows().items() if rows.get(name) != count}
        raise SystemExit(f"topic {topic.name}: the rows are wrong; type: (expected, found) {wrong or rows}")
    return size
