"""What a table got from others before it was taken over: counted here, and not written again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.landing.recipe import Recipe
from penstock.landing.routing import SKIPPED, Routing
from penstock.messages import Indices, Messages, Reject


def needed(messages: Messages, table: str, recipe: Recipe, routing: Routing) -> Indices:
    """Which of these messages their table still needs. The others are marked as skipped."""
    before = _before(table, recipe, routing)
    routing.mark(messages.positions[messages.positions < before], SKIPPED)
    return np.flatnonzero(messages.positions >= before)


def still_rejected(messages: Messages, rejects: Sequence[Reject], recipe: Recipe, routing: Routing) -> list[Reject]:
    """Rejects without those of messages that a table's former writer has dealt with, whatever it made of
    them. Where nobody can tell the type, nobody can tell that either: the message stays a dead letter."""
    kept = []
    for reject in rejects:
        target = recipe.targets.get(reject.type) if reject.type is not None else None
        position = messages.positions[reject.at]
        if target is not None and position < _before(target.name, recipe, routing):
            routing.mark(position, SKIPPED)
        else:
            kept.append(reject)
    return kept


def _before(table: str, recipe: Recipe, routing: Routing) -> int:
    return recipe.skips.get(table, {}).get(routing.slice.partition, 0)
