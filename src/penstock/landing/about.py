"""Where messages came from, as transforms ask for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from penstock.messages import Details, Indices, Messages
from penstock.transforms.program import AboutColumns
from penstock.transforms.reference import About


def about(messages: Messages, at: int) -> About:
    details = messages.details(at)
    position = int(messages.positions[at])
    return About(messages.source, int(messages.partition), position, details.timestamp, details.timestamp_type)


def about_all(runs: Sequence[Messages], where: Indices) -> AboutColumns:
    """The same for these messages of several runs, as columns. Times cost a call per message, so they are
    fetched when somebody asks for them."""
    partitions = np.repeat([int(run.partition) for run in runs], [len(run) for run in runs])
    positions = np.concatenate([run.positions for run in runs])

    @cache
    def details() -> list[Details]:
        found = [run.details(at) for run in runs for at in range(len(run))]
        return [found[at] for at in where]

    def column(of: Callable[[Details], int | None]) -> pa.Array:
        return pa.array([of(each) for each in details()], pa.int64())

    return AboutColumns(
        topic=runs[0].source,
        partitions=pa.array(partitions[where]),
        offsets=pa.array(positions[where]),
        timestamps=lambda: column(lambda each: each.timestamp),
        timestamp_types=lambda: column(lambda each: each.timestamp_type),
    )
