"""What is known of the messages of a batch while they are taken apart: which are declined, and how heavy they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.formats.protobuf.wire import Flags, Places, Wire

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """Messages of one type, maybe inside others: where they are, and which message of the batch each belongs to."""

    starts: Places
    ends: Places
    roots: Places

    def __len__(self) -> int:
        return len(self.starts)


@dataclass
class Unfolding:
    """A batch on its way: `limit` is how many values a message may unfold to, `room` how many all together may."""

    wire: Wire
    bad: Flags
    unknown: Counts
    weight: Counts
    limit: int
    room: int

    def decline(self, part: Part, those: Flags) -> None:
        if those.any():
            self.bad[part.roots[those]] = True

    def decline_some(self, part: Part, those: Places) -> None:
        self.bad[part.roots[those]] = True

    def count_unknown(self, part: Part, unknown: Counts) -> None:
        if unknown.any():
            np.add.at(self.unknown, part.roots, unknown)
            self.weigh(part.roots, unknown)

    def weigh(self, roots: Places, weights: Counts) -> None:
        """Count values before they are made; messages that are too heavy, or than which there is too little room,
        are declined."""
        np.add.at(self.weight, roots, weights)
        self.bad |= self.weight > self.limit
        good = self.weight[~self.bad]
        if good.sum() > self.room:
            self.bad |= self.weight > self.room // len(good)
