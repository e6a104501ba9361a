"""What becomes of messages: rows, dead letters, and rows of a table that somebody else gives a column."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType
from pyspark import SparkContext

from tests.support.ingest import Ingest, held
from tests.support.lake import rows
from tests.support.process import PATIENCE, eventually
from tests.support.topics import Topics

DLQ_DATE = "date: substr(epoch_micros_to_iso8601(timestamp),`0`,`10`)"
GOOD = {"value": "good", "a_list_of_structs": [{"value": "abc"}], "date": "2021-01-01"}
NULL_STRUCT = {"value": "bad-null_struct", "a_list_of_structs": None, "date": "2021-01-01"}


@pytest.fixture
def ingest(topics: Topics, tmp_path: Path, spark: SparkContext) -> Ingest:
    return Ingest(topics, tmp_path)


def test_dlq(ingest: Ingest) -> None:
    """Bytes that are no JSON but text are kept as text: `YmFkIGJ5dGVz` is what base64 makes of it, and
    only what is not UTF-8 is kept that way."""
    structs = pa.list_(pa.struct([("value", pa.string())]))
    nothing_missing = pa.field("a_list_of_structs", structs, nullable=False)
    ingest.make(pa.schema([("value", pa.string()), nothing_missing, ("date", pa.string())]), ["date"])
    dlq, began = ingest.base.parent / "dlq", datetime.now(UTC)
    tokens = ("-l", "1", "-m", "6", "-b", "20", "--dlq_table_location", str(dlq), "--dlq_transform", DLQ_DATE)

    with ingest.running(*tokens) as running:
        ingest.send([GOOD, GOOD, NULL_STRUCT, NULL_STRUCT, GOOD, GOOD])
        ingest.await_rows(4, running)
        ingest.send([b"bad bytes"])
        eventually(lambda: held(dlq) == 3, PATIENCE)
        ingest.send([GOOD] * 6)
        ingest.await_rows(10, running)

    assert [row["value"] for row in ingest.rows("value")] == ["good"] * 10
    letters = rows(dlq, "json_string, base64_bytes, error, code, date, position")
    assert sorted((letter["position"], letter["code"]) for letter in letters) == [
        (2, "value.misfit"),
        (3, "value.misfit"),
        (6, "json.malformed"),
    ]
    (bad,) = [letter for letter in letters if letter["code"] == "json.malformed"]
    assert (bad["json_string"], bad["base64_bytes"]) == ("bad bytes", None)
    assert base64.b64encode(bad["json_string"].encode()) == b"YmFkIGJ5dGVz"
    assert all("a_list_of_structs" in letter["error"] for letter in letters if letter is not bad)
    assert {letter["date"] for letter in letters} <= {began.date(), datetime.now(UTC).date()}
    ingest.assert_proven(*tokens)


DEFAULT = {"name": "test", "id": 1, "date": "2023-06-30"}


def lands_as_it_is(ingest: Ingest, *options: str) -> bool:
    ingest.make(pa.schema([("id", pa.int64()), ("name", pa.string()), ("date", pa.string())]), ["date"])
    ingest.send([DEFAULT])
    ingest.run("-l", "5", "-m", "1", "-b", "1000000", *options, "-e")
    return ingest.version == 1 and ingest.rows() == [DEFAULT]


def test_json_default(ingest: Ingest) -> None:
    assert lands_as_it_is(ingest)


@pytest.mark.parametrize("source", ["", "test"])
def test_json_with_args(ingest: Ingest, source: str) -> None:
    assert lands_as_it_is(ingest, "--json", source)


def test_schema_update_test(ingest: Ingest) -> None:
    ingest.make(pa.schema([("id", pa.int32()), ("date", pa.string())]), ["date"])
    one, two, three = ({"id": number, "date": "default"} for number in (1, 2, 3))

    with ingest.running("-l", "0", "-m", "1", "-b", "20") as running:
        ingest.send([one])
        eventually(lambda: ingest.version == 1, PATIENCE)
        DeltaTable(ingest.table).alter.add_columns([Field("color", PrimitiveType("string"))])
        ingest.send([two | {"color": "red"}, three | {"color": "blue"}])
        ingest.await_rows(3, running)

    expected = [one | {"color": None}, two | {"color": "red"}, three | {"color": "blue"}]
    assert sorted(ingest.rows(), key=lambda row: row["id"]) == expected
    ingest.assert_proven()
