"""Messages of a schema registry, made by the clients that producers use: their schemas say which tables they go to."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from deltalake import DeltaTable
from google.protobuf.message_factory import GetMessageClass
from pyspark import SparkContext

from penstock import Until, load, run
from penstock.config.ingest import request
from penstock.formats.protobuf.descriptors import compile_source
from penstock.registries.shelf import forget
from tests.registries.hostile import small
from tests.support.ingest import Ingest, is_table
from tests.support.lake import rows
from tests.support.registry import LocalRegistry
from tests.support.topics import Topics

MESSAGE = {"id": 1, "name": "test", "date": "2023-06-30"}
AVRO = {
    "type": "record",
    "name": "test",
    "namespace": "shop.events",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "date", "type": "string"},
    ],
}
PAGE = {"type": "record", "name": "Page", "namespace": "shop", "fields": [{"name": "url", "type": "string"}]}
JSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$id": "http://example.com/events/test.json",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "date": {"type": "string"}},
}
JSON_TABLE = "http@3A@2F@2Fexample.com@2Fevents@2Ftest.json"
PROTO = """
syntax = "proto3";
package shop;
message Test {
  enum Kind { NEW = 0; OLD = 1; }
  message Maker { string name = 1; Place place = 2; }
  message Place { string town = 1; }
  int64 id = 1;
  string name = 2;
  string date = 3;
  Maker maker = 4;
  Kind kind = 5;
  map<string, int64> counts = 6;
  repeated string tags = 7;
}
"""
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string()), ("date", pa.string())])


class Registered(Ingest):
    """An ingest of messages whose schemas are in a registry."""

    def __init__(self, topics: Topics, folder: Path, registry: LocalRegistry) -> None:
        super().__init__(topics, folder)
        self.url, self.client = registry.url, SchemaRegistryClient({"url": registry.url})
        self.context = SerializationContext(self.topic, MessageField.VALUE)

    def avro(self, schema: Mapping[str, Any], message: Mapping[str, Any]) -> bytes:
        """With a subject for each record, as where one topic carries many."""
        conf = {"auto.register.schemas": True, "subject.name.strategy": lambda _, name: f"{self.topic}-{name}"}
        return bytes(AvroSerializer(self.client, json.dumps(schema), conf=conf)(message, self.context))

    def json(self, schema: Mapping[str, Any], message: Mapping[str, Any]) -> bytes:
        serializer = JSONSerializer(json.dumps(schema), self.client, conf={"auto.register.schemas": True})
        return bytes(serializer(message, self.context))

    def protobuf(self, message: Any) -> bytes:
        conf = {"auto.register.schemas": True, "use.deprecated.format": False}
        return bytes(ProtobufSerializer(type(message), self.client, conf)(message, self.context))

    def into(self, name: str) -> Path:
        return self.base / name


@pytest.fixture
def ingest(topics: Topics, tmp_path: Path, apicurio: LocalRegistry, spark: SparkContext) -> Registered:
    forget()
    return Registered(topics, tmp_path, apicurio)


def lands_as_it_is(ingest: Registered, table: str, *options: str) -> bool:
    """In a table that was there before, called as the type is."""
    DeltaTable.create(ingest.into(table), COLUMNS, partition_by=["date"])
    ingest.run("-l", "5", "-m", "1", "-b", "1000000", *options, "-e")
    ingest.assert_proven(*options)
    return DeltaTable(ingest.into(table)).version() == 1 and rows(ingest.into(table)) == [MESSAGE]


# --- one message of each format ------------------------------------------------------------------


def test_avro_with_registry(ingest: Registered) -> None:
    ingest.send([ingest.avro(AVRO, MESSAGE)])

    assert lands_as_it_is(ingest, "test", "--avro", f"{ingest.url}/")


def test_json_with_registry(ingest: Registered) -> None:
    ingest.send([ingest.json(JSON, MESSAGE)])

    assert lands_as_it_is(ingest, JSON_TABLE, "--json", ingest.url)


def test_protobuf_with_registry(ingest: Registered) -> None:
    Small = GetMessageClass(
        compile_source(
            'syntax = "proto3"; package shop; message Small { int64 id = 1; string name = 2; string date = 3; }'
        ).named("shop.Small")
    )
    ingest.send([ingest.protobuf(Small(**MESSAGE))])

    assert lands_as_it_is(ingest, "shop.Small", "--protobuf", ingest.url)


@pytest.mark.parametrize("format", ["avro", "json"])
def test_one_table_takes_all_whatever_their_schemas_are_called(ingest: Registered, format: str) -> None:
    """Also of a schema that says nothing, as in the original's own tests."""
    if format == "avro":
        sent = [ingest.avro(AVRO, MESSAGE), ingest.avro({**AVRO, "name": "other"}, MESSAGE)]
    else:
        sent = [ingest.json(JSON, MESSAGE), ingest.json({"$schema": JSON["$schema"], "type": "object"}, MESSAGE)]
    DeltaTable.create(ingest.table, COLUMNS)
    ingest.send(sent)
    tokens = [ingest.topic, str(ingest.table), "-k", ingest.topics.servers, "-a", ingest.app]

    run(request([*tokens, f"--{format}", ingest.url], {}).pipeline({}), until=Until(caught_up=True))

    assert ingest.rows() == [MESSAGE] * 2
    assert sorted(path.name for path in ingest.base.iterdir() if is_table(path)) == [ingest.topic]


