"""Where a topic is read from when a pipeline never ran before: a policy, a time, or positions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator

LARGEST = 2**63 - 1


def _start(written: Any) -> Any:
    if isinstance(written, dict):
        return _positions(written)
    if written in ("earliest", "latest"):
        return written
    try:
        if isinstance(written, str) and datetime.fromisoformat(written).tzinfo is not None:
            return written
    except ValueError:
        pass
    raise ValueError(
        "is neither 'earliest', 'latest', a time with its zone such as 2026-01-31T12:00:00Z, "
        "nor the first position to read by partition such as {0: 11, 1: 5}"
    )


def _positions(written: dict[Any, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for partition, position in written.items():
        name = str(partition) if type(partition) is int else partition
        if not (isinstance(name, str) and name.isascii() and name.isdecimal() and len(name) < 10):
            raise ValueError("names a partition that is not a number")
        if type(position) is not int or not 0 <= position <= LARGEST:
            raise ValueError(f"names no position for partition {int(name)}: a position is a whole number from 0 on")
        if str(int(name)) in found:
            raise ValueError(f"names partition {int(name)} twice")
        found[str(int(name))] = position
    if not found:
        raise ValueError("names no partition")
    return found


Start = Annotated[str | dict[str, int], BeforeValidator(_start)]
