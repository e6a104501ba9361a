"""Generated message types, messages of them, and the odd ways in which the same message may be written."""

from __future__ import annotations

import math
import os
from random import Random
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import settings

from penstock.formats.protobuf.descriptors import MessageTypes, from_compiled

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", "0"))
"""More, and other ones on every run: for a hunt. Otherwise the examples are always the same."""

F = FieldDescriptorProto
NUMBERS = [F.TYPE_INT32, F.TYPE_INT64, F.TYPE_UINT32, F.TYPE_UINT64, F.TYPE_SINT32, F.TYPE_SINT64]
FIXED = [F.TYPE_FIXED32, F.TYPE_FIXED64, F.TYPE_SFIXED32, F.TYPE_SFIXED64, F.TYPE_FLOAT, F.TYPE_DOUBLE, F.TYPE_BOOL]
SCALARS = [*NUMBERS, *FIXED, F.TYPE_STRING, F.TYPE_BYTES]
KEYS = [*NUMBERS, *FIXED[:4], F.TYPE_BOOL, F.TYPE_STRING]
KNOWN = [
    "Timestamp", "Duration", "StringValue", "Int64Value", "UInt64Value", "BytesValue", "BoolValue", "FloatValue",
    "Struct", "Any", "Empty", "FieldMask", "DoubleValue",
]  # fmt: skip
FILES = {
    "Timestamp": "timestamp", "Duration": "duration", "Struct": "struct", "Any": "any", "Empty": "empty",
    "FieldMask": "field_mask",
}  # fmt: skip
TEXTS = ["", "a", "Grüße", "x" * 130, "\U0001f600", "\x00", "line\nbreak"]
EDGES = [
    0,
    1,
    127,
    128,
    16383,
    16384,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**53,
    2**56 - 1,
    2**56,
    2**63 - 1,
    2**63,
    2**64 - 1,
]
RANGES = {
    "INT32": (-(2**31), 2**31), "SINT32": (-(2**31), 2**31), "SFIXED32": (-(2**31), 2**31),
    "UINT32": (0, 2**32), "FIXED32": (0, 2**32), "UINT64": (0, 2**64), "FIXED64": (0, 2**64),
    "INT64": (-(2**63), 2**63), "SINT64": (-(2**63), 2**63), "SFIXED64": (-(2**63), 2**63),
}  # fmt: skip


def bounded(examples: int) -> settings:
    return settings(max_examples=EXAMPLES or examples, deadline=None, derandomize=not EXAMPLES, database=None)


def chance(random: Random, of: float) -> bool:
    return random.random() < of


# --- types ---------------------------------------------------------------------------------------


def types(random: Random) -> MessageTypes:
    """One to four message types, which hold each other, of either syntax; the main one is g.M0."""
    syntax = random.choice(["proto2", "proto3"])
    file = FileDescriptorProto(name="g.proto", package="g", syntax=syntax)
    file.dependency.extend(f"google/protobuf/{name}.proto" for name in {*FILES.values(), "wrappers"})
    enum = file.enum_type.add(name="E")
    for name, number in (("ZERO", 0), ("ONE", 1), ("FAR", 2**31 - 1), ("BELOW", -1)):
        enum.value.add(name=name, number=number)
    count = random.randint(1, 4)
    for at in range(count):
        message = file.message_type.add(name=f"M{at}")
        if random.random() < 0.93:
            _fields(random, message, syntax, at, count)
    return from_compiled(file.SerializeToString())


def _fields(random: Random, message: DescriptorProto, syntax: str, at: int, count: int) -> None:
    numbers = random.sample([*range(1, 12), 15, 16, 17, 200, 2047, 2048, 300_000, 2**29 - 1], random.randint(1, 9))
    if chance(random, 0.6):
        numbers.sort()
    if chance(random, 0.3):
        message.oneof_decl.add(name="choice")
    for number in numbers:
        field = message.field.add(name=f"f{number}", number=number, label=F.LABEL_OPTIONAL)
        if chance(random, 0.15):
            _map(random, message, field, syntax, at, count)
            continue
        _kind(random, field, at, count)
        if chance(random, 0.3):
            _repeat(random, field)
        elif message.oneof_decl and chance(random, 0.5):
            field.oneof_index = 0
        elif syntax == "proto2" and field.type != F.TYPE_MESSAGE and chance(random, 0.1):
            field.label = F.LABEL_REQUIRED
    if message.oneof_decl and not any(field.HasField("oneof_index") for field in message.field):
        message.ClearField("oneof_decl")
    if syntax == "proto3":
        _optional(random, message)


def _repeat(random: Random, field: FieldDescriptorProto) -> None:
    field.label = F.LABEL_REPEATED
    if field.type not in (F.TYPE_STRING, F.TYPE_BYTES, F.TYPE_MESSAGE) and chance(random, 0.5):
        field.options.packed = chance(random, 0.5)


def _optional(random: Random, message: DescriptorProto) -> None:
    for field in message.field:
        is_plain = field.label == F.LABEL_OPTIONAL and not field.HasField("oneof_index")
        if is_plain and field.type != F.TYPE_MESSAGE and chance(random, 0.3):
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")


def _kind(random: Random, field: FieldDescriptorProto, at: int, count: int) -> None:
    pick = random.random()
    if pick < 0.6:
        field.type = random.choice(SCALARS)
    elif pick < 0.7:
        field.type, field.type_name = F.TYPE_ENUM, ".g.E"
    elif pick < 0.82:
        field.type, field.type_name = F.TYPE_MESSAGE, f".google.protobuf.{random.choice(KNOWN)}"
    else:
        below = count - 1 if chance(random, 0.9) else 0  # now and then a type that holds itself
        field.type, field.type_name = F.TYPE_MESSAGE, f".g.M{random.randint(min(at + 1, below), below)}"


