"""How messages are encoded and where their schemas are: `--json`, `--avro` and the others, one of them at most.

A registry may want a user. Whichever way that was given, a variable stands for it in everything that can be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.config.document import Location
from penstock.config.flags import Given
from penstock.config.ingest_options import FORMATS
from penstock.errors import ConfigError, refused, shown
from penstock.registries.policy import credentials, endpoint, without_credentials

USERNAME, PASSWORD, PROXY = "SCHEMA_REGISTRY_USERNAME", "SCHEMA_REGISTRY_PASSWORD", "SCHEMA_REGISTRY_PROXY"
_FILES = {"avro": "schema", "soe-avro": "single_object"}  # formats with schemas in files, and their name for the place
_PARTS = {"json": "json_schema", "avro": "avro", "protobuf": "protobuf", "soe-avro": "avro"}
# A table of kafka-delta-ingest has no structs for nested messages, and what a type does not have is a dead letter.
_AS_BEFORE: dict[str, dict[str, Any]] = {"protobuf": {"flatten": True, "unknown_fields": "refuse"}}


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

    @property
    def is_registered(self) -> bool:
        """Do messages name the schema that they were written with, and with it their type? Else that is the topic."""
        return self.schemas.registry is not None

    @property
    def is_plain_json(self) -> bool:
        return self.name == "json" and not self.is_registered

    @property
    def user(self) -> tuple[str, str] | None:
        """The user and the password in the URL of the registry."""
        return credentials(self.schemas.registry) if self.schemas.registry else None


@dataclass(frozen=True)
class RegistryAccess:
    """How a registry is spoken to, the option or variable behind each setting, and what stands in for secrets."""

    settings: dict[str, str] = field(default_factory=dict)
    by: dict[str, str] = field(default_factory=dict)
    stand_ins: dict[str, str] = field(default_factory=dict, repr=False)


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
    found = Encoding(name, _schemas(name, text, by), by)
    _check_schemas(found)
    return found


def registry_access(found: Encoding, environ: Mapping[str, str]) -> RegistryAccess:
    """The settings of the registry that messages are encoded with; none if there is none. Raises ConfigError if it is
    not clear which user is meant."""
    access, url = RegistryAccess(), found.schemas.registry
    if url is None:
        return access
    _take(access, "url", without_credentials(url), found.by)
    if found.user is not None:
        _take_user(access, found, environ)
    elif environ.get(USERNAME):
        _take(access, "username", _reference(USERNAME), USERNAME)
        if environ.get(PASSWORD):
            _take(access, "password", _reference(PASSWORD), PASSWORD)
    if environ.get(PROXY):
        _take(access, "proxy", _reference(PROXY), PROXY)
    return access


def settings(found: Encoding, access: RegistryAccess, *, gzip: bool) -> Any:
    """The format as a pipeline declares it."""
    if found.is_plain_json:
        return {"json": {"gzip": True}} if gzip else "json"
    part, more = _PARTS[found.name], _AS_BEFORE.get(found.name, {})
    if found.is_registered:
        return {part: {"registry": access.settings, **more}}
    return {part: {_FILES[found.name]: str(found.schemas.path)}} if found.schemas.path else part


def said(found: Encoding, access: RegistryAccess) -> dict[Location, str]:
    """Where each setting of the format stands → what gave it."""
    told: dict[Location, str] = {("format",): found.by}
    if found.is_registered:
        registry = ("format", _PARTS[found.name], "registry")
        told |= {registry: found.by} | {(*registry, name): by for name, by in access.by.items()}
    return told


# --- schemas -------------------------------------------------------------------------------------


def _schemas(name: str, text: str, by: str) -> SchemaSource:
    if text.startswith("http"):
        return SchemaSource(registry=_url(text, by))
    if not text or name == "json":
        return SchemaSource()
    if not _exists(text):
        raise refused("usage.schema-file", f"{by}: the file '{shown(text)}' is not found", "correct the path")
    return SchemaSource(path=Path(text))


def _check_schemas(found: Encoding) -> None:
    """Not every format can do with every place for schemas."""
    path = found.schemas.path
    if found.name == "protobuf" and not found.is_registered:
        raise refused(
            "usage.needs-registry",
            f"{found.by}: it needs the URL of a schema registry",
            "write it as http://host:8081; messages of one type are also read without a registry, with a pipeline "
            "file: `format: {protobuf: {descriptors: ...}}`",
        )
    if found.name == "soe-avro" and path is None:
        raise refused(
            "usage.needs-files", f"{found.by}: it needs a schema file, or a folder of them", "write it as ./schemas"
        )
    if found.name == "avro" and path is not None and path.is_dir():
        raise refused(
            "usage.schema-folder",
            f"{found.by}: '{shown(str(path))}' is a folder, and containers are read with one schema",
            "name the file in it",
        )


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long, or with a null character
        return False


# --- the registry --------------------------------------------------------------------------------


def _url(text: str, by: str) -> str:
    """A URL whose secrets are where they are known to be: in its user, if at all."""
    try:
        good = endpoint(text).port > 0 and "@" not in without_credentials(text)
    except ValueError:
        good = False
    if not good:
        raise _bad_url("…" if any(mark in text for mark in "@?#") else shown(text), by)
    return text.rstrip("/")


def _bad_url(told: str, by: str) -> ConfigError:
    return refused("usage.url", f"{by}: '{told}' is an invalid URL", "write it as http://host:8081")


def _take_user(access: RegistryAccess, found: Encoding, environ: Mapping[str, str]) -> None:
    """The user in the URL, under the names of the variables that would have given it."""
    if variables := " and ".join(name for name in (USERNAME, PASSWORD) if environ.get(name)):
        raise refused(
            "usage.registry-user",
            f"{found.by} holds a user, and {variables} may mean another",
            "give the user once: in the variables, where it is not shown",
        )
    assert found.user is not None
    for name, variable, secret in zip(("username", "password"), (USERNAME, PASSWORD), found.user, strict=True):
        if secret or name == "username":
            _take(access, name, _reference(variable), found.by)
            access.stand_ins[variable] = secret


def _take(access: RegistryAccess, name: str, value: str, by: str) -> None:
    access.settings[name], access.by[name] = value, by


def _reference(variable: str) -> str:
    return f"${{env:{variable}}}"
