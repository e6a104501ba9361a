"""What must become of a message: the reference path alone, one message at a time, without anything learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import re2

from penstock.arrow import arrow_schema
from penstock.contracts import Reader, Shapes
from penstock.formats.json.reference import parse
from penstock.landing.reading import AsTheyCome
from penstock.messages import Details, Messages, Reject
from penstock.schema import Array, Struct, Type
from penstock.values.fit import Waits, fit
from penstock.values.plain import Refusal, infer, type_at

MAX_BYTES = 8 * 2**20
Change = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Fate:
    """What became of a message: a row, a reject with its stage and code, or something else."""

    what: str
    type: str | None = None
    detail: str = ""


def expected(
    value: bytes, given: str | None, shapes: Shapes, *, reject_duplicates: bool = False, change: Change = dict
) -> Fate:
    """By `parse`, `type_at` and `fit`, and by what a route allows; and by a change of what was parsed."""
    name = given
    try:
        if given is not None and not _is_allowed(given, shapes):
            return Fate("filtered")
        message = parse(value, MAX_BYTES, reject_duplicates=reject_duplicates)
        name = given if given is not None else type_at(message, shapes.field or "")
        if not _is_allowed(name, shapes):
            return Fate("filtered")
        if name in shapes.refused:
            infer(message)
            return Fate("reject", name, f"identify {shapes.refused[name][0]}")
        if name not in shapes.types:
            return Fate("waiting", name)
        shape = shapes.types[name]
        return Fate("row", name, shown([fit(change(message), shape)], arrow_schema(shape.columns)))
    except Waits:
        return Fate("waiting", name)
    except Refusal as why:
        return Fate("reject", name, f"{why.stage} {why.code}")


def _is_allowed(name: str, shapes: Shapes) -> bool:
    return shapes.allow is None or re2.search(shapes.allow, name) is not None


def found(reader: Reader, values: Sequence[bytes], types: Sequence[str] | None, shapes: Shapes) -> list[Fate]:
    """By a reader at work, which must put every message in exactly one place."""
    messages = run(values)
    sorted_ = reader.sort(messages, types)
    fates: dict[int, Fate] = {}

    def put(at: int, fate: Fate) -> None:
        assert at not in fates, f"message {at} is in two places"
        fates[at] = fate

    for name, clean in sorted_.clean.items():
        for at, fate in zip(clean.tolist(), _landed(reader, name, messages.only(clean), shapes), strict=True):
            put(at, fate)
    for name, rows in sorted_.rows.items():
        for row in rows:
            put(row.at, row_fate(name, row.values, shapes))
    for name, waiting in sorted_.waiting.items():
        for at in waiting.tolist():
            put(at, Fate("waiting", name))
    for at in sorted_.filtered.tolist():
        put(at, Fate("filtered"))
    for reject in sorted_.rejects:
        put(reject.at, reject_fate(reject))
    assert sorted(fates) == list(range(len(values))), "a message is nowhere"
    return [fates[at] for at in range(len(values))]


def _landed(reader: Reader, name: str, messages: Messages, shapes: Shapes) -> list[Fate]:
    """Clean messages as columns, or one by one where the reader declines to make columns of them."""
    made = reader.columns(name, messages).rows
    shape = shapes.types[name]
    if made is not None:
        assert made.schema == arrow_schema(shape.schema)
        full = made
        if shape.evolve == "rescue":
            full = made.append_column("_rescued", pa.nulls(made.num_rows, pa.string()))
        return [Fate("row", name, repr([row])) for row in full.to_pylist()]
    one_by_one = AsTheyCome(reader, shapes).rows(name, messages)
    fates = {row.at: row_fate(name, row.values, shapes) for row in one_by_one.rows[name]}
    fates |= {reject.at: reject_fate(reject) for reject in one_by_one.rejects}
    return [fates[at] for at in range(len(messages))]


def row_fate(name: str, values: dict[str, object], shapes: Shapes) -> Fate:
    return Fate("row", name, shown([values], arrow_schema(shapes.types[name].columns)))


def reject_fate(reject: Reject) -> Fate:
    return Fate("reject", reject.type, f"{reject.stage} {reject.code}")


def shown(rows: list[dict[str, object]], schema: pa.Schema) -> str:
    """Rows as a table holds them, to the last bit: 0.0 and -0.0 are not the same."""
    return repr(pa.RecordBatch.from_pylist(rows, schema).to_pylist())


def filled(row: Mapping[str, Any], kind: Struct) -> dict[str, Any]:
    """A row with its nulls, also inside objects."""
    return {field.name: _filled(row.get(field.name), field.type) for field in kind}


def _filled(value: Any, kind: Type) -> Any:
    if isinstance(kind, Struct) and value is not None:
        return filled(value, kind)
    if isinstance(kind, Array) and value is not None:
        return [_filled(element, kind.of) for element in value]
    return value


def run(values: Sequence[bytes | None]) -> Messages:
    """Messages of one partition, as a source would give them."""
    nothing = Details(None, (), None)
    return Messages("topic", "0", np.arange(len(values)), pa.array(values, pa.binary()), lambda _: nothing)
