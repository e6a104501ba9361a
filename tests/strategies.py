"""Generated schemas: what tables have, and what was seen in messages."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.schema import (
    BOOLEAN,
    DOUBLE,
    JSON,
    LONG,
    NOTHING,
    SCALARS,
    STRING,
    Array,
    Decimal,
    Field,
    Map,
    Scalar,
    Struct,
    Type,
)

NAMES = st.one_of(
    st.sampled_from(["a", "b", "c", "not", "null", "struct", ""]), st.text("aZ_0`<>,: .\né☃\U0001f600", max_size=4)
)

scalars: st.SearchStrategy[Type] = st.sampled_from(
    [*map(Scalar, sorted(SCALARS - {"nothing"})), Decimal(1, 0), Decimal(10, 2), Decimal(38, 38)]
)


def structs(inner: st.SearchStrategy[Type], required: st.SearchStrategy[bool]) -> st.SearchStrategy[Struct]:
    fields = st.builds(Field, NAMES, inner, required)
    return st.lists(fields, max_size=3, unique_by=lambda field: field.name.lower()).map(lambda fs: Struct(tuple(fs)))


types: st.SearchStrategy[Type] = st.recursive(
    scalars,
    lambda inner: st.one_of(inner.map(Array), inner.map(Map), structs(inner, st.booleans())),
    max_leaves=4,
)
"""Every type that can be written."""

schemas = structs(types, st.booleans())
"""What a table can have."""

seen_types: st.SearchStrategy[Type] = st.recursive(
    st.sampled_from([STRING, LONG, DOUBLE, BOOLEAN, JSON, NOTHING]),
    lambda inner: st.one_of(inner.map(Array), structs(inner, st.just(False))),
    max_leaves=4,
)
"""What messages can be seen to hold."""

seen_schemas = structs(seen_types, st.just(False))
