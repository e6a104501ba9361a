"""From a file to a Pipeline, or to every complaint about it at once."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from penstock.config.document import Document, Location, read
from penstock.config.parts import known, part
from penstock.errors import Complaint, ConfigError
from penstock.pipeline import Pipeline
from penstock.route import SCHEMA_PARTS

_REFERENCE = re.compile(r"\$\{([^}]*)\}")
_ONE = {"sources": "source", "formats": "format", "registries": "registry"}
_UNION_STEPS = re.compile(r"^(literal\[|FieldRoute|HeaderRoute|ConstantRoute|tagged-union|function-)")


def load(path: str | Path, environ: Mapping[str, str] | None = None) -> Pipeline:
    """The pipeline that a YAML file declares. Raises ConfigError with everything that is wrong."""
    return declared(read(Path(path)), os.environ if environ is None else environ)


def declared(document: Document, environ: Mapping[str, str]) -> Pipeline:
    """The pipeline that settings declare, wherever they were written. Raises ConfigError with everything wrong."""
    content = _resolved(document.content, (), document, environ)
    if not isinstance(content, dict):
        document.complaints.append(Complaint(document.name, "must hold the settings of a pipeline, by name"))
        raise ConfigError(document.complaints)
    found = dict(content)
    for kind, key in (("sources", "source"), ("formats", "format"), ("registries", "registry")):
        if key in found:
            found[key] = _part(kind, (key,), found[key], document)
    pipeline: Pipeline | None = _validated(Pipeline, found, (), document)
    _check_table_format(content, document)
    _check_route(pipeline, document)
    if document.complaints or pipeline is None:
        raise ConfigError(sorted(document.complaints, key=_line))
    return pipeline


def fingerprint(pipeline: Pipeline) -> str:
    """A short hash of what a pipeline declares, without its secrets."""
    told = {name: _plain(getattr(pipeline, name)) for name in ("source", "format", "registry")}
    told |= pipeline.model_dump(mode="json", exclude={*told, "spark", "metrics"})
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    return (
        {type(value).__name__: value.model_dump(mode="json")} if isinstance(value, BaseModel) else type(value).__name__
    )


# --- references to the environment ---------------------------------------------------------------


def _resolved(value: Any, at: Location, document: Document, environ: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _resolved(inner, (*at, name), document, environ) for name, inner in value.items()}
    if isinstance(value, list):
        return [_resolved(inner, (*at, i), document, environ) for i, inner in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value

    def replace(found: re.Match[str]) -> str:
        kind, _, name = found[1].partition(":")
        if kind != "env" or not name:
            _complain(document, at, f"'{found[0]}' is not a reference", "write ${env:NAME}", "config.reference")
        elif name not in environ:
            _complain(
                document,
                at,
                f"the environment variable {name} is not set",
                "set it, or write the value itself",
                "config.not-set",
            )
        return environ.get(name, "") if kind == "env" else ""

    return _REFERENCE.sub(replace, value)


# --- parts ---------------------------------------------------------------------------------------


def _part(kind: str, at: Location, given: Any, document: Document) -> Any:
    """A part written as `name` or `{name: {settings}}`."""
    key = document.called(at)
    if isinstance(given, str):
        given = {given: {}}
    if not isinstance(given, dict) or len(given) != 1:
        _complain(document, at, f"{key} must name exactly one of: {', '.join(sorted(known(kind)))}")
        return object()
    name, settings = next(iter(given.items()))
    if name not in known(kind):
        near = _near(name, known(kind))
        _complain(
            document,
            (*at, name),
            f"there is no {_ONE[kind]} called '{name}'",
            near or f"there is: {', '.join(sorted(known(kind)))}",
            "config.unknown-part",
        )
        return object()
    model, settings = part(kind, name), settings if settings is not None else {}
    found = _validated(model, _with_parts(model, settings, (*at, name), document), (*at, name), document)
    return object() if found is None else found


def _with_parts(model: type[Any], settings: Any, at: Location, document: Document) -> Any:
    """Settings of a part that has parts of its own, by name, with those made."""
    for field, kind in getattr(model, "PARTS", {}).items():
        inner = settings.get(field) if isinstance(settings, dict) else None
        if isinstance(inner, dict):
            made = {name: _part(kind, (*at, field, name), each, document) for name, each in inner.items()}
            settings = settings | {field: made}
    return settings


def _check_table_format(content: dict[str, Any], document: Document) -> None:
    tables = content.get("tables")
    name = tables.get("format", "delta") if isinstance(tables, dict) else "delta"
    if isinstance(name, str) and name not in known("tables"):
        near = _near(name, known("tables"))
        _complain(
            document,
            ("tables", "format"),
            f"there is no table format called '{name}'",
            near or f"there is: {', '.join(sorted(known('tables')))}",
            "config.unknown-part",
        )


def _check_route(pipeline: Pipeline | None, document: Document) -> None:
    """A part of a schema can name types only where messages have schemas with that part."""
    if pipeline is None or type(pipeline.format) is object:  # what is wrong with it was said
        return
    by, can = pipeline.route.by, getattr(pipeline.format, "routes", ())
    if by in SCHEMA_PARTS and by not in can:
        what = f"route.by is {by}, and messages in this format have no such thing"
        there = ", ".join((*can, "topic", "key", "{field: …}", "{header: …}"))
        _complain(document, ("route", "by"), what, f"types can come from: {there}", "config.route")


# --- complaints ----------------------------------------------------------------------------------


def _validated(model: type[Any], given: Any, at: Location, document: Document) -> Any:
    try:
        return model.model_validate(given)
    except ValidationError as errors:
        told: set[tuple[Location, str]] = set()
        for error in errors.errors(include_input=False, include_url=False):
            place = (*at, *(step for step in error["loc"] if not _UNION_STEPS.match(str(step))))
            complaint = _complaint(error, place, model, at, document)
            if (place, complaint.what) not in told:
                told.add((place, complaint.what))
                document.complaints.append(complaint)
        return None


def _complaint(error: Any, place: Location, model: type[Any], at: Location, document: Document) -> Complaint:
    name, where = document.called(place), document.where(place)
    parent = document.called(place[:-1]) or "a pipeline"
    match error["type"]:
        case "extra_forbidden":
            fields = _fields(model, place[len(at) : -1])
            near = _near(str(place[-1]), fields)
            return Complaint(
                where,
                f"{parent} has no field '{place[-1]}'",
                near or f"it has: {', '.join(sorted(fields))}",
                "config.unknown-field",
            )
        case "missing":
            return Complaint(where, f"{parent} needs '{place[-1]}'", code="config.missing-field")
        case "value_error":
            return Complaint(where, f"{name} {error['ctx']['error']}")
    return Complaint(where, f"{name}: {error['msg'][0].lower()}{error['msg'][1:]}")


def _fields(model: type[Any], path: Location) -> set[str]:
    """The field names of the model that a path leads to."""
    current: Any = model
    for step in path:
        if not (isinstance(current, type) and issubclass(current, BaseModel)):
            return set()
        found = current.model_fields.get(str(step))
        current = _inner(found.annotation) if found else current
    if not (isinstance(current, type) and issubclass(current, BaseModel)):
        return set()
    return {field.alias or name for name, field in current.model_fields.items()}


def _inner(annotation: Any) -> Any:
    """The model inside an annotation: of the field itself, or of a mapping's values."""
    if isinstance(annotation, type):
        return annotation
    models = [
        arg for arg in getattr(annotation, "__args__", ()) if isinstance(arg, type) and issubclass(arg, BaseModel)
    ]
    return models[0] if models else None


def _near(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else ""


def _complain(document: Document, at: Location, what: str, remedy: str = "", code: str = "config.invalid") -> None:
    document.complaints.append(Complaint(document.where(at), what, remedy, code))


def _line(complaint: Complaint) -> int:
    found = re.search(r":(\d+)$", complaint.where)
    return int(found[1]) if found else 0
