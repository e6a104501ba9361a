"""Events in envelopes, a Redis with their types, and the pipeline that lands them."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from penstock import audit, load
from penstock.pipeline import Pipeline
from penstock.testing import land_all
from tests.support.ingest import held
from tests.support.lake import rows
from tests.support.redis import LocalRedis
from tests.support.topics import Topics

COMMON = ("sessionId", "url", "browser", "userAgent", "ip")
PAGE, LINK, FORM = "page_viewed.v1", "link_clicked.v1", "form_sent.v1"


def spark_field(name: str, kind: Any) -> dict[str, Any]:
    return {"metadata": {}, "name": name, "nullable": False, "type": kind}


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"fields": list(fields), "type": "struct"}


def spark_schema(*more: dict[str, Any]) -> str:
    """As Spark writes it."""
    return json.dumps(_struct(spark_field("common", _struct(*(spark_field(name, "string") for name in COMMON))), *more))


SCHEMAS = {PAGE: spark_schema(), LINK: spark_schema(spark_field("link_url", "string"))}


def made_event(type: str, **more: Any) -> dict[str, Any]:
    """As the producer sends it."""
    common = {
        "userAgent": f"Agent/{random.randint(1, 9)}.0",
        "sessionId": str(uuid.uuid4()),
        "url": f"https://example.com/{random.randint(1, 999)}",
        "browser": random.choice(["Chrome", "Firefox", "Safari"]),
        "ip": "10.0.0." + str(random.randint(1, 254)),
    }
    return {
        "eventId": str(uuid.uuid4()),
        "eventType": type,
        "eventTimestamp": str(datetime(2026, 3, 1, 12, 30, 15, random.randint(1, 999_999))),
        "event": {"common": common, **more},
    }


def made_events(number: int, type: str) -> list[dict[str, Any]]:
    more = {"link_url": "https://example.com/next"} if type == LINK else {}
    return [made_event(type, **more) for _ in range(number)]


class Clicks:
    """A topic of events, a Redis with their types, and the pipeline that lands them."""

    def __init__(self, topics: Topics, redis: LocalRedis, folder: Path) -> None:
        self.topics, self.redis, self.lake = topics, redis, folder / "lake"
        self.topic, self.path = topics.create(), folder / "clicks.yaml"
        self.write("keep")
        self.register(**SCHEMAS)

    def write(self, unrouted: str) -> None:
        self.path.write_text(f"""
app: clicks
source:
  kafka: {{servers: "{self.topics.servers}", topic: {self.topic}, start: earliest}}
format: json
registry:
  redis: {{host: 127.0.0.1, port: {self.redis.port}, timeout: 2s}}
route:
  by: {{field: eventType}}
  unrouted: {unrouted}
envelope:
  payload: event
  into: event
  columns: {{topic: kafka.topic, timestamp: eventTimestamp, eventId: eventId}}
tables: {{base: {self.lake}}}
batch: {{latency: 50ms}}
""")

    @property
    def pipeline(self) -> Pipeline:
        return load(self.path)

    def register(self, **schemas: str) -> None:
        self.redis.client.mset(schemas)

    def send(self, events: Sequence[Any]) -> None:
        self.topics.produce(self.topic, [json.dumps(event).encode() for event in events])

    def land(self) -> None:
        land_all(self.pipeline)
        found = audit(self.pipeline)
        assert found.ok, found.wrong

    def rows(self, type: str) -> dict[str, dict[str, Any]]:
        """The rows of a type's table by their event's id; none twice."""
        listed = rows(self.lake / type)
        found = {row["eventId"]: row for row in listed}
        assert len(found) == len(listed)
        return found

    def expected(self, events: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {
            event["eventId"]: {
                "topic": self.topic,
                "timestamp": event["eventTimestamp"],
                "eventId": event["eventId"],
                "event": event["event"],
            }
            for event in events
        }

    def held(self, *types: str) -> list[int]:
        return [held(self.lake / type) for type in types]

    def kept(self) -> list[tuple[str, Any]]:
        """Type and event of every message that is kept."""
        return [(row["type"], json.loads(row["json_string"])) for row in rows(self.lake / "_unrouted")]
