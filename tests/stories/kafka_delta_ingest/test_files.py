"""What files look like from outside: their paths, and what the log says of their rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark import SparkContext

from penstock.cli.table_commands import checkpoint
from tests.support.ingest import Ingest
from tests.support.topics import Topics

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@pytest.fixture
def ingest(topics: Topics, tmp_path: Path, spark: SparkContext) -> Ingest:
    return Ingest(topics, tmp_path)


def added(ingest: Ingest, version: int) -> list[dict[str, Any]]:
    """The add actions of one version, as they stand in the log, with their statistics read."""
    lines = (ingest.table / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
    found = [action["add"] for line in lines if "add" in (action := json.loads(line))]
    return [add | {"stats": json.loads(add["stats"])} for add in found]


def test_delta_partitions(ingest: Ingest) -> None:
    ingest.make(pa.schema([("id", pa.int32()), ("color", pa.string())]), ["color"])
    colors = ["red", "red", "blue", "red", "blue", "red", "blue", "blue", None]
    ingest.send({"id": number, "color": color} for number, color in enumerate(colors, 1))

    ingest.run("-e")

    files = {add["partitionValues"]["color"]: add for add in added(ingest, 1)}
    assert len(added(ingest, 1)) == 3
    for color, folder, rows, first, last in [
        ("red", "red", 4, 1, 6),
        ("blue", "blue", 4, 3, 8),
        (None, HIVE_NULL, 1, 9, 9),
    ]:
        told = files[color]["stats"]
        assert files[color]["path"].startswith(f"color={folder}/")
        assert (ingest.table / files[color]["path"]).exists()
        assert (told["numRecords"], told["minValues"], told["maxValues"]) == (rows, {"id": first}, {"id": last})

    assert checkpoint(str(ingest.table)) == 0
    assert (ingest.table / "_delta_log" / "_last_checkpoint").exists()
    for commit in (ingest.table / "_delta_log").glob("*.json"):
        commit.unlink()  # what is read now comes from the checkpoint
    assert ingest.version == 1
    assert sorted((row["id"], row["color"]) for row in ingest.rows()) == list(enumerate(colors, 1))


META = pa.struct(
    [
        ("kafka", pa.struct([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])),
        ("producer", pa.struct([("timestamp", pa.string())])),
    ]
)
STATS = pa.schema(
    [
        ("meta", META),
        ("some_string", pa.string()),
        ("some_int", pa.int32()),
        ("some_bool", pa.bool_()),
        ("some_list", pa.list_(pa.string())),
        ("some_nested_list", pa.list_(pa.list_(pa.int32()))),
        ("date", pa.string()),
    ]
)


def message(partition: int, offset: int, topic: str, **more: Any) -> dict[str, Any]:
    kafka = {"offset": offset, "partition": partition, "topic": topic}
    return {"meta": {"kafka": kafka, "producer": {"timestamp": "2021-06-22"}}, "date": "2021-06-22", **more}


def test_delta_stats_test(ingest: Ingest) -> None:
    ingest.make(STATS, ["date"])
    full: dict[str, Any] = {"some_nested_list": [[42], [84]], "some_string": "GET", "some_int": 302, "some_bool": True}
    other = full | {"some_string": "PUT", "some_int": 400, "some_bool": False}
    ingest.send([message(0, 0, "some_topic", some_list=["a", "b", "c"], **full)] * 100)
    ingest.send([message(1, 100, "another_topic", some_list=["x", "y", "z"], **other)] * 100)
    ingest.send([message(0, 0, "some_topic", some_nested_list=[[42], None])] * 100)

    ingest.run("-e")

    (add,) = added(ingest, 1)
    assert add["stats"] == {
        "numRecords": 300,
        "minValues": {
            "meta": {
                "kafka": {"topic": "another_topic", "partition": 0, "offset": 0},
                "producer": {"timestamp": "2021-06-22"},
            },
            "some_string": "GET",
            "some_int": 302,
            "some_bool": False,
        },
        "maxValues": {
            "meta": {
                "kafka": {"topic": "some_topic", "partition": 1, "offset": 100},
                "producer": {"timestamp": "2021-06-22"},
            },
            "some_string": "PUT",
            "some_int": 400,
            "some_bool": True,
        },
        "nullCount": {
            "meta": {"kafka": {"topic": 0, "partition": 0, "offset": 0}, "producer": {"timestamp": 0}},
            "some_string": 100,
            "some_int": 100,
            "some_bool": 100,
            "some_list": 100,
            "some_nested_list": 0,
        },
    }
    assert deltalake.DeltaTable(ingest.table).metadata().partition_columns == ["date"]