def _map(random: Random, message: DescriptorProto, field: FieldDescriptorProto, syntax: str, at: int, n: int) -> None:
    name = f"F{field.number}Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=random.choice(KEYS), label=F.LABEL_OPTIONAL)
    value = entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL)
    _kind(random, value, at, n)
    field.label, field.type, field.type_name = F.LABEL_REPEATED, F.TYPE_MESSAGE, f".g.{message.name}.{name}"


# --- messages ------------------------------------------------------------------------------------


def message_of(random: Random, descriptor: Descriptor, depth: int = 3) -> Any:
    """A message with some of its fields set."""
    message = GetMessageClass(descriptor)()
    for field in descriptor.fields:
        if field.is_required or (depth and chance(random, 0.7)):
            _fill(random, message, field, depth)
    return message


def _fill(random: Random, message: Any, field: FieldDescriptor, depth: int) -> None:
    inner = field.message_type
    if field.is_repeated and inner is not None and inner.GetOptions().map_entry:
        _fill_map(random, getattr(message, field.name), inner, depth)
    elif field.is_repeated:
        for _ in range(random.choice([0, 1, 2, 20 if inner is None else 3])):
            if inner is not None:
                getattr(message, field.name).add().CopyFrom(message_of(random, inner, max(depth - 1, 0)))
            else:
                getattr(message, field.name).append(scalar(random, field))
    elif inner is None:
        setattr(message, field.name, scalar(random, field))
    else:
        _set(random, getattr(message, field.name), inner, depth)


def _set(random: Random, into: Any, kind: Descriptor, depth: int) -> None:
    into.SetInParent()
    into.CopyFrom(message_of(random, kind, max(depth - 1, 0)))
    if kind.full_name == "google.protobuf.Timestamp" and chance(random, 0.9):
        into.seconds = random.choice([0, 1, -1, -62135596800, 253402300799, random.randrange(2 * 10**9)])
        into.nanos = random.choice([0, 1, 999, 1000, 999_999_999])


def _fill_map(random: Random, entries: Any, entry: Descriptor, depth: int) -> None:
    key, value = entry.fields_by_name["key"], entry.fields_by_name["value"]
    for _ in range(random.choice([0, 1, 2, 5])):
        name = scalar(random, key)
        if value.message_type is None:
            entries[name] = scalar(random, value)
        else:
            _set(random, entries[name], value.message_type, depth)


def scalar(random: Random, field: FieldDescriptor) -> Any:
    kind = F.Type.Name(field.type)[len("TYPE_") :]  # type: ignore[arg-type]
    if kind == "STRING":
        return random.choice(TEXTS)
    if kind == "BYTES":
        return random.choice([b"", b"\x00\xff", random.randbytes(random.randrange(300))])
    if kind == "BOOL":
        return chance(random, 0.5)
    if kind in ("FLOAT", "DOUBLE"):
        return random.choice([0.0, -0.0, 1.5, 0.1, 1e30, math.nan, math.inf, -math.inf, random.uniform(-1e6, 1e6)])
    if kind == "ENUM":
        closed = field.enum_type is not None and field.enum_type.is_closed
        return random.choice([0, 1, 2**31 - 1, -1] if closed else [0, 1, -1, 7, 2**31 - 1])
    low, high = RANGES[kind]
    return min(max(random.choice([*EDGES, *(-edge for edge in EDGES), random.randrange(low, high)]), low), high - 1)


# --- the same message, written otherwise ---------------------------------------------------------


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def fields_of(body: bytes) -> list[bytes]:
    """The fields of a message that a writer made, each with its tag."""
    found, at = [], 0
    while at < len(body):
        start = at
        tag, at = _read(body, at)
        if tag & 7 == 0:
            _, at = _read(body, at)
        elif tag & 7 == 2:
            size, at = _read(body, at)
            at += size
        else:
            at += 8 if tag & 7 == 1 else 4
        found.append(body[start:at])
    return found


def _read(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (body[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if body[at - 1] < 0x80:
            return value, at


UNKNOWN = [
    b"\x98\x06\x01",
    b"\x99\x06" + bytes(8),
    b"\x9a\x06\x03abc",
    b"\x9d\x06" + bytes(4),
    b"\x9b\x06\x08\x01\x9c\x06",
]


def rewritten(random: Random, body: bytes) -> bytes:
    """The same fields in another order, some twice, some unknown ones among them."""
    fields = fields_of(body)
    if chance(random, 0.5):
        random.shuffle(fields)
    if fields and chance(random, 0.3):
        fields.insert(random.randrange(len(fields)), random.choice(fields))
    if chance(random, 0.3):
        fields.insert(random.randint(0, len(fields)), random.choice(UNKNOWN))
    return b"".join(fields)


def mutated(random: Random, body: bytes) -> bytes:
    """A message that met with an accident."""
    at = random.randint(0, len(body))
    match random.randrange(5):
        case 0:
            return body[:at]
        case 1:
            return body[:at] + random.randbytes(random.randint(1, 4)) + body[at:]
        case 2:
            return body[:at] + random.randbytes(1) + body[at + 1 :]
        case 3:
            return body[:at] + body[at + random.randint(1, 3) :]
    return body[:at] + random.choice([b"\x80", b"\xff" * 10, b"\x00", b"\x7f"]) + body[at:]


def written(random: Random, descriptor: Descriptor) -> bytes:
    message: Message = message_of(random, descriptor)
    return message.SerializePartialToString()
