"""The Protobuf format: messages with the id of their schema, or all of one type that a file describes."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, PrivateAttr, model_validator

from penstock.contracts import Home, Reader, Shapes
from penstock.declared import Declared
from penstock.errors import refused, shown
from penstock.formats.decoding import HEADER, Decoder, Framed, Framing, after, byte_at
from penstock.formats.protobuf.decoder import ProtobufDecoder
from penstock.formats.protobuf.descriptors import MessageTypes, compile_source, from_descriptors
from penstock.formats.protobuf.framing import FIRST, indexes, message_at
from penstock.formats.protobuf.registered import types_of
from penstock.formats.protobuf.weight import Limits
from penstock.formats.registered import RegisteredSchemas, kept, settings
from penstock.formats.schema_files import Texts, in_force, only, texts
from penstock.formats.schema_reader import SchemaReader
from penstock.messages import Messages
from penstock.quantities import Size
from penstock.registries.confluent import ConfluentRegistry
from penstock.values.plain import Refusal


class ProtobufFormat(Declared):
    """One Protobuf message per message, of a type that a registry or a file describes."""

    registry: ConfluentRegistry | None = None
    """The registry that gave out the ids which messages begin with."""
    descriptors: str | None = None
    """A file that `protoc -o` wrote, or a `.proto` file: messages then have nothing before them."""
    message: str | None = None
    """The full name of the message type, with `descriptors`. Not set, it is the file's first."""
    flatten: bool = False
    """Whether fields of nested messages become columns of their own, `parent_child`."""
    unknown_fields: Annotated[str, Field(pattern="^(count|refuse)$")] = "count"
    """What becomes of a message with fields that its type does not have: they are counted, or it is a dead letter."""
    max_bytes: Annotated[Size, Field(ge=1)] = 8 * 2**20
    """A larger message is a dead letter of which only size and hash are kept."""

    _files: dict[str, bytes] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.registry is None) == (self.descriptors is None):
            raise ValueError("needs either a registry or descriptors: Protobuf messages do not describe themselves")
        if self.message is not None and self.descriptors is None:
            raise ValueError("has a message without descriptors: with a registry, every message names its own type")
        return self

    @property
    def routes(self) -> tuple[str, ...]:
        """The parts of a schema that can name a message's type."""
        return ("record", "subject", "schema") if self.registry is not None else ("record",)

    def refreshed(self) -> Self:
        """With what the descriptor file holds now."""
        if self.descriptors is None:
            return self
        return in_force(self.descriptors, self._with)

    def _with(self, files: Texts) -> Self:
        found = self.model_copy()
        found._files = dict(files)
        found._framing(None)  # whatever is wrong with it, is wrong now
        return found

    def reader(self, shapes: Shapes) -> Reader:
        return SchemaReader(self._framing(shapes.home), shapes)

    def _framing(self, home: Home | None) -> Framing:
        if self.registry is not None:
            return IndexedFraming(self, RegisteredSchemas("PROTOBUF", self.registry, home))
        assert self.descriptors is not None
        files = self._files if self._files is not None else texts(self.descriptors)
        try:
            content = only(files)
            key = ("protobuf", content, self.message, self.flatten, self.unknown_fields, self.max_bytes)
            return OneType(kept(key, lambda: self._described(*content)))
        except (ValueError, Refusal) as why:
            text = f"the message types in {shown(self.descriptors)} cannot be used: {why}"
            raise refused(
                "config.schema-file", text, "correct the path, the file, or the name of the message"
            ) from None

    def _described(self, name: str, content: bytes) -> ProtobufDecoder:
        is_source = name.endswith(".proto")
        found = compile_source(content.decode("utf-8"), name=name) if is_source else from_descriptors(content)
        return self.decoder(found, None)

    def decoder(self, types: MessageTypes, path: tuple[int, ...] | None) -> ProtobufDecoder:
        """The decoder of one type: the one that the format names, or that indexes lead to."""
        named = types.named(self.message) if self.message and path is None else message_at(types.main, path or FIRST)
        strict = self.unknown_fields == "refuse"
        return ProtobufDecoder(named, self.flatten, Limits(bytes=self.max_bytes), strict=strict)


class IndexedFraming:
    """Messages of a registry, which say which type of their schema they are of."""

    def __init__(self, format: ProtobufFormat, schemas: RegisteredSchemas) -> None:
        self._format, self._schemas = format, schemas

    def framed(self, messages: Messages) -> Framed:
        headed, values = self._schemas.framed(messages), messages.values
        keys: dict[Any, int] = {(key, FIRST): at for at, key in enumerate(headed.keys)}
        codes, refused, cut = headed.codes.copy(), dict(headed.refused), dict[int, bytes]()
        for at in np.flatnonzero((byte_at(values, HEADER) != 0) & (headed.codes >= 0)).tolist():
            body = values[at].as_py()[HEADER:]
            try:
                path, start = indexes(body)
                codes[at] = keys.setdefault((headed.keys[codes[at]], path), len(keys))
                cut[at] = body[start:]
            except Refusal as why:
                codes[at], refused[at] = -1, why
        return Framed(lambda: _cut(values, cut), list(keys), codes, refused)

    def decoder(self, key: Any) -> Decoder:
        id, path = key
        schema = self._schemas.schema(id)

        def make() -> Decoder:
            return self._format.decoder(types_of(schema), path)

        return kept(("PROTOBUF", self._schemas.registry.folder, id, path, settings(self._format)), make)

    def part(self, key: Any, name: str) -> str:
        return self.decoder(key).record if name == "record" else self._schemas.part(key[0], name)


def _cut(values: pa.BinaryArray, others: dict[int, bytes]) -> pa.BinaryArray:
    """What follows the one zero byte by which nearly all messages name their type; of the others, as given."""
    bodies = after(values, HEADER + 1)
    if not others:
        return bodies
    listed = bodies.to_pylist()
    for at, body in others.items():
        listed[at] = body
    return pa.array(listed, pa.binary())


class OneType:
    """Messages that are all of one type, with nothing before them."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def framed(self, messages: Messages) -> Framed:
        return Framed(messages.values, [0], np.zeros(len(messages), np.int64))

    def decoder(self, _: Any) -> Decoder:
        return self._decoder

    def part(self, _: Any, name: str) -> str:
        if name != "record":
            raise Refusal("identify", "type.missing", f"without a registry a schema has no {name}")
        return self._decoder.record
