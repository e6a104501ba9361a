"""Every metric by name: what it counts, and how it is called in StatsD and in Prometheus.

The first group has the names of kafka-delta-ingest, so that its dashboards stay. They have neither
`_total` nor `_seconds`, and in Prometheus no prefix. The second group is penstock's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OWN = "penstock."
TYPE = "message_type"


@dataclass(frozen=True)
class Metric:
    """One metric. A timer's values are kept in seconds, whatever they are told in."""

    name: str
    kind: Literal["counter", "gauge", "timer"]
    labels: tuple[str, ...]
    meaning: str

    @property
    def is_own(self) -> bool:
        return self.name.startswith(OWN)

    @property
    def in_prometheus(self) -> str:
        ending = {"counter": "_total", "timer": "_seconds"}.get(self.kind, "") if self.is_own else ""
        return self.name.replace(".", "_") + ending

    @property
    def prometheus_type(self) -> str:
        """A counter without `_total`, or a gauge with it, has no type: the name stays, and `promtool` is content."""
        if self.kind == "timer":
            return "histogram" if self.is_own else "summary"
        as_named = self.in_prometheus.endswith("_total") == (self.kind == "counter")
        return self.kind if as_named else "unknown"


_typed = (TYPE,)
_table = ("app", "table")
_lane = ("app", "partition")
_app = ("app",)

METRICS = (
    Metric("messages.skipped", "counter", (), "Messages that were read and left out because their table had them."),
    Metric(
        "messages.deserialization.completed",
        "counter",
        _typed,
        "Messages that could be parsed: rows by type; without a type, dead letters for another reason than parsing.",
    ),
    Metric("messages.deserialization.failed", "counter", (), "Dead letters because the value could not be parsed."),
    Metric("messages.transform.completed", "counter", _typed, "Messages that became rows, with or without transforms."),
    Metric("messages.transform.failed", "counter", (), "Dead letters because a transform failed."),
    Metric("recordbatch.started", "counter", _typed, "Parquet files of decided batches; the same as completed."),
    Metric("recordbatch.completed", "counter", _typed, "Parquet files of decided batches."),
    Metric("delta.write.size", "counter", _typed, "Bytes of the Parquet files of decided batches."),
    Metric("delta.write.started", "counter", _typed, "Table commits that were begun."),
    Metric("delta.write.completed", "counter", _typed, "Table commits that are done."),
    Metric(
        "delta.write.failed", "counter", _typed, "Attempts to bring a table up to date that failed. They are repeated."
    ),
    Metric(
        "recordbatch.write_duration",
        "timer",
        _typed,
        "Milliseconds of the landing job that wrote the table's files: one job for all tables of a batch.",
    ),
    Metric("delta.write.duration", "timer", _typed, "Milliseconds of a table commit."),
    Metric("transform.duration", "timer", _typed, "As recordbatch.write_duration: transforms run inside of landing."),
    Metric("deserialize.duration", "timer", (), "Milliseconds of the landing job: parsing runs inside of it."),
    Metric("buffered.record_batches", "gauge", _typed, "Decided batches that the table has not taken yet."),
    Metric("messages.size", "gauge", (), "Average bytes of a message in the last batch."),
    Metric("delta.add.size", "gauge", _typed, "Average bytes of the table's files in the last batch that had some."),
    Metric("buffer.lag.num_partitions", "gauge", (), "Partitions of the source."),
    Metric(
        "buffer.lag.total", "gauge", (), "Messages at the source that no decided batch has yet, over all partitions."
    ),
    Metric("buffer.lag.max", "gauge", (), "The same for the partition with most of them."),
    Metric("buffer.lag.min", "gauge", (), "The same for the partition with fewest of them."),
    Metric("delta.write.lag.num_partitions", "gauge", (), "Partitions whose written position is known."),
    Metric(
        "delta.write.lag.total", "gauge", (), "Messages at the source that not all tables have yet; parked ones aside."
    ),
    Metric("delta.write.lag.max", "gauge", (), "The same for the partition with most of them."),
    Metric("delta.write.lag.min", "gauge", (), "The same for the partition with fewest of them."),
    Metric("penstock.batches", "counter", _app, "Batches that were decided."),
    Metric("penstock.messages.read", "counter", _app, "Messages in decided batches."),
    Metric("penstock.messages.filtered", "counter", _app, "Messages of types that are not wanted."),
    Metric("penstock.messages.tombstones", "counter", _app, "Messages without a value."),
    Metric("penstock.messages.skipped", "counter", _app, "Messages that were left out because their table had them."),
    Metric("penstock.bytes.read", "counter", _app, "Bytes of the messages in decided batches."),
    Metric(
        "penstock.rows",
        "counter",
        _table,
        "Rows that were decided for a table; dead letters are rows of _dead_letters.",
    ),
    Metric("penstock.bytes.written", "counter", _table, "Bytes of Parquet files that were decided for a table."),
    Metric("penstock.dead_letters", "counter", ("app", "code"), "Dead letters by the code of their reason."),
    Metric("penstock.unknown_fields", "counter", _app, "Fields of messages that their schemas do not have: in no row."),
    Metric("penstock.commits", "counter", _table, "Table commits that are done."),
    Metric("penstock.commits.failed", "counter", _table, "Attempts to bring a table up to date that failed."),
    Metric(
        "penstock.waits", "counter", ("app", "code"), "Times that the run had to wait for something outside, by code."
    ),
    Metric("penstock.metrics.dropped", "counter", _app, "Timings that StatsD was not sent because too many waited."),
    Metric(
        "penstock.phase.duration", "timer", ("app", "phase"), "How long plan, land, decide and a table commit take."
    ),
    Metric("penstock.lag.buffer", "gauge", _lane, "Messages at the source that no decided batch has yet."),
    Metric(
        "penstock.lag.write", "gauge", _lane, "Messages at the source that not all tables have yet; parked ones aside."
    ),
    Metric("penstock.table.waiting", "gauge", _table, "Decided batches that the table has not taken yet."),
    Metric("penstock.table.parked", "gauge", _table, "1 while the table is parked."),
    Metric("penstock.waiting", "gauge", _app, "1 while the run waits for something outside."),
    Metric(
        "penstock.last_batch.timestamp_seconds", "gauge", _app, "When the last batch was decided; 0 before the first."
    ),
)
BY_NAME = {metric.name: metric for metric in METRICS}
