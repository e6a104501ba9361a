"""A source in memory and an engine in this process: the same loop, the same tables, no broker, no JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.config.parts import part
from penstock.contracts import Bound, Identity, Positions, ShortRead, Slice
from penstock.crew import Threads
from penstock.instance import Surroundings
from penstock.landing.land import land
from penstock.landing.recipe import Landed, Piece, Recipe
from penstock.loop import Until, run
from penstock.messages import Details, Messages
from penstock.observe import Observer, Silence
from penstock.pipeline import Pipeline
from penstock.places import storage_opener
from penstock.protocol.begin import Accepted


@dataclass
class MemorySource:
    """Messages in lists, one list per partition. A position is an index; None in a list is a
    tombstone, and positions in `gaps` hold nothing, as after compaction."""

    partitions: dict[str, list[bytes | None]] = field(default_factory=lambda: {"0": []})
    topic: str = "memory"
    details: dict[tuple[str, int], Details] = field(default_factory=dict)
    gaps: set[tuple[str, int]] = field(default_factory=set)
    dropped: dict[str, int] = field(default_factory=dict)  # partition → first position that is still held
    incarnation: str = "1"
    published: dict[str, int] = field(default_factory=dict)

    def add(self, *values: bytes | None, partition: str = "0") -> None:
        self.partitions.setdefault(partition, []).extend(values)

    def identity(self) -> Identity:
        return Identity(f"memory:{self.topic}", "memory", self.incarnation)

    def bounds(self) -> Mapping[str, Bound]:
        first = self.dropped
        return {p: Bound(first.get(p, 0), len(values), first.get(p, 0)) for p, values in self.partitions.items()}

    def read(self, piece: Slice) -> Iterator[Messages]:
        held = range(self.dropped.get(piece.partition, 0), len(self.partitions[piece.partition]))
        if piece.start not in held or piece.end - 1 not in held:
            raise ShortRead(f"partition {piece.partition} holds only {held}")
        at = [p for p in range(piece.start, piece.end) if (piece.partition, p) not in self.gaps]
        for start in range(0, len(at), 1_000):
            yield self._messages(piece.partition, at[start : start + 1_000])

    def _messages(self, partition: str, at: list[int]) -> Messages:
        values = pa.array([self.partitions[partition][position] for position in at], pa.binary())
        nothing = Details(None, (), None)
        return Messages(
            self.topic,
            partition,
            np.array(at, np.int64),
            values,
            lambda index: self.details.get((partition, at[index]), nothing),
        )

    def publish(self, app: str, positions: Positions) -> None:
        self.published = dict(positions)


class MemoryEngine:
    """Runs tasks one after the other in this process."""

    cores = 2

    def land(self, tasks: Sequence[Sequence[Piece]], recipe: Recipe) -> list[Landed]:
        return [land(task, recipe) for task in tasks]

    def cancel(self) -> None: ...
    def ensure(self) -> None: ...


def land_all(pipeline: Pipeline, observer: Observer | None = None, accepted: Accepted | None = None) -> None:
    """Land everything that a pipeline's source holds now, without Spark."""
    crew = Threads()
    try:
        around = Surroundings(
            engine=MemoryEngine(),
            crew=crew,
            open_table=part("tables", pipeline.tables.format),
            open_storage=storage_opener(pipeline),
            observer=observer or Silence(),
        )
        run(pipeline, around, Until(caught_up=True), accepted or Accepted())
    finally:
        crew.close()
