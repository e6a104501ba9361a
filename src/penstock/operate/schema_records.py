"""What a schema says of the messages that are written with it: the columns of each of their types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.formats.avro.decoder import AvroDecoder
from penstock.formats.json_schema.schema import columns, document, record_name
from penstock.formats.protobuf.decoder import ProtobufDecoder
from penstock.formats.protobuf.descriptors import from_descriptors
from penstock.formats.protobuf.registered import types_of
from penstock.registries import Registered
from penstock.registries.documents import parsed
from penstock.registries.spark_json import from_spark
from penstock.schema import Schema
from penstock.values.plain import Refusal

SPARK = "SPARK"
"""The kind of schemas that registries of types hold, beside those that messages name by id."""


@dataclass(frozen=True)
class Kept:
    """A schema as it is written at its place."""

    name: str
    kind: str
    """`AVRO`, `PROTOBUF`, `JSON` or `SPARK`."""
    text: str
    references: tuple[tuple[str, str], ...] = ()
    """Name → text of all that it needs, each after those that it needs itself."""
    id: int | None = None
    version: int | None = None
    descriptors: bytes = b""
    """What `protoc -o` wrote, instead of text."""

    def __str__(self) -> str:
        numbers = (("version", self.version), ("id", self.id))
        return ", ".join([self.name, *(f"{word} {number}" for word, number in numbers if number is not None)])


@dataclass(frozen=True)
class Reading:
    """How a format reads Protobuf: whether nested messages are flattened, and which type all messages are of."""

    flatten: bool = False
    message: str | None = None
    is_one: bool = False
    """Is it one type only, the first one if none is named?"""


PLAIN = Reading()


def records(schema: Kept, reading: Reading = PLAIN) -> dict[str, Schema]:
    """The columns of each type of message that a schema has, by the type's name. A ValueError says why it cannot
    be used."""
    try:
        return _READERS[schema.kind](schema, reading)
    except Refusal as why:
        raise ValueError(why.text) from None


def _avro(schema: Kept, _: Reading) -> dict[str, Schema]:
    decoder = AvroDecoder(schema.text, [text for _, text in schema.references])
    return {decoder.record: decoder.schema}


def _protobuf(schema: Kept, reading: Reading) -> dict[str, Schema]:
    found = from_descriptors(schema.descriptors) if schema.descriptors else types_of(_registered(schema))
    listed = [found.named(reading.message)] if reading.message else [*found.main.message_types_by_name.values()]
    if not listed:
        raise ValueError("the schema has no message type")
    decoders = [ProtobufDecoder(each, reading.flatten) for each in listed[: 1 if reading.is_one else None]]
    return {decoder.record: decoder.schema for decoder in decoders}


def _json(schema: Kept, _: Reading) -> dict[str, Schema]:
    found = document(schema.text)
    references = {name: document(text) for name, text in schema.references}
    return {record_name(found) or str(schema.id or schema.name): columns(found, references)}


def _spark(schema: Kept, _: Reading) -> dict[str, Schema]:
    return {schema.name: from_spark(schema.text)}


def _registered(schema: Kept) -> Registered:
    return Registered(schema.id or 0, schema.kind, schema.text, schema.references)


_READERS: dict[str, Callable[[Kept, Reading], dict[str, Schema]]] = {
    "AVRO": _avro,
    "PROTOBUF": _protobuf,
    "JSON": _json,
    SPARK: _spark,
}

_SUFFIXES = {".avsc": "AVRO", ".proto": "PROTOBUF", ".desc": "PROTOBUF"}
_FIRST_WORDS = {"struct": SPARK, "record": "AVRO"}


def kind_of(suffix: str, text: str) -> str:
    """The kind of schema that a file holds, by its name's end. What is JSON is told by what it says it is."""
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    try:
        found = parsed(text)
    except ValueError:
        return "JSON"
    told = found.get("type") if isinstance(found, dict) else None
    return _FIRST_WORDS.get(told, "JSON") if isinstance(told, str) else "JSON"
