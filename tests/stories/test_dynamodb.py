"""Changes of DynamoDB tables, as their streams and their Kinesis destinations tell them: rows with every value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock import audit, load
from penstock.testing import land_all
from tests.support.lake import rows
from tests.support.topics import Topics

ITEM = {
    "id": {"S": "o-1"},
    "amount": {"N": "12.30"},
    "count": {"N": "42"},
    "paid": {"BOOL": True},
    "note": {"NULL": True},
    "tags": {"SS": ["a", "b"]},
    "sizes": {"NS": ["1", "2.5"]},
    "raw": {"B": "aGVsbG8="},
    "address": {"M": {"city": {"S": "Turin"}, "floors": {"L": [{"N": "1"}, {"M": {"door": {"S": "left"}}}]}}},
}
MEANT = {
    "id": "o-1",
    "amount": "12.30",
    "count": 42,
    "paid": True,
    "tags": ["a", "b"],
    "raw": "aGVsbG8=",
}


def _change(operation: str, id: str, new: Any = None, old: Any = None) -> dict[str, Any]:
    told = {"Keys": {"id": {"S": id}}, "SizeBytes": 26}
    return told | {name: image for name, image in (("NewImage", new), ("OldImage", old)) if image is not None}


def stream(operation: str, id: str, new: Any = None, old: Any = None, table: str = "orders") -> dict[str, Any]:
    """As the table's own stream has it."""
    return {
        "eventID": f"event-{id}",
        "eventName": operation,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "eu-west-1",
        "eventSourceARN": f"arn:aws:dynamodb:eu-west-1:123456789012:table/{table}/stream/2026-03-01T00:00:00.000",
        "dynamodb": {
            **_change(operation, id, new, old),
            "ApproximateCreationDateTime": 1_772_368_215,
            "SequenceNumber": "111",
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }


def kinesis(operation: str, id: str, new: Any = None, old: Any = None, table: str = "orders") -> dict[str, Any]:
    """As the Kinesis destination has it."""
    return {
        "awsRegion": "eu-west-1",
        "eventID": f"event-{id}",
        "eventName": operation,
        "userIdentity": None,
        "recordFormat": "application/json",
        "tableName": table,
        "dynamodb": {**_change(operation, id, new, old), "ApproximateCreationDateTime": 1_772_368_215_123},
        "eventSource": "aws:dynamodb",
    }


class Changes:
    """A topic of changes, and the pipeline that lands them."""

    def __init__(self, topics: Topics, folder: Path) -> None:
        self.topics, self.topic, self.folder = topics, topics.create(), folder
        self.path = folder / "changes.yaml"

    def write(self, by: str, types: str = "", more: str = "", format: str = "dynamodb") -> None:
        self.path.write_text(f"""
app: changes
source: {{kafka: {{servers: "{self.topics.servers}", topic: {self.topic}, start: earliest}}}}
format: {format}
route: {{by: {by}}}
tables: {{base: {self.folder}/lake, types: {{{types}}}}}
batch: {{latency: 50ms}}
{more}
""")

    def land(self, *messages: Mapping[str, Any]) -> None:
        self.topics.produce(self.topic, [json.dumps(message).encode() for message in messages])
        land_all(load(self.path))
        found = audit(load(self.path))
        assert found.ok, found.wrong

    def rows(self, table: str, columns: str = "*", by: str = "id") -> list[dict[str, Any]]:
        return sorted(rows(self.folder / "lake" / table, columns), key=lambda row: str(row[by]))


@pytest.fixture
def changes(topics: Topics, tmp_path: Path) -> Changes:
    return Changes(topics, tmp_path)


SHAPES = pytest.mark.parametrize("told", [stream, kinesis])


@SHAPES
def test_changes_are_routed_by_what_was_done(changes: Changes, told: Any) -> None:
    changes.write("{field: operation}")
    new, old = {"id": {"S": "b"}, "n": {"N": "2"}}, {"id": {"S": "b"}, "n": {"N": "1"}}

    changes.land(told("INSERT", "a", new=old), told("MODIFY", "b", new=new, old=old), told("REMOVE", "c", old=old))

    assert [row["new"] for row in changes.rows("INSERT")] == [{"id": "b", "n": 1}]
    assert [(row["new"], row["old"]) for row in changes.rows("MODIFY")] == [({"id": "b", "n": 2}, {"id": "b", "n": 1})]
    (removed,) = changes.rows("REMOVE")
    assert removed["old"] == {"id": "b", "n": 1}
    assert removed["keys"] == {"id": "c"}


def test_changes_of_several_tables_are_routed_by_table_whichever_way_they_came(changes: Changes) -> None:
    changes.write("{field: table}")
    item = {"id": {"S": "x"}}

    changes.land(
        stream("INSERT", "1", new=item, table="orders"),
        kinesis("INSERT", "2", new=item, table="orders"),
        stream("INSERT", "3", new=item, table="users"),
    )

    assert [row["id"] for row in changes.rows("orders", "id")] == ["event-1", "event-2"]
    assert [row["keys"] for row in changes.rows("users", "id, keys")] == [{"id": "3"}]
    created = [row["created"] for row in changes.rows("orders", "id, created")]
    assert [datetime.fromisoformat(text).astimezone(UTC) for text in created] == [
        datetime(2026, 3, 1, 12, 30, 15, 0, UTC),
        datetime(2026, 3, 1, 12, 30, 15, 123_000, UTC),
    ]


@SHAPES
def test_items_are_unmarshalled_at_every_depth(changes: Changes, told: Any) -> None:
    changes.write("{field: table}")

    changes.land(told("INSERT", "o-1", new=ITEM))

    (row,) = changes.rows("orders", "id, new")
    item = row["new"]
    assert {name: str(item[name]) if name == "amount" else item[name] for name in MEANT} == MEANT | {"amount": "12.3"}
    assert item.get("note") is None
    assert item["sizes"] == [1.0, 2.5]
    assert item["address"]["city"] == "Turin"


def test_transforms_reach_into_images_and_keys(changes: Changes) -> None:
    transforms = {"order_id": "keys.id", "city": "new.address.city", "paid": "new.paid", "position": "kafka.offset"}
    more = f"transforms: {json.dumps(transforms)}"
    columns = "order_id: string, city: string, paid: boolean, position: long, operation: string, id: string"
    changes.write("{field: table}", f"orders: {{evolve: ignore, schema: {{{columns}}}}}", more)

    changes.land(*(stream("INSERT", f"o-{n}", new=ITEM) for n in range(100)), stream("REMOVE", "o-x", old=ITEM))

    found = sorted(changes.rows("orders"), key=lambda row: row["position"])
    assert [row["order_id"] for row in found] == [*(f"o-{n}" for n in range(100)), "o-x"]
    assert {(row["city"], row["paid"], row["operation"]) for row in found} == {
        ("Turin", True, "INSERT"),
        (None, None, "REMOVE"),
    }


@pytest.mark.parametrize("amount", ["0.01", "99999999999999999999999999999999999.999", "-1E-3", "1.5E+3", "12"])
def test_numbers_are_exact_in_declared_decimal_columns(changes: Changes, amount: str) -> None:
    declared = "orders: {evolve: ignore, schema: {id: string, new: 'struct<amount: decimal(38, 3)>'}}"
    changes.write("{field: table}", declared)

    changes.land(stream("INSERT", "1", new={"amount": {"N": amount}}))

    if amount == "0.01":
        assert changes.rows("orders")[0]["new"] == {"amount": Decimal("0.010")}
    assert [row["new"]["amount"] for row in changes.rows("orders")] == [Decimal(amount)]


def test_number_that_a_declared_column_cannot_hold_is_a_dead_letter(changes: Changes) -> None:
    declared = "orders: {evolve: ignore, schema: {id: string, new: 'struct<amount: decimal(9, 2)>'}}"
    changes.write("{field: table}", declared)

    changes.land(
        stream("INSERT", "1", new={"amount": {"N": "1.25"}}), stream("INSERT", "2", new={"amount": {"N": "1.255"}})
    )

    assert [row["new"]["amount"] for row in changes.rows("orders")] == [Decimal("1.25")]
    (letter,) = rows(changes.folder / "lake" / "dead_letters")
    assert "new.amount" in letter["error"]


def test_bare_items_are_rows_of_their_own_attributes(changes: Changes) -> None:
    changes.write("{constant: orders}", format="{dynamodb: {rows: items}}")

    changes.land({"id": {"S": "a"}, "n": {"N": "1"}}, {"id": {"S": "b"}, "more": {"M": {"x": {"BOOL": False}}}})

    assert changes.rows("orders") == [{"id": "a", "n": 1, "more": None}, {"id": "b", "n": None, "more": {"x": False}}]


def test_what_is_no_change_is_a_dead_letter(changes: Changes) -> None:
    changes.write("{field: table}")
    odd = stream("INSERT", "2", new={"n": {"N": "many"}})

    changes.land(stream("INSERT", "1", new={"n": {"N": "1"}}), {"id": "plain"}, odd, stream("TOUCH", "3"))

    assert [row["id"] for row in changes.rows("orders", "id")] == ["event-1"]
    letters = rows(changes.folder / "lake" / "dead_letters")
    assert sorted(row["code"] for row in letters) == ["dynamodb.attribute", "dynamodb.change", "dynamodb.change"]
    assert any("NewImage.n" in row["error"] for row in letters)
