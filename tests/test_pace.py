"""Tables and columns come into being no faster than somebody allowed."""

from __future__ import annotations

from pathlib import Path

from penstock.catalog import Catalog
from penstock.pace import HOUR, Pace
from penstock.pipeline import Pipeline, Tables
from penstock.places import storage_opener
from penstock.schema import columns
from penstock.tables.delta import DeltaTable


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_as_many_as_allowed_and_no_more_until_an_hour_has_passed() -> None:
    clock = Clock()
    pace = Pace(2, None, clock)

    assert [pace.allows("tables") for _ in range(3)] == [True, True, False]
    pace.settle()
    pace.begin()
    assert not pace.allows("tables")
    clock.now = HOUR
    assert pace.allows("tables")


def test_what_was_never_decided_does_not_count() -> None:
    pace = Pace(1, 5, Clock())

    assert pace.allows("tables")
    assert pace.allows("columns", 5)
    pace.begin()

    assert pace.allows("tables")
    assert not pace.allows("columns", 6)


def _catalog(folder: Path, **limits: int) -> Catalog:
    pipeline = Pipeline(app="a", source=None, format=None, tables=Tables(base=str(folder), **limits))  # type: ignore[arg-type]
    return Catalog(pipeline, DeltaTable, storage_opener(pipeline))


def test_types_beyond_the_pace_are_refused_with_their_own_code(tmp_path: Path) -> None:
    catalog = _catalog(tmp_path, new_per_hour=1)

    growth = catalog.grow({"a": columns({"x": "long"}), "b": columns({"x": "long"})})

    assert [*growth.targets] == ["a"]
    assert growth.refused["b"][0] == "type.pace"


def test_columns_beyond_the_pace_freeze_their_table_for_the_batch(tmp_path: Path) -> None:
    catalog = _catalog(tmp_path, new_columns_per_hour=1)
    catalog.settle(catalog.grow({"a": columns({"x": "long"})}), ["a"])

    one = catalog.grow({"a": columns({"y": "long"})})
    catalog.settle(one, ["a"])
    more = catalog.grow({"a": columns({"z": "long"})})

    assert [field.name for field in one.targets["a"].shape.schema] == ["x", "y"]
    assert more.frozen == {"a"}
    assert more.targets["a"].shape.evolve == "freeze"
