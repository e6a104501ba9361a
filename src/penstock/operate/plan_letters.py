"""Dead letters that a run would make: an example of each code, and the columns and types that could not be made."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from penstock.errors import shown

SHOWN = 200  # characters of a value
MAX_UNMADE = 1_000  # different reasons that are told apart
_AT_ONCE = 200  # letters in memory
_COLUMNS = ["code", "type", "error", "topic", "partition", "position", "json_string", "base64_bytes"]
_ABOUT_COLUMNS = {
    "column.case-clash",
    "column.name",
    "column.reserved",
    "schema.no-columns",
    "schema.pace",
    "schema.too-many-columns",
    "schema.unknown-field",
    "schema.unsettled",
    "type.case-clash",
    "type.limit",
    "type.name",
    "type.pace",
    "type.reserved",
    "type.unrouted",
}


@dataclass(frozen=True)
class Letter:
    """The dead letters of one code, and the first of them."""

    code: str
    count: int
    type: str | None
    topic: str
    partition: str
    position: int
    reason: str
    value: str


@dataclass(frozen=True)
class Unmade:
    """A column or a table that messages ask for and do not get."""

    type: str | None
    code: str
    reason: str
    messages: int


def letters(files: Iterable[Path], reasons: Mapping[str, int]) -> tuple[list[Letter], list[Unmade]]:
    """What the files of a dead-letter table tell, the most frequent first."""
    first: dict[str, Letter] = {}
    unmade: Counter[tuple[str, str, str]] = Counter()
    for row in _rows(files):
        code = row["code"]
        if code not in first:
            first[code] = _letter(row, reasons.get(code, 0))
        key = (row["type"] or "", code, shown(row["error"], 500))
        if code in _ABOUT_COLUMNS and (key in unmade or len(unmade) < MAX_UNMADE):
            unmade[key] += 1
    ranked = [Unmade(type or None, code, why, count) for (type, code, why), count in unmade.most_common()]
    return sorted(first.values(), key=lambda letter: (-letter.count, letter.code)), ranked


def _rows(files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in files:
        with pq.ParquetFile(path) as file:
            for part in file.iter_batches(_AT_ONCE, columns=_COLUMNS):
                yield from part.to_pylist()


def _letter(row: Mapping[str, Any], count: int) -> Letter:
    return Letter(
        code=row["code"],
        count=count,
        type=row["type"],
        topic=row["topic"],
        partition=row["partition"],
        position=row["position"],
        reason=shown(row["error"], 500),
        value=_value(row["json_string"], row["base64_bytes"]),
    )


def _value(text: str | None, raw: str | None) -> str:
    """The beginning of a value as a terminal may show it."""
    if text is None:
        text = base64.b64decode((raw or "")[: 4 * SHOWN]).decode("utf-8", "backslashreplace")
    return shown(text, SHOWN)
