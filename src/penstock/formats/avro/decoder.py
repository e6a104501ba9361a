"""Messages that were written with one Avro schema, decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.formats.avro.columns import Columns
from penstock.formats.avro.fingerprint import fingerprint
from penstock.formats.avro.mapping import schema_of
from penstock.formats.avro.model import AvroType, Named, kind, short
from penstock.formats.avro.reference import Limits, read
from penstock.formats.avro.rendering import rendered
from penstock.formats.avro.resolution import resolved
from penstock.formats.avro.schema import parse
from penstock.schema import Schema, depth
from penstock.values.plain import MAX_COLUMN_DEPTH


class AvroDecoder:
    """Decodes the messages of one writer's schema. ValueError, for people, if the schema cannot be used."""

    def __init__(self, text: str, references: Sequence[str] = (), limits: Limits | None = None) -> None:
        self.type = parse(text, references)
        self._limits = limits or Limits()
        self._schema = schema_of(self.type)
        if depth(self._schema) > MAX_COLUMN_DEPTH:
            raise ValueError(
                f"its columns are nested more than {MAX_COLUMN_DEPTH} deep, which readers of tables refuse"
            )
        self._columns = Columns(self.type, self._schema, self._limits)

    @property
    def full_name(self) -> str:
        """The name of the record with its namespace; of what has no name, the word for what it is."""
        return self.type.name if isinstance(self.type, Named) else kind(self.type)

    @property
    def record(self) -> str:
        """The name of the record, without its namespace."""
        return short(self.full_name)

    @property
    def schema(self) -> Schema:
        """The columns that the messages have."""
        return self._schema

    @property
    def fingerprint(self) -> int:
        """What single-object encoding calls the schema."""
        return fingerprint(self.type)

    def columns(self, bodies: pa.BinaryArray) -> tuple[pa.RecordBatch, npt.NDArray[np.bool_]]:
        """The rows of the messages that are surely good, and which messages are not among them."""
        return self._columns.decoded(bodies)

    def plain(self, body: bytes) -> dict[str, Any]:
        """One message as plain values; a `Refusal` if it is bad."""
        return rendered(read(body, self.type, self._limits), self.type)

    def plain_as(self, body: bytes, reader: AvroType) -> dict[str, Any]:
        """One message as a reader's schema has it; a `Refusal` if it is bad or cannot be that."""
        return rendered(resolved(read(body, self.type, self._limits), self.type, reader), reader)
