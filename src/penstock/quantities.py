"""Durations and sizes as people write them: `10s`, `2m`, `512MB`, `8MiB`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def seconds(written: object) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", written) if isinstance(written, str) else None
    if found:
        return float(found[1]) * _SECONDS[found[2]]
    if isinstance(written, int | float) and not isinstance(written, bool) and written >= 0:
        return float(written)
    raise ValueError("is not a duration: write a number with a unit, such as 500ms, 10s, 2m or 1h")


def size(written: object) -> int:
    found = (
        re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]i?B|B)", written, re.IGNORECASE) if isinstance(written, str) else None
    )
    if found:
        return int(float(found[1]) * _BYTES[found[2].upper()])
    if isinstance(written, int) and not isinstance(written, bool) and written >= 0:
        return written
    raise ValueError("is not a size: write a number with a unit, such as 64KB, 512MB or 8MiB")


Duration = Annotated[float, BeforeValidator(seconds), PlainSerializer(lambda value: f"{value:g}s")]
Size = Annotated[int, BeforeValidator(size)]
