"""Producers and other writers change what messages and tables look like, and nothing is lost or altered by it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.schema import MapType, PrimitiveType

from penstock import audit
from penstock.errors import PenstockError
from penstock.observe import Silence
from penstock.protocol.entry import Entry
from tests.stories.shop import Shop
from tests.support.lake import rows
from tests.support.topics import Topics


@pytest.fixture
def shop(topics: Topics, tmp_path: Path) -> Shop:
    return Shop(topics, tmp_path)


def _order(n: int, **more: Any) -> dict[str, Any]:
    return {"type": "order", "n": n} | more


# --- messages have more than before --------------------------------------------------------------


def test_new_field_gets_a_column_and_the_message_that_brought_it_keeps_its_value(shop: Shop) -> None:
    shop.land(_order(1))

    shop.land(_order(2), _order(3, coupon="X1"), _order(4))

    assert [(row["n"], row["coupon"]) for row in shop.rows("order")] == [(1, None), (2, None), (3, "X1"), (4, None)]
    assert shop.letters() == []
    assert audit(shop.pipeline).wrong == []


def test_fields_that_appear_within_one_batch_are_one_change_of_the_table(shop: Shop) -> None:
    shop.land(_order(1))

    shop.land(_order(2, a=1), _order(3, b="x"), _order(4, a=1.5, c=[True]))

    operations = [commit["operation"] for commit in DeltaTable(shop.lake / "order").history()]
    assert operations == ["WRITE", "ADD COLUMN", "CREATE TABLE"]
    assert shop.rows("order", "n, a, b, c") == [
        {"n": 1, "a": None, "b": None, "c": None},
        {"n": 2, "a": 1.0, "b": None, "c": None},
        {"n": 3, "a": None, "b": "x", "c": None},
        {"n": 4, "a": 1.5, "b": None, "c": [True]},
    ]


def test_new_fields_inside_of_objects_and_of_lists_of_objects_get_columns(shop: Shop) -> None:
    shop.land(_order(1, who={"name": "ada"}, lines=[{"sku": "a"}]))

    shop.land(_order(2, who={"name": "bob", "home": {"city": "Turin"}}, lines=[{"sku": "b", "count": 2}, {}]))

    assert shop.rows("order", "n, who, lines") == [
        {"n": 1, "who": {"name": "ada", "home": None}, "lines": [{"sku": "a", "count": None}]},
        {
            "n": 2,
            "who": {"name": "bob", "home": {"city": "Turin"}},
            "lines": [{"sku": "b", "count": 2}, {"sku": None, "count": None}],
        },
    ]


def test_object_with_an_empty_list_in_it_still_gets_new_fields(shop: Shop) -> None:
    """The list's elements were never seen, so it holds JSON text; that must not keep the object from growing."""
    shop.land(_order(1, who={"tags": []}))

    shop.land(_order(2, who={"tags": ["a", 1], "name": "ada"}))

    assert shop.rows("order", "n, who") == [
        {"n": 1, "who": {"tags": [], "name": None}},
        {"n": 2, "who": {"tags": ["a", "1"], "name": "ada"}},
    ]


def test_field_that_was_always_null_gets_its_column_with_its_first_value(shop: Shop) -> None:
    shop.land(_order(1, note=None), _order(2, note=None))
    assert "note" not in DeltaTable(shop.lake / "order").schema().to_json()

    shop.land(_order(3, note="at last"))

    assert [row["note"] for row in shop.rows("order")] == [None, None, "at last"]


@pytest.mark.parametrize("key", ["_position", "_Source"])
def test_key_of_penstocks_own_is_a_dead_letter_from_the_first_message_on(
    topics: Topics, tmp_path: Path, key: str
) -> None:
    shop = Shop(topics, tmp_path, tables="  defaults: {source_columns: true}")
    shop.land(_order(1, **{key: "x"}), _order(2))

    shop.land(_order(3, **{key: "x"}), _order(4))

    assert [row["n"] for row in shop.rows("order")] == [2, 4]
    assert shop.letters() == [("column.reserved", _order(n, **{key: "x"})) for n in (1, 3)]


def test_key_of_the_rescued_column_is_rescued_from_the_first_message_on(topics: Topics, tmp_path: Path) -> None:
    shop = Shop(topics, tmp_path, tables="  defaults: {evolve: rescue}")
    shop.land(_order(1, _rescued="x"))

    shop.land(_order(2, _rescued="x"))

    assert [row["_rescued"] for row in shop.rows("order")] == ['{"_rescued":"x"}'] * 2


def test_keys_that_differ_only_in_case_are_one_column_and_dead_letters(shop: Shop) -> None:
    twin = _order(2, coupon="b", who={"Name": "x"})
    shop.land(_order(1, Coupon="a", who={"Name": "x"}), twin, _order(3, who={"Name": "x"}))
    inner = _order(5, who={"Home": 1}), _order(6, who={"home": 1}), _order(7, who={"name": "x"})

    shop.land(_order(4, Coupon="c"), *inner)

    assert [(row["n"], row["Coupon"]) for row in shop.rows("order")] == [(1, "a"), (3, None), (4, "c"), (5, None)]
    assert shop.letters() == [("column.case-clash", letter) for letter in (twin, *inner[1:])]
    assert audit(shop.pipeline).wrong == []


