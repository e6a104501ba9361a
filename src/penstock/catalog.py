"""The tables of an app as the driver knows them: which types have one, where, and with which columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from penstock.contracts import File, Shape, Share, Table, TableState
from penstock.errors import Complaint, ConfigError, TableRefused, Transient
from penstock.known_types import KnownTypes
from penstock.landing.letter_columns import letter_schema
from penstock.landing.recipe import Target
from penstock.merging import extended, settled
from penstock.messages import RESCUED, SOURCE_COLUMNS, UNROUTED_COLUMNS
from penstock.new_columns import admitted, leaves, tells_too_wide
from penstock.pace import Pace
from penstock.partitioning import partitioned
from penstock.pipeline import Pipeline, TableSpec
from penstock.places import LETTERS, UNROUTED, OpenStorage, ledger_location, storage_options
from penstock.schema import STRING, Field, Schema, Struct
from penstock.storage import Storage, absolute, child
from penstock.tables.names import table_name, type_name

OpenTable = Callable[[str, str, Mapping[str, str]], Table]


@dataclass(frozen=True)
class Growth:
    """What the driver made of the columns that waiting messages brought."""

    targets: Mapping[str, Target]
    refused: Mapping[str, tuple[str, str]]
    frozen: frozenset[str] = frozenset()  # known types that may not grow any further


class Catalog:
    """Types, their tables and their shapes."""

    def __init__(self, pipeline: Pipeline, open_table: OpenTable, open_storage: OpenStorage) -> None:
        self._pipeline, self._open_table, self._open_storage = pipeline, open_table, open_storage
        self.base = absolute(pipeline.tables.base)
        self.letters_location = absolute(pipeline.dead_letters.table or child(self.base, "dead_letters"))
        self.ledger_location = ledger_location(pipeline)
        self.options = storage_options(pipeline)
        self._stores: dict[str, Storage] = {}
        self._tables: dict[str, Table] = {}
        self.targets: dict[str, Target] = {}  # type → its table
        self.existing: set[str] = set()  # names of tables that are there, or decided to be
        letters = Shape(letter_schema(pipeline.dead_letters.transforms), "freeze")
        self.letters = Target(LETTERS, self.letters_location, letters, ("date",))
        self.unrouted = Target(UNROUTED, self.location(UNROUTED), Shape(UNROUTED_COLUMNS, "freeze"), ("type",))
        if complaints := self._complaints():
            raise ConfigError(complaints)
        self.pace = Pace(pipeline.tables.new_per_hour, pipeline.tables.new_columns_per_hour)
        self.known = KnownTypes(pipeline.registry, self.storage(self.ledger_location))
        self._registered: Mapping[str, Schema] = {}
        self._declare({type: spec.declared for type, spec in pipeline.tables.types.items() if spec.declared})

    # --- where things are

    @property
    def app(self) -> str:
        return self._pipeline.app

    def location(self, name: str) -> str:
        return self.letters_location if name == LETTERS else child(self.base, name)

    def open(self, name: str) -> Table:
        """The table of this name: always the same object, which may remember what it has seen."""
        if name not in self._tables:
            self._tables[name] = self._open_table(self.location(name), self._pipeline.app, self.options)
        return self._tables[name]

    def held(self, *name: str) -> str:
        """Where files wait whose table's place could not be written."""
        return child(self.ledger_location, "held", *name)

    def missing(self, name: str, files: Iterable[File]) -> list[str]:
        """Those of a table's files that are not there."""
        return self.storage(self.location(name)).missing([file.path for file in files])

    def storage(self, location: str) -> Storage:
        if location not in self._stores:
            self._stores[location] = self._open_storage(location)
        return self._stores[location]

    def folders(self) -> list[str]:
        """Names under the base that could be tables of ours, whoever made them."""
        found = self.storage(self.base).folders()
        return [name for name in found if not self._is_letters(name) and not name.startswith((".", "_"))]

    def _is_letters(self, name: str) -> bool:
        """Would a type's table be where the dead letters are? Some places do not tell case apart."""
        return child(self.base, name).lower() == self.letters_location.lower()

    def _complaints(self) -> list[Complaint]:
        """Types that the configuration names and that could never have a table of their own."""
        names: set[str] = set()
        found = []
        for type, spec in self._pipeline.tables.types.items():
            try:
                names.add(self._own_name(type, names).lower())
            except _Refused as why:
                text = f"it can have no table of its own: {why.text}"
                remedy = "give the type another name, or the dead letters another table"
                found.append(Complaint(f"tables.types.{type}", text, remedy, "config.reserved-type"))
                continue
            given = spec.declared or Struct()
            if leaves(self._first_columns(type, given)) != leaves(given):
                text = "its schema has a name that is penstock's own, or names that differ only in case"
                found.append(Complaint(f"tables.types.{type}", text, "rename the column", "config.reserved-column"))
        return found + self._reserved_targets()

    def _reserved_targets(self) -> list[Complaint]:
        """Transforms that set a column which penstock fills itself: with one, no message of a table would be a row."""
        tables, found = self._pipeline.tables, []
        reserved = self._reserved(tables.defaults).union(*(self._reserved(tables.spec(type)) for type in tables.types))
        for target in self._pipeline.transforms:
            if (column := target.strip().partition(".")[0].lower()) in reserved:
                text = f"the target begins with {column}, a column of penstock's own in a table of this pipeline"
                remedy = "give the target another name"
                found.append(Complaint(f"transforms.{target.strip()}", text, remedy, "config.reserved-column"))
        return found

    # --- what tables look like

    def know(self, name: str, state: TableState | None) -> None:
        """Take over what was found of a table: its columns are what rows of its type must have."""
        if state is not None:
            self._learn(name, state.schema, state.partition_by)

    def look_again(self) -> None:
        """Take over what a registry says, and columns that somebody else gave to tables. Where messages may bring
        columns themselves, this is done when they do; elsewhere their field would be dropped or refused."""
        found = self.known.refresh()
        news = [type for type in found if found[type] != self._registered.get(type)]
        self._registered = found
        self._declare(news)
        for target in [target for target in self.targets.values() if target.shape.evolve != "add"]:
            if target.name in self.existing:
                self.know(target.name, self._look(target.name))

    def _declare(self, types: Iterable[str]) -> None:
        """Types whose columns somebody declared have their table in mind before the first message."""
        for type in types:
            if known := self.targets.get(type):
                spec = self._pipeline.tables.spec(type)
                self.targets[type] = self._placed(type, spec, known.shape.schema, known.partition_by)
                continue
            with suppress(_Refused):  # whoever sends such messages is told
                self._own_name(type, {target.name.lower() for target in self.targets.values()})
                self.targets[type] = self._target(type, self._declared(type))

    def _declared(self, type: str) -> Schema:
        """The columns that somebody said a type has: the pipeline itself, else the registry."""
        own, found = self._pipeline.tables.spec(type).declared, self._registered.get(type)
        if own is not None or found is None:
            return own or Struct()
        return self._pipeline.envelope.around(found) if self._pipeline.envelope else found

    def expect(self, name: str, share: Share, state: TableState | None) -> None:
        """Take over what was decided for a table that does not show it yet, or that nobody can look at."""
        columns = share.schema if state is None else extended(state.schema, share.schema)
        self._learn(name, columns, share.partition_by)

    def _learn(self, name: str, columns: Schema, partition_by: tuple[str, ...]) -> None:
        self.existing.add(name)
        if name not in (LETTERS, UNROUTED):
            type = type_name(name)
            spec = self._pipeline.tables.spec(type)
            self.targets[type] = self._placed(type, spec, columns.without(self._reserved(spec)), partition_by)

    def grow(self, seen: Mapping[str, Schema]) -> Growth:
        """Shapes for messages that wait: new tables for new types, new columns for known ones."""
        targets, refused, frozen = dict(self.targets), {}, set()
        self.pace.begin()
        for type in sorted(seen):
            try:
                targets[type] = self._grown(type, seen[type], targets)
            except _Refused as why:
                if type in self.targets:
                    targets[type] = _frozen(self.targets[type])
                    frozen.add(type)
                else:
                    refused[type] = why.code, why.text
        return Growth(targets, refused, frozenset(frozen))

    def settle(self, growth: Growth, entry_tables: Iterable[str]) -> None:
        """The batch was decided: what it created and added is known from now on."""
        self.pace.settle()
        self.existing |= set(entry_tables)
        self.targets.update(
            {t: g for t, g in growth.targets.items() if g.name in self.existing and t not in growth.frozen}
        )

    def schema(self, target: Target) -> Schema:
        """All columns that files of a table have."""
        own = SOURCE_COLUMNS.fields if target.source_columns else ()
        return Struct((*target.shape.columns, *own))

    def _grown(self, type: str, seen: Schema, targets: Mapping[str, Target]) -> Target:
        known = targets.get(type)
        if known is None:
            name = self._new_name(type, targets)
            state = self._look(name)
            if state is not None:
                self.know(name, state)
                known = self.targets[type]
        if known is None:
            return self._limited(self._target(type, self._first_columns(type, seen)), is_wide=tells_too_wide(seen))
        if known.shape.evolve != "add":
            return self._limited(known, leaves(known.shape.schema))
        have = self._current(known)
        grown = extended(have, admitted(seen, have, known.shape.reserved))
        return self._limited(replace(known, shape=replace(known.shape, schema=grown)), leaves(have))

    def _first_columns(self, type: str, seen: Schema) -> Schema:
        """The columns of a new type; of names that differ only in case, the one it is partitioned by stays."""
        spec, found = self._pipeline.tables.spec(type), settled(seen)
        named = [name for name in spec.partition_by or () if name in found or self._is_explicit(type)]
        return admitted(found, Struct(tuple(Field(name, STRING) for name in named)), self._reserved(spec))

    def _current(self, known: Target) -> Schema:
        """The columns of a known type, with those that somebody else gave its table meanwhile: what
        messages bring for them must have their type, or the table could not take the files."""
        state, have = self._look(known.name), known.shape.schema
        return extended(have, admitted(state.schema, have, known.shape.reserved)) if state else have

    def _look(self, name: str) -> TableState | None:
        """A table that somebody else may have made. If it cannot be read or written, its batches wait
        until it can, and only they."""
        try:
            return self.open(name).state()
        except (Transient, TableRefused):
            return None

    def _limited(self, target: Target, had: int = 0, is_wide: bool = False) -> Target:
        """The target, if its columns are not too many. Those that its table has already may be."""
        limit, count = self._pipeline.tables.max_columns, leaves(target.shape.schema)
        if not count and not is_wide:
            raise _Refused("schema.no-columns", "no message of this type has had a field with a value yet")
        if not count or count > max(limit, had):
            raise _Refused("schema.too-many-columns", f"the type has more than {limit} columns")
        if not had and not self.pace.allows("tables"):
            raise _Refused("type.pace", "as many tables were made within the hour as tables.new_per_hour allows")
        if had and count > had and not self.pace.allows("columns", count - had):
            raise _Refused("schema.pace", "tables got as many columns within the hour as they may")
        return target

    def _own_name(self, type: str, names: Collection[str]) -> str:
        """The name of a type's table, where these (in lower case) are taken."""
        try:
            name = table_name(type)
        except ValueError as why:
            raise _Refused("type.name", str(why)) from None
        if self._is_letters(name):
            raise _Refused("type.reserved", "the type has the name of the dead-letter table")
        if name.lower() in names:
            raise _Refused("type.case-clash", "another type's name differs only in case")
        return name

    def _new_name(self, type: str, targets: Mapping[str, Target]) -> str:
        names = {target.name.lower() for target in targets.values()}
        name = self._own_name(type, names)
        if len(names) >= self._pipeline.tables.limit:
            raise _Refused("type.limit", f"there are {len(names)} tables, as many as tables.limit allows")
        return name

    def _target(self, type: str, columns: Schema) -> Target:
        spec = self._pipeline.tables.spec(type)
        schema, partition_by = partitioned(columns, spec, explicit=self._is_explicit(type))
        return self._placed(type, spec, schema, partition_by)

    def _placed(self, type: str, spec: TableSpec, columns: Schema, partition_by: tuple[str, ...]) -> Target:
        """A type's table. What is declared beyond the columns that it has is added with its next batch,
        under every policy."""
        name = table_name(type)
        whole = extended(columns, admitted(self._declared(type), columns, self._reserved(spec)))
        shape = Shape(whole, spec.evolve or "add", self._reserved(spec), bool(spec.coerce))
        return Target(name, self.location(name), shape, partition_by, bool(spec.source_columns))

    def _is_explicit(self, type: str) -> bool:
        own = self._pipeline.tables.types.get(type)
        return own is not None and own.partition_by is not None

    def _reserved(self, spec: TableSpec) -> frozenset[str]:
        names = {RESCUED} if spec.evolve == "rescue" else set()
        return frozenset(names | ({f.name for f in SOURCE_COLUMNS} if spec.source_columns else set()))


class _Refused(Exception):
    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code, self.text = code, text


def _frozen(target: Target) -> Target:
    """A table that may not grow any more in this batch: what brings new columns is rejected."""
    return replace(target, shape=replace(target.shape, evolve="freeze"))
