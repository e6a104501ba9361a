"""Hostile and odd payloads for one rich message type, each with what must become of it: a row, or a code."""

from __future__ import annotations

import struct
from functools import cache

from penstock.formats.protobuf.descriptors import MessageTypes, compile_source
from tests.formats.protobuf.generated import varint

SOURCE = (
    """syntax = "proto3"; package c;
import "google/protobuf/any.proto"; import "google/protobuf/duration.proto"; import "google/protobuf/empty.proto";
import "google/protobuf/struct.proto"; import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto"; import "old.proto";
enum Color { NONE = 0; RED = 1; DEEP = -5; }
message Inner { string name = 1; int64 count = 2; Inner2 deeper = 3; repeated uint32 marks = 4; }
message Inner2 { bool on = 1; google.protobuf.Timestamp at = 2; }
message Rich {
  int32 i32 = 1; int64 i64 = 2; uint32 u32 = 3; uint64 u64 = 4; sint32 s32 = 5; sint64 s64 = 6;
  fixed32 f32 = 7; fixed64 f64 = 8; float single = 11; double double = 12; bool flag = 13; string text = 14;
  bytes raw = 15; Color color = 16; Inner inner = 17; repeated int64 packed = 18; repeated string texts = 19;
  map<string, int32> counts = 20; map<int32, Inner> inners = 21; google.protobuf.Timestamp at = 22;
  google.protobuf.StringValue maybe = 23; google.protobuf.Struct free = 24; google.protobuf.Empty nothing = 25;
  oneof choice { string left = 26; Inner right = 27; } optional int32 opt = 28; repeated Inner many = 29;
  Rich self = 30; repeated Wide wide = 31; repeated double doubles = 32; google.protobuf.Duration took = 33;
  google.protobuf.Any any = 34; repeated Color colors = 35; map<bool, Color> switches = 36; old.Old old = 37;
  repeated float singles = 38; repeated bool flags = 39; map<uint64, google.protobuf.Timestamp> times = 40;
}
message Wide { """
    + " ".join(f"int64 w{n} = {n};" for n in range(1, 1001))
    + " }"
)
OLD = """syntax = "proto2"; package old; enum Mode { OFF = 0; ON = 4; }
message Old { required int32 id = 1; optional string text = 2; optional Mode mode = 3; repeated Mode modes = 4;
  optional group Part = 5 { optional int32 n = 1; } map<string, Mode> by_name = 6; extensions 100 to 200; }"""


@cache
def types() -> MessageTypes:
    return compile_source(SOURCE, {"old.proto": OLD}, "c.proto")


