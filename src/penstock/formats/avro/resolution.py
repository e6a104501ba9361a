"""Values that were written with one schema, as another one has them: the reader's."""

from __future__ import annotations

import json
import struct
from typing import Any

from penstock.formats.avro.model import (
    AvroType,
    Entries,
    Enum,
    Fixed,
    Items,
    Named,
    Primitive,
    Record,
    RecordField,
    Union,
    kind,
    short,
)
from penstock.formats.avro.reference import Branch, refuse
from penstock.values.plain import Refusal, shown

_PROMOTIONS = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


def resolved(value: Any, writer: AvroType, reader: AvroType) -> Any:
    """The value for the reader's type, or a `Refusal` if it has no such value."""
    if isinstance(writer, Union):
        return resolved(value.value, writer.branches[value.index], reader)
    if isinstance(reader, Union):
        return _branch(value, writer, reader)
    if not _is_like(writer, reader):
        if isinstance(writer, Primitive) and kind(reader) in _PROMOTIONS.get(writer.name, ()):
            return _promoted(value, writer.name, kind(reader))
        raise refuse("resolve", f"{_called(writer)} was written where the reader's schema has {_called(reader)}")
    if isinstance(writer, Record) and isinstance(reader, Record):
        return _record(value, writer, reader)
    if isinstance(writer, Items) and isinstance(reader, Items):
        return [resolved(element, writer.of, reader.of) for element in value]
    if isinstance(writer, Entries) and isinstance(reader, Entries):
        return {key: resolved(element, writer.of, reader.of) for key, element in value.items()}
    return _symbol(value, reader) if isinstance(reader, Enum) else value


def _called(type: AvroType) -> str:
    return f"the {kind(type)} {shown(type.name)}" if isinstance(type, Named) else f"'{kind(type)}'"


def _is_like(writer: AvroType, reader: AvroType) -> bool:
    """Are these types the same as far as one sees without looking inside?"""
    if kind(writer) != kind(reader):
        return False
    if isinstance(writer, Fixed) and isinstance(reader, Fixed) and writer.size != reader.size:
        return False
    if isinstance(writer, Named) and isinstance(reader, Named):
        return short(writer.name) in {short(reader.name), *map(short, reader.aliases)}
    return True


def _branch(value: Any, writer: AvroType, reader: Union) -> Branch:
    """The first branch that the value fits: of those that are alike, then of those that it can be promoted to."""
    places = sorted(range(len(reader.branches)), key=lambda place: not _is_like(writer, reader.branches[place]))
    for place in places:
        try:
            return Branch(place, resolved(value, writer, reader.branches[place]))
        except Refusal:
            continue
    raise refuse("resolve", f"{_called(writer)} was written and fits no branch of the reader's union")


def _record(value: dict[str, Any], writer: Record, reader: Record) -> dict[str, Any]:
    written = {field.name: field.type for field in writer.fields}
    found = {}
    for field in reader.fields:
        source = next((name for name in (field.name, *field.aliases) if name in written), None)
        found[field.name] = _default(field) if source is None else resolved(value[source], written[source], field.type)
    return found


def _symbol(value: str, reader: Enum) -> str:
    if value in reader.symbols:
        return value
    if reader.default is None:
        raise refuse("resolve", f"the symbol {shown(value)} is none of the reader's enum {shown(reader.name)}")
    return reader.default


def _promoted(value: Any, writer: str, reader: str) -> Any:
    if reader == "float":
        return struct.unpack("<f", struct.pack("<f", value))[0]
    if reader == "double":
        return float(value)
    if writer == "string":
        return value.encode()
    if writer == "bytes":
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            raise refuse("text", "bytes that the reader's schema has as a text are not valid UTF-8") from None
    return value


def _default(field: RecordField) -> Any:
    if field.default is None:
        raise refuse("resolve", f"the field {shown(field.name)} was not written and has no default")
    try:
        return _from_json(json.loads(field.default), field.type)
    except (TypeError, ValueError, OverflowError, AttributeError, struct.error):
        raise refuse("resolve", f"the default of the field {shown(field.name)} is no value of its type") from None


def _from_json(given: Any, type: AvroType) -> Any:
    """A value that stands in a schema; ValueError and its like if it is none of that type."""
    if isinstance(type, Union):
        return _from_json_in_union(given, type)
    if isinstance(type, Record):
        return {
            field.name: _from_json(given[field.name], field.type) if field.name in given else _default(field)
            for field in type.fields
        }
    if isinstance(type, Items):
        return [_from_json(element, type.of) for element in _checked(given, list)]
    if isinstance(type, Entries):
        return {key: _from_json(element, type.of) for key, element in _checked(given, dict).items()}
    if isinstance(type, Enum):
        return type.symbols[type.symbols.index(given)]
    if isinstance(type, Fixed):
        return struct.unpack(f"{type.size}s", given.encode("latin-1"))[0]
    return _primitive_from_json(given, type.name)


def _from_json_in_union(given: Any, union: Union) -> Branch:
    for place, branch in enumerate(union.branches):
        try:
            return Branch(place, _from_json(given, branch))
        except (TypeError, ValueError, OverflowError, AttributeError, struct.error):
            continue
    raise ValueError


def _primitive_from_json(given: Any, name: str) -> Any:
    if name == "null":
        return _checked(given, type(None))
    if name in ("int", "long"):
        return struct.unpack("<i" if name == "int" else "<q", struct.pack("<i" if name == "int" else "<q", given))[0]
    if name in ("float", "double"):
        number = float(given if isinstance(given, int) and not isinstance(given, bool) else _checked(given, float))
        return _promoted(number, "double", name)
    if name == "bytes":
        return given.encode("latin-1")
    return _checked(given, bool if name == "boolean" else str)


def _checked(given: Any, kind: type) -> Any:
    if not isinstance(given, kind):
        raise TypeError
    return given
