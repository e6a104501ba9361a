"""Messages that other systems wrapped: opened on the way, whatever shape the envelope has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock import audit, load
from penstock.errors import ConfigError
from penstock.testing import land_all
from tests.support.lake import rows
from tests.support.topics import Topics


class Post:
    """A topic of wrapped messages, and what opens them."""

    def __init__(self, topics: Topics, folder: Path) -> None:
        self.topics, self.topic, self.folder = topics, topics.create(), folder
        self.path = folder / "post.yaml"

    def write(self, envelope: str, by: str = "{field: type}", more: str = "") -> None:
        self.path.write_text(f"""
app: post
source: {{kafka: {{servers: "{self.topics.servers}", topic: {self.topic}, start: earliest}}}}
format: json
route: {{by: {by}}}
envelope: {envelope}
tables: {{base: {self.folder}/lake}}
batch: {{latency: 50ms}}
{more}
""")

    def land(self, *messages: Mapping[str, Any]) -> None:
        self.topics.produce(self.topic, [json.dumps(message).encode() for message in messages])
        land_all(load(self.path))
        found = audit(load(self.path))
        assert found.ok, found.wrong

    def rows(self, table: str, by: str = "id") -> list[dict[str, Any]]:
        return sorted(rows(self.folder / "lake" / table), key=lambda row: str(row[by]))

    def codes(self) -> list[str]:
        letters = self.folder / "lake" / "dead_letters"
        return sorted(row["code"] for row in rows(letters, "code")) if letters.exists() else []


@pytest.fixture
def post(topics: Topics, tmp_path: Path) -> Post:
    return Post(topics, tmp_path)


def _cloud_event(n: int, **more: Any) -> dict[str, Any]:
    required = {"specversion": "1.0", "id": f"{n:03}", "source": "/orders", "type": "com.example.order.created"}
    return {**required, "time": "2026-03-01T12:30:15Z", "datacontenttype": "application/json", **more}


# --- CloudEvents ---------------------------------------------------------------------------------


def test_cloudevents_are_rows_with_their_attributes_and_their_data(post: Post) -> None:
    post.write("cloudevents")
    sent = [_cloud_event(n, subject=f"order/{n}", data={"n": n, "lines": [{"sku": f"s{n}"}]}) for n in range(200)]

    post.land(*sent)

    names = ("id", "source", "type", "time", "subject", "datacontenttype", "data")
    found = post.rows("com.example.order.created", "id")
    assert [{name: row[name] for name in names} for row in found] == [
        {name: event[name] for name in names} for event in sent
    ]
    assert "specversion" not in found[0]


def test_cloudevent_may_have_no_data(post: Post) -> None:
    post.write("cloudevents")

    post.land(_cloud_event(1, data={"n": 1}), _cloud_event(2), _cloud_event(3, data=None))

    assert [row["data"] for row in post.rows("com.example.order.created")] == [{"n": 1}, None, None]
    assert post.codes() == []


def test_cloudevent_with_bytes_keeps_them(post: Post) -> None:
    post.write("cloudevents")

    post.land(_cloud_event(1, data_base64="aGVsbG8="), _cloud_event(2, data={"n": 1}))

    assert [row["data_base64"] for row in post.rows("com.example.order.created")] == ["aGVsbG8=", None]


def test_extensions_of_cloudevents_are_columns_if_they_are_named(post: Post) -> None:
    post.write(
        "{payload: data, into: data, optional: true, columns: {id: id, at: time, tenant: tenantid}}",
        more="transforms: {day: 'substr(at, `0`, `10`)'}",
    )

    post.land(_cloud_event(1, tenantid="blue", data={"n": 1}))

    assert post.rows("com.example.order.created") == [
        {"id": "001", "at": "2026-03-01T12:30:15Z", "tenant": "blue", "data": {"n": 1}, "day": "2026-03-01"}
    ]


# --- payloads ------------------------------------------------------------------------------------


def _wrapped(payloads: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"id": f"{n:03}", "type": "order", "noise": n, "payload": payload} for n, payload in enumerate(payloads)]


@pytest.mark.parametrize("as_text", [False, True, None], ids=["objects", "texts", "both"])
def test_payloads_are_objects_or_texts_that_hold_one(post: Post, as_text: bool | None) -> None:
    post.write("{payload: payload, into: order, columns: {id: id}}")
    orders = [{"n": n, "who": {"name": f"w{n}"}, "price": n / 4} for n in range(150)]
    is_text = [n % 2 == 0 if as_text is None else as_text for n in range(150)]

    post.land(*_wrapped([json.dumps(order) if text else order for order, text in zip(orders, is_text, strict=True)]))

    assert post.rows("order") == [{"id": f"{n:03}", "order": order} for n, order in enumerate(orders)]


@pytest.mark.parametrize("as_text", [False, True], ids=["objects", "texts"])
def test_fields_of_a_flat_payload_are_columns_themselves(post: Post, as_text: bool) -> None:
    post.write("{payload: payload, columns: {id: id, offset: kafka.offset}}")
    orders = [{"n": n, "who": {"name": f"w{n}"}} for n in range(150)]

    post.land(*_wrapped([json.dumps(order) if as_text else order for order in orders]))

    assert post.rows("order") == [{"id": f"{n:03}", "offset": n, **order} for n, order in enumerate(orders)]


def test_payload_may_lie_deep_and_its_type_inside_of_it(post: Post) -> None:
    post.write("{payload: Records.body, columns: {id: meta.id}}", by="{field: Records.body.kind}")

    post.land(*({"meta": {"id": f"{n}"}, "Records": {"body": {"kind": f"k{n % 2}", "n": n}}} for n in range(4)))

    assert [row["n"] for row in post.rows("k0")] == [0, 2]
    assert post.rows("k1", "id")[0] == {"id": "1", "kind": "k1", "n": 1}


def test_new_fields_of_payloads_become_columns(post: Post) -> None:
    post.write("{payload: payload, into: order, columns: {id: id}}")
    post.land(*_wrapped([{"n": 0}, json.dumps({"n": 1})]))

    post.land(*({**each, "id": f"9{each['id']}"} for each in _wrapped([{"n": 2, "new": "a"}, '{"n": 3, "newer": 1}'])))

    assert [row["order"] for row in post.rows("order")] == [
        {"n": n, "new": "a" if n == 2 else None, "newer": 1 if n == 3 else None} for n in range(4)
    ]


def test_wrapped_messages_that_cannot_be_opened_are_dead_letters(post: Post) -> None:
    post.write("{payload: payload, columns: {id: id}}")

    post.land(*_wrapped([{"n": 0}, None, 7, "no JSON", "[1]", [1], {"id": "clash"}]), {"id": "x", "type": "order"})

    assert post.rows("order") == [{"id": "000", "n": 0}]
    assert post.codes() == ["envelope.clash", *["envelope.no-payload"] * 2, *["envelope.payload"] * 4]


def test_declared_columns_hold_what_the_payload_says(post: Post) -> None:
    post.write(
        "{payload: payload, columns: {id: id, at: at}}",
        by="{constant: order}",
        more="",
    )
    text = post.path.read_text()
    declared = "types: {order: {schema: {id: long, at: timestamp, price: 'decimal(9,2)'}}}"
    post.path.write_text(text.replace("/lake}", f"/lake, {declared}}}"))

    post.land(
        {"id": 1, "at": "2026-03-01T12:30:15.5Z", "payload": {"price": 12.30}},
        {"id": 2, "at": "2026-03-01T12:30:15Z", "payload": '{"price": 0.01}'},
    )

    found = post.rows("order")
    assert [str(row["price"]) for row in found] == ["12.30", "0.01"]
    assert [row["at"].astimezone(UTC) for row in found] == [
        datetime(2026, 3, 1, 12, 30, 15, 500_000, UTC),
        datetime(2026, 3, 1, 12, 30, 15, 0, UTC),
    ]


def test_envelope_that_contradicts_itself_is_refused(post: Post) -> None:
    post.write("{payload: payload, into: id, columns: {id: id}}")

    with pytest.raises(ConfigError, match="rename one of them"):
        load(post.path)
