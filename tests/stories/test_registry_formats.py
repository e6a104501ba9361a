"""Messages made by the clients that producers use, with a real registry: every value is in its table as it was sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
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

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "n", "type": "long"},
        {"name": "who", "type": ["null", "string"], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["NEW", "OLD"]}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {
            "name": "line",
            "type": {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]},
        },
    ],
}
PAGE = {"type": "record", "name": "Page", "namespace": "shop", "fields": [{"name": "url", "type": "string"}]}
PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Page { string url = 1; }
message Order {
  enum Kind { NEW = 0; OLD = 1; }
  message Line { string sku = 1; }
  int64 n = 1;
  optional string who = 2;
  double price = 3;
  google.protobuf.Timestamp at = 4;
  Kind kind = 5;
  repeated string tags = 6;
  map<string, int32> counts = 7;
  Line line = 8;
}
"""
JSON_ORDER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "who": {"type": ["string", "null"]},
        "price": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "line": {"type": "object", "properties": {"sku": {"type": "string"}}},
    },
}
NOON = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def _order(n: int) -> dict[str, Any]:
    return {
        "n": n,
        "who": None if n % 3 == 0 else f"customer {n}",
        "price": Decimal(n) / 100,
        "at": NOON,
        "day": date(2026, 3, 1),
        "kind": "OLD" if n % 2 else "NEW",
        "tags": [f"t{i}" for i in range(n % 4)],
        "counts": {"a": n},
        "line": {"sku": f"sku-{n}"},
    }


class Trade:
    """A topic whose messages have schemas, and the pipeline that lands it."""

    def __init__(self, topics: Topics, registry: LocalRegistry, folder: Path) -> None:
        self.topics, self.registry, self.folder = topics, registry, folder
        self.topic, self.client = topics.create(2), SchemaRegistryClient({"url": registry.url})
        self.context = SerializationContext(self.topic, MessageField.VALUE)

    def write(self, format: str, by: str = "record", more: str = "") -> None:
        self.path = self.folder / "trade.yaml"
        self.path.write_text(f"""
app: trade
source: {{kafka: {{servers: "{self.topics.servers}", topic: {self.topic}, start: earliest}}}}
format: {{{format}: {{registry: {{url: "{self.registry.url}"}}}}}}
route: {{by: {by}}}
tables: {{base: {self.folder}/lake}}
batch: {{latency: 100ms}}
{more}
""")

    def send(self, values: Sequence[bytes]) -> None:
        self.topics.produce(self.topic, values, partitions=2)

    def land(self) -> None:
        land_all(load(self.path))
        found = audit(load(self.path))
        assert found.ok, found.wrong

    def rows(self, table: str, columns: str = "*") -> list[dict[str, Any]]:
        """As the client has them: maps as mappings, moments in UTC."""
        found = rows(self.folder / "lake" / table, columns)
        return [{name: _native(name, value) for name, value in row.items()} for row in found]


def _native(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return dict(value) if name == "counts" else value


@pytest.fixture
def trade(topics: Topics, apicurio: LocalRegistry, tmp_path: Path) -> Trade:
    forget()
    return Trade(topics, apicurio, tmp_path)


def _avro(trade: Trade, schema: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bytes]:
    """A subject for each record, as where one topic carries many."""
    strategy = {"auto.register.schemas": True, "subject.name.strategy": lambda _, name: f"{trade.topic}-{name}"}
    made = AvroSerializer(trade.client, json.dumps(schema), conf=strategy)
    return lambda message: bytes(made(message, trade.context))


def test_avro_messages_are_rows_with_all_their_types(trade: Trade) -> None:
    order, page = _avro(trade, ORDER), _avro(trade, PAGE)
    trade.write("avro")
    trade.send([*map(order, map(_order, range(300))), *(page({"url": f"/{n}"}) for n in range(20))])

    trade.land()

    found = sorted(trade.rows("Order"), key=lambda row: row["n"])
    assert found == [_order(n) for n in range(300)]
    assert sorted(row["url"] for row in trade.rows("Page")) == sorted(f"/{n}" for n in range(20))


def test_protobuf_messages_are_rows_with_all_their_types(trade: Trade) -> None:
    types = compile_source(PROTO)
    Order, Page = GetMessageClass(types.named("shop.Order")), GetMessageClass(types.named("shop.Page"))
    conf = {"auto.register.schemas": True, "use.deprecated.format": False}
    orders, pages = ProtobufSerializer(Order, trade.client, conf), ProtobufSerializer(Page, trade.client, conf)
    trade.write("protobuf")

    def order(n: int) -> Any:
        said = _order(n)
        made: Any = Order(n=n, price=float(said["price"]), kind=said["kind"], tags=said["tags"], counts=said["counts"])
        made.line.sku = said["line"]["sku"]
        made.at.FromDatetime(NOON)
        if said["who"] is not None:
            made.who = said["who"]
        return made

    trade.send([orders(order(n), trade.context) for n in range(300)])
    trade.send([pages(Page(url=f"/{n}"), trade.context) for n in range(20)])

    trade.land()

    found = sorted(trade.rows("shop.Order"), key=lambda row: row["n"])
    expected = [{**_order(n), "price": n / 100} for n in range(300)]
    assert found == [{name: value for name, value in row.items() if name != "day"} for row in expected]
    assert sorted(row["url"] for row in trade.rows("shop.Page")) == sorted(f"/{n}" for n in range(20))


def test_json_messages_of_a_schema_are_rows_and_more_fields_get_columns(trade: Trade) -> None:
    made = JSONSerializer(json.dumps(JSON_ORDER), trade.client, conf={"auto.register.schemas": True})
    names = ("n", "who", "tags", "line")
    said = [{name: _order(n)[name] for name in names} | {"price": n / 4} for n in range(300)]
    trade.write("json_schema")
    trade.send([made(message, trade.context) for message in said])
    trade.send([made({"n": 300, "extra": {"x": 1}}, trade.context)])

    trade.land()

    found = sorted(trade.rows("Order"), key=lambda row: row["n"])
    assert [{name: row[name] for name in said[0]} for row in found[:300]] == said
    assert (found[300]["n"], found[300]["extra"]) == (300, {"x": 1})


def test_fields_that_a_schema_does_not_have_are_counted(trade: Trade, tmp_path: Path) -> None:
    newer = compile_source('syntax = "proto3"; package shop; message Page { string url = 1; string more = 2; }')
    made = GetMessageClass(newer.named("shop.Page"))(url="/1", more="x").SerializeToString()
    (tmp_path / "page.proto").write_text('syntax = "proto3"; package shop; message Page { string url = 1; }')
    trade.write("protobuf")
    text = trade.path.read_text().replace(
        f'registry: {{url: "{trade.registry.url}"}}', f"descriptors: {tmp_path}/page.proto"
    )
    trade.path.write_text(text)
    trade.send([made] * 5)

    trade.land()

    assert [row["url"] for row in trade.rows("shop.Page")] == ["/1"] * 5
    entries = sorted((tmp_path / "lake/_penstock/trade/ledger").glob("*.json"))
    assert sum(json.loads(entry.read_text()).get("unknown_fields", 0) for entry in entries) == 5
