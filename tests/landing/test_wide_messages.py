"""Messages with more columns than a table may have, from messages to real tables: only they are dead letters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import audit
from penstock.pipeline import Pipeline
from penstock.testing import MemorySource, land_all
from tests.memory_shop import event, shop
from tests.support import lake

TRANSFORMS = [pytest.param({}, id="as they come"), pytest.param({"where": "kafka.offset"}, id="changed")]
WIDE = {f"k{number}": number for number in range(1_100)}
TOO_MANY = ("fit", "schema.too-many-columns", "with the columns of this message alone the table would have more than ")


def _order(n: int, **more: Any) -> bytes:
    return event("order", n, **more)


def _pipeline(source: MemorySource, folder: Path, limit: int = 1_000, **more: Any) -> Pipeline:
    return shop(source, folder, tables={"max_columns": limit}, dead_letters={"max_share": 1.0}, **more)


def _letters(folder: Path) -> list[tuple[int, str]]:
    found = lake.rows(folder / "dead_letters", '"position", code', 'true order by "position"')
    return [(letter["position"], letter["code"]) for letter in found]


@pytest.mark.parametrize("transforms", TRANSFORMS)
@pytest.mark.parametrize("at", [0, 500, 1_000])
def test_one_wide_message_does_not_cost_a_new_type_its_table(
    transforms: dict[str, str], at: int, tmp_path: Path
) -> None:
    source = MemorySource()
    values = [_order(n) for n in range(1_000)]
    source.add(*values[:at], _order(-1, **WIDE), *values[at:])
    pipeline = _pipeline(source, tmp_path, transforms=transforms)

    land_all(pipeline)

    assert lake.count(tmp_path / "order") == 1_000
    assert {*lake.rows(tmp_path / "order", "*", "n = 7")[0]} == {"n", "type", *transforms}
    (letter,) = lake.rows(tmp_path / "dead_letters", '"position", stage, code, error, type')
    assert (letter["position"], letter["type"]) == (at, "order")
    assert (letter["stage"], letter["code"], letter["error"]) == (*TOO_MANY[:2], TOO_MANY[2] + "1000")
    assert audit(pipeline).ok


@pytest.mark.parametrize("transforms", TRANSFORMS)
def test_task_that_sees_only_a_wide_message_does_not_cost_the_others_theirs(
    transforms: dict[str, str], tmp_path: Path
) -> None:
    source = MemorySource()
    source.add(*(_order(n) for n in range(10)))
    source.add(_order(-1, **WIDE), partition="1")

    land_all(_pipeline(source, tmp_path, transforms=transforms))

    assert lake.count(tmp_path / "order") == 10
    assert _letters(tmp_path) == [(0, "schema.too-many-columns")]


@pytest.mark.parametrize("transforms", TRANSFORMS)
def test_one_wide_message_does_not_freeze_a_known_table(transforms: dict[str, str], tmp_path: Path) -> None:
    source = MemorySource()
    pipeline = _pipeline(source, tmp_path, transforms=transforms)
    source.add(*(_order(n) for n in range(10)))
    land_all(pipeline)
    source.add(_order(10, coupon="A"), _order(11, **WIDE), _order(12, gift=True), _order(13))

    land_all(pipeline)

    assert lake.rows(tmp_path / "order", "n, coupon, gift", "n > 9 order by n") == [
        {"n": 10, "coupon": "A", "gift": None},
        {"n": 12, "coupon": None, "gift": True},
        {"n": 13, "coupon": None, "gift": None},
    ]
    assert _letters(tmp_path) == [(11, "schema.too-many-columns")]


@pytest.mark.parametrize("transforms", TRANSFORMS)
def test_columns_count_with_those_that_the_table_has(transforms: dict[str, str], tmp_path: Path) -> None:
    source = MemorySource()
    pipeline = _pipeline(source, tmp_path, limit=5 + len(transforms), transforms=transforms)
    source.add(_order(0, a=1))
    land_all(pipeline)
    source.add(_order(1, b=1, c={"d": 1, "e": 1}), _order(2, b=1, c={"d": 1}), _order(3, x=None, b=2, y={"z": None}))

    land_all(pipeline)

    found = lake.rows(tmp_path / "order", "n, b, c", "n > 0 order by n")
    assert found == [{"n": 2, "b": 1, "c": {"d": 1}}, {"n": 3, "b": 2, "c": None}]
    assert _letters(tmp_path) == [(1, "schema.too-many-columns")]


@pytest.mark.parametrize("transforms", TRANSFORMS)
def test_type_whose_messages_are_all_too_wide_is_refused_for_that(transforms: dict[str, str], tmp_path: Path) -> None:
    source = MemorySource()
    source.add(*(_order(n, **WIDE) for n in range(3)))

    land_all(_pipeline(source, tmp_path, transforms=transforms))

    assert not (tmp_path / "order").exists()
    assert _letters(tmp_path) == [(at, "schema.too-many-columns") for at in range(3)]


@pytest.mark.parametrize("transforms", TRANSFORMS)
def test_type_whose_messages_are_too_wide_only_together_is_refused(transforms: dict[str, str], tmp_path: Path) -> None:
    source = MemorySource()
    source.add(*(_order(n, **{f"k{n}": n}) for n in range(10)))

    land_all(_pipeline(source, tmp_path, limit=8, transforms=transforms))

    assert not (tmp_path / "order").exists()
    assert _letters(tmp_path) == [(at, "schema.too-many-columns") for at in range(10)]


def test_columns_that_transforms_bring_count_too(tmp_path: Path) -> None:
    source = MemorySource()
    source.add(_order(0), _order(1, a=1, b=1), _order(2))

    land_all(_pipeline(source, tmp_path, limit=4, transforms={"twice": "n", "more": "a"}))

    assert [row["n"] for row in lake.rows(tmp_path / "order", "n", "true order by n")] == [0, 2]
    assert _letters(tmp_path) == [(1, "schema.too-many-columns")]


def test_transforms_that_take_columns_away_make_a_wide_message_fit(tmp_path: Path) -> None:
    source = MemorySource()
    source.add(*(_order(n) for n in range(5)), _order(5, a=1, b=1, c=1))

    land_all(_pipeline(source, tmp_path, limit=4, transforms={"b": "`null`"}))

    assert lake.rows(tmp_path / "order", "*", "n > 3 order by n") == [
        {"a": None, "c": None, "n": 4, "type": "order"},
        {"a": 1, "c": 1, "n": 5, "type": "order"},
    ]
    assert not (tmp_path / "dead_letters").exists()
