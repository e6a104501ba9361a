"""What gives a message its table, where tables are, and who else is there."""

from __future__ import annotations

import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from penstock import PenstockError, audit
from penstock.errors import ConfigError
from penstock.protocol.begin import Accepted
from tests.stories.shop import Shop
from tests.support.lake import count, rows
from tests.support.topics import Topics


@pytest.fixture
def shop(topics: Topics, tmp_path: Path) -> Shop:
    return Shop(topics, tmp_path)


def _tables(shop: Shop) -> set[str]:
    return {path.parent.name for path in shop.lake.glob("*/_delta_log")}


# --- routes --------------------------------------------------------------------------------------


def test_topic_is_the_table_where_nothing_else_is_said(shop: Shop) -> None:
    shop.rewrite("route:\n  by: {field: type}\n", "")

    shop.land({"n": 1, "type": "order"}, {"n": 2, "type": "page"})

    assert _tables(shop) == {shop.topic}
    assert [row["type"] for row in shop.rows(shop.topic)] == ["order", "page"]


def test_header_gives_the_table(shop: Shop) -> None:
    shop.rewrite("by: {field: type}", "by: {header: event-type}")
    shop.send({"n": 1}, headers=[("event-type", b"order"), ("other", b"page")])
    shop.send({"n": 2}, headers=[("event-type", b"order"), ("event-type", b"page")])  # the last one counts
    shop.send({"n": 3}, headers=[("Event-Type", b"order")])
    shop.send({"n": 4}, headers=[("event-type", b"\xff")])

    shop.land()

    assert _tables(shop) == {"order", "page", "dead_letters"}
    assert (shop.rows("order"), shop.rows("page")) == ([{"n": 1}], [{"n": 2}])
    assert shop.letters() == [("type.missing", {"n": 3}), ("type.not-text", {"n": 4})]


def test_key_gives_the_table(shop: Shop) -> None:
    shop.rewrite("by: {field: type}", "by: key\n  allow: '^o'")
    for number, key in enumerate((b"order", b"page", None, b"")):
        shop.send({"n": number}, key=key)

    shop.land()

    assert _tables(shop) == {"order", "dead_letters"}
    assert shop.rows("order") == [{"n": 0}]
    assert [code for code, _ in shop.letters()] == ["type.missing", "type.missing"]
    assert audit(shop.pipeline).partitions["0"].counts.filtered == 1


def test_dotted_path_reaches_into_the_message(shop: Shop) -> None:
    shop.rewrite("by: {field: type}", "by: {field: meta.event.name}")
    messages: list[Any] = [
        {"n": 1, "meta": {"event": {"name": "order/new"}}},
        {"n": 2, "meta": {"event": {"name": 5}}},
        {"n": 3, "meta": {"event": "order"}},
        {"n": 4, "meta.event.name": "order"},
    ]

    shop.land(*messages)

    assert _tables(shop) == {"order@2Fnew", "dead_letters"}
    assert shop.rows("order@2Fnew") == [messages[0]]
    assert [code for code, _ in shop.letters()] == ["type.not-text", "type.missing", "type.missing"]


# --- partitions and own columns ------------------------------------------------------------------


def test_types_are_partitioned_each_as_its_settings_say(topics: Topics, tmp_path: Path) -> None:
    settings = (
        "  defaults: {partition_by: [day]}\n  types: {order: {partition_by: [shop, n]}, plain: {partition_by: []}}"
    )
    shop = Shop(topics, tmp_path, tables=settings)

    shop.land(
        {"type": "order", "n": 1, "shop": "a/b", "day": "x"},
        {"type": "order", "n": 2, "day": "x"},
        {"type": "page", "n": 1, "day": "2026-01-31"},
        {"type": "login", "n": 1},  # has no day
        {"type": "plain", "n": 1, "day": "x"},
    )

    found = {name: DeltaTable(shop.lake / name).metadata().partition_columns for name in _tables(shop)}
    assert found == {"order": ["shop", "n"], "page": ["day"], "login": [], "plain": []}
    assert shop.rows("order", "n, shop") == [{"n": 1, "shop": "a/b"}, {"n": 2, "shop": None}]
    assert rows(shop.lake / "page", "n, day", "day = '2026-01-31'") == [{"n": 1, "day": "2026-01-31"}]


