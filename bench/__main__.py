"""`make bench`: penstock against two plain Spark ways of doing the same, on this machine, in one run.

Everything is measured from a real broker, each way in a process of its own whose JVM was warmed by a
smaller topic. Ways take turns, so that whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

from rich.console import Console

from bench import baseline, jobs, measure, report
from bench.format_baseline import AVRO_LOCK
from bench.format_report import format_rows
from bench.formats import ENCODINGS
from bench.jobs import Job, Result
from bench.topics import Feed, Topic
from penstock.demo.broker import LocalBroker
from penstock.demo.jars import fetch
from penstock.errors import PenstockError
from penstock.registries.confluent import ConfluentRegistry
from tests.support.registry import LocalRegistry

OUT = Path("build/bench")
PARTS = ["throughput", "mixes", "transforms", "formats", "small"]


@dataclass
class Bench:
    """One run of everything, on one broker."""

    servers: str
    broker: int
    scratch: Path
    console: Console
    warm: Topic
    results: list[Result] = field(default_factory=list)
    registry: str = ""

    def fill(self, topic: Topic, values: Iterable[bytes] | None = None) -> int:
        self.console.print(f"[dim]{_now()} fill topic {topic.name}: {topic.messages:,} messages[/]", highlight=False)
        return Feed(self.servers, topic, values).send()

    def measure(self, module: str, kind: str, topics: list[Topic], repeat: int = 1) -> Result:
        self.console.print(f"[dim]{_now()} {module} {kind}[/]", highlight=False)
        folder = self.scratch / f"job-{len(self.results)}-{kind}"
        job = Job(kind, self.servers, self.broker, str(folder), self.warm, topics, repeat, self.registry)
        self.results.append(jobs.run(f"bench.{module}", job))
        return self.results[-1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="30 times fewer messages: to see that it works")
    parser.add_argument("--repeat", type=int, default=3, help="how often each way is measured")
    parser.add_argument("--only", choices=PARTS, action="append", help="a part of it")
    given = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 180)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _clear_away)
    OUT.mkdir(parents=True, exist_ok=True)
    fetch(baseline.LOCK)
    rows = _measure(given, console)
    report.save(rows, OUT / "report.json")
    report.show(rows, console)


def _clear_away(number: int, _: FrameType | None) -> None:
    """End everything that was started. A second signal must not interrupt that half-way."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def _measure(given: argparse.Namespace, console: Console) -> list[report.Row]:
    less = 30 if given.quick else 1
    parts = given.only or PARTS
    rows: list[report.Row] = []
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=OUT.absolute(), prefix="run-")))
        broker = stack.enter_context(LocalBroker(scratch / "broker"))
        pid = next(process.pid for process in measure.tree(os.getpid()) if process.name == "java")
        bench = Bench(broker.servers, pid, scratch, console, Topic("warm", 300_000 // less))
        bench.fill(bench.warm)
        if "throughput" in parts:
            rows += throughput(bench, Topic("clean", 3_000_000 // less), given.repeat)
        if "mixes" in parts:
            rows += mixes(bench, 3_000_000 // less, given.repeat)
        if "transforms" in parts:
            rows += transforms(bench, Topic("books", 1_000_000 // less, books=True), given.repeat)
        if "formats" in parts:
            registry = stack.enter_context(LocalRegistry(scratch / "registry"))
            rows += formats(bench, registry.url, 3_000_000 // less, given.repeat)
        if "small" in parts:
            rows += small(bench, 80 if given.quick else 200)
    return [*rows, report.quiet_row(bench.results)]


def throughput(bench: Bench, topic: Topic, repeat: int) -> list[report.Row]:
    size = bench.fill(topic)
    each, once, ours = [], [], []
    for _ in range(repeat):
        each.append(bench.measure("baseline", "each", [topic]))
        once.append(bench.measure("baseline", "once", [topic]))
        ours.append(bench.measure("penstock_runs", "whole", [topic]))
    return report.throughput_rows(
        report.Throughput("penstock", ours, size),
        report.Throughput("(a) an append per type", each, size),
        report.Throughput("(b) one partitioned write", once, size),
    )


def mixes(bench: Bench, messages: int, repeat: int) -> list[report.Row]:
    topics = [Topic("five", messages), Topic("hundred", messages, types=100), Topic("bad", messages, bad=0.01)]
    for topic in topics:
        bench.fill(topic)
    return report.mix_rows(bench.measure("penstock_runs", "mixes", topics, repeat), "five", "hundred", "bad")


def transforms(bench: Bench, topic: Topic, repeat: int) -> list[report.Row]:
    bench.fill(topic)
    return report.transform_rows(bench.measure("penstock_runs", "transforms", [topic], repeat))


def formats(bench: Bench, registry: str, messages: int, repeat: int) -> list[report.Row]:
    """The same events as JSON, Avro and Protobuf, each way of landing them in turn."""
    topics = {name: Topic(f"as-{name}", messages) for name in ("json", *ENCODINGS)}
    benches, sizes = {"json": bench}, {"json": bench.fill(topics["json"])}
    for name, encoding in ENCODINGS.items():
        ids = encoding.register(ConfluentRegistry(url=registry), topics[name])
        benches[name] = replace(bench, registry=registry, warm=replace(bench.warm, name=f"warm-{name}"))
        bench.fill(benches[name].warm, encoding.values(benches[name].warm, ids))
        sizes[name] = bench.fill(topics[name], encoding.values(topics[name], ids))
    ways = [("fastavro", "avro"), *([("from_avro", "avro")] if _can_have(AVRO_LOCK) else []), ("protobuf", "protobuf")]
    ours: dict[str, list[Result]] = {name: [] for name in topics}
    spark: dict[str, list[Result]] = {way: [] for way, _ in ways}
    for _ in range(repeat):
        for way, name in ways:
            spark[way].append(benches[name].measure("baseline", way, [topics[name]]))
        for name, topic in topics.items():
            kind = "whole" if name == "json" else name
            ours[name].append(benches[name].measure("penstock_runs", kind, [topic]))
    return format_rows(
        {name: report.Throughput(f"penstock {name}", found, sizes[name]) for name, found in ours.items()},
        {way: report.Throughput(f"Spark {way}", spark[way], sizes[name]) for way, name in ways},
    )


def _can_have(lock: Path) -> bool:
    try:
        return bool(fetch(lock))
    except PenstockError:
        return False


def small(bench: Bench, batches: int) -> list[report.Row]:
    topic = Topic("small", batches * 1_000, pool=1_000)  # it fills the topic itself: its pool is in its memory
    return report.small_rows(bench.measure("penstock_runs", "small", [topic]))


def _now() -> str:
    return time.strftime("%H:%M:%S")


if __name__ == "__main__":
    main()
