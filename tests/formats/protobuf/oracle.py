"""What the two paths make of the same messages, compared value by value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.arrow import arrow_schema
from penstock.contracts import Shape
from penstock.formats.protobuf.decoder import ProtobufDecoder
from penstock.schema import Array, Map, Scalar, Struct, Type
from penstock.values.fit import fit
from penstock.values.plain import Refusal


def reference(decoder: ProtobufDecoder, body: bytes) -> dict[str, Any] | Refusal:
    """The row that the reference path makes, or why it makes none. What it reads fits the columns of its type."""
    try:
        found = decoder.plain(body)
    except Refusal as why:
        return why
    row: dict[str, Any] = comparable(fit(found, Shape(decoder.schema, evolve="freeze")), decoder.schema)
    return row


def comparable(value: Any, kind: Type) -> Any:
    """Values of either path so that equal ones are equal: maps without order, times and what is no number too."""
    if value is None:
        return None
    if isinstance(kind, Struct):
        return {field.name: comparable(value[field.name], field.type) for field in kind}
    if isinstance(kind, Array):
        return [comparable(one, kind.of) for one in value]
    if isinstance(kind, Map):
        assert len(dict(value)) == len(value), "a key comes twice"
        return {key: comparable(one, kind.of) for key, one in dict(value).items()}
    if isinstance(value, float):
        return repr(value) if not math.isnan(value) else "nan"
    if kind == Scalar("timestamp") and not isinstance(value, int):
        return pa.scalar(value, pa.timestamp("us", "UTC")).cast(pa.int64()).as_py()
    return value


def agree(decoder: ProtobufDecoder, bodies: list[bytes]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Assert that both paths say the same of these messages; returns which the fast path declined."""
    expected = [reference(decoder, body) for body in bodies]
    # A slice of a longer array, as batches are.
    rows, declined = decoder.columns(pa.array([b"\xff", *bodies, b"\xff"], pa.binary())[1:-1])
    assert rows.schema.equals(arrow_schema(decoder.schema))
    rows.validate(full=True)
    good = [at for at in range(len(bodies)) if not declined[at]]
    assert rows.num_rows == len(good) or not decoder.schema.fields
    for at, row in zip(good, rows.to_pylist(), strict=True):
        assert comparable(row, decoder.schema) == expected[at], (
            f"\n{bodies[at][:500]!r}\nas {str(decoder.schema)[:2000]}"
        )
    return declined
