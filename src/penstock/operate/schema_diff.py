"""What tables would do if producers began to use another schema: which columns would come, which values would still
fit, and which messages would become dead letters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Literal

from penstock.contracts import Shape
from penstock.merging import settled, wider
from penstock.new_columns import admitted
from penstock.operate.schema_records import SPARK, Kept, records
from penstock.operate.schema_tables import fate, held, looking, reading, type_of
from penstock.pipeline import Pipeline
from penstock.schema import Array, Decimal, Field, Map, Schema, Struct, Type
from penstock.values.fit import fit
from penstock.values.plain import Number, Refusal, under

Word = Literal["added", "fits", "widened", "partly", "refused", "dropped", "rescued", "ignored"]
_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}


@dataclass(frozen=True)
class Change:
    """What would happen to one column, and to the values that come for it."""

    path: str
    word: Word
    have: str = ""
    given: str = ""
    why: str = ""


@dataclass(frozen=True)
class Effect:
    """What one table would do: one that is there, one that would be made, or one that an earlier version made."""

    record: str
    against: str
    changes: tuple[Change, ...] = ()
    table: str | None = None
    is_new: bool = False
    refused: str = ""
    note: str = ""
    decides: bool = True

    def has(self, *words: Word) -> bool:
        return any(change.word in words for change in self.changes)

    @property
    def is_refused(self) -> bool:
        return bool(self.refused) or self.has("refused")


@dataclass(frozen=True)
class Difference:
    """All that would change."""

    name: str
    effects: tuple[Effect, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Would no message be refused for sure?"""
        return not any(effect.is_refused for effect in self.effects if effect.decides)

    @property
    def is_strictly_ok(self) -> bool:
        """Would every message be a row?"""
        return self.ok and not any(effect.has("widened", "partly") for effect in self.effects if effect.decides)


def difference(new: Kept, old: Kept | None, pipeline: Pipeline | None, type: str | None = None) -> Difference:
    """What would change if messages were written with the new schema. `type` is theirs, if the schema does not
    tell. A ValueError if a schema cannot be used."""
    return _Comparison(new, old, pipeline, type).made()


@dataclass(frozen=True)
class _Comparison:
    new: Kept
    old: Kept | None
    pipeline: Pipeline | None
    type: str | None

    def made(self) -> Difference:
        way = reading(self.pipeline)
        new = records(self.new, way)
        notes = [] if self.old else [f"nothing is registered as {self.new.name} yet"]
        before = _paired(new, records(self.old, way)) if self.old else {}
        versions = [self._against_version(name, new[name], old) for name, old in before.items()]
        tables = list(self._against_tables(new, versions)) if self.pipeline else []
        there = {effect.record for effect in tables if not effect.is_new and not effect.note}
        versions = [replace(effect, decides=effect.record not in there) for effect in versions]
        notes += [f"{name} is new in the schema" for name in new if self.old and name not in before]
        effects = [*versions, *tables]
        return Difference(self.new.name, tuple(e for e in effects if e.table or not e.note), (*notes, *_told(tables)))

    def _against_version(self, record: str, given: Schema, old: Schema) -> Effect:
        assert self.old is not None
        against = f"version {self.old.version}" if self.old.version is not None else "what is registered"
        have = admitted(settled(old), Struct())
        return Effect(record, against, tuple(_Comparing(Shape(have), self._is_json).struct(have, given, "")))

    def _against_tables(self, new: dict[str, Schema], versions: list[Effect]) -> Iterator[Effect]:
        assert self.pipeline is not None
        is_type = self.new.kind == SPARK
        gone = {change.path for effect in versions for change in effect.changes if change.word == "dropped"}
        with looking(self.pipeline) as catalog:
            for record, schema in new.items():
                type = self.type or type_of(self.pipeline, self.new.name, record, is_type=is_type)
                given = held(self.pipeline, schema, is_type=is_type)
                if type is None or given is None:
                    yield Effect(record, "", note=_untold(record, type))
                    continue
                found = fate(catalog, self.pipeline, type, given, is_type=is_type)
                effect = Effect(record, f"table {type}", (), type, found.is_new, found.refused, found.note)
                if found.after is not None:
                    effect = replace(effect, changes=tuple(self._changes(found.before, found.after.shape, given, gone)))
                yield effect

    @property
    def _is_json(self) -> bool:
        return self.new.kind in ("JSON", SPARK)

    def _changes(self, before: Shape | None, after: Shape, given: Schema, gone: set[str]) -> Iterator[Change]:
        shape = before or after
        if before is None:  # of a new table, everything is
            yield from (Change(under("", field.name), "added", given=str(field.type)) for field in after.schema)
        yield from self._sure(_Comparing(shape, self._is_json).struct(shape.schema, given, ""), gone)

    def _sure(self, changes: Iterator[Change], gone: set[str]) -> Iterator[Change]:
        """JSON may hold what its schema does not name: only what an earlier version named is surely gone."""
        for change in changes:
            if change.word != "dropped" or not self._is_json or change.path in gone:
                yield change


