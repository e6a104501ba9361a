"""Where messages came from, as transforms ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from penstock.messages import NEVER, Indices, Messages, Times
from penstock.transforms.program import AboutColumns
from penstock.transforms.reference import About


def about(messages: Messages, at: int) -> About:
    details = messages.details(at)
    position = int(messages.origins[at])
    return About(messages.source, int(messages.partition), position, details.timestamp, details.timestamp_type)


def about_all(runs: Sequence[Messages], where: Indices) -> AboutColumns:
    """The same for these messages of several runs, as columns. Times are fetched when somebody asks for them."""
    partitions = np.repeat([int(run.partition) for run in runs], [len(run) for run in runs])
    positions = np.concatenate([run.origins for run in runs])

    @cache
    def times() -> Times:
        return np.concatenate([run.times() for run in runs])[where]

    return AboutColumns(
        topic=runs[0].source,
        partitions=pa.array(partitions[where]),
        offsets=pa.array(positions[where]),
        timestamps=lambda: pa.array(times()[:, 1], mask=times()[:, 1] == NEVER),
        timestamp_types=lambda: pa.array(times()[:, 0]),
    )
