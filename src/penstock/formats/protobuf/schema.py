"""Which columns a message type has.

Fields keep their names. What Protobuf knows and a column does not is decided here, once, for both paths:

- a field that tells absence (proto2, ``optional``, members of a oneof, messages) is null when absent; one that
  does not (plain proto3) has its default, 0, "" or false, then;
- an enum is the name of its value, ``MISSING`` if it has none; uint32 is long, uint64 is decimal(20, 0);
- a map has text keys; Timestamp is a timestamp, a wrapper the value it wraps; Duration and Any are the structs that
  they are; Struct, Value, ListValue, what refers back to itself and what is nested too deep are JSON text;
- a message without fields is true when it is there, since tables have no empty structs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from penstock.formats.protobuf.protoc import refused
from penstock.schema import (
    BOOLEAN,
    DOUBLE,
    INT,
    JSON,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    Scalar,
    Schema,
    Struct,
    Type,
)
from penstock.values.plain import MAX_COLUMN_DEPTH

MAX_COLUMNS, MAX_NAME = 5_000, 255

Kind = Literal["scalar", "enum", "message", "timestamp", "wrapper", "presence", "json"]

_WRAPPERS = frozenset(
    f"google.protobuf.{name}Value" for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool")
) | {"google.protobuf.StringValue", "google.protobuf.BytesValue"}
_FREE = frozenset(f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue"))
_F = FieldDescriptor
_SCALARS: dict[int, Type] = {
    _F.TYPE_DOUBLE: DOUBLE,
    _F.TYPE_FLOAT: Scalar("float"),
    _F.TYPE_INT64: LONG,
    _F.TYPE_SINT64: LONG,
    _F.TYPE_SFIXED64: LONG,
    _F.TYPE_UINT64: Decimal(20, 0),
    _F.TYPE_FIXED64: Decimal(20, 0),
    _F.TYPE_INT32: INT,
    _F.TYPE_SINT32: INT,
    _F.TYPE_SFIXED32: INT,
    _F.TYPE_UINT32: LONG,
    _F.TYPE_FIXED32: LONG,
    _F.TYPE_BOOL: BOOLEAN,
    _F.TYPE_STRING: STRING,
    _F.TYPE_BYTES: Scalar("binary"),
    _F.TYPE_ENUM: STRING,
}


@dataclass(frozen=True, eq=False)
class Value:
    """What one value of a field is: on the wire, and as a column."""

    kind: Kind
    type: Type
    field: FieldDescriptor
    layout: Layout | None = None

    @cached_property
    def number(self) -> int:
        """The type that Protobuf gives it."""
        return self.field.type

    @cached_property
    def names(self) -> dict[int, str]:
        """The names of an enum's values."""
        enum = self.field.enum_type
        return {number: value.name for number, value in enum.values_by_number.items()} if enum else {}


@dataclass(frozen=True, eq=False)
class Member:
    """One field of a message. A map has a key beside its value."""

    name: str
    field: FieldDescriptor
    shape: Literal["one", "many", "map"]
    value: Value
    key: FieldDescriptor | None = None

    @cached_property
    def tells_absence(self) -> bool:
        return self.field.has_presence

    @property
    def type(self) -> Type:
        if self.shape == "one":
            return self.value.type
        return Array(self.value.type) if self.shape == "many" else Map(self.value.type)


@dataclass(frozen=True, eq=False)
class Layout:
    """A message type as columns see it: its fields in the order of its schema."""

    descriptor: Descriptor
    members: tuple[Member, ...]

    @property
    def type(self) -> Struct:
        return Struct(tuple(Field(member.name, member.type) for member in self.members))


def layout_of(descriptor: Descriptor) -> Layout:
    """The columns of a message type; a `Refusal` if no table could have them."""
    return _Builder().layout(descriptor, (), MAX_COLUMN_DEPTH)


class _Builder:
    """Follows a type into its parts, with an eye on how many columns that makes."""

    def __init__(self) -> None:
        self.columns = 0

    def layout(self, descriptor: Descriptor, above: tuple[str, ...], levels: int) -> Layout:
        path = (*above, descriptor.full_name)
        self.columns += len(descriptor.fields)
        if self.columns > MAX_COLUMNS:
            raise refused(f"{path[0]} makes more than {MAX_COLUMNS} columns")
        _refuse_twins(descriptor.full_name, (field.name for field in descriptor.fields))
        return Layout(descriptor, tuple(self._member(field, path, levels) for field in descriptor.fields))

    def _member(self, field: FieldDescriptor, path: tuple[str, ...], levels: int) -> Member:
        if not field.is_repeated:
            return Member(field.name, field, "one", self._value(field, path, levels))
        if levels < 2:
            return Member(field.name, field, "one", Value("json", JSON, field))
        entry = field.message_type
        if entry is None or not entry.GetOptions().map_entry:
            return Member(field.name, field, "many", self._value(field, path, levels - 1))
        key, value = entry.fields_by_name["key"], entry.fields_by_name["value"]
        return Member(field.name, field, "map", self._value(value, path, levels - 1), key)

    def _value(self, field: FieldDescriptor, path: tuple[str, ...], levels: int) -> Value:
        message = field.message_type
        if message is None:
            return _scalar(field)
        name = message.full_name if message.file.name.startswith("google/protobuf/") else ""
        if name == "google.protobuf.Timestamp":
            return Value("timestamp", TIMESTAMP, field, self.layout(message, path, levels))
        if name in _WRAPPERS:
            inner = self.layout(message, path, levels)
            return Value("wrapper", inner.members[0].type, field, inner)
        if name in _FREE or message.full_name in path or levels < 2:
            return Value("json", JSON, field)
        if not message.fields:
            return Value("presence", BOOLEAN, field, Layout(message, ()))
        layout = self.layout(message, path, levels - 1)
        return Value("message", layout.type, field, layout)


def _scalar(field: FieldDescriptor) -> Value:
    found = Value("enum" if field.type == _F.TYPE_ENUM else "scalar", _SCALARS[field.type], field)
    if any(len(name) > MAX_NAME for name in found.names.values()):
        raise refused(f"the enum of the field {field.full_name} has names of more than {MAX_NAME} characters")
    return found


def _refuse_twins(where: str, names: Iterator[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if (twin := seen.setdefault(name.lower(), name)) != name or len(name) > MAX_NAME:
            raise refused(f"the fields {twin} and {name} of {where} cannot be columns of one table")


# --- flattening ----------------------------------------------------------------------------------


def flattened(schema: Schema) -> Schema:
    """A schema without structs in structs: their fields stand in their place, as parent_child, also in the elements
    of arrays. Maps stay as they are."""
    fields = tuple(_flat_fields(schema, ""))
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen or len(field.name) > MAX_NAME:
            raise refused(f"flattened, two fields would be the column {field.name}, or its name be too long")
        seen.add(field.name.lower())
    return Struct(fields)


def _flat_fields(struct: Struct, prefix: str) -> Iterator[Field]:
    for field in struct:
        if isinstance(field.type, Struct):
            yield from _flat_fields(field.type, f"{prefix}{field.name}_")
        elif isinstance(field.type, Array) and isinstance(field.type.of, Struct):
            yield Field(prefix + field.name, Array(flattened(field.type.of)))
        else:
            yield Field(prefix + field.name, field.type)
