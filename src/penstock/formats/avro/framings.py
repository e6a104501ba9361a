"""How Avro messages say which schema they were written with, where no registry is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.arrow import arrow_schema
from penstock.formats.avro.container import opened
from penstock.formats.avro.decoder import AvroDecoder
from penstock.formats.avro.mapping import schema_of
from penstock.formats.avro.model import AvroType, Named, kind, short
from penstock.formats.avro.reference import Limits
from penstock.formats.decoding import Decoder, Framed, after
from penstock.formats.registered import kept
from penstock.formats.schema_files import Texts
from penstock.messages import Messages
from penstock.schema import Schema
from penstock.values.plain import Refusal

_MARK = b"\xc3\x01"
_HEAD = 10  # the mark, and the fingerprint of the schema


class ContainerFraming:
    """Every message is a whole container file that holds one record, with its schema."""

    def __init__(self, limits: Limits, reader: AvroType | None = None) -> None:
        self._limits, self._reader = limits, reader

    def framed(self, messages: Messages) -> Framed:
        keys: dict[str, int] = {}
        bodies, codes, refused = [], np.full(len(messages), -1, np.int64), {}
        for at, value in enumerate(messages.listed()):
            try:
                found = opened(value, self._limits.bytes)
                codes[at] = keys.setdefault(found.schema, len(keys))
                bodies.append(found.body)
            except Refusal as why:
                refused[at] = why
                bodies.append(b"")
        return Framed(pa.array(bodies, pa.binary()), list(keys), codes, refused)

    def decoder(self, key: Any) -> Decoder:
        decoder = kept(("avro", key, self._limits), lambda: AvroDecoder(str(key), limits=self._limits))
        assert isinstance(decoder, AvroDecoder)
        return decoder if self._reader is None or self._reader == decoder.type else Resolving(decoder, self._reader)

    def part(self, key: Any, name: str) -> str:
        return _record_only(self.decoder(key), name)


class Resolving:
    """Messages of one schema as another has them, which is the reader's own."""

    def __init__(self, decoder: AvroDecoder, reader: AvroType) -> None:
        self._decoder, self._reader, self._schema = decoder, reader, schema_of(reader)

    @property
    def record(self) -> str:
        return short(self._reader.name if isinstance(self._reader, Named) else kind(self._reader))

    @property
    def schema(self) -> Schema:
        return self._schema

    def columns(self, bodies: pa.BinaryArray) -> tuple[pa.RecordBatch, npt.NDArray[np.bool_]]:
        """None: what one schema makes of another's values is told one by one."""
        return pa.RecordBatch.from_pylist([], arrow_schema(self._schema)), np.full(len(bodies), True)

    def plain(self, body: bytes) -> dict[str, Any]:
        return self._decoder.plain_as(body, self._reader)


class SingleObjectFraming:
    """Messages begin with the fingerprint of their schema, which is one of those in files."""

    def __init__(self, files: Texts, limits: Limits) -> None:
        self._decoders = {}
        for name, text in files.items():
            decoder = AvroDecoder(_text(name, text), limits=limits)
            self._decoders[decoder.fingerprint] = decoder

    def framed(self, messages: Messages) -> Framed:
        keys: dict[int, int] = {}
        codes, refused = np.full(len(messages), -1, np.int64), {}
        heads = pc.binary_slice(messages.values, 0, _HEAD).to_pylist()
        for at, head in enumerate(heads):
            if len(head) < _HEAD or not head.startswith(_MARK):
                text = "the value does not begin with the mark and the fingerprint of single-object encoding"
                refused[at] = Refusal("parse", "avro.single-object", text)
            else:
                codes[at] = keys.setdefault(int.from_bytes(head[2:], "little"), len(keys))
        return Framed(after(messages.values, _HEAD), list(keys), codes, refused)

    def decoder(self, key: Any) -> Decoder:
        if key not in self._decoders:
            text = f"none of the schemas has the fingerprint {key:016x}"
            raise Refusal("parse", "avro.unknown-fingerprint", text)
        return self._decoders[key]

    def part(self, key: Any, name: str) -> str:
        return f"{key:016x}" if name == "schema" else _record_only(self.decoder(key), name)


def _record_only(decoder: Decoder, name: str) -> str:
    if name != "record":
        raise Refusal("identify", "type.missing", f"without a registry a schema has no {name}")
    return decoder.record


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not UTF-8 text") from None
