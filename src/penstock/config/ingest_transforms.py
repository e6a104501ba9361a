"""Transforms as kafka-delta-ingest takes them: `PROPERTY: SOURCE`, several of them."""

from __future__ import annotations

from functools import partial

from penstock.config.flags import Given
from penstock.errors import refused, shown


def transforms(given: Given, option: str) -> dict[str, str]:
    """Dotted paths and their sources, in order. One value may hold several, separated by '^'.

    They are applied one after the other, so of two for one path the last counts, at its own place.
    """
    found: dict[str, str] = {}
    for text in (piece for value in given.texts(option) for piece in value.split("^") if piece.strip()):
        path, source = given.attempt(partial(_path_and_source, text, given.by(option)), ("", ""))
        found.pop(path, None)
        found[path] = source
    return found


def _path_and_source(text: str, by: str) -> tuple[str, str]:
    path, colon, source = (part.strip() for part in text.partition(":"))
    if not colon:
        raise refused(
            "usage.transform",
            f"{by}: '{shown(text)}' - Each transform argument must be colon delimited and match the "
            "pattern 'PROPERTY: SOURCE'",
            "write it as 'day: substr(created, `0`, `10`)'; several in one value are separated by '^'",
        )
    return path, source
