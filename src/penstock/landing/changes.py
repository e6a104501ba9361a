"""What changes messages on their way: an envelope that is opened, and transforms."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.envelope import Envelope
from penstock.formats.json.reference import parse
from penstock.landing.input_shapes import told
from penstock.schema import NOTHING, Field, Schema, Struct, Type
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

    def kinds(self, given: Schema) -> tuple[Schema, bool]:
        """What messages hold afterwards whose schema says that they hold this; and whether that is all, or there
        is more that only values tell."""
        ...


@dataclass(frozen=True)
class ByRules:
    """What `transforms` says."""

    rules: Rules

    def of(self, message: dict[str, Any], about: About) -> dict[str, Any]:
        return apply(self.rules, message, about)

    def program(self, given: Schema) -> Program:
        return compiled(self.rules, given)

    def kinds(self, given: Schema) -> tuple[Schema, bool]:
        """What no rule sets keeps its type."""
        kept = given.without({rule.path[0] for rule in self.rules})
        try:
            after = compiled(self.rules, told(given)).schema
        except Declines:
            return kept, False
        return Struct(tuple(kept.get(field.name) or field for field in after)), True


class Unwrapping:
    """What `envelope` says."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._steps = tuple(envelope.payload.split("."))
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
        payload = _kind_at(given, self._steps)
        if payload is None:
            raise Declines("messages without payload")
        if not isinstance(payload, Struct):
            raise Declines("payloads that are no objects")
        places = {each.path[0]: _steps(each) for each in self._beside}
        taken = {name: steps for name, steps in places.items() if steps and _kind_at(given, steps) is not None}
        if self._envelope.into is not None:
            inside = {self._envelope.into: self._steps}
        else:
            inside = {field.name: (*self._steps, field.name) for field in payload}
            if inside.keys() & places.keys():
                raise Declines("fields of the payload that the envelope has too")
        made = compiled(replace(self._beside, each=tuple(r for r in self._beside if r.path[0] not in taken)), given)
        names = [name for name in places if name in taken or name in made.schema]
        if not names and not inside:
            raise Declines("messages of which nothing is left")
        opening = _Opening(made, taken | inside, (*names, *inside), self._steps, given)
        compiled(Rules(), opening.schema)  # no columns but those that would be made of the messages themselves
        return opening

    def kinds(self, given: Schema) -> tuple[Schema, bool]:
        for known in (given, told(given)):
            with suppress(Declines):
                return self.program(known).schema, True
        payload = _kind_at(given, self._steps)
        into = self._envelope.into
        return Struct((Field(into, payload),) if into and isinstance(payload, Struct) else ()), False


def _steps(rule: Rule) -> tuple[str, ...]:
    """The fields that a rule goes through, if it does nothing else and sets a whole column."""
    tree = rule.expression
    if tree is None or len(rule.path) > 1:
        return ()
    nodes = tree["children"] if tree["type"] == "subexpression" else [tree]
    return tuple(node["value"] for node in nodes) if all(node["type"] == "field" for node in nodes) else ()


def _kind_at(given: Schema, steps: tuple[str, ...]) -> Type | None:
    kind: Type = given
    for step in steps:
        field = kind.get(step) if isinstance(kind, Struct) else None
        if field is None:
            return None
        kind = field.type
    return kind


def _column_at(rows: pa.RecordBatch, steps: tuple[str, ...]) -> pa.Array:
    column: pa.Array = rows.to_struct_array()
    for step in steps:
        column = column.flatten()[column.type.get_field_index(step)]
    return column


@dataclass(frozen=True)
class _Opening:
    """Rows without their envelope. What is only taken out of it is what it was, also where no expression could work
    with it, such as a time. Those without payload are for the reference path."""

    made: Program
    taken: Mapping[str, tuple[str, ...]]
    names: tuple[str, ...]
    steps: tuple[str, ...]
    given: Schema

    @property
    def schema(self) -> Schema:
        return self._schema(self.made.schema)

    def _schema(self, made: Schema) -> Schema:
        kinds = {field.name: field.type for field in made}
        kinds |= {name: _kind_at(self.given, steps) or NOTHING for name, steps in self.taken.items()}
        return Struct(tuple(Field(name, kinds[name]) for name in self.names))

    def apply(self, rows: pa.RecordBatch, about: AboutColumns) -> tuple[pa.RecordBatch, Schema, Mask]:
        changed, made, declined = self.made.apply(rows, about)
        columns = {name: _column_at(rows, steps) for name, steps in self.taken.items()}
        columns |= dict(zip(changed.schema.names, changed.columns, strict=True))
        without: Mask = _column_at(rows, self.steps).is_null().to_numpy(zero_copy_only=False)
        whole = pa.RecordBatch.from_arrays([columns[name] for name in self.names], list(self.names))
        return whole, self._schema(made), declined | without


@dataclass(frozen=True)
class Both:
    """One change after the other."""

    first: Change
    then: Change

    def of(self, message: dict[str, Any], about: About) -> dict[str, Any]:
        return self.then.of(self.first.of(message, about), about)

    def kinds(self, given: Schema) -> tuple[Schema, bool]:
        first, is_all = self.first.kinds(given)
        then, also = self.then.kinds(first)
        return then, is_all and also

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
