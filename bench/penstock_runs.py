"""Penstock under the clock, through its own `run`. Started by `bench.jobs`, as a process of its own."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench import measure
from bench.formats import ENCODINGS
from bench.jobs import Clock, Job, Part, Result, Run, SmallBatch, answer, expect, told
from bench.topics import CLEAN_START, Feed, Topic
from penstock.engine.session import open_context
from penstock.formats.avro import AvroFormat
from penstock.formats.json import JsonFormat
from penstock.formats.protobuf import ProtobufFormat
from penstock.loop import Until
from penstock.observe import BatchReport, Silence
from penstock.pipeline import Batch, Pipeline, Spark, Tables
from penstock.registries.confluent import ConfluentRegistry
from penstock.route import FieldRoute, Route
from penstock.running import run
from penstock.sources.kafka import KafkaSource

SMALL = 1_000  # messages of a small batch
ORDER_BOOK = {
    "date": "substr(time, `0`, `10`)",
    "bid_0_px": "bids[0].px",
    "bid_0_qty": "bids[0].qty",
    "ask_0_px": "offers[0].px",
    "ask_0_qty": "offers[0].qty",
    "id_context_id_uuid": "`null`",
}


def main() -> None:
    job = told()
    context = open_context("bench", Spark())  # `run` finds it and uses it: every run has the same, warm one
    measures: dict[str, Callable[[Job], Result]] = {
        "whole": whole,
        "avro": whole,
        "protobuf": whole,
        "mixes": mixes,
        "small": small,
        "transforms": transforms,
    }
    result = measures[job.kind](job)
    answer(job, result)
    context.stop()


def whole(job: Job) -> Result:
    """A topic from its first message, with no table there yet: the first batch infers the columns."""
    _warm_up(job)
    return Result([_timed(job, topic, _pipeline(job, topic)) for topic in job.topics], measure.peaks())


def mixes(job: Job) -> Result:
    """Topics in turn, each into tables that one batch has made before the clock starts."""
    _warm_up(job)
    runs = []
    for _ in range(job.repeat):
        for topic in job.topics:
            with Clock(job) as clock:
                run(_pipeline(job, topic, Batch(messages=CLEAN_START)), until=Until(batches=1))
            first = Part(CLEAN_START, clock.seconds, clock.cpu)
            runs.append(_timed(job, topic, _pipeline(job, topic), first))
    return Result(runs, measure.peaks())


def transforms(job: Job) -> Result:
    """One topic as it comes and with transforms in turn, each into tables that one batch has made before."""
    _warm_up(job)
    (topic,), runs = job.topics, []
    for _ in range(job.repeat):
        for name, rules in (("as it comes", {}), ("transformed", ORDER_BOOK)):
            run(_pipeline(job, topic, Batch(messages=CLEAN_START), rules), until=Until(batches=1))
            done = _timed(job, topic, _pipeline(job, topic, None, rules), Part(CLEAN_START, 0.0, 0.0))
            runs.append(msgspec.structs.replace(done, topic=name))
    return Result(runs, measure.peaks())


def small(job: Job) -> Result:
    """Many small batches, one at a time, each of messages that have just arrived."""
    _warm_up(job)
    (topic,) = job.topics
    watch = _OneAtATime(_lake(job, topic), topic, Feed(job.servers, topic))
    until = Until(batches=topic.messages // SMALL)
    run(_pipeline(job, topic, Batch(messages=SMALL)), until=until, observer=watch)
    expect(topic, watch.tables)
    return Result([], measure.peaks(), watch.batches)


def _warm_up(job: Job) -> None:
    run(_pipeline(job, job.warm), until=Until(caught_up=True))


def _timed(job: Job, topic: Topic, pipeline: Pipeline, first: Part | None = None) -> Run:
    with Clock(job) as clock:
        watch = _Watch(clock)
        run(pipeline, until=Until(caught_up=True), observer=watch)
    messages = topic.messages - (first.messages if first else 0)
    lake = _lake(job, topic)
    written = expect(topic, [lake / name for name in topic.type_names()])
    shutil.rmtree(lake)
    whole = Part(messages, clock.seconds, clock.cpu)
    return Run(topic.name, whole, written, clock.others, first or watch.first, watch.phases)


def _lake(job: Job, topic: Topic) -> Path:
    return job.place / "lake" / topic.name


def _form(job: Job) -> dict[str, Any]:
    """What messages look like, and what names their type."""
    if not job.registry:
        return {"format": JsonFormat(), "route": Route(by=FieldRoute(field="eventType"))}
    registry = ConfluentRegistry(url=job.registry)
    format = AvroFormat(registry=registry) if job.kind == "avro" else ProtobufFormat(registry=registry)
    return {"format": format, "route": Route(by=ENCODINGS[job.kind].route)}


def _pipeline(job: Job, topic: Topic, batch: Batch | None = None, rules: Mapping[str, str] | None = None) -> Pipeline:
    return Pipeline(
        app="bench",
        source=KafkaSource(servers=job.servers, topic=topic.name),
        **_form(job),
        transforms=dict(rules or {}),
        tables=Tables(base=str(_lake(job, topic))),
        batch=batch or Batch(),  # as it comes: a million messages or half a gigabyte
    )


class _Watch(Silence):
    """Notes what the first batch took, and the phases of all."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.first: Part | None = None
        self.phases: dict[str, list[float]] = {}

    def batch(self, report: BatchReport) -> None:
        self.first = self.first or self._clock.part(report.entry.total.read)
        for phase, seconds in report.seconds.items():
            self.phases.setdefault(phase, []).append(seconds)


class _OneAtATime(Silence):
    """Holds the loop after each batch until its tables have it, then sends the messages of the next. A
    batch takes from there to its own last commit: bounds, plan, land, decide, commit."""

    def __init__(self, lake: Path, topic: Topic, feed: Feed) -> None:
        self.tables = [lake / name for name in topic.type_names()]
        self.batches: list[SmallBatch] = []
        self._feed = feed
        self._next()

    def _next(self) -> None:
        self._feed.send(SMALL)
        self._since = time.monotonic()

    def batch(self, report: BatchReport) -> None:
        decided = time.monotonic()
        version = f"{len(self.batches):020d}.json"
        while not all((table / "_delta_log" / version).exists() for table in self.tables):
            time.sleep(0.001)
        now = time.monotonic()
        inside = sum(report.seconds.values())
        phases = {"plan": decided - self._since - inside, **report.seconds, "commit": now - decided}
        self.batches.append(SmallBatch(now - self._since, phases, measure.rss()))
        self._next()


if __name__ == "__main__":
    main()
