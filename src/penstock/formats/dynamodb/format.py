"""The DynamoDB format: changes of a table, or items, in DynamoDB's own typed JSON."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from penstock.contracts import Reader, Shapes
from penstock.declared import Declared
from penstock.formats.dynamodb.attributes import item
from penstock.formats.dynamodb.changes import change
from penstock.formats.json.reference import parse
from penstock.formats.plain_reader import PlainReader
from penstock.quantities import Size


class DynamodbFormat(Declared):
    """One change of a DynamoDB table per message, as its stream or its Kinesis destination tells it."""

    rows: Literal["changes", "items"] = "changes"
    """What a message becomes: the change with `operation`, `keys`, `new` and `old` item; or, of bare items, the
    item's own attributes."""
    max_bytes: Annotated[Size, Field(ge=1)] = 8 * 2**20
    """A larger message is a dead letter of which only size and hash are kept."""

    def reader(self, shapes: Shapes) -> Reader:
        return PlainReader(self._parsed, shapes)

    def _parsed(self, value: bytes) -> dict[str, Any]:
        document = parse(value, self.max_bytes)
        return change(document) if self.rows == "changes" else item(document)
