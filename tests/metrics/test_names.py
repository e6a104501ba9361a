"""What metrics are called: as kafka-delta-ingest calls them, and penstock's own."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from penstock.metrics.names import METRICS

DOCS = Path(__file__).parents[2] / "docs"
OF_KAFKA_DELTA_INGEST = {
    "counter": """messages.skipped messages.deserialization.completed messages.deserialization.failed
        messages.transform.failed messages.transform.completed recordbatch.started recordbatch.completed
        delta.write.size delta.write.started delta.write.completed delta.write.failed""",
    "timer": "recordbatch.write_duration delta.write.duration transform.duration deserialize.duration",
    "gauge": """buffered.record_batches messages.size delta.add.size
        buffer.lag.num_partitions buffer.lag.total buffer.lag.max buffer.lag.min
        delta.write.lag.num_partitions delta.write.lag.total delta.write.lag.max delta.write.lag.min""",
}


def test_every_name_of_kafka_delta_ingest_is_there_and_keeps_its_kind() -> None:
    expected = {(name, kind) for kind, names in OF_KAFKA_DELTA_INGEST.items() for name in names.split()}

    assert {(metric.name, metric.kind) for metric in METRICS if not metric.is_own} == expected


def test_names_of_kafka_delta_ingest_only_get_underscores_in_prometheus() -> None:
    foreign = [metric for metric in METRICS if not metric.is_own]

    assert [metric.in_prometheus for metric in foreign] == [metric.name.replace(".", "_") for metric in foreign]


def test_names_are_told_apart_in_both_worlds() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({metric.in_prometheus for metric in METRICS}) == len(METRICS)


def test_what_the_guide_asks_prometheus_for_exists() -> None:
    guide = (DOCS / "how-to" / "watching.md").read_text()
    known = {metric.in_prometheus for metric in METRICS}
    asked = {name.removesuffix("_bucket") for name in re.findall(r"\bpenstock_\w+", guide)}

    assert asked
    assert asked <= known


def test_settings_in_the_guide_are_yaml() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (DOCS / "how-to" / "watching.md").read_text(), re.S)

    assert [list(yaml.safe_load(block)) for block in blocks] == [
        ["metrics"],
        ["scrape_configs"],
        ["groups"],
        ["metrics"],
    ]
