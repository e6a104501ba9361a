"""Message types from what a schema registry or a file holds: serialized descriptors, or source text.

Both are hostile, and both go through protoc, in a process of its own: the library trusts descriptors, and ones that
make no sense can end the process. What comes out is counted, and goes into a pool of its own. Extensions are left
out: their fields are unknown fields like others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from penstock.errors import shown
from penstock.formats.protobuf import protoc
from penstock.formats.protobuf.protoc import refused

MAX_BYTES = 1_000_000
MAX_MESSAGES, MAX_FIELDS, MAX_FILES, MAX_DEPTH = 1_000, 20_000, 200, 64

_WELL_KNOWN = {
    module.DESCRIPTOR.name: module.DESCRIPTOR.serialized_pb
    for module in (
        any_pb2,
        api_pb2,
        descriptor_pb2,
        duration_pb2,
        empty_pb2,
        field_mask_pb2,
        source_context_pb2,
        struct_pb2,
        timestamp_pb2,
        type_pb2,
        wrappers_pb2,
    )
}


@dataclass(frozen=True, eq=False)
class MessageTypes:
    """The message types of one schema: those of its main file count by index, all by name."""

    pool: DescriptorPool
    main: FileDescriptor

    def named(self, name: str) -> Descriptor:
        """The message type of this fully-qualified name, or a `Refusal`."""
        try:
            return self.pool.FindMessageTypeByName(name)
        except (KeyError, TypeError):
            raise refused(f"the schema has no message type {shown(name)}") from None


def from_descriptors(serialized: bytes) -> MessageTypes:
    """The types of a serialized FileDescriptorSet, whose last file is the main one, or of one FileDescriptorProto."""
    if len(serialized) > MAX_BYTES:
        raise refused(f"the descriptors have {len(serialized)} bytes, the limit is {MAX_BYTES}")
    files = _parsed(serialized)
    return from_compiled(protoc.checked(FileDescriptorSet(file=files).SerializeToString(), files[-1].name))


def compile_source(text: str, references: Mapping[str, str] | None = None, name: str = "schema.proto") -> MessageTypes:
    """The types of a .proto text, whose imports are found among the references (name → text) and nowhere else
    but for google/protobuf/*."""
    texts = {known: one for known, one in (references or {}).items() if known not in _WELL_KNOWN}
    texts[name] = text
    if sum(len(one.encode("utf-8", "replace")) for one in texts.values()) > MAX_BYTES or len(texts) > MAX_FILES:
        raise refused(f"the schema has more than {MAX_BYTES} bytes or {MAX_FILES} files")
    return from_compiled(protoc.compiled(texts, name))


def from_compiled(serialized: bytes) -> MessageTypes:
    """The types of a FileDescriptorSet that comes from protoc and from nowhere else, within limits."""
    files = _parsed(serialized)
    if len(files) > MAX_FILES:
        raise refused(f"the schema has {len(files)} files, the limit is {MAX_FILES}")
    for file in files:
        _strip(file.message_type, 1)
        file.ClearField("extension")
        file.ClearField("source_code_info")
    if sum(1 for file in files for _ in _types(file.message_type)) > MAX_MESSAGES:
        raise refused(f"the schema has more than {MAX_MESSAGES} message types")
    if sum(len(one.field) for file in files for one in _types(file.message_type)) > MAX_FIELDS:
        raise refused(f"the message types have more than {MAX_FIELDS} fields together")
    return _pooled(files)


def _parsed(serialized: bytes) -> list[FileDescriptorProto]:
    """Files of a set; a single file too, which has other fields and is told by that."""
    for kind in (FileDescriptorSet, FileDescriptorProto):
        try:
            found = kind.FromString(serialized)
        except (DecodeError, ValueError):
            continue
        files = list(found.file) if isinstance(found, FileDescriptorSet) else [found]
        if files and all(file.name and _is_text(file.name, *file.dependency) for file in files):
            return files
    raise refused("these bytes are not descriptors as protoc writes them")


def _is_text(*names: object) -> bool:
    """The library gives names that are not UTF-8 as bytes."""
    return all(isinstance(name, str) for name in names)


def _types(messages: Iterable[DescriptorProto]) -> Iterator[DescriptorProto]:
    for message in messages:
        yield message
        yield from _types(message.nested_type)


def _strip(messages: Iterable[DescriptorProto], depth: int) -> None:
    for message in messages:
        if depth > MAX_DEPTH:
            raise refused(f"message types are nested more than {MAX_DEPTH} deep")
        message.ClearField("extension")
        _strip(message.nested_type, depth + 1)


def _pooled(files: list[FileDescriptorProto]) -> MessageTypes:
    """All files in a new pool. The well-known ones are our own, whatever a schema brings under their names."""
    pool = DescriptorPool()
    given = {file.name: file for file in files}
    for name in {name for file in files for name in file.dependency} | set(given):
        if name in _WELL_KNOWN:
            _add_known(pool, name, set())
    waiting = [file for name, file in given.items() if name not in _WELL_KNOWN]
    done = set(_WELL_KNOWN)
    while waiting:
        ready = [file for file in waiting if done.issuperset(file.dependency)]
        if not ready:
            lacking = sorted({name for file in waiting for name in file.dependency} - set(given) - done)
            raise refused(f"files are missing: {', '.join(lacking)}" if lacking else "files import each other")
        for file in ready:
            _add(pool, file)
        done.update(file.name for file in ready)
        waiting = [file for file in waiting if file.name not in done]
    return MessageTypes(pool, pool.FindFileByName(files[-1].name))


def _add_known(pool: DescriptorPool, name: str, done: set[str]) -> None:
    file = FileDescriptorProto.FromString(_WELL_KNOWN[name])
    for needed in file.dependency:
        _add_known(pool, needed, done)
    if name not in done:
        pool.AddSerializedFile(_WELL_KNOWN[name])
        done.add(name)


def _add(pool: DescriptorPool, file: FileDescriptorProto) -> None:
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except (TypeError, ValueError, KeyError, UnicodeError) as cause:
        raise refused(f"the schema makes no sense: {cause}") from None
