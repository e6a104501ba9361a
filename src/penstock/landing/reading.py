"""Reading: from messages to rows, as the format has them or changed on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.contracts import Reader, Shapes
from penstock.landing.changes import change
from penstock.landing.recipe import Recipe
from penstock.landing.transforming import Transforming
from penstock.messages import Columns, Messages, Reject, Row, Sorted
from penstock.schema import Schema
from penstock.transforms.rules import rules
from penstock.values.fit import Waits, fit
from penstock.values.plain import Refusal


class Reading(Protocol):
    """What a task asks about its messages: what the format's `Reader` knows, and rows made one by one."""

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted: ...

    def columns(self, type: str, runs: Sequence[Messages]) -> Columns: ...

    def rows(self, type: str, messages: Messages) -> Sorted: ...

    def infer(self, type: str, messages: Messages) -> Schema: ...


@dataclass(frozen=True)
class AsTheyCome:
    """Messages that are rows as the format has them."""

    reader: Reader
    shapes: Shapes

    def sort(self, messages: Messages, types: Sequence[str] | None) -> Sorted:
        return self.reader.sort(messages, types)

    def columns(self, type: str, runs: Sequence[Messages]) -> Columns:
        return self.reader.columns(type, Messages.joined(runs))

    def rows(self, type: str, messages: Messages) -> Sorted:
        found, waiting = Sorted(rows={type: []}), []
        for at in range(len(messages)):
            try:
                found.rows[type].append(Row(at, fit(self.reader.plain(messages, at), self.shapes.types[type])))
            except Waits:
                waiting.append(at)
            except Refusal as why:
                found.rejects.append(Reject(at, why.stage, why.code, why.text, type))
        if waiting:
            found.waiting[type] = np.array(waiting)
        return found

    def infer(self, type: str, messages: Messages) -> Schema:
        return self.reader.infer(type, messages)


def reading(recipe: Recipe) -> Reading:
    """How the messages of this recipe are read."""
    shapes = recipe.shapes()
    if recipe.transforms or recipe.coerces or recipe.envelope:
        return Transforming(recipe.format, shapes, change(recipe.envelope, rules(recipe.transforms, recipe.nulls)))
    return AsTheyCome(recipe.format.reader(shapes), shapes)
