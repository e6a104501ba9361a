"""Messages with schemas that a registry gave ids to, and the pipeline that lands them."""

from __future__ import annotations

import io
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro

from penstock import load
from penstock.pipeline import Pipeline
from tests.support.ingest import held
from tests.support.lake import rows
from tests.support.topics import Topics


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": kind} for n, kind in fields.items()]}


ORDER, PAGE = record("order", n="long"), record("page", n="long", url="string")
WIDER = record("order", n="long", note=["null", "string"], line=["null", record("line", sku="string")])
CHANGED = record("order", n="string")


def body(schema: Mapping[str, Any], message: Mapping[str, Any]) -> bytes:
    written = io.BytesIO()
    fastavro.schemaless_writer(written, fastavro.parse_schema(dict(schema)), dict(message))
    return written.getvalue()


def framed(id: int, schema: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """As clients of a registry write them."""
    return [struct.pack(">bI", 0, id) + body(schema, message) for message in messages]


def orders(numbers: range, **more: Any) -> list[dict[str, Any]]:
    return [{"n": n, **more} for n in numbers]


class Trade:
    """A topic whose messages have schemas, and the pipeline that lands it."""

    def __init__(self, topics: Topics, folder: Path, url: str) -> None:
        self.topics, self.topic, self.lake = topics, topics.create(), folder / "lake"
        self.path = folder / "trade.yaml"
        self.write(f'avro: {{registry: {{url: "{url}", timeout: 1s, grace: 1s}}}}')

    def write(self, format: str) -> None:
        self.path.write_text(f"""
app: trade
source: {{kafka: {{servers: "{self.topics.servers}", topic: {self.topic}, start: earliest}}}}
format: {{{format}}}
route: {{by: record}}
tables: {{base: {self.lake}}}
batch: {{latency: 50ms}}
""")

    @property
    def pipeline(self) -> Pipeline:
        return load(self.path)

    def send(self, values: Sequence[bytes]) -> None:
        self.topics.produce(self.topic, values)

    def has(self, **tables: int) -> bool:
        return all(held(self.lake / name) == number for name, number in tables.items())

    def numbers(self, table: str) -> Counter[Any]:
        return Counter(row["n"] for row in rows(self.lake / table, "n"))

    def letters(self) -> list[dict[str, Any]]:
        return rows(self.lake / "dead_letters") if held(self.lake / "dead_letters") else []
