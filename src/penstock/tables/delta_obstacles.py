"""What keeps penstock from writing to a Delta table that others made."""

from __future__ import annotations

import json
from collections.abc import Sequence

import deltalake

# What an append may meet in a table. Everything else it would get wrong in silence, or delta-rs refuses.
_WRITABLE_FEATURES = {"appendOnly", "invariants", "changeDataFeed", "timestampNtz", "deletionVectors", "v2Checkpoint"}
_UNWRITABLE_SETTINGS = ("delta.constraints.", "delta.columnMapping.mode", "delta.setTransactionRetentionDuration")
_UNWRITABLE_COLUMNS = ("delta.generationExpression", "delta.invariants", "delta.identity.start")


def obstacle(handle: deltalake.DeltaTable) -> str:
    """Why penstock must not append to this table; empty if nothing stands in the way."""
    protocol = handle.protocol()
    features: Sequence[str] = [*(protocol.writer_features or ()), *(protocol.reader_features or ())]
    if foreign := sorted(set(features) - _WRITABLE_FEATURES):
        return f"it uses the table features {', '.join(foreign)}, which this engine cannot write"
    for name, value in handle.metadata().configuration.items():
        if name.startswith(_UNWRITABLE_SETTINGS) and value != "none":
            return f"its setting {name} = {value} is one that this engine cannot keep"
    for field in json.loads(handle.schema().to_json())["fields"]:
        if broken := [name for name in field["metadata"] if name in _UNWRITABLE_COLUMNS]:
            return f"column '{field['name']}' has {broken[0]}, which this engine cannot keep"
    return ""
