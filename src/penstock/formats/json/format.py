"""The JSON format: the fast path over whole runs of messages, the reference path for the rest."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from arro3.io import read_json
from pydantic import Field

from penstock.arrow import arrow_schema
from penstock.contracts import Reader, Shapes
from penstock.declared import Declared
from penstock.formats.admission import Admission
from penstock.formats.json.classify import DOUBT, FILTERED, Classifier
from penstock.formats.json.gunzip import Gunzip
from penstock.formats.json.inference import Inference
from penstock.formats.json.reference import MAX_DEPTH, parse
from penstock.messages import Columns, Messages, Reject, Row, Sorted, growing
from penstock.quantities import Size
from penstock.schema import Schema
from penstock.values.fit import FIRST_MOMENT, LAST_MOMENT, Waits, fit
from penstock.values.plain import Refusal, infer, type_at

FIRST_LOOK = 64
PARSE_ROWS = 2_048  # rows per parse of the columnar parser: larger ones fall out of the cache

# As scalars already: pyarrow looks for a package that is not there each time it makes one of a Python value.
_NEWLINE, _DEEPEST = pa.scalar(b"\n"), pa.scalar(MAX_DEPTH)

# The columnar parser moves characters of every other plane (much Chinese among them) by a plane if they are escaped.
_MOVED = r"\\u[dD][89abAB][4-7c-fC-F]"
# A zero with a sign keeps it where a number becomes text, and loses it in a column of numbers.
_SIGNED_ZERO = r"-0\s*[,\]}]"


class JsonFormat(Declared):
    """One JSON object per message."""

    max_bytes: Annotated[Size, Field(ge=1)] = 8 * 2**20
    """A larger message is a dead letter of which only size and hash are kept."""
    duplicate_keys: Literal["last", "reject"] = "last"
    """Of a key that occurs twice in an object the last one counts, or the message is a dead letter."""
    gzip: bool = False
    """Whether messages are compressed with gzip. `max_bytes` then counts what they hold."""

    def reader(self, shapes: Shapes) -> Reader:
        reader = JsonReader(self, shapes)
        return Gunzip(reader, self.max_bytes) if self.gzip else reader

    def parsed(self, text: bytes) -> dict[str, Any]:
        """The object that a text holds; compression aside."""
        return parse(text, self.max_bytes, reject_duplicates=self.duplicate_keys == "reject")


class JsonReader:
    """JSON at work on one task's messages. It learns which names and which empty fields the
    messages really have, so that they do not leave the fast path again."""

    def __init__(self, format: JsonFormat, shapes: Shapes) -> None:
        self._format, self._shapes = format, shapes
        self._max_bytes = pa.scalar(format.max_bytes)
        self._admission = Admission(shapes)
        wanted = {name: shape for name, shape in shapes.types.items() if self._admission.wants(name)}
        self._classifier = Classifier(replace(shapes, types=wanted), strict_keys=format.duplicate_keys == "reject")
        coerces = any(shape.coerce for shape in shapes.types.values())
        self._doubtful = (_MOVED, _SIGNED_ZERO) if coerces else (_MOVED,)
        self._inference = Inference(shapes, format.parsed)
        self._arrow = {name: arrow_schema(shape.schema) for name, shape in shapes.types.items()}
        self._timed = {n: [f.name for f in s.schema if "timestamp" in str(f.type)] for n, s in shapes.types.items()}

    # --- what is each message?

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted:
        values = messages.listed()
        found = Sorted()
        parts: list[np.ndarray] = []
        for start, end in growing(len(values), FIRST_LOOK):
            part = slice(start, end)
            codes = self._codes(messages.values[part], values[part], types[part] if types else None)
            for at in np.flatnonzero(codes == DOUBT):
                place = start + int(at)
                codes[at] = self._settle(place, values[place], types[place] if types else None, found)
            parts.append(codes)
            self._classifier.refresh()
        self._collect(np.concatenate(parts) if parts else np.empty(0, np.int32), found)
        return found

    def _codes(self, column: pa.BinaryArray, values: list[bytes], types: Sequence[str] | None) -> np.ndarray:
        """The fast path's answer for every message: a type's code, FILTERED, or DOUBT."""
        large = pc.greater(pc.binary_length(column), self._max_bytes)
        if pc.any(large).as_py():
            values = [b"" if too_large else value for value, too_large in zip(values, large.to_pylist(), strict=True)]
        codes = np.array(self._classifier.codes(values, types), np.int32)
        loose = np.flatnonzero(self._classifier.unproven(codes))
        if len(loose):
            codes[loose[~_well_formed(column.take(pa.array(loose)))]] = DOUBT
        for pattern in self._doubtful:
            codes[pc.match_substring_regex(column, pattern).to_numpy(zero_copy_only=False)] = DOUBT
        return codes

    def _settle(self, at: int, value: bytes, given: str | None, found: Sorted) -> int:
        """The reference path's answer for one message that the fast path left in doubt."""
        name = given
        try:
            if given is not None and not self._admission.wants(given):  # unwanted, whatever is in it
                return self._unwanted(given)
            message = self._format.parsed(value)
            name = given if given is not None else type_at(message, self._shapes.field or "")
            if not self._admission.wants(name):
                return self._unwanted(name)
            if name in self._shapes.refused:
                infer(message)  # its own trouble comes before its type's
                raise Refusal("identify", *self._shapes.refused[name])
            shape = self._shapes.types.get(name)
            if shape is None:
                return self._new_type(name)
            found.rows.setdefault(name, []).append(Row(at, fit(message, shape)))
            self._classifier.learn_nulls(name, message)
        except Waits:
            return self._classifier.waiting(str(name))
        except Refusal as why:
            found.rejects.append(Reject(at, why.stage, why.code, why.text, name))
        return DOUBT

    def _unwanted(self, name: str) -> int:
        self._classifier.learn_filtered(name)
        return FILTERED

    def _new_type(self, name: str) -> int:
        self._admission.admit(name)
        code = self._classifier.learn_waiting(name)
        if code is None:
            raise Refusal("identify", "type.limit", "there are as many tables as tables.limit allows")
        return code

    def _collect(self, codes: np.ndarray, found: Sorted) -> None:
        """Group the messages by what they are, keeping their order."""
        order = np.argsort(codes, kind="stable")
        edges = np.flatnonzero(np.diff(codes[order])) + 1
        for group in np.split(order, edges) if len(order) else ():
            code = int(codes[group[0]])
            if code == FILTERED:
                found.filtered = group
            elif code != DOUBT:
                name, waits = self._classifier.meaning(code)
                (found.waiting if waits else found.clean)[name] = group

    # --- rows

    def columns(self, type: str, messages: Messages) -> Columns:
        schema, values = self._arrow[type], messages.values
        lines = pc.binary_join(pa.ListArray.from_arrays([0, len(values)], values), _NEWLINE)[0].as_buffer()
        try:
            parsed = read_json(io.BytesIO(lines), schema, batch_size=PARSE_ROWS)
            table = pa.RecordBatchReader.from_stream(parsed).read_all()
        except Exception:  # whatever it dislikes, the reference path decides
            return Columns.none_of(messages)
        if table.num_rows != len(values) or not all(_is_in_time(table[name]) for name in self._timed[type]):
            return Columns.none_of(messages)
        batches: list[pa.RecordBatch] = table.combine_chunks().to_batches()
        return Columns.all_of(batches[0] if batches else pa.RecordBatch.from_pylist([], schema))

    def plain(self, messages: Messages, at: int) -> dict[str, Any]:
        return self._format.parsed(messages.value(at))

    # --- columns that a table does not have yet

    def infer(self, type: str, messages: Messages) -> Schema:
        return self._inference.look(type, messages.listed())


def _is_in_time(column: pa.ChunkedArray) -> bool:
    """Are all its moments such as the reference path lets pass? With an offset, one can lie outside of all years."""
    kind = column.type
    if pa.types.is_struct(kind) or pa.types.is_list(kind):
        inner = column.flatten() if pa.types.is_struct(kind) else [pc.list_flatten(column)]
        return all(map(_is_in_time, inner))
    if not pa.types.is_timestamp(kind):
        return True
    edges = pc.min_max(column.cast(pa.int64()))
    return edges["min"].as_py() is None or FIRST_MOMENT <= edges["min"].as_py() <= edges["max"].as_py() <= LAST_MOMENT


def _well_formed(values: pa.BinaryArray) -> np.ndarray:
    """Where decoding skipped part of a message: is that part UTF-8, and not too deep?
    At most so many opening brackets cannot nest deeper than that."""
    opening = pc.add(pc.count_substring(values, b"["), pc.count_substring(values, b"{"))
    shallow: np.ndarray = pc.less_equal(opening, _DEEPEST).to_numpy(zero_copy_only=False)
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        shallow &= np.array([_is_utf8(value) for value in values.to_pylist()])
    return shallow


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False
