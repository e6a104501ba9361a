"""Messages that were written with a schema: what a decoder of them keeps, and how they say which schema it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.messages import Messages
from penstock.schema import Schema
from penstock.values.plain import Refusal

Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]

_LONGEST = 2**30  # without an end, the slicing of Arrow comes to negative sizes
HEADER = 5
"""A zero and four bytes: what registries put before a message."""


class Decoder(Protocol):
    """Messages that were written with one schema. It is given what is left of them without framing."""

    @property
    def record(self) -> str:
        """What the schema calls them."""
        ...

    @property
    def schema(self) -> Schema:
        """The columns that they have, by their schema alone."""
        ...

    def columns(self, bodies: pa.BinaryArray) -> tuple[pa.RecordBatch, Mask]:
        """The rows of those that are surely good, and which are not among them. Never raises for data."""
        ...

    def plain(self, body: bytes) -> dict[str, Any]:
        """One of them as plain values: what is right. Raises `Refusal`."""
        ...


class Framed:
    """Messages without their framing, and what it said: the schemas they were written with, and for each
    message which of them (-1: none), or why it says nothing."""

    def __init__(
        self,
        bodies: pa.BinaryArray | Callable[[], pa.BinaryArray],
        keys: Sequence[Any],
        codes: Codes,
        refused: Mapping[int, Refusal] | None = None,
    ) -> None:
        self._bodies, self.keys, self.codes, self.refused = bodies, keys, codes, refused or {}

    @cached_property
    def bodies(self) -> pa.BinaryArray:
        """Of all of them, refused ones too. Made when somebody wants them: who sorts by schema does not."""
        return self._bodies() if callable(self._bodies) else self._bodies


class Framing(Protocol):
    """How messages say which schema they were written with."""

    def framed(self, messages: Messages) -> Framed: ...

    def decoder(self, key: Any) -> Decoder:
        """The decoder of a schema. Raises `Refusal` if there is none and will be none, `Transient` if it cannot
        be had just now."""
        ...

    def part(self, key: Any, name: str) -> str:
        """The `record`, the `subject` or the id of the `schema`, for routing. Raises as `decoder` does."""
        ...


def headed(messages: Messages) -> Framed:
    """Messages that begin with the id of their schema, as registries have it."""
    values = messages.values
    starts, lengths, content = _layout(values)
    places = np.flatnonzero(lengths >= HEADER)
    magic = np.zeros(len(values), np.bool_)
    magic[places] = content[starts[places]] == 0
    good = np.flatnonzero(magic)
    ids = np.zeros(len(good), np.int64)
    for step in range(1, HEADER):
        ids = ids * 256 + content[starts[good] + step]
    possible = ids < 2**31  # registries count in 31 bits, and say odd things about more
    magic[good[~possible]] = False
    good, ids = good[possible], ids[possible]
    distinct, found = np.unique(ids, return_inverse=True)
    codes = np.full(len(values), -1, np.int64)
    codes[good] = found
    text = "the value does not begin with a zero and the id of its schema, as messages of a schema registry do"
    refused = {int(at): Refusal("parse", "schema.no-id", text) for at in np.flatnonzero(~magic)}
    return Framed(lambda: after(values, HEADER), [int(id) for id in distinct], codes, refused)


def after(values: pa.BinaryArray, start: int) -> pa.BinaryArray:
    """The values without so many bytes at their start."""
    return pc.binary_slice(values, start, _LONGEST)


def byte_at(values: pa.BinaryArray, place: int) -> Codes:
    """The byte of each value at one place; -1 where a value ends before it."""
    starts, lengths, content = _layout(values)
    found = np.full(len(values), -1, np.int64)
    long_enough = np.flatnonzero(lengths > place)
    found[long_enough] = content[starts[long_enough] + place]
    return found


def _layout(values: pa.BinaryArray) -> tuple[Codes, Codes, npt.NDArray[np.uint8]]:
    """Where each value begins, how long it is, and the bytes of all of them."""
    _, places, content = values.buffers()
    if not len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8)
    offsets = np.frombuffer(places, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    return offsets[:-1], np.diff(offsets), np.frombuffer(content or b"", np.uint8)
