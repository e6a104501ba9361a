"""Messages of one Protobuf type as rows: many at once where that is surely right, else one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from google.protobuf.descriptor import Descriptor

from penstock.arrow import arrow_schema
from penstock.formats.protobuf import schema as layouts
from penstock.formats.protobuf.batches import BatchReader, flattened_rows
from penstock.formats.protobuf.reference import Reader, flattened, refuse
from penstock.formats.protobuf.weight import Limits
from penstock.schema import Schema


class ProtobufDecoder:
    """Decodes messages of one type, without their framing. `unknown_fields` counts, over all messages that it made
    rows or values of, the fields that the type does not have; with `strict` a message with such fields is refused."""

    def __init__(
        self, descriptor: Descriptor, flatten: bool = False, limits: Limits | None = None, *, strict: bool = False
    ) -> None:
        limits = limits or Limits()
        self._layout = layouts.layout_of(descriptor)
        self._nested = self._layout.type
        self._flatten, self._strict = flatten, strict
        self._schema = layouts.flattened(self._nested) if flatten else self._nested
        self._reader = Reader(self._layout, limits)
        self._batches = BatchReader(self._layout, limits, strict=strict)
        self._arrow = arrow_schema(self._nested)
        self.unknown_fields = 0

    @property
    def record(self) -> str:
        """The fully-qualified name of the message type."""
        return self._layout.descriptor.full_name

    @property
    def descriptor(self) -> Descriptor:
        return self._layout.descriptor

    @property
    def schema(self) -> Schema:
        return self._schema

    def columns(self, bodies: pa.BinaryArray) -> tuple[pa.RecordBatch, npt.NDArray[np.bool_]]:
        """Rows of the messages that are surely good, and which of all are declined."""
        found = self._batches.read(bodies, self._arrow)
        self.unknown_fields += found.unknown
        return flattened_rows(found.rows, self._schema) if self._flatten else found.rows, found.declined

    def plain(self, body: bytes) -> dict[str, Any]:
        """One message as plain values, or a `Refusal`."""
        found = self._reader.read(body)
        if self._strict and self._reader.unknown:
            raise refuse("unknown-field", f"the message has {self._reader.unknown} fields that its type does not have")
        self.unknown_fields += self._reader.unknown
        return flattened(found, self._nested) if self._flatten else found
