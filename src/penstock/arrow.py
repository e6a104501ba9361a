"""A schema as Arrow has it."""

from __future__ import annotations

import pyarrow as pa

from penstock.schema import Array, Decimal, Map, Scalar, Schema, Type

_SCALARS: dict[str, pa.DataType] = {
    "string": pa.string(),
    "json": pa.string(),
    "long": pa.int64(),
    "int": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
}


def arrow_type(kind: Type) -> pa.DataType:
    if isinstance(kind, Scalar):
        return _SCALARS[kind.name]
    if isinstance(kind, Decimal):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, Array):
        return pa.list_(pa.field("element", arrow_type(kind.of)))
    if isinstance(kind, Map):
        return pa.map_(pa.string(), arrow_type(kind.of))
    return pa.struct([pa.field(f.name, arrow_type(f.type), nullable=not f.required) for f in kind])


def arrow_schema(schema: Schema) -> pa.Schema:
    return pa.schema([pa.field(f.name, arrow_type(f.type), nullable=not f.required) for f in schema])
