"""Messages that were kept and must be kept again, because their files vanished before the table took them."""

from __future__ import annotations

from dataclasses import replace

from penstock.formats.admission import UNROUTED
from penstock.landing.identify import identify
from penstock.landing.reading import reading
from penstock.landing.recipe import Recipe
from penstock.messages import Messages, Reject

UNKNOWN = "(unknown)"
"""The type of a message that had one when it was kept, and of which nobody can tell it any more."""


def kept_again(messages: Messages, recipe: Recipe) -> list[Reject]:
    """All of them, each with its type: told as if no type had a table. They are kept whatever is said of them today."""
    bare = replace(recipe, targets={}, refused={}, allow=None, unrouted="keep")
    named, types, _ = identify(messages, recipe.by)
    found = reading(bare).sort(named, types).rejects
    told = {int(named.positions[reject.at]): reject.type for reject in found if reject.stage == UNROUTED}
    text = "landed again; it was kept with the batch's first landing"
    return [
        Reject(at, UNROUTED, "reland", text, told.get(int(position)) or UNKNOWN)
        for at, position in enumerate(messages.positions)
    ]
