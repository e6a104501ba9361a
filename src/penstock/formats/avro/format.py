"""The Avro format: messages with the id of their schema, with its fingerprint, or with the schema itself."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from penstock.contracts import Home, Reader, Shapes
from penstock.declared import Declared
from penstock.errors import refused, shown
from penstock.formats.avro.decoder import AvroDecoder
from penstock.formats.avro.framings import ContainerFraming, SingleObjectFraming
from penstock.formats.avro.reference import Limits
from penstock.formats.avro.schema import parse
from penstock.formats.decoding import Framing
from penstock.formats.registered import RegisteredSchemas, RegistryFraming, settings
from penstock.formats.schema_files import Texts, in_force, only, texts
from penstock.formats.schema_reader import SchemaReader
from penstock.quantities import Size
from penstock.registries import Registered
from penstock.registries.confluent import ConfluentRegistry


class AvroFormat(Declared):
    """One Avro record per message. Without settings, every message is a whole container file that holds one."""

    model_config = ConfigDict(populate_by_name=True)

    registry: ConfluentRegistry | None = None
    """The registry that gave out the ids which messages begin with."""
    single_object: str | None = None
    """A file or folder of schemas (`.avsc`), for messages in single-object encoding."""
    reader_schema: str | None = Field(default=None, alias="schema")
    """A file with the schema that containers are read with, whatever theirs is."""
    max_bytes: Annotated[Size, Field(ge=1)] = 8 * 2**20
    """A larger message is a dead letter of which only size and hash are kept."""

    @model_validator(mode="after")
    def _one_encoding(self) -> Self:
        given = [name for name in ("registry", "single_object", "reader_schema") if getattr(self, name) is not None]
        if len(given) > 1:
            names = " and ".join(name.replace("reader_schema", "schema") for name in given)
            raise ValueError(f"has {names}: messages are encoded in one way, leave only one of them")
        return self

    _files: dict[str, bytes] | None = PrivateAttr(default=None)

    @property
    def routes(self) -> tuple[str, ...]:
        """The parts of a schema that can name a message's type."""
        if self.registry is not None:
            return ("record", "subject", "schema")
        return ("record", "schema") if self.single_object is not None else ("record",)

    def refreshed(self) -> Self:
        """With what schema files hold now."""
        path = self.single_object or self.reader_schema
        if path is None:
            return self
        return in_force(path, self._with)

    def _with(self, files: Texts) -> Self:
        found = self.model_copy()
        found._files = dict(files)
        found._framing(None)  # whatever is wrong with them, is wrong now
        return found

    def reader(self, shapes: Shapes) -> Reader:
        return SchemaReader(self._framing(shapes.home), shapes)

    def _framing(self, home: Home | None) -> Framing:
        limits = Limits(bytes=self.max_bytes)
        if self.registry is not None:
            schemas = RegisteredSchemas("AVRO", self.registry, home)
            return RegistryFraming(schemas, self._decoder, settings(self))
        path = self.single_object or self.reader_schema
        if path is None:
            return ContainerFraming(limits)
        files = self._files if self._files is not None else texts(path)
        try:
            if self.single_object is not None:
                return SingleObjectFraming(files, limits)
            return ContainerFraming(limits, parse(only(files)[1].decode("utf-8")))
        except ValueError as why:
            text = f"the schemas in {shown(path)} cannot be used: {why}"
            raise refused("config.schema-file", text, "correct the path or the file") from None

    def _decoder(self, schema: Registered) -> AvroDecoder:
        return AvroDecoder(schema.text, [text for _, text in schema.references], Limits(bytes=self.max_bytes))
