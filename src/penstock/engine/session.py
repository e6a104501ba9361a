"""A Spark context: the one that is there, used as it is; or one of our own, quiet and on loopback."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyspark
from pyspark import SparkConf, SparkContext

from penstock import crashpoints
from penstock.engine.java import java
from penstock.engine.noise import without_noise
from penstock.engine.submit import submitted
from penstock.errors import PenstockError
from penstock.pipeline import Spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession as SparkSession  # noqa: PLC0414 (for who may not import pyspark)

_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.speculation": "false",
}


def running_context() -> SparkContext | None:
    """The context that this process has already, if it has one."""
    return SparkContext._active_spark_context


def open_context(app: str, spark: Spark) -> SparkContext:
    """A context of our own."""
    java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    conf = SparkConf()
    for name, value in spark.conf.items():
        conf.set(name, value)
    if spark.master:
        conf.setMaster(spark.master)
    _fill(conf, {"spark.master": "local[*,4]", "spark.app.name": f"penstock {app}", **_QUIET})
    master = conf.get("spark.master") or ""
    if master.startswith("local"):
        _fill(conf, _local(master))
    try:
        with without_noise():
            _start_jvm(conf, spark.conf)
            context = SparkContext(conf=conf)
    except Exception as cause:
        text = str(cause).partition("\n")[0][:300]
        raise PenstockError(
            "engine.no-spark", f"Spark did not start with master {master}: {text}", "check --master and --conf"
        ) from cause
    crashpoints.know_jvm(jvm_pid(context))
    return context


def _start_jvm(conf: SparkConf, given: Collection[str]) -> None:
    """Start Spark's JVM, unless there is one. PySpark alone puts every setting into its command line,
    for all to see: what a user gave may be a secret, and goes there in a private file."""
    if SparkContext._gateway is not None:
        return
    private = {name: value for name, value in conf.getAll() if name in given}
    public = SparkConf(loadDefaults=False)
    for name, value in conf.getAll():
        if name not in given:
            public.set(name, value)
    with submitted(private):
        SparkContext._ensure_initialized(conf=public)


def _fill(conf: SparkConf, defaults: Mapping[str, str]) -> None:
    """What nobody said otherwise: not in the pipeline, not in spark-submit's own properties."""
    for name, value in defaults.items():
        conf.setIfMissing(name, value)


def _local(master: str) -> dict[str, str]:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    log4j = quote(str(Path(__file__).with_name("log4j2.properties")))
    # No row goes through this JVM: it is started often, and never has much to do.
    light = "-XX:+ExitOnOutOfMemoryError -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    options = f"-Dlog4j2.configurationFile=file://{log4j} {light}"
    found = {
        **_LOOPBACK,
        "spark.driver.extraJavaOptions": options,
        "spark.python.daemon.module": "penstock.engine.daemon",
    }
    if master.startswith("local-cluster"):
        os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
        return {**found, "spark.executor.memory": "512m", "spark.executor.extraJavaOptions": options}
    return {**found, "spark.python.unix.domain.socket.enabled": "true"}


def jvm_pid(context: SparkContext) -> int | None:
    """The process of a JVM that we started; None if somebody else did."""
    process = getattr(context._gateway, "proc", None)
    return None if process is None else int(process.pid)
