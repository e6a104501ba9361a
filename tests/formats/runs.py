"""Runs of messages for readers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.messages import Details, Messages


def run(
    values: Sequence[bytes], headers: Sequence[Sequence[tuple[str, bytes | None]]] = (), topic: str = "t"
) -> Messages:
    """Messages with these values, and headers if there are any."""
    details = [Details(None, each, None) for each in headers] or [Details(None, (), None)] * len(values)
    return Messages(topic, "0", np.arange(len(values)), pa.array(values, pa.binary()), lambda at: details[at])