# --- tables, and what becomes of messages --------------------------------------------------------


def test_one_topic_feeds_a_table_for_each_record(ingest: Registered) -> None:
    orders = [{**MESSAGE, "id": n} for n in range(50)]
    ingest.send([ingest.avro(AVRO, order) for order in orders])
    ingest.send([ingest.avro(PAGE, {"url": f"/{n}"}) for n in range(20)])
    ingest.send([b"no id", ingest.avro(AVRO, MESSAGE)[:-1]])
    more = ("--avro", ingest.url, "-t", "offset: kafka.offset", "--partition_columns", "date")

    ingest.run(*more, "-e")

    found = sorted(rows(ingest.into("test")), key=lambda row: row["offset"])
    assert found == [{**order, "offset": n} for n, order in enumerate(orders)]
    assert sorted(row["offset"] for row in rows(ingest.into("Page"))) == list(range(50, 70))
    assert [path.name for path in ingest.into("test").glob("date=*")] == ["date=2023-06-30"]
    letters = rows(ingest.into("dead_letters"), "position, code, base64_bytes, json_string")
    assert {row["position"]: row["code"] for row in letters} == {70: "schema.no-id", 71: "avro.truncated"}
    assert sorted(path.name for path in ingest.base.iterdir() if is_table(path)) == ["Page", "dead_letters", "test"]
    ingest.assert_proven(*more)

    ingest.run(*more, "-e")
    assert len(rows(ingest.into("test"))) == 50


def test_whitelist_is_searched_in_the_name_that_the_schema_gives(ingest: Registered) -> None:
    ingest.send([ingest.json(JSON, MESSAGE), ingest.json({**JSON, "$id": "urn:other"}, MESSAGE)])

    ingest.run("--json", ingest.url, "--message_type_whitelist", "/events/", "-e")

    assert rows(ingest.into(JSON_TABLE)) == [MESSAGE]
    assert sorted(path.name for path in ingest.base.iterdir() if is_table(path)) == [JSON_TABLE]
    assert [entry.counts["0"].filtered for entry in ingest.entries()] == [1]


def test_fields_that_a_later_schema_adds_are_left_out_as_before(ingest: Registered) -> None:
    added = {**AVRO, "fields": [*AVRO["fields"], {"name": "more", "type": ["null", "int"], "default": None}]}
    ingest.send([ingest.avro(AVRO, MESSAGE)])
    ingest.run("--avro", ingest.url, "-e")
    ingest.send([ingest.avro(added, {**MESSAGE, "more": 5})])

    ingest.run("--avro", ingest.url, "-e")

    assert rows(ingest.into("test")) == [MESSAGE] * 2
    ingest.assert_proven("--avro", ingest.url)


def test_protobuf_is_flattened_and_what_its_type_lacks_is_a_dead_letter(ingest: Registered) -> None:
    Test: Any = GetMessageClass(compile_source(PROTO).named("shop.Test"))
    made = Test(**MESSAGE, counts={"a": 1}, tags=["x", "y"])
    made.maker.name, made.maker.place.town = "anna", "Ulm"
    old, odd = Test(id=2, kind=1), Test(id=3, kind=9)
    unknown = ingest.protobuf(made) + b"\xfa\x01\x01x"  # field 31, which the type does not have
    ingest.send([*map(ingest.protobuf, (made, old, odd)), unknown])

    ingest.run("--protobuf", ingest.url, "-e")

    found = {row["id"]: {**row, "counts": dict(row["counts"])} for row in rows(ingest.into("shop.Test"))}
    assert found[1] == {
        **MESSAGE,
        "maker_name": "anna",
        "maker_place_town": "Ulm",
        "kind": "NEW",
        "counts": {"a": 1},
        "tags": ["x", "y"],
    }
    assert [(found[n]["kind"], found[n]["maker_name"]) for n in (2, 3)] == [("OLD", None), ("MISSING", None)]
    (letter,) = rows(ingest.into("dead_letters"), "position, code, type, base64_bytes")
    assert (letter["position"], letter["code"], letter["type"]) == (3, "protobuf.unknown-field", "shop.Test")
    assert base64.b64decode(letter["base64_bytes"]) == unknown
    ingest.assert_proven("--protobuf", ingest.url)


# --- getting in ----------------------------------------------------------------------------------


def test_user_and_password_are_those_of_the_variables(topics: Topics, tmp_path: Path, spark: SparkContext) -> None:
    """And what is printed means the same, with the same variables."""
    forget()
    ingest = Ingest(topics, tmp_path)
    environ = {"SCHEMA_REGISTRY_USERNAME": "me", "SCHEMA_REGISTRY_PASSWORD": "open sesame"}
    expected = "Basic " + base64.b64encode(b"me:open sesame").decode()
    with small() as registry:
        registry.holds(7, json.dumps(PAGE))
        ingest.send([b"\0\0\0\0\x07\x02/"])
        asked = request(ingest.tokens("--avro", registry.url), environ)
        (tmp_path / "printed.yaml").write_text(asked.yaml())

        run(load(tmp_path / "printed.yaml", environ), until=Until(caught_up=True))

        assert rows(ingest.base / "Page") == [{"url": "/"}]
        assert registry.headers
        assert {headers.get("Authorization") for headers in registry.headers} == {expected}
    assert "open sesame" not in asked.yaml()
