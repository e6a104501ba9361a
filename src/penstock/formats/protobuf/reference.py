"""The reference path: one message at a time, parsed by Google's library, written to be obviously right.

It defines what is correct. The fast path must agree with it or decline.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from penstock.formats.protobuf.schema import Layout, Member, Value
from penstock.formats.protobuf.weight import Limits, Weighing, bound, widest
from penstock.schema import Array, Struct
from penstock.values.plain import Number, Refusal

MISSING = "MISSING"
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999 in UTC, which are also all that a Timestamp may be."""

_EPOCH = datetime(1970, 1, 1)


def refuse(code: str, text: str) -> Refusal:
    return Refusal("parse", f"protobuf.{code}", text)


class Reader:
    """Reads messages of one type, each into plain values, and counts the fields that its type does not have."""

    def __init__(self, layout: Layout, limits: Limits) -> None:
        self._layout, self._limits = layout, limits
        self._class = GetMessageClass(layout.descriptor)
        self._widest = widest(layout.descriptor)
        self.unknown = 0

    def read(self, body: bytes) -> dict[str, Any]:
        """The message as plain values, or a `Refusal`. `unknown` says of how many fields nothing is known."""
        message = self._parsed(body)
        self.unknown = 0
        return self._message(message, self._layout)

    def _parsed(self, body: bytes) -> Message:
        limits = self._limits
        if len(body) > limits.bytes:
            raise refuse("too-large", f"the message has {len(body)} bytes, the limit is {limits.bytes}")
        if bound(len(body), self._widest) > limits.values and not Weighing(body, limits.values).fits(
            self._layout.descriptor
        ):
            raise refuse("too-many-values", f"the message unfolds to more than {limits.values} values")
        try:
            message: Message = self._class.FromString(body)
        except (DecodeError, UnicodeError) as cause:
            raise refuse("malformed", f"not a message of type {self._layout.descriptor.full_name}: {cause}") from None
        if not message.IsInitialized():
            raise refuse("required", f"the message lacks fields that {self._layout.descriptor.full_name} requires")
        return message

    # --- with columns

    def _message(self, message: Message, layout: Layout) -> dict[str, Any]:
        self.unknown += len(UnknownFieldSet(message))
        return {member.name: self._member(message, member) for member in layout.members}

    def _member(self, message: Message, member: Member) -> Any:
        name, value = member.name, member.value
        if member.shape == "map":
            return self._map(getattr(message, name), value)
        if member.shape == "many":
            return [self._value(one, value) for one in getattr(message, name)]
        if member.tells_absence:
            if not message.HasField(name):
                return None
        elif value.kind == "json":
            return self._free_field(getattr(message, name), member.field) or None
        return self._value(getattr(message, name), value)

    def _map(self, entries: Any, value: Value) -> dict[str, Any]:
        """The library keeps no order of entries, so they are in that of their keys."""
        return {name: self._value(entries[key], value) for name, key in _keys(entries)}

    def _value(self, given: Any, value: Value) -> Any:
        match value.kind:
            case "scalar":
                return _scalar(given, value.number)
            case "enum":
                return value.names.get(given, MISSING)
            case "json":
                return self._free(given)
        assert value.layout is not None
        inner = self._message(given, value.layout)
        match value.kind:
            case "timestamp":
                return _moment(given)
            case "wrapper":
                return inner["value"]
            case "presence":
                return True
        return inner

    # --- as JSON text

    def _free(self, message: Message) -> Any:
        """A message without columns: only the fields that it has."""
        self.unknown += len(UnknownFieldSet(message))
        name = message.DESCRIPTOR.full_name
        if message.DESCRIPTOR.file.name == "google/protobuf/struct.proto":
            return self._dynamic(message, name)
        return {field.name: self._free_field(value, field) for field, value in message.ListFields()}

    def _free_field(self, given: Any, field: FieldDescriptor) -> Any:
        entry = field.message_type
        if not field.is_repeated:
            return self._free_value(given, field)
        if entry is None or not entry.GetOptions().map_entry:
            return [self._free_value(one, field) for one in given]
        value = entry.fields_by_name["value"]
        return {name: self._free_value(given[key], value) for name, key in _keys(given)}

    def _free_value(self, given: Any, field: FieldDescriptor) -> Any:
        if field.message_type is not None:
            return self._free(given)
        if field.enum_type is None:
            return _scalar(given, field.type)
        found = field.enum_type.values_by_number.get(given)
        return found.name if found else MISSING

    def _dynamic(self, message: Any, name: str) -> Any:
        """What Struct, ListValue and Value stand for, rather than what they are."""
        if name == "google.protobuf.Struct":
            return {name: self._free(message.fields[key]) for name, key in _keys(message.fields)}
        if name == "google.protobuf.ListValue":
            return [self._free(one) for one in message.values]
        kind = message.WhichOneof("kind")
        if kind == "number_value":
            return _dynamic_number(message.number_value)
        if kind in ("struct_value", "list_value"):
            return self._free(getattr(message, kind))
        return getattr(message, kind) if kind in ("string_value", "bool_value") else None


