"""Avro without a registry: messages that are whole container files, and single objects with schemas in files."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from fastavro.schema import fingerprint, to_parsing_canonical_form
from pyspark import SparkContext

from penstock.errors import ConfigError
from tests.support.ingest import Ingest
from tests.support.lake import rows
from tests.support.topics import Topics

MESSAGE = {"id": 1, "name": "test", "date": "2023-06-30"}
SCHEMA = {
    "type": "record",
    "name": "test",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "date", "type": "string"},
    ],
}
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string()), ("date", pa.string())])
FLUSH = ("-l", "5", "-m", "1", "-b", "1000000", "-e")

Schema = Mapping[str, Any]


@pytest.fixture
def ingest(topics: Topics, tmp_path: Path, spark: SparkContext) -> Ingest:
    return Ingest(topics, tmp_path)


def record(*fields: tuple[str, Any], name: str = "test") -> Schema:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields]}


def container(schema: Schema, messages: Sequence[Any], codec: str = "null") -> bytes:
    """A whole file, as kafka-delta-ingest expects in every message."""
    file = io.BytesIO()
    fastavro.writer(file, fastavro.parse_schema(dict(schema)), messages, codec=codec)
    return file.getvalue()


def single_object(schema: Schema, message: Any) -> bytes:
    """A mark, the fingerprint of the schema and the message itself."""
    file = io.BytesIO()
    fastavro.schemaless_writer(file, fastavro.parse_schema(dict(schema)), message)
    print_ = bytes.fromhex(fingerprint(to_parsing_canonical_form(dict(schema)), "CRC-64-AVRO"))
    return b"\xc3\x01" + print_ + file.getvalue()


def lands_as_it_is(ingest: Ingest, sent: bytes, *options: str) -> bool:
    ingest.make(COLUMNS, ["date"])
    ingest.send([sent])
    ingest.run(*FLUSH, *options)
    ingest.assert_proven(*FLUSH, *options)
    return ingest.version == 1 and ingest.rows() == [MESSAGE]


def letters(ingest: Ingest) -> dict[int, str]:
    """What became of messages that are no rows: codes by offset."""
    return {row["position"]: row["code"] for row in rows(ingest.base / "dead_letters", "position, code")}


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_avro_default(ingest: Ingest, codec: str) -> None:
    assert lands_as_it_is(ingest, container(SCHEMA, [MESSAGE], codec), "--avro", "")


def test_avro_with_file(ingest: Ingest, tmp_path: Path) -> None:
    path = tmp_path / "default_schema.avro"
    path.write_text(json.dumps(SCHEMA))

    assert lands_as_it_is(ingest, container(SCHEMA, [MESSAGE]), "--avro", str(path))


def test_avro_single_object_encoding_with_file(ingest: Ingest, tmp_path: Path) -> None:
    path = tmp_path / "default_schema.avro"
    path.write_text(json.dumps(SCHEMA))

    assert lands_as_it_is(ingest, single_object(SCHEMA, MESSAGE), "--soe-avro", str(path))


def test_table_of_containers_is_made_and_named_for_the_topic(ingest: Ingest) -> None:
    """Each container has a schema of its own, and the table what they have together."""
    older, newer = record(("id", "int")), record(("id", "long"), ("name", ["null", "string"]), name="other")
    ingest.send([container(older, [{"id": 1}]), container(newer, [{"id": 2**40, "name": "two"}])])

    ingest.run("--avro", "", "-e")

    assert sorted(ingest.rows(), key=lambda row: row["id"]) == [
        {"id": 1, "name": None},
        {"id": 2**40, "name": "two"},
    ]
    ingest.assert_proven("--avro", "")


def test_container_without_exactly_one_record_is_a_dead_letter(ingest: Ingest) -> None:
    """The original leaves out all records but the first."""
    whole = container(SCHEMA, [MESSAGE])
    ingest.send([container(SCHEMA, []), container(SCHEMA, [MESSAGE] * 2), b"Obj\x01", b"{}", whole[:-20], whole])

    ingest.run("--avro", "", "-e")

    assert ingest.rows() == [MESSAGE]
    found = letters(ingest)
    assert (found.pop(0), found.pop(1), sorted(found)) == ("avro.empty", "avro.several", [2, 3, 4])
    assert all(code.startswith("avro.") for code in found.values())
    ingest.assert_proven("--avro", "")


def test_containers_are_read_with_the_schema_in_the_file(ingest: Ingest, tmp_path: Path) -> None:
    """What they lack has its default, what the file does not name is left out, numbers are as wide as it says."""
    path = tmp_path / "reader.avsc"
    wanted = record(("id", "long"), ("name", "string"))
    path.write_text(json.dumps({**wanted, "fields": [wanted["fields"][0], {**wanted["fields"][1], "default": "none"}]}))
    ingest.send([container(record(("id", "int"), ("extra", "string")), [{"id": 7, "extra": "x"}])])
    ingest.send([container(SCHEMA, [MESSAGE]), container(record(("id", "string")), [{"id": "text"}])])

    ingest.run("--avro", str(path), "-e")

    assert sorted(ingest.rows(), key=lambda row: row["id"]) == [{"id": 1, "name": "test"}, {"id": 7, "name": "none"}]
    assert list(letters(ingest)) == [2]
    ingest.assert_proven("--avro", str(path))


def test_single_objects_have_one_of_the_schemas_in_a_folder(ingest: Ingest, tmp_path: Path) -> None:
    orders, pages = record(("id", "long"), name="Order"), record(("id", "long"), ("url", "string"), name="Page")
    (tmp_path / "schemas").mkdir()
    for schema in (orders, pages):
        (tmp_path / "schemas" / f"{schema['name']}.avsc").write_text(json.dumps(schema))
    unknown = single_object(SCHEMA, MESSAGE)
    ingest.send([single_object(orders, {"id": 1}), single_object(pages, {"id": 2, "url": "/"}), unknown, b"\xc3\x01"])

    ingest.run("--soe-avro", str(tmp_path / "schemas"), "-e")

    assert sorted(ingest.rows(), key=lambda row: row["id"]) == [{"id": 1, "url": None}, {"id": 2, "url": "/"}]
    assert letters(ingest) == {2: "avro.unknown-fingerprint", 3: "avro.single-object"}
    (told,) = rows(ingest.base / "dead_letters", "error", "position = 2")
    assert f"{int.from_bytes(unknown[2:10], 'little'):016x}" in told["error"]
    ingest.assert_proven("--soe-avro", str(tmp_path / "schemas"))


def test_transforms_partitions_and_the_whitelist_are_as_for_json(ingest: Ingest) -> None:
    days = ["2023-06-30T10:00:00Z", "2023-07-01T10:00:00Z"]
    ingest.send(
        [container(record(("id", "long"), ("at", "string")), [{"id": n, "at": at}]) for n, at in enumerate(days)]
    )
    more = ("-t", "date: substr(at,`0`,`10`)", "meta.offset: kafka.offset", "--partition_columns", "date")

    ingest.run("--avro", "", "-e", *more, "--message_type_whitelist", f"^{ingest.topic}$")

    assert sorted(ingest.rows(), key=lambda row: row["id"]) == [
        {"id": n, "at": at, "date": at[:10], "meta": {"offset": n}} for n, at in enumerate(days)
    ]
    assert sorted(path.name for path in ingest.table.glob("date=*")) == ["date=2023-06-30", "date=2023-07-01"]
    ingest.send([container(SCHEMA, [MESSAGE])])
    ingest.run("--avro", "", "-e", *more, "--message_type_whitelist", "^nothing of the kind$")
    assert len(ingest.rows()) == 2


def test_dates_and_moments_are_text_in_a_table_that_has_text(ingest: Ingest) -> None:
    """As tables of the original have it."""
    day, moment = {"type": "int", "logicalType": "date"}, {"type": "long", "logicalType": "timestamp-millis"}
    at = datetime(2023, 6, 30, 10, 15, tzinfo=UTC)
    ingest.make(pa.schema([("day", pa.string()), ("at", pa.timestamp("us", "UTC")), ("told", pa.string())]))
    schema = record(("day", day), ("at", moment), ("told", moment))
    ingest.send([container(schema, [{"day": at.date(), "at": at, "told": at}])])

    ingest.run("--avro", "", "-e")

    (row,) = ingest.rows()
    assert (row["day"], row["at"]) == ("2023-06-30", at)
    assert row["told"].startswith("2023-06-30T10:15:00")
    ingest.assert_proven("--avro", "")


def test_file_that_is_no_schema_ends_the_run_before_it_reads(ingest: Ingest, tmp_path: Path) -> None:
    path = tmp_path / "bad.avsc"
    path.write_text('{"type": "nonsense"}')
    ingest.send([container(SCHEMA, [MESSAGE])])

    with pytest.raises(ConfigError, match=r"bad\.avsc cannot be used") as refused:
        ingest.run("--avro", str(path), "-e")

    assert refused.value.exit_status == 2
    assert ingest.version == -1
