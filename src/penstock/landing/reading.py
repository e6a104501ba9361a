"""Reading: from messages to rows, as the format has them or changed on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from penstock.contracts import Reader
from penstock.landing.recipe import Recipe
from penstock.landing.transforming import Transforming
from penstock.messages import Columns, Messages, Sorted
from penstock.schema import Schema
from penstock.transforms.rules import rules


class Reading(Protocol):
    """What a task asks about its messages. It is the format's `Reader`, with whole messages instead of
    values, since a transform may ask where one came from."""

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted: ...

    def columns(self, type: str, runs: Sequence[Messages]) -> Columns: ...

    def rows(self, type: str, messages: Messages) -> Sorted: ...

    def infer(self, type: str, messages: Messages) -> Schema: ...


@dataclass(frozen=True)
class AsTheyCome:
    """Messages that are rows as the format has them."""

    reader: Reader

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted:
        return self.reader.sort(messages, types)

    def columns(self, type: str, runs: Sequence[Messages]) -> Columns:
        rows = self.reader.columns(type, pa.concat_arrays([run.values for run in runs]))
        return Columns(rows, np.full(sum(map(len, runs)), rows is None))

    def rows(self, type: str, messages: Messages) -> Sorted:
        return self.reader.rows(type, messages.values)

    def infer(self, type: str, messages: Messages) -> Schema:
        return self.reader.infer(type, messages.values)


def reading(recipe: Recipe) -> Reading:
    """How the messages of this recipe are read."""
    shapes = recipe.shapes()
    if recipe.transforms or recipe.coerces:
        return Transforming(recipe.format, shapes, rules(recipe.transforms, recipe.nulls))
    return AsTheyCome(recipe.format.reader(shapes))
