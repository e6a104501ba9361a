"""`penstock schemas`: what a registry holds, whatever kind of registry it is, and what a new schema would do."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators
from rich.console import Console

from penstock.cli.reporting import reporting
from penstock.config.load import load
from penstock.errors import refused, shown
from penstock.operate.schema_diff import difference
from penstock.operate.schema_places import NEWEST, SchemaPlace, Subjects, Which, unusable
from penstock.operate.schema_records import Kept
from penstock.operate.schemas import KINDS, Draft, check_name, chosen, find, only, reference
from penstock.operate.schemas import draft as read
from penstock.operate.schemas import register as put
from penstock.operate.show_schemas import (
    difference_values,
    line_values,
    show_columns,
    show_difference,
    show_lines,
    show_registration,
    show_statements,
)
from penstock.pipeline import Pipeline

Name = Annotated[str, Parameter(help="The subject, the type, or the file.")]
SchemaFile = Annotated[Path, Parameter(help="A file with a schema: .avsc, .proto or .json.")]
PipelineFile = Annotated[Path | None, Parameter(help="The pipeline's YAML file, whose registry is meant.")]
Registry = Annotated[
    str | None,
    Parameter(help="The registry itself: http://host:8081, redis://host:6379/0?prefix=types:, or a folder."),
]
AsJson = Annotated[bool, Parameter(name="--json", help="Print it as JSON.", negative="")]


@dataclass(frozen=True)
class Written:
    """What a file's schema is, and what it refers to."""

    kind: Annotated[
        Literal["avro", "protobuf", "json", "spark"] | None,
        Parameter(help="What kind of schema it is. Not given, the file tells."),
    ] = None
    reference: Annotated[
        tuple[str, ...],
        Parameter(help="What it refers to, name=subject:version. May be given more than once.", negative=""),
    ] = ()


@dataclass(frozen=True)
class Judged:
    """How a difference is looked at."""

    type: Annotated[str | None, Parameter(help="The type of its messages, if the schema does not tell.")] = None
    strict: Annotated[bool, Parameter(help="Fail if there may be a value that does not fit.", negative="")] = False
    as_json: AsJson = False


@reporting
def list_all(pipeline: PipelineFile = None, *, registry: Registry = None, as_json: AsJson = False) -> int:
    """List every subject with its versions, every type or every file; with the reason, those that cannot be used."""
    _, found = _meant(pipeline, registry)
    listed = [(place, list(place.lines())) for place in found]
    if as_json:
        print(json.dumps([line_values(place, line) for place, lines in listed for line in lines], indent=1))
    else:
        for place, lines in listed:
            show_lines(place, lines, Console())
    return 0


@reporting
def show(
    name: Name,
    pipeline: PipelineFile = None,
    *,
    registry: Registry = None,
    version: Annotated[
        int | None, Parameter(help="Not the newest but this version.", validator=validators.Number(gte=1, lt=2**31))
    ] = None,
    id: Annotated[
        int | None, Parameter(help="The schema with this id.", validator=validators.Number(gte=0, lt=2**32))
    ] = None,
    form: Annotated[
        Literal["text", "columns", "ddl"],
        Parameter(name="--as", help="As it is registered, or what a table would get of it."),
    ] = "text",
) -> int:
    """Show a schema as it is registered, or the columns that a table would get of it."""
    if version is not None and id is not None:
        raise refused("usage.version-and-id", "--version and --id mean the same schema", "give one of them")
    declared, found = _meant(pipeline, registry)
    schema = find(only(found), name, Which(version, id) if (version, id) != (None, None) else NEWEST)
    if form == "text":
        _print_text(schema)
        return 0
    try:
        (show_columns if form == "columns" else show_statements)(schema, declared, Console())
    except ValueError as why:
        raise unusable(schema, why) from None
    return 0


@reporting
def register(
    name: Name,
    file: SchemaFile,
    pipeline: PipelineFile = None,
    *,
    registry: Registry = None,
    written: Annotated[Written | None, Parameter(name="*")] = None,
    dry_run: Annotated[
        bool, Parameter(name="--dry-run", help="Check the schema and ask the registry; change nothing.", negative="")
    ] = False,
) -> int:
    """Register a schema, after it was checked: one that penstock could not use is refused, and so is one that the
    registry calls incompatible."""
    place = only(_meant(pipeline, registry)[1])
    told = put(place, _draft(name, file, written or Written(), place), dry_run=dry_run)
    show_registration(told, Console())
    return 1 if told.obstacles else 0


@reporting
def diff(
    name: Name,
    file: SchemaFile,
    pipeline: PipelineFile = None,
    *,
    registry: Registry = None,
    written: Annotated[Written | None, Parameter(name="*")] = None,
    judged: Annotated[Judged | None, Parameter(name="*")] = None,
) -> int:
    """Show what tables would do if producers began to use the schema in a file: columns that would come, values that
    would not fit. Nothing is written."""
    declared, found = _meant(pipeline, registry)
    place, given, wanted = only(found), written or Written(), judged or Judged()
    check_name(name)
    old, new = place.find(name), _draft(name, file, _with_references(given, name, place), place).schema
    if old is not None and old.kind != new.kind:
        raise refused(
            "usage.kind",
            f"{shown(file.name)} is a schema of {new.kind}, and '{shown(name)}' is one of {old.kind}",
            "give another file, or --kind",
        )
    try:
        told = difference(new, old, declared, wanted.type)
    except ValueError as why:
        raise unusable(old or new, why) from None
    if wanted.as_json:
        print(json.dumps(difference_values(told), indent=1))
    else:
        show_difference(told, Console())
    return 0 if (told.is_strictly_ok if wanted.strict else told.ok) else 1


def _with_references(written: Written, name: str, place: SchemaPlace) -> Written:
    """What is compared refers to what the newest version refers to, unless told otherwise."""
    if written.reference or not isinstance(place, Subjects):
        return written
    return Written(written.kind, tuple(f"{r.name}={r.subject}:{r.version}" for r in place.references(name)))


def _meant(pipeline: Path | None, registry: str | None) -> tuple[Pipeline | None, list[SchemaPlace]]:
    declared = None if pipeline is None else load(pipeline)
    return declared, chosen(declared, registry, os.environ)


def _draft(name: str, file: Path, written: Written, place: SchemaPlace) -> Draft:
    kind = None if written.kind is None else KINDS[written.kind]
    return read(name, file, kind, [reference(each) for each in written.reference], place)


def _print_text(schema: Kept) -> None:
    """As it was registered, so that it can be kept in a file; on a terminal, without what would steer it."""
    if schema.descriptors:
        raise refused("usage.not-text", f"{shown(schema.name)} holds no text", "show it with --as columns")
    lines = schema.text.split("\n")
    if sys.stdout.isatty():
        lines = [shown(line.replace("\t", "    "), len(line) * 4 + 1) for line in lines]
    text = "\n".join(lines)
    sys.stdout.write(text + ("" if text.endswith("\n") else "\n"))
