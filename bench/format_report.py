"""Avro and Protobuf as rows: against JSON, and against plain Spark."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

from bench.report import Row, Throughput, at_least

TIMES_JSON, TIMES_SPARK = 1.3, 4
SPARK = {
    "avro": {"fastavro": "in an Arrow UDF", "from_avro": "in the JVM, by Spark's own"},
    "protobuf": {"protobuf": "in an Arrow UDF"},
}
"""What each format is measured against: the ways that plain Spark has of decoding it, and where each does that."""


def format_rows(ours: Mapping[str, Throughput], spark: Mapping[str, Throughput]) -> list[Row]:
    """`ours` by format, JSON among them; `spark` by the way it decodes."""
    ways, rows = [*ours.values(), *spark.values()], []
    rows += [Row(f"rate, {way.way}", way.rate(), "messages/s", note=way.spread()) for way in ways]
    rows += [Row(f"rate, {way.way}, steady", way.steady()[0], "messages/s") for way in ours.values()]
    rows += [Row(f"CPU, {way.way}", _cpu(way), "µs/message") for way in ways]
    rows += [Row(f"CPU, {way.way}", way.cpu(), "s/GB", note=f"of {_size(way):.0f}-byte messages") for way in ways]
    for format, theirs in SPARK.items():
        rows += _judged(ours[format], ours["json"], TIMES_JSON, "the same events as JSON")
        for decoder, where in theirs.items():
            if decoder in spark:
                note = f"the same messages, five tables, decoded {where}"
                rows += _judged(ours[format], spark[decoder], TIMES_SPARK, note)
            else:
                rows.append(Row(f"rate, Spark {decoder}", math.nan, "", note="NOT MEASURED: its jar could not be had"))
    return rows


def _judged(ours: Throughput, other: Throughput, bar: float, note: str) -> list[Row]:
    return [
        at_least(f"rate, {ours.way} ÷ {other.way}", ours.rate() / other.rate(), "×", bar, note),
        Row(f"CPU, {other.way} ÷ {ours.way}", _cpu(other) / _cpu(ours), "×", note="per message"),
    ]


def _cpu(way: Throughput) -> float:
    """Microseconds per message."""
    runs = [run.whole for result in way.results for run in result.runs]
    return statistics.median(run.cpu / run.messages for run in runs) * 1e6


def _size(way: Throughput) -> float:
    return way.message_bytes / way.results[0].runs[0].whole.messages
