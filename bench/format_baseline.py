"""How plain Spark decodes Avro and Protobuf. In each way all types share one schema, told up front.

- `fastavro`, `protobuf`: in an Arrow UDF, which is a pandas UDF that saves itself the way through pandas.
- `from_avro`: Spark's own, in the JVM.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from bench.formats import COLUMNS, avro_parsed, avro_schema, protobuf_class
from bench.jobs import HERE
from bench.topics import SCHEMA

AVRO_LOCK = HERE / "avro.lock"
_ARROW = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
_ROW = pa.struct([(name, _ARROW[kind]) for name, kind in COLUMNS])
_HEADER = 5  # a zero, and the schema's id


def decoded(kind: str, messages: DataFrame) -> DataFrame:
    """The columns of the messages' values."""
    return messages.select(DECODERS[kind](F.col("value")).alias("row")).select("row.*")


def avro_rows(values: pa.Array) -> pa.Array:
    schema, read = avro_parsed(), fastavro.schemaless_reader
    found: list[Any] = [read(io.BytesIO(value[_HEADER:]), schema, None) for value in values.to_pylist()]
    return _columns([[row[name] for row in found] for name, _ in COLUMNS])


def protobuf_rows(values: pa.Array) -> pa.Array:
    start, read = _HEADER + 1, protobuf_class().FromString  # one more byte says: the schema's first message
    found = [read(value[start:]) for value in values.to_pylist()]
    return _columns([[getattr(row, name) for row in found] for name, _ in COLUMNS])


def _columns(columns: list[list[object]]) -> pa.Array:
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ROW, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(_ROW))


def _by_udf(rows: Callable[[pa.Array], pa.Array]) -> Callable[[Column], Column]:
    return lambda value: arrow_udf(rows, SCHEMA, ArrowUDFType.SCALAR)(value)


def _by_spark(value: Column) -> Column:
    return from_avro(F.substring(value, _HEADER + 1, 2**30), avro_schema("event.any"))


DECODERS: dict[str, Callable[[Column], Column]] = {
    "fastavro": _by_udf(avro_rows),
    "protobuf": _by_udf(protobuf_rows),
    "from_avro": _by_spark,
}
