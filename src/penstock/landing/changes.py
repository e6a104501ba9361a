"""What changes messages on their way: an envelope that is opened, and transforms."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.envelope import Envelope
from penstock.formats.json.reference import parse
from penstock.schema import Schema, Struct, Type
from penstock.transforms.expressions import Declines
from penstock.transforms.program import AboutColumns, compiled
from penstock.transforms.reference import About, apply
from penstock.transforms.rules import Rule, Rules, rule
from penstock.values.columns import Mask
from penstock.values.plain import Number, Refusal, kind_of

MAX_PAYLOAD = 64 * 2**20


class Program(Protocol):
    """A change made ready for messages that hold the same."""

    @property
    def schema(self) -> Schema:
        """What they hold afterwards."""
        ...

    def apply(self, rows: pa.RecordBatch, about: AboutColumns) -> tuple[pa.RecordBatch, Schema, Mask]:
        """The changed rows, what they hold, and which of them the reference path must decide."""
        ...


class Change(Protocol):
    """A way to change messages: one by one, which says what is right, and all at once."""

    def of(self, message: dict[str, Any], about: About) -> dict[str, Any]:
        """The changed message, or a `Refusal`."""
        ...

    def program(self, given: Schema) -> Program:
        """The same for messages that hold this. Raises `Declines` if it cannot be done so."""
        ...


@dataclass(frozen=True)
class ByRules:
    """What `transforms` says."""

    rules: Rules

    def of(self, message: dict[str, Any], about: About) -> dict[str, Any]:
        return apply(self.rules, message, about)

    def program(self, given: Schema) -> Program:
        return compiled(self.rules, given)


class Unwrapping:
    """What `envelope` says."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._steps = envelope.payload.split(".")
        self._path = ".".join(json.dumps(step) for step in self._steps)
        self._beside = Rules(tuple(rule(name, source) for name, source in envelope.columns.items()), only=True)

    def of(self, message: dict[str, Any], about: About) -> dict[str, Any]:
        payload: Any = message
        for step in self._steps:
            payload = payload.get(step) if isinstance(payload, dict) else None
        row = apply(self._beside, message, about)
        if payload is None:
            if not self._envelope.optional:
                raise Refusal("parse", "envelope.no-payload", f"there is no '{self._envelope.payload}' in the message")
            return row
        return self._joined(row, self._opened(payload))

    def _opened(self, payload: Any) -> Any:
        is_text = isinstance(payload, str) and not isinstance(payload, Number)
        if self._envelope.text == "keep" or isinstance(payload, dict):
            return payload
        where = f"'{self._envelope.payload}', which holds the inner message,"
        if not is_text:
            raise Refusal("parse", "envelope.payload", f"{where} is {kind_of(payload)}")
        try:
            return parse(payload.encode("utf-8"), MAX_PAYLOAD)
        except Refusal as why:
            raise Refusal("parse", "envelope.payload", f"{where} is no JSON object: {why}") from None

    def _joined(self, row: dict[str, Any], payload: Any) -> dict[str, Any]:
        if self._envelope.into is not None:
            return row | {self._envelope.into: payload}
        if both := sorted(payload.keys() & row.keys()):
            text = f"the inner message has a field '{both[0]}', and so has the envelope"
            raise Refusal("parse", "envelope.clash", text)
        return {**row, **payload}

    def program(self, given: Schema) -> Program:
        """For payloads that are objects. What a text holds is read one by one."""
        kind: Type = given
        for step in self._steps:
            field = kind.get(step) if isinstance(kind, Struct) else None
            if field is None:
                raise Declines("messages without payload")
            kind = field.type
        if not isinstance(kind, Struct):
            raise Declines("payloads that are no objects")
        if self._envelope.into is not None:
            more = [_copied(self._envelope.into, self._path)]
        else:
            names = [field.name for field in kind]
            if {*names} & {each.path[0] for each in self._beside}:
                raise Declines("fields of the payload that the envelope has too")
            more = [_copied(name, f"{self._path}.{json.dumps(name)}") for name in names]
        return _Opening(compiled(Rules((*self._beside, *more), only=True), given), tuple(self._steps))


def _copied(name: str, source: str) -> Rule:
    """A column of this name, whatever is in the name."""
    return replace(rule("column", source), target=name, path=(name,))


@dataclass(frozen=True)
class _Opening:
    """Rows without their envelope. Those without payload are for the reference path."""

    inner: Program
    steps: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        return self.inner.schema

    def apply(self, rows: pa.RecordBatch, about: AboutColumns) -> tuple[pa.RecordBatch, Schema, Mask]:
        payload: pa.Array = rows.to_struct_array()
        for step in self.steps:
            payload = payload.flatten()[payload.type.get_field_index(step)]
        changed, schema, declined = self.inner.apply(rows, about)
        without: Mask = payload.is_null().to_numpy(zero_copy_only=False)
        return changed, schema, declined | without


@dataclass(frozen=True)
class Both:
    """One change after the other."""

    first: Change
    then: Change

    def of(self, message: dict[str, Any], about: About) -> dict[str, Any]:
        return self.then.of(self.first.of(message, about), about)

    def program(self, given: Schema) -> Program:
        first = self.first.program(given)
        return _InTurn(first, self.then.program(first.schema))


@dataclass(frozen=True)
class _InTurn:
    first: Program
    then: Program

    @property
    def schema(self) -> Schema:
        return self.then.schema

    def apply(self, rows: pa.RecordBatch, about: AboutColumns) -> tuple[pa.RecordBatch, Schema, Mask]:
        changed, schema, declined = self.first.apply(rows, about)
        if schema != self.first.schema or changed.num_rows != rows.num_rows:
            return changed, schema, np.full(rows.num_rows, True)  # another kind of number than was thought
        again, schema, also = self.then.apply(changed, about)
        return again, schema, declined | also


def change(envelope: Envelope | None, rules: Rules) -> Change:
    """All that a pipeline does to its messages."""
    transforms = ByRules(rules)
    return Both(Unwrapping(envelope), transforms) if envelope is not None else transforms
