"""The columns of a batch while rules set and remove some of them, also inside structs."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.arrow import arrow_schema, arrow_type
from penstock.schema import BOOLEAN, DOUBLE, LONG, NOTHING, STRING, Array, Field, Schema, Struct, Type
from penstock.transforms.cells import Cells, Mask, as_kind, either, mask_of, nulls, together
from penstock.transforms.expressions import Declines


class Branch:
    """An object with its fields apart, so that they can be set. `there` are the rows that have it; None: all."""

    def __init__(self, fields: dict[str, Cells | Branch], there: Mask | None) -> None:
        self.fields, self.there = fields, there


class Columns:
    """What the rows hold, as the rules change it."""

    def __init__(self, rows: pa.RecordBatch, schema: Schema) -> None:
        self._count = rows.num_rows
        fields = {field.name: Cells(field.type, rows.column(at)) for at, field in enumerate(schema)}
        self._root = Branch(dict(fields), None)

    def set(self, path: tuple[str, ...], cells: Cells, on_null: Literal["remove", "keep"]) -> Mask | None:
        """Give each row its value at a place. Returns the rows that have to be declined for it."""
        if cells.kind == NOTHING:
            if on_null == "remove":
                self._remove(path)
            return None
        without = nulls(cells.values)
        declined: Mask | None = None
        branch = self._root
        for name in path[:-1]:
            branch, lost = self._inside(branch, name, without)
            declined = either(declined, lost)
        if on_null == "keep" and without is not None and (before := branch.fields.get(path[-1])) is not None:
            cells, lost = _kept(cells, without, self._together(before))
            declined = either(declined, lost)
        branch.fields[path[-1]] = cells
        return declined

    def _remove(self, path: tuple[str, ...]) -> None:
        """Where there is no such thing, nothing is changed."""
        branch = self._root
        for name in path[:-1]:
            inner = branch.fields.get(name)
            if isinstance(inner, Cells):
                _refuse_opaque(inner.kind, name)
                if not isinstance(inner.kind, Struct):
                    return
                inner = branch.fields[name] = _apart(inner, inner.kind)
            if inner is None:
                return
            branch = inner
        branch.fields.pop(path[-1], None)

    def _inside(self, branch: Branch, name: str, without: Mask | None) -> tuple[Branch, Mask | None]:
        """The object of this name, there in every row that gets a value; and the rows to decline because
        something else of that name stays, which no column could hold beside objects."""
        inner = branch.fields.get(name)
        stays: Mask | None = None
        if inner is None:
            inner = Branch({}, np.zeros(self._count, bool))
        elif isinstance(inner, Cells):
            _refuse_opaque(inner.kind, name)
            if isinstance(inner.kind, Struct):
                inner = _apart(inner, inner.kind)
            else:
                stays = None if without is None else without & mask_of(inner.values.is_valid())
                inner = Branch({}, np.zeros(self._count, bool))
        branch.fields[name] = inner
        if inner.there is not None:
            inner.there = None if without is None else inner.there | ~without
        return inner, stays

    def _together(self, branch: Cells | Branch) -> Cells:
        if isinstance(branch, Cells):
            return branch
        fields = {name: self._together(field) for name, field in branch.fields.items()}
        kind = Struct(tuple(Field(name, cells.kind) for name, cells in fields.items()))
        if not fields:
            validity = None if branch.there is None else pa.array(branch.there).buffers()[1]
            return Cells(kind, pa.Array.from_buffers(pa.struct([]), self._count, [validity]))
        mask = None if branch.there is None else pa.array(~branch.there)
        values = [cells.values for cells in fields.values()]
        return Cells(kind, pa.StructArray.from_arrays(values, fields=list(arrow_type(kind)), mask=mask))

    def rows(self) -> tuple[pa.RecordBatch, Schema]:
        """What the rows hold now."""
        all_of_it = self._together(self._root)
        assert isinstance(all_of_it.kind, Struct)
        if not all_of_it.kind.fields:
            return pa.RecordBatch.from_struct_array(all_of_it.values), all_of_it.kind
        columns = all_of_it.values.flatten()
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(all_of_it.kind)), all_of_it.kind


def _apart(cells: Cells, kind: Struct) -> Branch:
    values = cells.values
    inner = values.flatten()  # what a row without the object has in its fields does not show
    fields = {field.name: Cells(field.type, inner[at]) for at, field in enumerate(kind)}
    without = nulls(values)
    return Branch(dict(fields), None if without is None else ~without)


def _kept(cells: Cells, without: Mask, before: Cells) -> tuple[Cells, Mask | None]:
    """The new values, and where there is none the old one; and the rows where that is of another type."""
    kind = together(cells.kind, before.kind)
    if kind is None or isinstance(kind, Struct | Array):
        return cells, without & mask_of(before.values.is_valid())
    (new, unsure), (old, unsure_too) = as_kind(cells, kind), as_kind(before, kind)
    return Cells(kind, pc.coalesce(new, old)), either(unsure, unsure_too)


def _refuse_opaque(kind: Type, name: str) -> None:
    if not isinstance(kind, Struct | Array) and kind not in (LONG, DOUBLE, STRING, BOOLEAN):
        raise Declines(f"a target inside '{name}', which is {kind}")
