"""Which tables the messages of a schema would end in, and with which columns. Tables are only looked at."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import re2

from penstock.catalog import Catalog
from penstock.config.parts import part
from penstock.contracts import Shape
from penstock.formats.mixed import MixedFormat
from penstock.formats.protobuf import ProtobufFormat
from penstock.landing.changes import change
from penstock.landing.recipe import Target
from penstock.operate.looking import Looking
from penstock.operate.schema_records import PLAIN, Reading
from penstock.pipeline import Pipeline
from penstock.places import storage_options
from penstock.route import ConstantRoute
from penstock.schema import Schema
from penstock.tables.names import table_name
from penstock.transforms.expressions import Declines
from penstock.transforms.rules import rules


@contextmanager
def looking(pipeline: Pipeline) -> Iterator[Catalog]:
    """The pipeline's tables, for reading."""
    options, open_table = storage_options(pipeline), part("tables", pipeline.tables.format)
    with tempfile.TemporaryDirectory(prefix="penstock-schemas-") as empty:
        yield Catalog(pipeline, open_table, lambda location: Looking(location, options, Path(empty)))


def reading(pipeline: Pipeline | None) -> Reading:
    """How a pipeline reads Protobuf, if it does."""
    format = None if pipeline is None else pipeline.format
    for each in format.formats.values() if isinstance(format, MixedFormat) else [format]:
        if isinstance(each, ProtobufFormat):
            return Reading(each.flatten, each.message, is_one=each.descriptors is not None)
    return PLAIN


def type_of(pipeline: Pipeline, name: str, record: str, *, is_type: bool) -> str | None:
    """The type that messages of a schema have; None where the schema alone does not tell. `is_type`: its name is
    that of a type, as in a registry of types."""
    by = pipeline.route.by
    if is_type:
        return name
    if isinstance(by, ConstantRoute):
        return by.constant
    if by == "topic":
        return getattr(pipeline.source, "topic", None)
    return {"record": record, "subject": name}.get(by) if isinstance(by, str) else None


def held(pipeline: Pipeline, schema: Schema, *, is_type: bool) -> Schema | None:
    """What messages hold after all that the pipeline does to them; None if that is told by messages only.
    The schema of a type is that of its payload."""
    if is_type and pipeline.envelope is not None:
        schema = pipeline.envelope.around(schema)
    envelope = None if is_type else pipeline.envelope
    made = rules(pipeline.transforms, pipeline.transform_nulls)
    if envelope is None and not pipeline.transforms:
        return schema
    try:
        return change(envelope, made).program(schema).schema
    except Declines:
        return None


@dataclass(frozen=True)
class Fate:
    """What would become of messages of one type: their table as it is and as it would be, or why there is none."""

    type: str
    is_new: bool = False
    before: Shape | None = None
    after: Target | None = None
    columns: Schema | None = None  # all of the table's, afterwards
    refused: str = ""
    note: str = ""


def fate(catalog: Catalog, pipeline: Pipeline, type: str, seen: Schema, *, is_type: bool) -> Fate:
    """What a run would do with messages of a type that hold this."""
    if pipeline.route.allow is not None and not re2.search(pipeline.route.allow, type):
        return Fate(type, note="route.allow does not let the type in: its messages are filtered")
    try:
        name = table_name(type)
    except ValueError as why:
        return Fate(type, refused=str(why))
    state = catalog.open(name).state()
    if state is not None and state.unwritable:
        return Fate(type, refused=f"the table cannot be written: {state.unwritable}")
    if pipeline.registry is not None and not is_type:
        catalog.look_again()
    catalog.know(name, state)
    if type not in catalog.targets and not is_type and pipeline.route.unrouted != "create":
        return _unrouted(type, pipeline.route.unrouted)
    if is_type and (known := catalog.targets.get(type)):  # what is registered is added under every policy
        catalog.targets[type] = replace(known, shape=replace(known.shape, evolve="add"))
    return _grown(catalog, type, seen, is_new=state is None)


def _grown(catalog: Catalog, type: str, seen: Schema, *, is_new: bool) -> Fate:
    known, growth = catalog.targets.get(type), catalog.grow({type: seen})
    if type in growth.refused:
        code, text = growth.refused[type]
        return Fate(type, refused=f"{text} [{code}]")
    after = growth.targets[type]
    before = after.shape if type in growth.frozen else known.shape if known else None
    return Fate(type, is_new, before, after, catalog.schema(after))


def _unrouted(type: str, policy: str) -> Fate:
    told = f"the type has no table, and route.unrouted is {policy}"
    if policy == "dead-letter":
        return Fate(type, refused=f"{told}: its messages become dead letters")
    return Fate(type, note=f"{told}: its messages are {'kept aside' if policy == 'keep' else 'filtered'}")
