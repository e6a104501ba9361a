"""JSON whose messages begin with the id of their JSON Schema, which a registry knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.arrow import arrow_schema
from penstock.contracts import Reader, Shape, Shapes
from penstock.formats.json import JsonFormat
from penstock.formats.json_schema.schema import columns, document, record_name
from penstock.formats.registered import RegisteredSchemas, RegistryFraming, settings
from penstock.formats.schema_reader import SchemaReader
from penstock.messages import Details, Messages
from penstock.registries import Registered
from penstock.registries.confluent import ConfluentRegistry
from penstock.schema import Schema

_TYPE = "message"
_NOTHING = Details(None, (), None)


class JsonSchemaFormat(JsonFormat):
    """One JSON object per message, of a schema that a registry knows. What a schema does not name may be in the
    message all the same: it is treated as in plain JSON."""

    registry: ConfluentRegistry
    """The registry that gave out the ids which messages begin with."""

    @property
    def routes(self) -> tuple[str, ...]:
        """The parts of a schema that can name a message's type."""
        return ("record", "subject", "schema")

    def reader(self, shapes: Shapes) -> Reader:
        schemas = RegisteredSchemas("JSON", self.registry, shapes.home)
        return SchemaReader(RegistryFraming(schemas, self._decoder, settings(self)), shapes)

    def _decoder(self, schema: Registered) -> JsonSchemaDecoder:
        return JsonSchemaDecoder(self, schema)


class JsonSchemaDecoder:
    """Messages of one JSON Schema. The schema says which columns there are; JSON says what is in a message."""

    is_open = True  # it may hold more than its schema says

    def __init__(self, format: JsonFormat, registered: Registered) -> None:
        found = document(registered.text)
        self.record = record_name(found) or str(registered.id)
        self._schema = columns(found, {name: document(text) for name, text in registered.references})
        self._format = JsonFormat(**{name: getattr(format, name) for name in JsonFormat.model_fields})
        self._shapes = Shapes({_TYPE: Shape(self._schema, "freeze")})
        self._reader = self._format.reader(self._shapes)

    @property
    def schema(self) -> Schema:
        return self._schema

    def columns(self, bodies: pa.BinaryArray) -> tuple[pa.RecordBatch, npt.NDArray[np.bool_]]:
        messages = _messages(bodies)
        declined = np.full(len(bodies), True)
        clean = self._reader.sort(messages, [_TYPE] * len(bodies)).clean.get(_TYPE, np.empty(0, np.int64))
        made = self._reader.columns(_TYPE, messages.only(clean)) if len(clean) else None
        if made is None or made.rows is None:
            return pa.RecordBatch.from_pylist([], arrow_schema(self._schema)), declined
        declined[clean] = made.declined
        return made.rows, declined

    def plain(self, body: bytes) -> dict[str, Any]:
        return self._reader.plain(_messages(pa.array([body], pa.binary())), 0)


def _messages(bodies: pa.BinaryArray) -> Messages:
    return Messages("", "0", np.arange(len(bodies)), bodies, lambda _: _NOTHING)
