"""Dead letters: the message whole, where it came from, and why it could not become a row."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence

import pyarrow as pa

from penstock.arrow import arrow_schema
from penstock.landing.letter_columns import LetterColumns
from penstock.landing.recipe import Recipe
from penstock.messages import UNROUTED_COLUMNS, Messages, Reject

TOO_LARGE = ".too-large"  # of any format
_YEAR_1, _YEAR_10000 = -62_135_596_800_000, 253_402_300_800_000  # in milliseconds


class Letters:
    """The dead letters of one task."""

    def __init__(self, recipe: Recipe) -> None:
        schema = recipe.letters.shape.schema
        self._recipe, self._schema = recipe, arrow_schema(schema)
        self._columns = LetterColumns(recipe.letter_transforms, schema)

    def of(self, messages: Messages, rejects: Sequence[Reject]) -> pa.RecordBatch:
        """One row per reject."""
        found = [self._columns.added(_letter(messages, reject, self._recipe)) for reject in rejects]
        return pa.RecordBatch.from_pylist(found, self._schema)

    def kept(self, messages: Messages, rejects: Sequence[Reject]) -> pa.RecordBatch:
        """The same for messages that wait until their type gets a table."""
        found = [_letter(messages, reject, self._recipe) for reject in rejects]
        return pa.RecordBatch.from_pylist(found, arrow_schema(UNROUTED_COLUMNS))


def coordinates(messages: Messages, reject: Reject) -> str:
    """Where a message is and what is wrong with it, for an error."""
    where = f"{messages.source} partition {messages.partition} position {int(messages.origins[reject.at])}"
    return f"{where}: {reject.code}, {reject.text}"


def _letter(messages: Messages, reject: Reject, recipe: Recipe) -> dict[str, object]:
    value: bytes = messages.values[reject.at].as_py()
    details = messages.details(reject.at)
    text, raw, note = _kept(value, reject)
    return {
        "base64_bytes": raw,
        "json_string": text,
        "error": reject.text + note,
        "timestamp": recipe.now,
        "date": recipe.now // 86_400_000_000,
        "source": recipe.source_name,
        "topic": messages.source,
        "partition": messages.partition,
        "position": int(messages.origins[reject.at]),
        "message_timestamp": moment(details.timestamp),
        "key": _base64(details.key),
        "headers": _headers(details.headers),
        "type": _clean(reject.type),
        "stage": reject.stage,
        "code": reject.code,
        "config": recipe.config,
    }


def _kept(value: bytes, reject: Reject) -> tuple[str | None, str | None, str]:
    """The value as text if it is text, as base64 if not; over the size limit only its size and hash."""
    if reject.code.endswith(TOO_LARGE):
        return None, None, f"; sha256 {hashlib.sha256(value).hexdigest()}"
    try:
        return value.decode("utf-8"), None, ""
    except UnicodeDecodeError:
        return None, _base64(value), ""


def moment(timestamp: int | None) -> int | None:
    """A message's timestamp as a column can hold it, in microseconds. Producers may set any number:
    one outside of the years 1 to 9999 is no time."""
    return timestamp * 1000 if timestamp is not None and _YEAR_1 <= timestamp < _YEAR_10000 else None


def _base64(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode("ascii")


def _headers(headers: Sequence[tuple[str, bytes | None]]) -> str | None:
    if not headers:
        return None
    return json.dumps([[name, _header(value)] for name, value in headers])


def _header(value: bytes | None) -> object:
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": _base64(value)}


def _clean(name: str | None) -> str | None:
    """A type's name as a column can hold it: half a surrogate pair is not a character."""
    return None if name is None else name.encode("utf-8", "backslashreplace").decode("utf-8")
