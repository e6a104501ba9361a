"""The corpus, one payload at a time: the reference path and the fast path say of each what the corpus says."""

from __future__ import annotations

import pytest

from penstock.arrow import arrow_schema
from penstock.contracts import Shape, Shapes
from penstock.messages import SOURCE_COLUMNS
from penstock.schema import columns
from tests.formats.json.corpus import BAD, FORMAT, ODD, TYPES, Bad, Odd
from tests.formats.json.oracle import Fate, expected, filled, found, shown

RESERVED = frozenset(field.name for field in SOURCE_COLUMNS)
SHAPES = Shapes(
    {
        name: Shape(columns(spec.columns or {}), spec.evolve or "add", RESERVED if spec.source_columns else frozenset())
        for name, spec in TYPES.items()
    },
    "type",
)
DRIVERS = {"type.case-clash", "type.reserved", "partition.empty"}
"""Codes that only show when the driver names tables, or when files are written."""


def is_decided_alone(bad: Bad) -> bool:
    is_named_by_the_driver = bad.code == "type.name" and len(bad.value) < 1_000
    return not (bad.code in DRIVERS or is_named_by_the_driver or bad.name == "5,000 new fields")


@pytest.mark.parametrize("bad", [bad for bad in BAD if is_decided_alone(bad)], ids=lambda bad: bad.name[:60])
def test_bad_payload_is_refused_on_both_paths(bad: Bad) -> None:
    reader = FORMAT.reader(SHAPES)
    [fate] = found(reader, [bad.value], None, SHAPES)
    assert (fate.what, fate.detail) == ("reject", f"{bad.stage} {bad.code}")
    if not bad.is_stub:
        assert fate == expected(bad.value, None, SHAPES) or bad.code == "type.name"


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.name)
def test_odd_payload_is_its_row_on_both_paths(odd: Odd) -> None:
    schema = SHAPES.types[odd.type].schema
    row = Fate("row", odd.type, shown([filled(odd.row, schema)], arrow_schema(schema)))
    assert expected(odd.value, None, SHAPES) == row
    assert found(FORMAT.reader(SHAPES), [odd.value] * 3, None, SHAPES) == [row] * 3


def test_corpus_is_as_large_as_promised_and_all_different() -> None:
    assert len({bad.value for bad in BAD}) == len({bad.name for bad in BAD}) == len(BAD) >= 130
    assert len({odd.value for odd in ODD}) == len({odd.name for odd in ODD}) == len(ODD) >= 40
