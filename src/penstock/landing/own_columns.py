"""Columns of penstock's own, and what a partition column asks of its values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.arrow import arrow_schema
from penstock.landing.letters import moment
from penstock.landing.recipe import Target
from penstock.messages import NEVER, RESCUED, SOURCE_COLUMNS, Indices, Messages


def completed(rows: pa.RecordBatch, target: Target, messages: Messages, source: str) -> pa.RecordBatch:
    """Rows with every column that their table has from us."""
    if target.shape.evolve == "rescue" and RESCUED not in rows.schema.names:
        rows = rows.append_column(RESCUED, pa.nulls(rows.num_rows, pa.string()))
    return _with_source_columns(rows, messages, source) if target.source_columns else rows


def _with_source_columns(rows: pa.RecordBatch, messages: Messages, source: str) -> pa.RecordBatch:
    stamps = [moment(None if stamp == NEVER else stamp) for stamp in messages.times()[:, 1].tolist()]
    for field, values in zip(
        arrow_schema(SOURCE_COLUMNS),
        (
            pa.array([source] * len(messages)),
            pa.array([int(messages.partition)] * len(messages)),
            pa.array(messages.origins),
            pa.array(stamps, pa.int64()),
        ),
        strict=True,
    ):
        rows = rows.append_column(field, values.cast(field.type))
    return rows


def empty_partition_values(rows: pa.RecordBatch, partition_by: tuple[str, ...]) -> Indices:
    """The rows that have an empty text for a partition value, which would read back as null."""
    found = np.zeros(rows.num_rows, bool)
    for name in partition_by:
        if pa.types.is_string(rows.schema.field(name).type):
            found |= pc.fill_null(pc.equal(rows.column(name), ""), False).to_numpy(zero_copy_only=False)
    return np.flatnonzero(found)
