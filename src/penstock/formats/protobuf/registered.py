"""Message types as registries hold them: source text, or, by some clients, the compiled file in base64."""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from penstock.formats.protobuf.descriptors import MessageTypes, compile_source, from_descriptors
from penstock.registries import Registered
from penstock.values.plain import Refusal


def types_of(schema: Registered) -> MessageTypes:
    """The types of a schema; a `Refusal` if it cannot be used."""
    found = _types_of(schema)
    if isinstance(found, Refusal):
        raise found
    return found


@lru_cache(maxsize=100)
def _types_of(schema: Registered) -> MessageTypes | Refusal:
    """Remembered, also where nothing can be made of it: messages may name any number of types in one schema, and
    compiling takes a process of its own."""
    try:
        return _made(schema)
    except Refusal as why:
        return why


def _made(schema: Registered) -> MessageTypes:
    main = _compiled(schema.text)
    if main is None:
        return compile_source(schema.text, dict(schema.references))
    files = FileDescriptorSet()
    for name, text in schema.references:
        if (file := _compiled(text)) is not None:
            file.name = name
            files.file.append(file)
    files.file.append(main)
    return from_descriptors(files.SerializeToString())


def _compiled(text: str) -> FileDescriptorProto | None:
    """The file that a text in base64 holds; None if it holds none, and is source text. No source is base64: it has
    spaces."""
    try:
        return FileDescriptorProto.FromString(base64.b64decode(text.strip(), validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None