def key(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def num(number: int, value: int) -> bytes:
    return key(number, 0) + varint(value & (2**64 - 1))


def ld(number: int, content: bytes = b"") -> bytes:
    return key(number, 2) + varint(len(content)) + content


def nested(number: int, depth: int) -> bytes:
    body = b""
    for _ in range(depth):
        body = ld(number, body)
    return body


def old(content: bytes) -> bytes:
    return ld(37, num(1, 5) + content)


def lists(depth: int) -> bytes:
    """A dynamic value of lists in lists."""
    body = b""
    for _ in range(depth):
        body = ld(6, ld(1, body))
    return body


GOOD, BAD, MANY = None, "protobuf.malformed", "protobuf.too-many-values"
Case = tuple[str, bytes, str | None]

WHOLE = num(1, 7) + ld(14, b"ok") + ld(17, ld(1, b"n"))

CUT: list[Case] = [(f"cut after {n} bytes", WHOLE[:n], BAD) for n in (1, 3, 4, 5, 7, 8, 9, 10)]
TRUNCATED: list[Case] = [
    *(
        (f"number {n} without end after {len(end)} bytes", key(n, 0) + end, BAD)
        for n in (1, 4, 13, 999)
        for end in (b"\x80", b"\xff" * 10, b"\xff" * 11)
    ),
    ("tag without value", key(1, 0), BAD),
    ("fixed32 of 3 bytes", key(7, 5) + bytes(3), BAD),
    ("fixed64 of 7 bytes", key(8, 1) + bytes(7), BAD),
    ("float of 1 byte", key(11, 5) + b"\0", BAD),
    ("unknown fixed64 cut", key(999, 1) + bytes(4), BAD),
    ("half a tag", b"\x80", BAD),
]
LENGTHS: list[Case] = [
    ("text longer than message", key(14, 2) + b"\x05ab", BAD),
    ("text of 2 GB", key(14, 2) + varint(2**31) + b"ab", BAD),
    ("text of 2**63 bytes", key(14, 2) + varint(2**63) + b"ab", BAD),
    ("text of 2**64-1 bytes", key(14, 2) + varint(2**64 - 1) + b"ab", BAD),
    ("text of -1 bytes, and more text", key(14, 2) + varint(2**64 - 1) + ld(14, b"ab"), BAD),
    ("packed of 4 GB", key(18, 2) + varint(2**32) + b"\x01", BAD),
    ("message of 2**31-1 bytes", key(17, 2) + varint(2**31 - 1), BAD),
    ("unknown of 1 GB", key(999, 2) + varint(2**30), BAD),
    ("inner text beyond inner message", ld(17, key(1, 2) + b"\x09abc") + ld(14, b"123456789"), BAD),
    ("map entry beyond message", key(20, 2) + b"\x7f\x0a\x01a", BAD),
    ("length of ten bytes", key(14, 2) + b"\x82" + b"\x80" * 8 + b"\x00ab", BAD),
    ("length of three bytes for 2", key(14, 2) + b"\x82\x80\x00ab", GOOD),
    ("empty text", ld(14), GOOD),
]
TAGS: list[Case] = [
    ("field number 0", b"\x00\x01", BAD),
    ("field number 0 as text", b"\x02\x01a", BAD),
    ("zero bytes", bytes(16), BAD),
    ("wire type 6", key(1, 6), BAD),
    ("wire type 7", key(1, 7), BAD),
    ("wire type 6 of an unknown field", key(999, 6) + b"\x00", BAD),
    ("wire type 7 at the end", num(1, 1) + key(999, 7), BAD),
    ("end of no group", key(1, 4), BAD),
    ("end of an unknown group", num(1, 1) + key(999, 4), BAD),
    ("highest field number", num(2**29 - 1, 1), GOOD),
    ("tag of five bytes for 1", b"\x88\x80\x80\x80\x00\x05", GOOD),
    ("tag of six bytes", b"\x88\x80\x80\x80\x80\x00\x05", BAD),
    ("tag of ten bytes", b"\x88" + b"\x80" * 8 + b"\x00\x05", BAD),
    ("tag beyond 32 bits", b"\x88\x80\x80\x80\x10\x05", BAD),
    ("JSON", b'{"i32": 1}', BAD),
    ("gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00", BAD),
    ("text", b"hello world", BAD),
    ("confluent header left on", b"\x00\x00\x00\x00\x01\x00" + WHOLE, BAD),
    ("nothing at all", b"", GOOD),
    ("ff", b"\xff" * 64, BAD),
]
WRONG_TYPES: list[Case] = [
    ("number as text", ld(1, b"\x07"), GOOD),
    ("number as fixed32", key(1, 5) + bytes(4), GOOD),
    ("text as number", num(14, 5), GOOD),
    ("message as number", num(17, 5), GOOD),
    ("message as fixed64", key(17, 1) + bytes(8), GOOD),
    ("double as fixed32", key(12, 5) + bytes(4), GOOD),
    ("map as number", num(20, 5), GOOD),
    ("oneof member as number", num(26, 5), GOOD),
    ("bool as fixed64", key(13, 1) + bytes(8), GOOD),
    ("repeated text as number", num(19, 1), GOOD),
]
GROUPS: list[Case] = [
    ("empty group", key(999, 3) + key(999, 4), GOOD),
    ("group with fields", key(999, 3) + num(1, 5) + ld(2, b"x") + key(999, 4), GOOD),
    ("group for a message", key(17, 3) + ld(1, b"x") + key(17, 4), GOOD),
    ("group without end", key(999, 3) + num(1, 5), BAD),
    ("group with another's end", key(999, 3) + key(998, 4), BAD),
    ("group in group", key(999, 3) + key(5, 3) + key(5, 4) + key(999, 4), GOOD),
    ("groups 90 deep", key(999, 3) * 90 + key(999, 4) * 90, GOOD),
    ("groups 150 deep", key(999, 3) * 150 + key(999, 4) * 150, BAD),
    ("groups 100,000 deep", key(999, 3) * 100_000 + key(999, 4) * 100_000, BAD),
    ("groups 100,000 deep, not closed", key(999, 3) * 100_000, BAD),
    ("known group", old(key(5, 3) + num(1, 9) + key(5, 4)), GOOD),
    ("known group as message", old(ld(5, num(1, 9))), GOOD),
]
NO_TEXTS = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80", b"a\x80")
TEXTS: list[Case] = [
    *((f"text of {raw!r}", ld(14, raw), BAD) for raw in NO_TEXTS),
    ("bad text, then a good one", ld(14, b"\xff") + ld(14, b"ok"), BAD),
    ("good text, then a bad one", ld(14, b"ok") + ld(14, b"\xff"), BAD),
    ("bad text among repeated", ld(19, b"ok") + ld(19, b"\xff") + ld(19, b"ok"), BAD),
    ("bad map key", ld(20, ld(1, b"\xff") + num(2, 1)), BAD),
    ("bad text inside", ld(17, ld(1, b"\xff")), BAD),
    ("bad text in a wrapper", ld(23, ld(1, b"\xff")), BAD),
    ("bad text in an unknown field", ld(999, b"\xff"), GOOD),
    ("bytes that are no text", ld(15, b"\xff\xfe\x00"), GOOD),
    ("NUL and emoji", ld(14, "\x00\U0001f600".encode()), GOOD),
    ("bad text in proto2", old(ld(2, b"\xff")), "protobuf.not-utf8"),
    ("bad map key in proto2", old(ld(6, ld(1, b"\xff") + num(2, 4))), "protobuf.not-utf8"),
]  # fmt: skip
NUMBERS: list[Case] = [
    ("int32 of -1", num(1, -1), GOOD),
    ("int32 of -1 in five bytes", key(1, 0) + varint(2**32 - 1), GOOD),
    ("int32 beyond 32 bits", num(1, 2**40 + 3), GOOD),
    ("uint32 beyond 32 bits", num(3, 2**40 + 3), GOOD),
    ("sint32 beyond 32 bits", num(5, 2**40 + 3), GOOD),
    ("sint32 at its edge", num(5, 2**32 - 1), GOOD),
    ("sint64 at its edge", num(6, 2**64 - 1), GOOD),
    ("uint64 at its edge", num(4, 2**64 - 1), GOOD),
    ("int64 with a tenth byte too large", key(2, 0) + b"\xff" * 9 + b"\x7f", GOOD),
    ("bool of 2", num(13, 2), GOOD),
    ("bool of 2**63", num(13, 2**63), GOOD),
    ("zero in ten bytes", key(2, 0) + b"\x80" * 9 + b"\x00", GOOD),
    ("one in nine bytes", key(2, 0) + b"\x81" + b"\x80" * 7 + b"\x00", GOOD),
    ("nan", key(12, 1) + struct.pack("<d", float("nan")), GOOD),
    ("signalling nan", key(11, 5) + b"\x01\x00\x80\x7f", GOOD),
    ("infinity", key(11, 5) + struct.pack("<f", float("inf")), GOOD),
    ("minus zero", key(12, 1) + struct.pack("<d", -0.0), GOOD),
    ("smallest float", key(11, 5) + b"\x01\x00\x00\x00", GOOD),
    ("default value on the wire", num(1, 0), GOOD),
    ("unknown enum", num(16, 77), GOOD),
    ("negative enum", num(16, -5), GOOD),
    ("enum beyond 32 bits", num(16, 2**40 + 1), GOOD),
    ("unknown closed enum", old(num(3, 9)), GOOD),
    ("unknown among closed enums", old(num(4, 0) + num(4, 9) + num(4, 4)), GOOD),
    ("unknown closed enum in a map", old(ld(6, ld(1, b"k") + num(2, 9))), GOOD),
    ("closed enum left out in a map", old(ld(6, ld(1, b"k"))), GOOD),
]
REPEATED: list[Case] = [
    ("number twice", num(1, 1) + num(1, 2), GOOD),
    ("message twice", ld(17, ld(1, b"a")) + ld(17, num(2, 2)), GOOD),
    ("timestamp twice", ld(22, num(1, 5)) + ld(22, num(2, 6)), GOOD),
    ("two members of a oneof", ld(26, b"l") + ld(27, ld(1, b"r")), GOOD),
    ("two members of a oneof, and the first again", ld(27, ld(1, b"r")) + ld(26, b"l") + ld(27, num(2, 1)), GOOD),
    ("fields in reverse", ld(14, b"z") + num(2, 1) + num(1, 1), GOOD),
    ("packed, unpacked, packed", ld(18, b"\x01\x02") + num(18, 3) + ld(18, b"\x04"), GOOD),
    ("packed of nothing", ld(18), GOOD),
    ("packed cut", ld(18, b"\x01\x80"), BAD),
    ("packed cut, then a number", ld(18, b"\x80") + num(18, 3), BAD),
    ("packed with a varint too long", ld(18, b"\xff" * 10 + b"\x01"), BAD),
    ("packed doubles uneven", ld(32, bytes(12)), BAD),
    ("packed floats uneven", ld(38, bytes(3)), BAD),
    ("packed doubles", ld(32, bytes(16)), GOOD),
    ("unpacked doubles", (key(32, 1) + bytes(8)) * 2, GOOD),
    ("packed enums, one unknown", ld(35, b"\x01\x63\x00"), GOOD),
    ("packed bools beyond 1", ld(39, b"\x00\x01\x02\xff\x01"), GOOD),
    ("map key twice", ld(20, ld(1, b"k") + num(2, 1)) + ld(20, ld(1, b"k") + num(2, 2)), GOOD),
    ("map entry empty", ld(20), GOOD),
    ("map entries empty twice", ld(20) + ld(20), GOOD),
    ("map entry without key", ld(20, num(2, 1)), GOOD),
    ("map entry without message", ld(21, num(1, 1)), GOOD),
    ("map entry with value first", ld(20, num(2, 1) + ld(1, b"k")), GOOD),
    ("map entry with two values", ld(20, ld(1, b"k") + num(2, 1) + num(2, 2)), GOOD),
    ("map entry with an unknown field", ld(20, ld(1, b"k") + num(2, 1) + num(3, 1)), GOOD),
    ("map of bools to enums", ld(36, num(1, 1) + num(2, 77)) + ld(36, num(1, 2) + num(2, 1)), GOOD),
    ("map of largest keys", ld(40, num(1, 2**64 - 1) + ld(2, num(1, 7))), GOOD),
    ("map entry cut", ld(20, key(1, 2) + b"\x05k"), BAD),
]
TIMES: list[Case] = [
    ("year 1", ld(22, num(1, -62135596800)), GOOD),
    ("before year 1", ld(22, num(1, -62135596801)), "protobuf.time"),
    ("end of year 9999", ld(22, num(1, 253402300799) + num(2, 999_999_999)), GOOD),
    ("year 10000", ld(22, num(1, 253402300800)), "protobuf.time"),
    ("seconds at the edge", ld(22, num(1, 2**63 - 1)), "protobuf.time"),
    ("seconds at the lower edge", ld(22, num(1, -(2**63))), "protobuf.time"),
    ("negative nanos", ld(22, num(2, -1)), "protobuf.time"),
    ("a billion nanos", ld(22, num(2, 10**9)), "protobuf.time"),
    ("wrong time in a map", ld(40, ld(2, num(2, -1))), "protobuf.time"),
    ("wrong time deep inside", ld(29, ld(3, ld(2, num(2, -1)))), "protobuf.time"),
    ("duration beyond its range", ld(33, num(1, 2**63 - 1) + num(2, -1)), GOOD),
    ("any of an unknown type", ld(34, ld(1, b"type.example.org/nope") + ld(2, b"\xff")), GOOD),
    ("empty with content", ld(25, num(1, 1)), GOOD),
    ("empty with garbage", ld(25, b"\x80"), BAD),
    ("wrapper empty", ld(23), GOOD),
    ("required field missing", ld(37), "protobuf.required"),
    ("extension field", old(num(100, 1)), GOOD),
]
BOMBS: list[Case] = [
    ("itself 20 deep", nested(30, 20), GOOD),
    ("itself 150 deep", nested(30, 150), BAD),
    ("itself 2,000 deep", nested(30, 2_000), BAD),
    ("lists in a struct 30 deep", ld(24, ld(1, ld(1, b"k") + ld(2, lists(30)))), GOOD),
    ("lists in a struct 60 deep", ld(24, ld(1, ld(1, b"k") + ld(2, lists(60)))), BAD),
    ("twenty wide messages", ld(31) * 20, GOOD),
    ("100,000 wide messages", ld(31) * 100_000, MANY),
    ("100,000 wide messages, then garbage", ld(31) * 100_000 + b"\x00", MANY),
    ("100,000 wide messages after a group", key(999, 3) + key(999, 4) + ld(31) * 100_000, MANY),
    ("100,000 wide messages in a group for a message", key(30, 3) + ld(31) * 100_000 + key(30, 4), MANY),
    ("wide messages in itself", ld(30, ld(31) * 50_000), MANY),
    ("a million packed bools", ld(39, bytes(1_000_000)), MANY),
    ("40,000 packed doubles", ld(32, bytes(320_000)), GOOD),
    ("30,000 packed numbers", ld(18, bytes(30_000)), GOOD),
    ("30,000 unpacked numbers", num(18, 1) * 30_000, GOOD),
    ("30,000 empty texts", ld(19) * 30_000, GOOD),
    ("10,000 map entries", b"".join(ld(20, ld(1, b"%d" % n)) for n in range(10_000)), GOOD),
    ("300,000 unknown fields", num(999, 1) * 300_000, MANY),
    ("50,000 unknown fields", num(999, 1) * 50_000, GOOD),
    ("a number 100,000 times", num(1, 1) * 100_000, GOOD),
    ("beyond the size limit", ld(15, bytes(8 * 2**20)), "protobuf.too-large"),
    ("a text of 7 MB", ld(14, b"a" * 7_000_000), GOOD),
]

CORPUS = [
    *CUT, *TRUNCATED, *LENGTHS, *TAGS, *WRONG_TYPES, *GROUPS, *TEXTS, *NUMBERS, *REPEATED, *TIMES, *BOMBS,
]  # fmt: skip