def _keys(entries: Any) -> list[tuple[str, Any]]:
    """The keys of a map, as texts and as they are, in the order of the texts."""
    return sorted(((_key(key), key) for key in entries), key=lambda pair: pair[0])


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return _text(key) if isinstance(key, str | bytes) else str(key)


def _text(given: Any) -> str:
    """The library gives text that is not UTF-8 as bytes, where the schema does not ask it to check."""
    if isinstance(given, bytes):
        raise refuse("not-utf8", "a text field does not hold valid UTF-8")
    return str(given)


def _scalar(given: Any, kind: int) -> Any:
    render = _RENDER.get(kind)
    return render(given) if render else Number(given)


def _double(given: float) -> Any:
    return Number(repr(given)) if math.isfinite(given) else float(given)


def _single(given: float) -> Any:
    """A 32-bit number exactly: in a wider column it is what it was."""
    return Number(repr(float(given))) if math.isfinite(given) else float(given)


def _dynamic_number(given: float) -> Any:
    if not math.isfinite(given):
        return float(given)
    return Number(int(given) if given.is_integer() and abs(given) < 2**53 else repr(given))


def _moment(given: Any) -> str:
    if not (FIRST_SECOND <= given.seconds <= LAST_SECOND and 0 <= given.nanos < 1_000_000_000):
        raise refuse("time", "a time is outside of the years 1 to 9999, or its nanoseconds are not a part of a second")
    moment = _EPOCH + timedelta(seconds=given.seconds, microseconds=given.nanos // 1000)
    return moment.isoformat() + "Z"


_RENDER: dict[int, Callable[[Any], Any]] = {
    FieldDescriptor.TYPE_STRING: _text,
    FieldDescriptor.TYPE_BYTES: lambda given: base64.b64encode(given).decode("ascii"),
    FieldDescriptor.TYPE_BOOL: bool,
    FieldDescriptor.TYPE_DOUBLE: _double,
    FieldDescriptor.TYPE_FLOAT: _single,
}


# --- flattening ----------------------------------------------------------------------------------


def flattened(message: dict[str, Any] | None, struct: Struct, prefix: str = "") -> dict[str, Any]:
    """Plain values of a message as the columns of `schema.flattened` want them."""
    found: dict[str, Any] = {}
    for field in struct:
        given = None if message is None else message[field.name]
        name = prefix + field.name
        if isinstance(field.type, Struct):
            found |= flattened(given, field.type, f"{name}_")
        elif isinstance(field.type, Array) and isinstance(field.type.of, Struct) and given is not None:
            found[name] = [flattened(one, field.type.of) for one in given]
        else:
            found[name] = given
    return found
