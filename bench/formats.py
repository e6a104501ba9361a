"""The same events as Avro and as Protobuf, each after the id of its schema, as clients of a registry send them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import fastavro
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from bench.topics import SCHEMA, Topic
from penstock.registries.confluent import ConfluentRegistry

COLUMNS = [(name, kind) for name, kind in (column.split() for column in SCHEMA.split(", "))]
AVRO = {"string": "string", "bigint": "long", "double": "double", "boolean": "boolean"}
PROTOBUF = {"string": "string", "bigint": "int64", "double": "double", "boolean": "bool"}

Encode = Callable[[Mapping[str, Any]], bytes]


@dataclass(frozen=True)
class Encoding:
    """A format with schemas: what it calls itself, the schema of a type, and the bytes of an event."""

    kind: str  # as registries say it
    schema: Callable[[str], str]
    encode: Encode
    route: Literal["subject", "record"]  # what is called as the type is
    before: bytes = b""  # between the id and the event

    def register(self, registry: ConfluentRegistry, topic: Topic) -> list[int]:
        """A schema for each type: their ids. A subject has schemas of one kind, so that not both are called as the
        type is."""
        end = "" if self.route == "subject" else f"-{self.kind.lower()}"
        return [registry.register(name + end, self.kind, self.schema(name)) for name in topic.type_names()]

    def values(self, topic: Topic, ids: Sequence[int]) -> Iterator[bytes]:
        """The messages of a topic, which are JSON, in this format."""
        heads = {name: b"\0" + id.to_bytes(4) + self.before for name, id in zip(topic.type_names(), ids, strict=True)}
        for event in map(json.loads, topic.values()):
            yield heads[event["eventType"]] + self.encode(event)


def avro_schema(name: str) -> str:
    space, _, record = name.rpartition(".")
    fields = [{"name": column, "type": AVRO[kind]} for column, kind in COLUMNS]
    return json.dumps({"type": "record", "name": record, "namespace": space, "fields": fields})


def protobuf_schema(name: str) -> str:
    package, _, message = name.rpartition(".")
    fields = "".join(f"  {PROTOBUF[kind]} {column} = {at};\n" for at, (column, kind) in enumerate(COLUMNS, 1))
    return f'syntax = "proto3";\npackage {package};\nmessage {message} {{\n{fields}}}\n'


@cache
def avro_parsed() -> Any:
    """What fastavro makes of the schema: the types share it but for its name, which is not in the bytes."""
    return fastavro.parse_schema(json.loads(avro_schema("event.any")))


@cache
def protobuf_class() -> type[Message]:
    """What `protoc` would make of the schema."""
    file = FileDescriptorProto(name="event.proto", package="event", syntax="proto3")
    message = file.message_type.add(name="any")
    for at, (column, kind) in enumerate(COLUMNS, 1):
        type = FieldDescriptorProto.Type.Value(f"TYPE_{PROTOBUF[kind].upper()}")
        message.field.add(name=column, number=at, type=type, label=FieldDescriptorProto.LABEL_OPTIONAL)
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("event.any"))


def _avro(event: Mapping[str, Any]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, avro_parsed(), event)
    return stream.getvalue()


def _protobuf(event: Mapping[str, Any]) -> bytes:
    return protobuf_class()(**event).SerializeToString()


ENCODINGS = {
    "avro": Encoding("AVRO", avro_schema, _avro, "subject"),
    "protobuf": Encoding("PROTOBUF", protobuf_schema, _protobuf, "record", before=b"\0"),  # the schema's first message
}
