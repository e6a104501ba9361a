"""The fast path: rules for all rows of a batch at once, in Arrow.

It agrees with the reference path or declines: as a whole, when the expressions or the types are beyond
it, or single rows, when an expression fails there or its exact result is in doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.arrow import arrow_schema
from penstock.schema import BOOLEAN, DOUBLE, LONG, STRING, Array, Schema, Struct, Type
from penstock.transforms.cells import Cells, Mask, array_of, either, filled, nulls
from penstock.transforms.evaluation import Evaluation
from penstock.transforms.expressions import Declines, Expression, translated
from penstock.transforms.rules import Rule, Rules
from penstock.transforms.targets import Columns
from penstock.values.plain import MAX_COLUMN_DEPTH

_MOST_MILLIS = (2**63 - 1) // 1_000


@dataclass(frozen=True)
class AboutColumns:
    """Where the messages of a batch came from. Times are only asked for where a rule uses them."""

    topic: str
    partitions: pa.Array
    offsets: pa.Array
    timestamps: Callable[[], pa.Array]
    """In milliseconds; null where a message has none."""
    timestamp_types: Callable[[], pa.Array]


@dataclass(frozen=True)
class Program:
    """Rules made ready for messages that hold what `given` says."""

    rules: Rules
    given: Schema
    expressions: tuple[Expression | None, ...] = field(repr=False)
    schema: Schema
    """What the rows hold afterwards. Where text was made a number, a batch may have fractions instead of integers."""

    def apply(self, rows: pa.RecordBatch, about: AboutColumns) -> tuple[pa.RecordBatch, Schema, Mask]:
        """The rows after all rules, what they hold, and the rows that the reference path must decide:
        what stands there instead means nothing. `Declines` if the results outgrow what an array can hold."""
        try:
            return self._apply(rows, about)
        except pa.ArrowCapacityError:
            raise Declines("results too large for one batch") from None

    def _apply(self, rows: pa.RecordBatch, about: AboutColumns) -> tuple[pa.RecordBatch, Schema, Mask]:
        columns = Columns(rows, Struct() if self.rules.only else self.given)
        evaluation = Evaluation(rows, self.given)
        declined: Mask | None = None
        for rule, expression in zip(self.rules, self.expressions, strict=True):
            cells = _kafka(rule, about, rows.num_rows) if expression is None else evaluation.cells(expression)
            if _holds_opaque(cells.kind):
                raise Declines(f"{rule.target}: values of type {cells.kind}")
            declined = either(declined, cells.declined, columns.set(rule.path, cells, self.rules.nulls))
        changed, schema = columns.rows()
        return changed, schema, np.zeros(rows.num_rows, bool) if declined is None else declined


def compiled(rules: Rules, schema: Schema) -> Program:
    """The program for messages that hold this. Raises `Declines` if any rule cannot be done so."""
    expressions = tuple(_translated(rule) for rule in rules)
    none = pa.array([], pa.int64())
    about = AboutColumns("", none, none, lambda: none, lambda: none)
    empty = pa.RecordBatch.from_pylist([], schema=arrow_schema(schema))
    # Types decide what can be done, and no rows have the types of many.
    _, after, _ = Program(rules, schema, expressions, schema).apply(empty, about)
    _check(after, MAX_COLUMN_DEPTH)
    return Program(rules, schema, expressions, after)


def ways(rules: Rules) -> list[tuple[str, str]]:
    """For each rule its target, and `fast` or why it goes one message at a time. Said of the expression
    alone: types in the messages can still stand against it."""
    return [(rule.target, _way(rule)) for rule in rules]


def _way(rule: Rule) -> str:
    try:
        _translated(rule)
    except Declines as declines:
        return declines.why
    return "fast"


def _translated(rule: Rule) -> Expression | None:
    return None if rule.expression is None else translated(rule.expression)


def _kafka(rule: Rule, about: AboutColumns, count: int) -> Cells:
    match rule.kafka:
        case "topic":
            return Cells(STRING, pa.repeat(pa.scalar(about.topic, pa.string()), count))
        case "partition":
            text = pa.types.is_string(about.partitions.type)
            return Cells(STRING, about.partitions) if text else Cells(LONG, about.partitions.cast(pa.int64()))
        case "offset":
            return Cells(LONG, about.offsets.cast(pa.int64()))
        case "timestamp_type":
            return Cells(LONG, about.timestamp_types().cast(pa.int64()))
    return _micros(about.timestamps())


def _micros(millis: pa.Array) -> Cells:
    numbers, without = filled(millis.cast(pa.int64())), nulls(millis)
    far = (numbers > _MOST_MILLIS) | (numbers < -_MOST_MILLIS)
    if far.any():
        return Cells(LONG, array_of(np.where(far, 0, numbers) * 1_000, LONG, without), far)
    return Cells(LONG, array_of(numbers * 1_000, LONG, without))


def _holds_opaque(kind: Type) -> bool:
    """Is something in it whose text was made when all messages were looked at together?"""
    if isinstance(kind, Struct):
        return any(_holds_opaque(field.type) for field in kind)
    if isinstance(kind, Array):
        return _holds_opaque(kind.of)
    return kind not in (LONG, DOUBLE, STRING, BOOLEAN) and str(kind) != "nothing"


def _check(kind: Type, levels: int) -> None:
    """No columns but those that would be made of the messages themselves."""
    if not isinstance(kind, Struct | Array):
        return
    if not levels:
        raise Declines(f"columns nested more than {MAX_COLUMN_DEPTH} deep")
    if isinstance(kind, Array):
        _check(kind.of, levels - 1)
        return
    if len({field.name.lower() for field in kind}) < len(kind.fields):
        raise Declines("columns whose names differ only in case")
    for inner in kind:
        _check(inner.type, levels - 1)
