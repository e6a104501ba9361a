"""Messages that need columns which their table did not get."""

from __future__ import annotations

from penstock.messages import Reject
from penstock.new_columns import tells_too_wide
from penstock.schema import Schema


def unsettled(type: str, count: int, told: Schema, limit: int) -> list[Reject]:
    """Why so many messages still wait when nothing may wait any more: they are too wide for their table."""
    if tells_too_wide(told):
        wide = f"with the columns of this message alone the table would have more than {limit}"
        return [Reject(at, "fit", "schema.too-many-columns", wide, type) for at in range(count)]
    lacking = "the table still lacks columns of this message after they were added"
    return [Reject(at, "fit", "schema.unsettled", lacking, type) for at in range(count)]
