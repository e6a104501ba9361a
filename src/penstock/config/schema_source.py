"""How messages are encoded and where their schemas are: `--json`, `--avro` and the others, one of them at most."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from penstock.config.flags import Given
from penstock.config.ingest_options import FORMATS
from penstock.errors import ConfigError, refused, shown

_SPOKEN = {
    "json": "JSON with a schema registry",
    "avro": "Avro",
    "protobuf": "Protobuf",
    "soe-avro": "Avro in single-object encoding",
}


@dataclass(frozen=True)
class SchemaSource:
    """A schema registry, a file or folder of schemas, or (both unset) nothing: messages speak for themselves."""

    registry: str | None = field(default=None, repr=False)  # it may hold a password
    path: Path | None = None


@dataclass(frozen=True)
class Encoding:
    """One way to encode messages."""

    name: str = "json"
    schemas: SchemaSource = SchemaSource()
    by: str = "--json"


def encoding(given: Given) -> Encoding:
    """What the format options say. Raises ConfigError if they contradict each other or lead nowhere."""
    named = [name for name in FORMATS if name in given]
    if len(named) > 1:
        both = " and ".join(given.by(name) for name in named)
        raise refused("usage.formats", f"{both} cannot be given together", "messages have one format: leave one")
    if not named:
        return Encoding()
    name = named[0]
    by, text = given.by(name), given.text(name)
    if name == "aidl":
        raise refused(
            "usage.aidl", f"{by}: this format needs parts that its authors never published", "use another format"
        )
    return Encoding(name, _schemas(text, by, files=name != "json"), by)


def settings(found: Encoding, *, gzip: bool) -> Any:
    """The format as a pipeline declares it. Raises ConfigError for those that penstock cannot read yet."""
    if found.name != "json" or found.schemas.registry:
        raise refused(
            "usage.format-later",
            f"{found.by}: penstock cannot read {_SPOKEN[found.name]} yet",
            "it reads JSON without a registry, which needs no option",
        )
    return {"json": {"gzip": True}} if gzip else "json"


def _schemas(text: str, by: str, *, files: bool) -> SchemaSource:
    if text.startswith("http"):
        return SchemaSource(registry=_url(text, by))
    if not text or not files:
        return SchemaSource()
    if not _exists(text):
        raise refused("usage.schema-file", f"{by}: the file '{shown(text)}' is not found", "correct the path")
    return SchemaSource(path=Path(text))


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long, or with a null character
        return False


def _url(text: str, by: str) -> str:
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise _bad_url("…" if "@" in text else shown(text), by)
    return text.rstrip("/")


def _bad_url(told: str, by: str) -> ConfigError:
    return refused("usage.url", f"{by}: '{told}' is an invalid URL", "write it as http://host:8081")
