"""Two plain Spark ways of doing the same. Started by `bench.jobs`, as a process of its own.

Both read with Structured Streaming and parse with `from_json` once, with a schema told up front. Messages that
are not JSON are decoded as `bench.format_baseline` says, and then go the way of `each`.

- `each`: `foreachBatch`, and in it one filtered append per type: five Delta tables.
- `once`: the best plan found that Spark can run by itself: one write per batch into one Delta table
  partitioned by type. That is less than was asked (one table, not five), which is to its advantage.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.readwriter import DataStreamWriter

from bench import measure
from bench.format_baseline import AVRO_LOCK, DECODERS, decoded
from bench.jobs import HERE, Clock, Job, Part, Result, Run, answer, expect, told
from bench.topics import SCHEMA, Topic
from penstock.demo.jars import fetch
from penstock.pipeline import Batch

LOCK = HERE / "spark.lock"
CONF: dict[str, bool | float | int | str | None] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Room for a whole cached batch: a smaller heap is slower, a larger one no faster.
    "spark.driver.memory": "4g",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    # There is nothing to adapt, and its planning costs time.
    "spark.sql.adaptive.enabled": "false",
    # As many as there are cores: the default of 200 (50 for Delta's own log) is for larger machines.
    "spark.sql.shuffle.partitions": str(os.cpu_count()),
    "spark.databricks.delta.snapshotPartitions": str(os.cpu_count()),
    # The same files that penstock writes.
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.hadoop.parquet.compression.codec.zstd.level": "1",
}
READER = {
    "startingOffsets": "earliest",
    "maxOffsetsPerTrigger": str(Batch().messages),  # the same batches as penstock
}


def main() -> None:
    job = told()
    os.environ.update({"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"})
    builder = SparkSession.builder.master("local[*]").appName(f"bench {job.kind}")
    jars = [jar for lock in _locks(job.kind) for jar in sorted(fetch(lock).glob("*.jar"))]
    builder = builder.config("spark.jars", ",".join(map(str, jars)))
    spark = builder.config(map=CONF).getOrCreate()
    land(job, spark, job.warm)
    answer(job, Result([land(job, spark, topic) for topic in job.topics], measure.peaks()))
    spark.stop()


def _locks(kind: str) -> list[Path]:
    return [LOCK, AVRO_LOCK] if kind == "from_avro" else [LOCK]


def land(job: Job, spark: SparkSession, topic: Topic) -> Run:
    """The whole topic, from its first message to its last."""
    lake = job.place / "lake" / topic.name
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", job.servers)
    messages = reader.option("subscribe", topic.name).options(**READER).load()
    rows = decoded(job.kind, messages) if job.kind in DECODERS else parsed(messages)
    query, tables = (once if job.kind == "once" else each)(rows, topic, lake)
    with Clock(job) as clock:
        running = query.option("checkpointLocation", str(lake / "checkpoint")).trigger(availableNow=True).start()
        running.awaitTermination()
    written = expect(topic, tables)
    shutil.rmtree(lake)
    return Run(topic.name, Part(topic.messages, clock.seconds, clock.cpu), written, clock.others)


def parsed(messages: DataFrame) -> DataFrame:
    return messages.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("row")).select("row.*")


def each(rows: DataFrame, topic: Topic, lake: Path) -> tuple[DataStreamWriter, list[Path]]:
    """One append per type, from a batch that is kept: without that it is read and parsed once per type."""
    tables = {name: lake / name for name in topic.type_names()}

    def batch(found: DataFrame, _: int) -> None:
        found.persist()
        for name, table in tables.items():
            found.filter(F.col("eventType") == name).write.format("delta").mode("append").save(str(table))
        found.unpersist()

    return rows.writeStream.foreachBatch(batch), list(tables.values())


def once(rows: DataFrame, _: Topic, lake: Path) -> tuple[DataStreamWriter, list[Path]]:
    """One write for all types, straight from the stream."""
    table = lake / "all"
    return rows.writeStream.format("delta").partitionBy("eventType").option("path", str(table)), [table]


if __name__ == "__main__":
    main()
