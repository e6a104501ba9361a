"""How often batches are made at the rate at which messages arrive, and what that makes of files and commits."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.contracts import Slice
from penstock.operate.sampling import Span
from penstock.pipeline import Pipeline
from penstock.protocol.plan import Limits, Measure, Pressure, plan, tasks, workers

HOUR = 3600.0


@dataclass(frozen=True)
class Arrival:
    """Batches at a steady rate, without a backlog to catch up with."""

    rate: float  # messages a second
    seconds: float  # between batches
    tasks: int  # that share a batch
    cores: int

    @property
    def batches(self) -> float:
        """In an hour."""
        return HOUR / self.seconds

    def commits(self, share: float) -> float:
        """Of a table that gets this share of the messages, in an hour: not every batch has some for it."""
        return self.batches * _hit(1, share * self.rate * self.seconds)

    def files(self, share: float, values: int) -> float:
        """In an hour: one per batch, task and partition value that has a row."""
        return self.batches * _hit(self.tasks * max(1, values), share * self.rate * self.seconds)


def _hit(places: int, rows: float) -> float:
    """Of so many places, how many get at least one of so many rows that fall anywhere."""
    return places * -math.expm1(-rows / places)


def rate(spans: Mapping[str, Span], slices: Iterable[Slice], ends: Mapping[str, int], now: int) -> float | None:
    """Messages a second, over all partitions. A partition that was read to its end has had nothing since its last
    message, which counts too."""
    read_to = {piece.partition: piece.end for piece in slices}
    found = 0.0
    for partition, span in spans.items():
        is_whole = read_to.get(partition) == ends.get(partition) and now > span.last
        count, millis = (span.count, now - span.first) if is_whole else (span.count - 1, span.last - span.first)
        found += 1000 * count / millis if millis > 0 else 0.0
    return found or None


def arrival(pipeline: Pipeline, rate: float, like: Measure) -> Arrival:
    """How often batches are due, by the pipeline's limits."""
    batch, cores = pipeline.batch, _cores(pipeline.spark.master)
    limits = Limits(batch.messages, batch.bytes, batch.latency, batch.min_file_bytes)
    full = sum(s.end - s.start for s in plan({"": (0, 2**62)}, limits, Pressure(0.0, like)))
    seconds = min(full / rate, 1 / rate + batch.latency * (1 + batch.jitter / 2))
    whole = [Slice("", 0, max(1, round(rate * seconds)))]
    return Arrival(rate, seconds, len(tasks(whole, workers(whole, limits, like, cores))), cores)


def _cores(master: str | None) -> int:
    """How many tasks run at once, as far as the master tells; of a cluster, as many as here."""
    given = re.match(r"local(?:\[(\d+|\*)|$)", master or "")
    if given and given[0] == "local":
        return 1
    return int(given[1]) if given and given[1].isdecimal() else os.cpu_count() or 1