def _told(tables: list[Effect]) -> list[str]:
    return [effect.note for effect in tables if effect.note and effect.table is None]


def _untold(record: str, type: str | None) -> str:
    if type is None:
        return f"the schema does not tell which type messages of {record} have: give --type to compare with its table"
    return f"what the pipeline makes of {record} is told by messages only: `penstock plan` looks at some"


def _paired(new: dict[str, Schema], old: dict[str, Schema]) -> dict[str, Schema]:
    """The earlier columns of each record. One that is alone on both sides may have another name."""
    if len(new) == len(old) == 1:
        return dict(zip(new, old.values(), strict=True))
    return {name: old[name] for name in new if name in old}


# --- columns -------------------------------------------------------------------------------------


class _Comparing:
    """A table's columns on one side, what messages would hold on the other. Whether values fit is asked of `fit`."""

    def __init__(self, shape: Shape, is_json: bool) -> None:
        self._shape, self._is_json = shape, is_json

    def struct(self, have: Struct, given: Struct, path: str) -> Iterator[Change]:
        for field in given:
            column, place = have.get(field.name), under(path, field.name)
            if column is None:
                yield self._unknown(field, have, place, is_inside=bool(path))
            else:
                yield from self._value(column, field.type, place)
        for column in have:
            if column.name not in given:
                why = "the column must not be null, and nothing comes for it" if column.required else ""
                place = under(path, column.name)
                yield Change(place, "refused" if why else "dropped", str(column.type), why=why)

    def _unknown(self, field: Field, have: Struct, path: str, *, is_inside: bool) -> Change:
        """A field without a column."""
        given, evolve = str(field.type), self._shape.evolve
        if evolve in ("rescue", "ignore"):
            return Change(path, "rescued" if evolve == "rescue" else "ignored", given=given)
        why = ""
        if evolve == "freeze":
            why = "the table has no such column and may not get one"
        elif not is_inside and field.name.lower() in self._shape.reserved:
            why = "the name is a column of penstock's own in this table"
        elif twin := have.twin(field.name):
            why = f"the name differs from column '{twin.name}' only in case"
        return Change(path, "refused" if why else "added", given=given, why=why)

    def _value(self, column: Field, given: Type, path: str) -> Iterator[Change]:
        have = column.type
        if have == given:
            return
        if isinstance(have, Struct) and isinstance(given, Struct):
            yield from self.struct(have, given, path)
        elif isinstance(have, Array) and isinstance(given, Array):
            yield from self._value(Field("", have.of), given.of, f"{path}[]")
        else:
            yield Change(path, self._word(column, given), str(have), str(given))

    def _word(self, column: Field, given: Type) -> Word:
        shape = Shape(Struct((Field("value", column.type),)), "freeze", coerce=self._shape.coerce)
        fitting = [_fits(value, shape) for value in examples(given, is_json=self._is_json)]
        if all(fitting):
            return "fits"
        if self._shape.evolve == "rescue" and not column.required:
            return "rescued"
        if not any(fitting):
            return "refused"
        return "widened" if wider(column.type, given) == given else "partly"


def _fits(value: Any, shape: Shape) -> bool:
    try:
        fit({"value": value}, shape)
    except Refusal:
        return False
    return True


def examples(kind: Type, *, is_json: bool) -> list[Any]:
    """Values of a type as messages hold them, the smallest and the largest among them. Where messages are JSON, a
    number without a fraction may be written without one."""
    if isinstance(kind, Array):
        return [[each] for each in examples(kind.of, is_json=is_json)]
    if isinstance(kind, Map):
        return [{"key": each} for each in examples(kind.of, is_json=is_json)]
    if isinstance(kind, Struct):
        columns = [examples(field.type, is_json=is_json) for field in kind]
        return [dict(zip((f.name for f in kind), row, strict=True)) for row in zip_longest(*columns)] or [{}]
    if isinstance(kind, Decimal):
        digits = "9" * (kind.precision - kind.scale) or "0"
        return [Number("0"), Number(f"{digits}.{'9' * kind.scale}" if kind.scale else digits)]
    if kind.name in _BITS:
        edge = 2 ** (_BITS[kind.name] - 1)
        return [Number("0"), Number(str(edge - 1)), Number(str(-edge))]
    return [*_EXAMPLES[kind.name], *([Number("12")] if is_json and kind.name in ("double", "float") else [])]


_EXAMPLES: dict[str, list[Any]] = {
    "string": ["a text", "2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00", "AAAA"],
    "double": [Number("0.5"), Number("1e+300")],
    "float": [Number("0.5"), Number("3e+38")],
    "boolean": [True, False],
    "date": ["2026-01-01"],
    "timestamp": ["2026-01-01T00:00:00.000001Z"],
    "timestamp_ntz": ["2026-01-01T00:00:00.000001"],
    "binary": ["/w=="],
    "json": ["a text", Number("1"), True, [Number("1")], {"key": "a text"}],
    "nothing": [],
}
