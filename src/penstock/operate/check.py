"""Check: will this pipeline run here? Asks the broker and the table location, and changes nothing that stays."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from penstock.contracts import Refreshes
from penstock.engine.java import java
from penstock.errors import PenstockError
from penstock.ledger import Ledger
from penstock.pipeline import Pipeline
from penstock.places import LETTERS
from penstock.protocol.begin import Accepted, beginning
from penstock.protocol.entry import Place
from penstock.protocol.plan import backlog
from penstock.running import catalog_of
from penstock.storage import Storage, absolute
from penstock.transforms.program import ways
from penstock.transforms.rules import rules


@dataclass(frozen=True)
class Finding:
    """One thing that was tried: it works, or why not."""

    what: str
    ok: bool
    told: str = ""


def check(pipeline: Pipeline) -> Iterator[Finding]:
    """Try one thing after the other, and go on after a failure: every complaint in one run."""
    for target, way in ways(rules(pipeline.transforms, pipeline.transform_nulls)):
        yield Finding(f"transform {target}", True, way)
    yield _try("Java for Spark", java)
    yield from _schemas(pipeline)
    yield _try(f"source {_name(pipeline)}", lambda: _source(pipeline))
    yield _try("write to the table location", lambda: _writable(absolute(pipeline.tables.base), pipeline))
    yield _try("write the ledger, exactly one winner", lambda: _exclusive(pipeline))
    yield _try("tables that are there", lambda: _tables(pipeline))
    yield _try("where it would go on", lambda: _position(pipeline))


def _try(what: str, attempt: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, attempt())
    except PenstockError as why:
        return Finding(what, False, str(why))


def _name(pipeline: Pipeline) -> str:
    return str(getattr(pipeline.source, "topic", type(pipeline.source).__name__))


def _source(pipeline: Pipeline) -> str:
    identity, bounds = pipeline.source.identity(), pipeline.source.bounds()
    held = sum(bound.next - bound.first for bound in bounds.values())
    return (
        f"{len(bounds)} partitions, {held:,} positions held; cluster {identity.home}, topic id {identity.incarnation}"
    )


def _schemas(pipeline: Pipeline) -> Iterator[Finding]:
    """Schema files are read, registries are asked."""
    if isinstance(pipeline.format, Refreshes):
        yield _try("schema files", lambda: "read, where there are any" if pipeline.format.refreshed() else "")
    if (registry := getattr(pipeline.format, "registry", None)) is not None:
        yield _try("schema registry", lambda: f"{len(registry.subjects()):,} subjects")
    if pipeline.registry is not None:
        yield _try("registry of types", lambda: f"{len(pipeline.registry.types().types):,} types")


def _writable(location: str, pipeline: Pipeline) -> str:
    storage = catalog_of(pipeline).storage(location)
    probe = f"_penstock/{pipeline.app}/probe-{uuid.uuid4().hex}"
    storage.put(probe, b"penstock check")
    storage.delete([probe])
    return location


def _exclusive(pipeline: Pipeline) -> str:
    storage = _ledger_storage(pipeline)
    probe = f"probe-{uuid.uuid4().hex}"
    first, second = storage.create(probe, b"1"), storage.create(probe, b"2")
    storage.delete([probe])
    if not first or second:
        raise PenstockError(
            "ledger.not-exclusive",
            f"{storage.location} lets two writers create the same file",
            "use storage with conditional writes",
        )
    return storage.location


def _tables(pipeline: Pipeline) -> str:
    catalog = catalog_of(pipeline)
    states = {name: catalog.open(name).state() for name in (*catalog.folders(), LETTERS)}
    there = {name: state for name, state in states.items() if state is not None}
    if bad := {name: state.unwritable for name, state in there.items() if state.unwritable}:
        raise PenstockError(
            "table.unwritable",
            "; ".join(f"{name}: {why}" for name, why in bad.items()),
            "choose another base, or rewrite these tables",
        )
    return (
        ", ".join(f"{name} (batch {state.carried})" for name, state in sorted(there.items()))
        or "none yet: they are created at need"
    )


def _position(pipeline: Pipeline) -> str:
    head = Ledger(_ledger_storage(pipeline)).head()
    catalog = catalog_of(pipeline)
    place = Place(pipeline.tables.format, catalog.base, catalog.letters_location)
    bounds = pipeline.source.bounds()
    begin = beginning(head, pipeline.source.identity(), place, bounds, Accepted())
    waiting = sum(end - start for start, end in backlog(begin.ends, bounds).values())
    return f"{'after entry ' + str(head.number) if head else 'at its first start'}: {waiting:,} positions to read"


def _ledger_storage(pipeline: Pipeline) -> Storage:
    catalog = catalog_of(pipeline)
    return catalog.storage(catalog.ledger_location)
