"""Schemas that lie in files beside a pipeline: read on the driver, taken along to workers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from penstock.errors import refused
from penstock.registries.files import SchemaFiles

Texts = Mapping[str, bytes]
"""The content of files by their names."""


@cache
def _files(path: str) -> SchemaFiles[dict[str, bytes]]:
    return SchemaFiles(path, dict)


def texts(path: str) -> dict[str, bytes]:
    """What the files hold now, or held when they were last good. Raises ConfigError if they never were."""
    try:
        return _files(path).newest()
    except ValueError as why:
        raise refused("config.schema-file", str(why), "correct the path or the file") from None
