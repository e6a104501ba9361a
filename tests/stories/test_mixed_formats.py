"""One topic with messages in several formats: a header says which, and all of them land."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass

from penstock import audit, load
from penstock.formats.protobuf.descriptors import compile_source
from penstock.registries.shelf import forget
from penstock.testing import land_all
from tests.support.lake import rows
from tests.support.registry import LocalRegistry
from tests.support.topics import Topics

AVRO = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "type", "type": "string"},
        {"name": "n", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "line", "type": {"type": "record", "name": "line", "fields": [{"name": "sku", "type": "string"}]}},
    ],
}
PROTO = """
syntax = "proto3";
message order {
  message line_of { string sku = 1; }
  string type = 1;
  int64 n = 2;
  optional string note = 3;
  line_of line = 4;
}
"""


class Trade:
    """A topic to which three producers send, each in its own format."""

    def __init__(self, topics: Topics, registry: LocalRegistry, folder: Path) -> None:
        self.topics, self.folder, self.topic = topics, folder, topics.create()
        client, self._context = SchemaRegistryClient({"url": registry.url}), self._naming()
        own = {"subject.name.strategy": lambda _, name: f"{self.topic}-avro-{name}"}
        self._avro = AvroSerializer(client, json.dumps(AVRO), conf=own)
        self._type = GetMessageClass(compile_source(PROTO).named("order"))
        other = {"use.deprecated.format": False, "subject.name.strategy": lambda _, name: f"{self.topic}-proto-{name}"}
        self._protobuf = ProtobufSerializer(self._type, client, other)
        self.write(registry.url)

    def _naming(self) -> SerializationContext:
        return SerializationContext(self.topic, MessageField.VALUE)

    def write(self, url: str, by: str = "{field: type}", default: str = "") -> None:
        self.path = self.folder / "trade.yaml"
        self.path.write_text(f"""
app: trade
source: {{kafka: {{servers: "{self.topics.servers}", topic: {self.topic}, start: earliest}}}}
format:
  mixed:
    header: content-type
    {default}
    formats:
      application/json: json
      application/avro: {{avro: {{registry: {{url: "{url}"}}}}}}
      application/protobuf: {{protobuf: {{registry: {{url: "{url}"}}}}}}
route: {{by: {by}}}
tables: {{base: {self.folder}/lake}}
batch: {{latency: 50ms}}
""")

    def value(self, format: str, message: dict[str, Any]) -> bytes:
        if format == "json":
            return json.dumps(message).encode()
        if format == "avro":
            return bytes(self._avro(message, self._context))
        made: Any = self._type(type=message["type"], n=message["n"])
        made.line.sku = message["line"]["sku"]
        if message["note"] is not None:
            made.note = message["note"]
        return bytes(self._protobuf(made, self._context))

    def send(self, format: str, messages: Sequence[dict[str, Any]]) -> None:
        values = [self.value(format, message) for message in messages]
        self.topics.produce(self.topic, values, headers=[("content-type", f"application/{format}".encode())])

    def land(self) -> None:
        land_all(load(self.path))
        found = audit(load(self.path))
        assert found.ok, found.wrong

    def rows(self, table: str) -> list[dict[str, Any]]:
        return sorted(rows(self.folder / "lake" / table), key=lambda row: row["n"])


@pytest.fixture
def trade(topics: Topics, apicurio: LocalRegistry, tmp_path: Path) -> Trade:
    forget()
    return Trade(topics, apicurio, tmp_path)


def _orders(numbers: range, type: str = "order") -> list[dict[str, Any]]:
    return [
        {"type": type, "n": n, "note": None if n % 3 else f"note {n}", "line": {"sku": f"sku-{n}"}} for n in numbers
    ]


def test_every_format_has_its_own_types(trade: Trade) -> None:
    for number, format in enumerate(("json", "avro", "protobuf")):
        trade.send(format, _orders(range(100 * number, 100 * (number + 1)), f"{format}.v1"))

    trade.land()

    for number, format in enumerate(("json", "avro", "protobuf")):
        assert trade.rows(f"{format}.v1") == _orders(range(100 * number, 100 * (number + 1)), f"{format}.v1")


def test_one_type_in_several_formats_has_one_table(trade: Trade) -> None:
    for n in range(0, 90, 9):  # in turn, so that one batch has all of them in between each other
        for step, format in enumerate(("json", "avro", "protobuf")):
            trade.send(format, _orders(range(n + 3 * step, n + 3 * (step + 1))))

    trade.land()

    assert trade.rows("order") == _orders(range(90))


def test_one_format_brings_a_column_that_the_others_lack(trade: Trade) -> None:
    trade.send("avro", _orders(range(3)))
    trade.land()
    trade.send("json", [order | {"extra": order["n"]} for order in _orders(range(3, 6))])
    trade.send("protobuf", _orders(range(6, 9)))

    trade.land()

    assert [row["extra"] for row in trade.rows("order")] == [None, None, None, 3, 4, 5, None, None, None]
    assert [{**row, "extra": 0} for row in trade.rows("order")] == [order | {"extra": 0} for order in _orders(range(9))]


def test_unknown_format_is_a_dead_letter_and_costs_nobody_else(trade: Trade) -> None:
    orders = _orders(range(4))
    trade.send("json", orders[:2])
    trade.send("thrift", [])
    values = [trade.value("json", order) for order in orders]
    trade.topics.produce(trade.topic, [values[2]], headers=[("content-type", b"application/thrift")])
    trade.topics.produce(trade.topic, [values[3]])
    trade.topics.produce(trade.topic, [values[3]], headers=[("content-type", b"\xff\x00")])
    trade.send("avro", orders[2:])

    trade.land()

    assert trade.rows("order") == orders
    letters = rows(trade.folder / "lake" / "dead_letters")
    assert Counter(row["code"] for row in letters) == {"format.unknown": 3}
    assert any("application/thrift" in row["error"] for row in letters)
    assert {row["json_string"] for row in letters} == {value.decode() for value in values[2:]}


def test_messages_that_say_nothing_have_the_default_format(trade: Trade, apicurio: LocalRegistry) -> None:
    trade.write(apicurio.url, default="default: application/avro")
    values = [trade.value("avro", order) for order in _orders(range(3))]
    trade.topics.produce(trade.topic, values)
    trade.send("json", _orders(range(3, 5)))

    trade.land()

    assert trade.rows("order") == _orders(range(5))


def test_message_that_is_not_what_its_header_says_is_a_dead_letter(trade: Trade) -> None:
    order = _orders(range(1))[0]
    for said, is_ in (("json", "avro"), ("avro", "json"), ("protobuf", "json"), ("avro", "protobuf")):
        header = [("content-type", f"application/{said}".encode())]
        trade.topics.produce(trade.topic, [trade.value(is_, order)], headers=header)
    trade.send("json", [order])

    trade.land()

    assert trade.rows("order") == [order]
    codes = Counter(row["code"] for row in rows(trade.folder / "lake" / "dead_letters"))
    assert sum(codes.values()) == 4
    assert codes["schema.no-id"] == 2
    assert codes["schema.kind"] == 1