def test_rows_say_where_they_came_from_where_that_was_asked_for(topics: Topics, tmp_path: Path) -> None:
    shop = Shop(topics, tmp_path, tables="  types: {order: {source_columns: true}}")

    shop.land({"type": "order", "n": 1}, {"type": "page", "n": 1}, {"type": "order", "n": 2})

    found = shop.rows("order", "n, _source, _partition, _position, _timestamp is not null as stamped")
    where = {"_source": f"kafka:{shop.topic}", "_partition": 0, "stamped": True}
    assert found == [{"n": 1, "_position": 0} | where, {"n": 2, "_position": 2} | where]
    assert shop.rows("page").pop().keys() == {"n", "type"}


# --- who else is there ---------------------------------------------------------------------------


def test_two_apps_on_one_base_share_tables_and_do_not_disturb_each_other(topics: Topics, tmp_path: Path) -> None:
    both = [Shop(topics, tmp_path, app=app) for app in ("north", "south")]
    for shop in both:
        shop.rewrite("messages: 1000000", "messages: 10")  # many batches, so that they meet
        bad = {"type": 1, "app": shop.path.stem}
        shop.send(*({"type": "order", "n": n, shop.path.stem: n} for n in range(60)), bad)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(Shop.land, both))

    lake = both[0].lake
    assert Counter(row["n"] for row in rows(lake / "order", "n")) == Counter([*range(60), *range(60)])
    for shop in both:
        own = rows(lake / "order", f"n, {shop.path.stem} as own", f"{shop.path.stem} is not null")
        assert sorted(row["own"] for row in own) == list(range(60))
        assert audit(shop.pipeline).wrong == []
    assert count(lake / "dead_letters") == 2
    carried = {app: DeltaTable(lake / "order").transaction_version(f"penstock:{app}") for app in ("north", "south")}
    assert carried == {"north": 7, "south": 7}  # the claim, six batches of orders, and one that holds none


# --- the place changes ---------------------------------------------------------------------------


def test_lake_that_moved_is_refused_until_the_operator_says_so(shop: Shop, tmp_path: Path) -> None:
    shop.path.write_text(shop.path.read_text() + f"ledger: {{path: {tmp_path}/ledger}}\n")
    shop.land({"type": "order", "n": 1})
    shop.rewrite(str(shop.lake), str(tmp_path / "moved"))

    with pytest.raises(ConfigError, match=r"--adopt.*config\.place-changed") as refused:
        shop.land({"type": "order", "n": 2})

    assert f"written to base {tmp_path}/lake, and is now configured for {tmp_path}/moved" in str(refused.value)
    assert not (tmp_path / "moved" / "order").exists()

    shutil.copytree(shop.lake, tmp_path / "moved", dirs_exist_ok=True)
    shop.land(accepted=Accepted(adopt=True))
    shop.land({"type": "order", "n": 3})  # it was said once; now it is known

    shop.lake = tmp_path / "moved"
    assert [row["n"] for row in shop.rows("order")] == [1, 2, 3]
    assert audit(shop.pipeline).wrong == []


def test_dead_letters_that_moved_are_refused_too(shop: Shop, tmp_path: Path) -> None:
    shop.land({"type": "order", "n": 1})
    shop.path.write_text(shop.path.read_text() + f"dead_letters: {tmp_path}/letters\n")

    with pytest.raises(PenstockError, match="written to dead-letters"):
        shop.land()

    shop.land("not an object", accepted=Accepted(adopt=True))
    assert count(tmp_path / "letters") == 1


def test_new_base_with_a_ledger_of_its_own_is_a_new_beginning(shop: Shop, tmp_path: Path) -> None:
    shop.land({"type": "order", "n": 1})
    shop.rewrite(str(shop.lake), str(tmp_path / "second"))

    shop.land({"type": "order", "n": 2})

    assert [row["n"] for row in shop.rows("order")] == [1]
    shop.lake = tmp_path / "second"
    assert [row["n"] for row in shop.rows("order")] == [1, 2]