# --- messages have something else than before ----------------------------------------------------


def test_field_that_changes_its_kind_is_a_dead_letter_and_its_neighbours_land(shop: Shop) -> None:
    was: dict[str, Any] = {"number": 1, "text": "one", "object": {"a": 1}, "list": [1], "fraction": 1.5}
    becomes: list[dict[str, Any]] = [
        {"number": "one"},
        {"number": 1.5},
        {"text": 1},
        {"object": [1]},
        {"list": [1, "two"]},
        {"fraction": 2**60},
    ]
    shop.land(_order(1, **was))

    shop.land(_order(2, **was), *(_order(3, **(was | change)) for change in becomes), _order(4))

    nothing = dict.fromkeys(was)
    assert shop.rows("order") == [_order(1, **was), _order(2, **was), _order(4, **nothing)]
    assert [message for _, message in shop.letters()] == [_order(3, **(was | change)) for change in becomes]
    assert [code for code, _ in shop.letters()] == ["value.misfit"] * 5 + ["number.range"]
    assert audit(shop.pipeline).wrong == []


def test_kinds_that_are_mixed_from_the_beginning_are_kept_as_they_came(shop: Shop) -> None:
    shop.land(_order(1, v=1), _order(2, v="one"), _order(3, v={"a": [None]}))

    shop.land(_order(4, v=[1.50, True]))

    assert [row["v"] for row in shop.rows("order")] == ["1", "one", '{"a":[null]}', "[1.5,true]"]
    assert shop.letters() == []


# --- what the pipeline's file says of it ---------------------------------------------------------


def test_table_that_may_not_grow_does_with_new_fields_what_its_policy_says(topics: Topics, tmp_path: Path) -> None:
    policies = ", ".join(f"{name}: {{evolve: {name}}}" for name in ("ignore", "freeze", "rescue"))
    shop = Shop(topics, tmp_path, tables=f"  types: {{{policies}}}")
    kinds = ("ignore", "freeze", "rescue", "any")
    shop.land(*({"type": kind, "n": 1} for kind in kinds))

    shop.land(*({"type": kind, "n": 2, "coupon": {"code": "X1"}} for kind in kinds))

    assert shop.rows("ignore", "n") == [{"n": 1}, {"n": 2}]
    assert shop.rows("freeze", "n") == [{"n": 1}]
    assert shop.letters() == [("schema.unknown-field", {"type": "freeze", "n": 2, "coupon": {"code": "X1"}})]
    assert [row["_rescued"] for row in shop.rows("rescue")] == [None, '{"coupon":{"code":"X1"}}']
    assert [row["coupon"] for row in shop.rows("any")] == [None, {"code": "X1"}]  # others grow as before
    assert [name for name in kinds if "coupon" in DeltaTable(shop.lake / name).schema().to_json()] == ["any"]


def test_rescued_table_keeps_values_that_do_not_fit_too(topics: Topics, tmp_path: Path) -> None:
    shop = Shop(topics, tmp_path, tables="  defaults: {evolve: rescue}")
    shop.land(_order(1, price=1.5))

    shop.land(_order(2, price="free"))

    assert shop.rows("order", "n, price, _rescued") == [
        {"n": 1, "price": 1.5, "_rescued": None},
        {"n": 2, "price": None, "_rescued": '{"price":"free"}'},
    ]


def test_declared_columns_win_over_what_the_messages_look_like(topics: Topics, tmp_path: Path) -> None:
    declared = '{n: int, price: "decimal(10, 2)", at: timestamp, day: date, raw: json, who: "struct<name: string>"}'
    shop = Shop(topics, tmp_path, tables=f"  types: {{order: {{schema: {declared}, evolve: freeze}}}}")
    given = {"n": 1, "price": 0.1, "at": "2026-01-31T12:00:00+01:00", "day": "2026-01-31", "raw": {"b": 1}}

    shop.rewrite("by: {field: type}", "by: {header: kind}")
    shop.send(given, given | {"n": 2**40}, given | {"price": 0.123}, {"n": 3}, headers=[("kind", b"order")])
    shop.land()

    assert shop.rows("order") == [
        {
            "n": 1,
            "price": Decimal("0.10"),
            "at": datetime(2026, 1, 31, 11, tzinfo=UTC),
            "day": date(2026, 1, 31),
            "raw": '{"b":1}',
            "who": None,
        },
        {"n": 3, "price": None, "at": None, "day": None, "raw": None, "who": None},
    ]
    assert [code for code, _ in shop.letters()] == ["number.range", "number.range"]


def test_policy_that_changes_between_two_runs_holds_from_then_on(shop: Shop) -> None:
    shop.land(_order(1))
    shop.rewrite("tables:\n", "tables:\n  defaults: {evolve: freeze}\n")
    shop.land(_order(2, coupon="X1"))
    assert [code for code, _ in shop.letters()] == ["schema.unknown-field"]

    shop.rewrite("evolve: freeze", "evolve: add")
    shop.land(_order(3, coupon="X2"))

    assert shop.rows("order", "n, coupon") == [{"n": 1, "coupon": None}, {"n": 3, "coupon": "X2"}]


