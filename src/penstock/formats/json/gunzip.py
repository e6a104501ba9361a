"""JSON that was compressed with gzip, message by message."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.contracts import Reader
from penstock.messages import Columns, Messages, Reject, Sorted
from penstock.schema import Schema
from penstock.values.plain import Refusal

_GZIP = 31  # zlib's word for gzip with its header and trailer
_MEMBERS = 100  # each costs a copy of all that follow it


def opened(value: bytes, limit: int) -> bytes:
    """What was compressed, or a `Refusal`. It stops at the limit: a small message can hold a very large one."""
    found, rest, members = b"", value, 0
    while rest:
        member = zlib.decompressobj(_GZIP)
        try:
            found += member.decompress(rest, limit + 1 - len(found))
        except zlib.error:
            raise Refusal("parse", "json.not-gzip", "the value is not compressed with gzip, or is damaged") from None
        if len(found) > limit:
            raise Refusal("parse", "json.too-large", f"uncompressed, the value has more than the {limit} bytes allowed")
        if not member.eof:
            raise Refusal("parse", "json.not-gzip", "the compressed value ends too early")
        rest, members = member.unused_data, members + 1
        if rest and members == _MEMBERS:
            raise Refusal("parse", "json.not-gzip", f"the compressed value is in more than {_MEMBERS} members")
    return found


class Gunzip:
    """A reader of messages that are opened first."""

    def __init__(self, reader: Reader, limit: int) -> None:
        self._reader, self._limit = reader, limit

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted:
        values, kept, rejects = [], [], []
        for at, value in enumerate(messages.listed()):
            try:
                values.append(opened(value, self._limit))
                kept.append(at)
            except Refusal as why:
                rejects.append(Reject(at, why.stage, why.code, why.text, types[at] if types else None))
        places = np.array(kept, np.int64)
        found = self._reader.sort(
            _holding(messages.only(places), values), [types[at] for at in kept] if types else None
        )
        return Sorted(
            clean={name: places[found.clean[name]] for name in found.clean},
            rows={name: [replace(row, at=kept[row.at]) for row in rows] for name, rows in found.rows.items()},
            waiting={name: places[found.waiting[name]] for name in found.waiting},
            filtered=places[found.filtered],
            rejects=[*rejects, *(replace(reject, at=kept[reject.at]) for reject in found.rejects)],
        )

    def columns(self, type: str, messages: Messages) -> Columns:
        return self._reader.columns(type, self._all(messages))

    def plain(self, messages: Messages, at: int) -> dict[str, Any]:
        return self._reader.plain(_holding(messages.cut(at, at + 1), [opened(messages.value(at), self._limit)]), 0)

    def infer(self, type: str, messages: Messages) -> Schema:
        return self._reader.infer(type, self._all(messages))

    def _all(self, messages: Messages) -> Messages:
        """Messages that could be opened before."""
        return _holding(messages, [opened(value, self._limit) for value in messages.listed()])


def _holding(messages: Messages, values: list[bytes]) -> Messages:
    return replace(messages, values=pa.array(values, pa.binary()), objects=values)
