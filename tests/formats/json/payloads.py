"""The tables that the corpus is written for, and payloads for them, put together by hand."""

from __future__ import annotations

from typing import Any

from penstock import JsonFormat, TableSpec

FORMAT = JsonFormat(max_bytes=700_000)
"""Room for 100,000 nested objects, and still below what a broker takes by default."""

ORDER = {
    "type": "string",
    "id": "long not null",
    "text": "string",
    "long": "long",
    "int": "int",
    "short": "short",
    "byte": "byte",
    "double": "double",
    "flag": "boolean",
    "day": "date",
    "moment": "timestamp",
    "doc": "json",
    "tags": "array<string>",
    "place": "struct<city: string, zip: long, geo: struct<lat: double, lon: double>>",
    "lines": "array<struct<sku: string, qty: long>>",
}
ASSET = {
    "type": "string",
    "id": "long not null",
    "float": "float",
    "clock": "timestamp_ntz",
    "raw": "binary",
    "price": "decimal(10, 2)",
    "counts": "map<string, long>",
}


def _table(columns: dict[str, str], **more: Any) -> TableSpec:
    return TableSpec.model_validate({"schema": columns, **more})


TYPES = {
    "order": _table(ORDER, source_columns=True),  # the fast path
    "asset": _table(ASSET, source_columns=True),  # kinds that only the reference path reads
    "strict": _table({"type": "string", "id": "long", "place": "struct<city: string>"}, evolve="freeze"),
    "visit": _table({"type": "string", "id": "long", "site": "string"}, partition_by=("site",)),
    "wide": _table({"type": "string", "id": "long"}),
}


def words(text: str) -> list[str]:
    return text.split()


def order(fields: str | bytes = b"", type: str = "order") -> bytes:
    """An order with these fields, as they are."""
    more = fields.encode() if isinstance(fields, str) else fields
    return b'{"type":"%s","id":1%s}' % (type.encode(), b"," + more if more else b"")


def asset(fields: str) -> bytes:
    return order(fields, "asset")


def each(what: str, into: str, values: list[str]) -> dict[str, bytes]:
    """One order for each value, which stands where `into` has its `?`."""
    return {f"the {what} {value}": order(into.replace("?", value)) for value in values}