@pytest.mark.parametrize("evolve", ["freeze", "add", "ignore", "rescue"])
def test_column_that_is_declared_later_is_added_with_the_next_batch(
    topics: Topics, tmp_path: Path, evolve: str
) -> None:
    shop = Shop(topics, tmp_path, tables=f"  types: {{order: {{schema: {{n: long, type: string}}, evolve: {evolve}}}}}")
    shop.land(_order(1))
    shop.rewrite("n: long, type: string", "n: long, type: string, day: date")

    shop.land(_order(2, day="2026-01-31"), _order(3))

    days = [(row["n"], row["day"]) for row in shop.rows("order", "n, day")]
    assert days == [(1, None), (2, date(2026, 1, 31)), (3, None)]
    assert shop.letters() == []
    assert audit(shop.pipeline).wrong == []


# --- other writers change the tables -------------------------------------------------------------


def _add_column(table: Path, name: str, kind: str) -> None:
    DeltaTable(table).alter.add_columns([deltalake.Field(name, PrimitiveType(kind))])


def test_column_that_somebody_else_added_is_filled_from_the_next_run_on(shop: Shop) -> None:
    shop.land(_order(1))
    _add_column(shop.lake / "order", "day", "date")  # by itself penstock would make it a string

    shop.land(_order(2, day="2026-01-31"), _order(3, day="tomorrow"))

    assert [(row["n"], row["day"]) for row in shop.rows("order")] == [(1, None), (2, date(2026, 1, 31))]
    assert shop.letters() == [("value.misfit", _order(3, day="tomorrow"))]


class _Meanwhile(Silence):
    """Somebody adds a column right after the run has looked at the tables."""

    def __init__(self, table: Path, name: str, kind: str) -> None:
        self.column = (table, name, kind)

    def claimed(self, entry: Entry) -> None:
        _add_column(*self.column)


def test_column_that_somebody_else_adds_during_a_run_is_no_obstacle(shop: Shop) -> None:
    shop.land(_order(1))

    shop.land(_order(2), _order(3, b=1), observer=_Meanwhile(shop.lake / "order", "a", "date"))

    assert shop.rows("order", "n, a, b") == [
        {"n": 1, "a": None, "b": None},
        {"n": 2, "a": None, "b": None},
        {"n": 3, "a": None, "b": 1},
    ]
    assert audit(shop.pipeline).wrong == []


def test_column_that_somebody_else_adds_during_a_run_keeps_the_type_they_gave_it(shop: Shop) -> None:
    shop.land(_order(1))

    shop.land(_order(2), _order(3, a=5), observer=_Meanwhile(shop.lake / "order", "a", "double"))

    assert [row["a"] for row in shop.rows("order", "n, a")] == [None, None, 5.0]
    assert audit(shop.pipeline).wrong == []


@pytest.mark.parametrize("evolve", ["ignore", "freeze", "add"])
def test_column_of_a_type_that_penstock_does_not_write_costs_no_row(
    topics: Topics, tmp_path: Path, evolve: str
) -> None:
    """The table waits until somebody takes the column away; what it has besides is still known."""
    shop = Shop(topics, tmp_path, tables=f"  types: {{order: {{evolve: {evolve}, schema: {{n: int, type: string}}}}}}")
    shop.land(_order(1))
    theirs = deltalake.Field("tags", MapType(PrimitiveType("integer"), PrimitiveType("string")))
    DeltaTable(shop.lake / "order").alter.add_columns([theirs])
    brings = [_order(3, tags={"1": "x"})] if evolve == "add" else []

    with pytest.raises(PenstockError, match=r"map with keys of type integer \('tags'\)"):
        shop.land(_order(2), *brings)

    (shop.lake / "order/_delta_log/00000000000000000001.json").unlink()
    shop.land(_order(4))
    assert [row["n"] for row in shop.rows("order")] == [1, 2, *(row["n"] for row in brings), 4]
    assert [row["tags"] for row in shop.rows("order") if row["n"] == 3] == [{"1": "x"} for _ in brings]
    assert shop.letters() == []


def test_table_that_was_there_before_the_app_is_written_as_it_is(shop: Shop) -> None:
    there = pa.table({"n": pa.array([0], pa.int32()), "type": ["old"], "extra": [1.5]})
    deltalake.write_deltalake(shop.lake / "order", there, partition_by=["type"])

    shop.land(_order(1, extra=2), _order(2**40))

    found = rows(shop.lake / "order", "n, type, extra")
    assert sorted(found, key=lambda row: row["n"]) == [
        {"n": 0, "type": "old", "extra": 1.5},
        {"n": 1, "type": "order", "extra": 2.0},
    ]
    assert [code for code, _ in shop.letters()] == ["number.range"]
    assert DeltaTable(shop.lake / "order").metadata().partition_columns == ["type"]
