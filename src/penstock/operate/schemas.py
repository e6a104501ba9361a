"""Schemas and where they are kept: what a pipeline or an address names, and what is put there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr, ValidationError

from penstock.errors import ConfigError, PenstockError, refused, shown
from penstock.formats.avro import AvroFormat
from penstock.formats.mixed import MixedFormat
from penstock.formats.protobuf import ProtobufFormat
from penstock.operate.plain_places import Folder, Keys
from penstock.operate.schema_places import NEWEST, SchemaPlace, Subjects, Which, obstacles, unusable
from penstock.operate.schema_records import SPARK, Kept, kind_of, records
from penstock.pipeline import Pipeline
from penstock.registries.answers import Reference
from penstock.registries.confluent import ConfluentRegistry
from penstock.registries.file_types import FileTypes
from penstock.registries.files import load
from penstock.registries.policy import endpoint, without_credentials
from penstock.registries.redis import RedisTypes

KINDS = {"avro": "AVRO", "protobuf": "PROTOBUF", "json": "JSON", "spark": SPARK}

# --- which place is meant ------------------------------------------------------------------------


def places(pipeline: Pipeline) -> list[SchemaPlace]:
    """The places that a pipeline gets schemas from, each once."""
    found: list[SchemaPlace] = []
    if isinstance(pipeline.registry, RedisTypes):
        found.append(Keys(pipeline.registry))
    elif isinstance(pipeline.registry, FileTypes):
        found.append(Folder(Path(pipeline.registry.path), SPARK))
    for place in _of_format(pipeline.format):
        if place.address not in {known.address for known in found}:
            found.append(place)
    return found


def _of_format(format: Any) -> Iterator[SchemaPlace]:
    if isinstance(format, MixedFormat):
        for each in format.formats.values():
            yield from _of_format(each)
        return
    registry = getattr(format, "registry", None)
    if isinstance(registry, ConfluentRegistry):
        yield Subjects(registry)
    elif isinstance(format, AvroFormat) and (path := format.single_object or format.reader_schema):
        yield Folder(Path(path), "AVRO")
    elif isinstance(format, ProtobufFormat) and format.descriptors:
        yield Folder(Path(format.descriptors), "PROTOBUF")


def chosen(pipeline: Pipeline | None, address: str | None, environ: Mapping[str, str]) -> list[SchemaPlace]:
    """The places that are meant: the one at an address, or all of a pipeline. One that the pipeline has too is
    reached as the pipeline says."""
    own = [] if pipeline is None else places(pipeline)
    if address is not None:
        place = place_at(address, environ)
        return [each for each in own if each.address.rstrip("/") == place.address.rstrip("/")] or [place]
    if pipeline is None:
        raise refused(
            "usage.no-registry",
            "no registry is given",
            "name a pipeline file, or --registry http://host:8081, redis://host:6379/0 or a folder",
        )
    if not own:
        raise refused(
            "usage.no-registry",
            "the pipeline has no registry: neither `registry` nor its format names one",
            "name one with --registry",
        )
    return own


def only(found: Sequence[SchemaPlace]) -> SchemaPlace:
    """The one place that is meant."""
    if len(found) > 1:
        told = ", ".join(place.address for place in found)
        raise refused(
            "usage.which-registry", f"the pipeline has several registries: {shown(told)}", "choose one with --registry"
        )
    return found[0]


# --- addresses -----------------------------------------------------------------------------------


def place_at(address: str, environ: Mapping[str, str]) -> SchemaPlace:
    """The place that an address means. Credentials come from the environment: everybody can see a command line."""
    scheme = address.partition("://")[0].lower() if "://" in address else ""
    try:
        split = urlsplit(address)
        if scheme and split.password:
            raise refused(
                "usage.registry",
                "the address of a registry must not hold a password",
                "set SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD, or REDIS_USERNAME and REDIS_PASSWORD",
            )
        if scheme in ("http", "https"):
            return Subjects(_confluent(address, environ))
        if scheme in ("redis", "rediss"):
            return Keys(_redis(address, environ))
    except ValidationError as why:
        told = "; ".join(each["msg"].removeprefix("Value error, ") for each in why.errors())
        raise _no_address(told) from None
    except ValueError as why:
        raise _no_address(str(why)) from None
    if scheme or not address.strip() or "\0" in address:
        raise _no_address("is neither http://, https://, redis:// or rediss://, nor a folder")
    return Folder(Path(address).expanduser())


def _no_address(why: str) -> ConfigError:
    return refused("usage.registry", f"--registry {why}", "write http://host:8081, redis://host:6379/0 or a folder")


def _confluent(address: str, environ: Mapping[str, str]) -> ConfluentRegistry:
    endpoint(address)
    given: dict[str, Any] = {"url": without_credentials(address).rstrip("/")}
    if username := unquote(urlsplit(address).username or "") or environ.get("SCHEMA_REGISTRY_USERNAME"):
        given |= {"username": username, "password": _secret(environ, "SCHEMA_REGISTRY_PASSWORD")}
    return ConfluentRegistry.model_validate(given | {"proxy": _secret(environ, "SCHEMA_REGISTRY_PROXY")})


def _redis(address: str, environ: Mapping[str, str]) -> RedisTypes:
    split = urlsplit(address)
    asked, number = dict(parse_qsl(split.query, keep_blank_values=True)), split.path.strip("/") or "0"
    if asked.keys() - {"prefix"} or split.fragment or not (number.isascii() and number.isdecimal() and len(number) < 6):
        raise ValueError("is not an address such as redis://localhost:6379/0?prefix=types:")
    given: dict[str, Any] = {"db": int(number), "tls": split.scheme.lower() == "rediss", **asked}
    given |= {"host": split.hostname or "localhost", "port": 6379 if split.port is None else split.port}
    username = unquote(split.username or "") or environ.get("REDIS_USERNAME") or None
    return RedisTypes.model_validate(given | {"username": username, "password": _secret(environ, "REDIS_PASSWORD")})


def _secret(environ: Mapping[str, str], name: str) -> SecretStr | None:
    return SecretStr(environ[name]) if environ.get(name) else None


# --- schemas in files, on their way to a place ---------------------------------------------------


@dataclass(frozen=True)
class Draft:
    """A schema in a file that is not registered yet: what it is, and what it refers to."""

    schema: Kept
    references: tuple[Reference, ...] = ()


def draft(name: str, file: Path, kind: str | None, references: Sequence[Reference], place: SchemaPlace) -> Draft:
    """The schema in a file, as a place would keep it under a name. Raises PenstockError if nobody could use it."""
    check_name(name)
    found = _read(name, file, kind, place)
    whole = place.needed(found, references)
    try:
        records(whole)
    except ValueError as why:
        raise unusable(replace(whole, name=str(file)), why) from None
    return Draft(whole, tuple(references))


def _read(name: str, file: Path, kind: str | None, place: SchemaPlace) -> Kept:
    if not file.is_file():
        raise refused("usage.schema-file", f"there is no file {shown(str(file))}", "name one file with a schema")
    try:
        ((_, content),) = load(file).items()
        text = "" if file.suffix == ".desc" else content.decode("utf-8")
    except ValueError as why:
        raise refused("usage.schema-file", str(why), "name one file with a schema") from None
    found = kind or (SPARK if _holds_types(place) else kind_of(file.suffix, text))
    if not text:
        return Kept(name, "PROTOBUF", "", descriptors=content)
    if _holds_types(place) != (found == SPARK) and not isinstance(place, Folder):
        what = "the JSON that Spark writes" if _holds_types(place) else "Avro, Protobuf or JSON Schema"
        raise refused(
            "usage.kind", f"{shown(place.address)} holds schemas as {what}, not {found}", "give another file, or --kind"
        )
    if isinstance(place, Folder) and place.kind not in (None, found):
        raise refused("usage.kind", f"{shown(place.address)} holds schemas of {place.kind}, not {found}", "")
    return Kept(name, found, text)


def _holds_types(place: SchemaPlace) -> bool:
    return isinstance(place, Keys) or (isinstance(place, Folder) and place.kind == SPARK)


def check_name(name: str) -> None:
    """Names go into questions, files and lines: only whole texts can."""
    if not name or len(name) > 1_000 or name != name.encode("utf-8", "replace").decode():
        raise refused("usage.name", f"'{shown(name)}' cannot be the name of a schema", "give it a name")


def reference(written: str) -> Reference:
    """`name=subject:version` as it was typed."""
    name, _, target = written.partition("=")
    subject, _, version = target.rpartition(":")
    if not (name and subject and version.isascii() and version.isdecimal() and 0 < len(version) < 10):
        raise refused(
            "usage.reference",
            f"--reference '{shown(written)}' is not name=subject:version",
            "write it as shop.Money=money-value:1",
        )
    return Reference(name, subject, int(version))


@dataclass(frozen=True)
class Registration:
    """What became of a schema that somebody wanted to register."""

    name: str
    address: str
    obstacles: tuple[str, ...] = ()
    id: int | None = None
    is_done: bool = False


def register(place: SchemaPlace, made: Draft, *, dry_run: bool) -> Registration:
    """Register a schema, unless the place has something against it, or nothing is to be done."""
    if made.schema.descriptors:
        raise refused(
            "usage.schema-file", "a file that protoc wrote is not registered", "register the .proto file that it is of"
        )
    told = Registration(made.schema.name, place.address)
    if found := obstacles(place, made.schema, made.references):
        return replace(told, obstacles=tuple(found))
    if dry_run:
        return told
    return replace(told, id=place.register(made.schema, made.references), is_done=True)


def find(place: SchemaPlace, name: str, which: Which = NEWEST) -> Kept:
    """The schema of a name, which must be there."""
    check_name(name)
    found = place.find(name, which)
    if found is None:
        raise PenstockError(
            "registry.no-subject",
            f"there is no '{shown(name)}' in {shown(place.address)}",
            "`penstock schemas list` shows what there is",
        )
    return found
