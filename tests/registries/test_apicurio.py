"""A real registry, filled by the client that producers use."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient

from penstock.errors import PenstockError, Transient
from penstock.registries import Registered, UnknownSchema
from penstock.registries.answers import Reference
from penstock.registries.confluent import ConfluentRegistry
from penstock.registries.shelf import Shelf
from tests.support.registry import LocalRegistry

MONEY = '{"type": "record", "name": "Money", "namespace": "shop", "fields": [{"name": "units", "type": "long"}]}'
ORDER = '{"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "total", "type": "shop.Money"}]}'
UNIT_PROTO = 'syntax = "proto3"; package shop; message Unit { string name = 1; }'
MONEY_PROTO = 'syntax = "proto3"; package shop; import "unit.proto"; message Money { Unit unit = 1; int64 units = 2; }'
ORDER_PROTO = 'syntax = "proto3"; package shop; import "money.proto"; message Order { Money total = 1; }'
MONEY_JSON = '{"$schema": "http://json-schema.org/draft-07/schema#", "$id": "money.json", "type": "integer"}'
ORDER_JSON = (
    '{"$schema": "http://json-schema.org/draft-07/schema#", "$id": "order.json", "type": "object", '
    '"properties": {"total": {"$ref": "money.json"}}}'
)


@pytest.fixture(scope="session")
def producer(apicurio: LocalRegistry) -> SchemaRegistryClient:
    """What producers use."""
    return SchemaRegistryClient({"url": apicurio.url})


@pytest.fixture
def registry(apicurio: LocalRegistry) -> ConfluentRegistry:
    """The registry as penstock sees it."""
    return ConfluentRegistry(url=apicurio.url)


def as_json(text: str) -> object:
    return json.loads(text)


def test_an_avro_schema_with_a_reference(producer: SchemaRegistryClient, registry: ConfluentRegistry) -> None:
    producer.register_schema("avro-money", Schema(MONEY, "AVRO"))
    schema = Schema(ORDER, "AVRO", [SchemaReference("shop.Money", "avro-money", 1)])
    id = producer.register_schema("avro-order-value", schema)
    found = registry.look_up(id)

    assert (found.id, found.kind, as_json(found.text)) == (id, "AVRO", as_json(ORDER))
    assert [(name, as_json(text)) for name, text in found.references] == [("shop.Money", as_json(MONEY))]
    assert found.subjects == ("avro-order-value",)


def test_a_protobuf_schema_with_references_of_references(
    producer: SchemaRegistryClient, registry: ConfluentRegistry
) -> None:
    producer.register_schema("unit", Schema(UNIT_PROTO, "PROTOBUF"))
    producer.register_schema("money", Schema(MONEY_PROTO, "PROTOBUF", [SchemaReference("unit.proto", "unit", 1)]))
    schema = Schema(ORDER_PROTO, "PROTOBUF", [SchemaReference("money.proto", "money", 1)])
    found = registry.look_up(producer.register_schema("order-value", schema))

    assert (found.kind, found.text) == ("PROTOBUF", ORDER_PROTO)
    assert found.references == (("unit.proto", UNIT_PROTO), ("money.proto", MONEY_PROTO))


def test_a_json_schema_with_a_reference(producer: SchemaRegistryClient, registry: ConfluentRegistry) -> None:
    producer.register_schema("json-money", Schema(MONEY_JSON, "JSON"))
    schema = Schema(ORDER_JSON, "JSON", [SchemaReference("money.json", "json-money", 1)])
    found = registry.look_up(producer.register_schema("json-order-value", schema))

    assert (found.kind, as_json(found.text)) == ("JSON", as_json(ORDER_JSON))
    assert [(name, as_json(text)) for name, text in found.references] == [("money.json", as_json(MONEY_JSON))]


def test_an_id_that_nobody_has(registry: ConfluentRegistry) -> None:
    with pytest.raises(UnknownSchema, match="999999"):
        registry.look_up(999_999)


def test_a_path_where_no_registry_is(apicurio: LocalRegistry) -> None:
    """Anything else than a clear answer about this id would make dead letters of good messages."""
    with pytest.raises(Transient, match="does not answer like a schema registry"):
        ConfluentRegistry(url=apicurio.url.replace("ccompat/v7", "ccompat/v0")).look_up(1)


def test_a_schema_that_was_deleted_can_still_be_read(
    producer: SchemaRegistryClient, registry: ConfluentRegistry
) -> None:
    id = producer.register_schema("short-lived", Schema('{"type": "enum", "name": "e", "symbols": ["A"]}', "AVRO"))
    producer.delete_subject("short-lived")

    assert registry.look_up(id).kind == "AVRO"


def test_the_shelf_has_it_too(producer: SchemaRegistryClient, registry: ConfluentRegistry, tmp_path: Path) -> None:
    id = producer.register_schema("shelf-value", Schema('{"type": "fixed", "name": "f", "size": 4}', "AVRO"))

    assert Shelf(str(tmp_path)).find(registry, id) == registry.look_up(id)


def test_what_penstock_registers_producers_find(producer: SchemaRegistryClient, registry: ConfluentRegistry) -> None:
    assert registry.register("m", "AVRO", MONEY) == registry.register("m", "AVRO", MONEY)
    id = registry.register("o-value", "AVRO", ORDER, [Reference("shop.Money", "m", 1)])
    theirs = producer.get_latest_version("o-value")
    ours = registry.latest("o-value")

    assert theirs.schema_id == ours.id == id
    assert (ours.kind, ours.version, ours.references) == ("AVRO", 1, (Reference("shop.Money", "m", 1),))
    assert registry.versions("o-value") == [1]
    assert {"m", "o-value"} <= set(registry.subjects())
    assert registry.look_up(id) == Registered(id, "AVRO", ours.text, (("shop.Money", MONEY),), ("o-value",))


def test_the_registry_tells_what_does_not_fit(apicurio: LocalRegistry, registry: ConfluentRegistry) -> None:
    registry.register("strict", "AVRO", MONEY)
    asked = urllib.request.Request(
        f"{apicurio.url}/config/strict",
        b'{"compatibility": "BACKWARD"}',
        {"Content-Type": "application/json"},
        method="PUT",
    )
    urllib.request.urlopen(asked).close()
    wrong = MONEY.replace('"long"', '"boolean"')
    wider = MONEY.replace("}]}", '}, {"name": "more", "type": "string", "default": ""}]}')

    assert registry.compatibility("strict", "AVRO", wider) == []
    assert registry.compatibility("strict", "AVRO", wrong) != []
    assert registry.compatibility("not-there-yet", "AVRO", wrong) == []
    with pytest.raises(PenstockError, match="does not fit the versions before it"):
        registry.register("strict", "AVRO", wrong)


def test_the_registry_tells_what_is_no_schema(registry: ConfluentRegistry) -> None:
    with pytest.raises(PenstockError, match="is not valid") as told:
        registry.register("nonsense", "AVRO", "nonsense")

    assert not isinstance(told.value, Transient)
    assert "nonsense" not in registry.subjects()


def test_a_subject_that_nobody_has(registry: ConfluentRegistry) -> None:
    with pytest.raises(PenstockError, match="no subject 'nobody'"):
        registry.latest("nobody")
