"""Transforms, coercion and dead letters of their own, from messages to real tables."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

from penstock import audit
from penstock.formats.json import JsonFormat
from penstock.messages import Details
from penstock.testing import MemorySource, land_all
from tests.memory_shop import event, shop
from tests.support import lake

TRANSFORMS = {
    "date": "substr(meta.time, `0`, `10`)",
    "meta.kafka.offset": "kafka.offset",
    "meta.kafka.topic": "kafka.topic",
    "secret": "`null`",
    "first": "items[0].sku",
}


def _order(n: int, **more: object) -> bytes:
    meta = {"meta": {"time": "2026-11-16T08:00:00Z"}, "secret": "s", "items": [{"sku": f"sku-{n}"}]}
    return event("order", n, **{**meta, **more})


def test_messages_are_changed_before_they_become_rows(tmp_path: Path) -> None:
    source = MemorySource()
    source.add(*(_order(n) for n in range(200)))
    pipeline = shop(source, tmp_path / "lake", transforms=TRANSFORMS)

    land_all(pipeline)
    source.add(*(_order(n) for n in range(200, 400)))
    land_all(pipeline)

    found = lake.rows(tmp_path / "lake" / "order", "*", "n in (7, 300) order by n")
    assert found == [
        {
            "date": "2026-11-16",
            "first": f"sku-{n}",
            "items": [{"sku": f"sku-{n}"}],
            "meta": {"kafka": {"offset": n, "topic": "memory"}, "time": "2026-11-16T08:00:00Z"},
            "n": n,
            "type": "order",
        }
        for n in (7, 300)
    ]
    assert lake.count(tmp_path / "lake" / "order") == 400
    assert audit(pipeline).ok


def test_a_failing_expression_is_one_dead_letter_and_its_neighbours_land(tmp_path: Path) -> None:
    source = MemorySource()
    pipeline = shop(source, tmp_path / "lake", transforms=TRANSFORMS)
    source.add(*(_order(n) for n in range(100)))
    land_all(pipeline)
    bad = [_order(n, meta={"time": 7}) for n in (1000, 1001)]
    source.add(_order(100), bad[0], _order(101), b"{broken", bad[1], _order(102))

    land_all(pipeline)

    letters = lake.rows(tmp_path / "lake" / "dead_letters", "json_string, stage, code, error, type, position")
    assert [(x["json_string"].encode(), x["stage"], x["code"], x["type"], x["position"]) for x in letters] == [
        (b"{broken", "parse", "json.malformed", None, 103),
        (bad[0], "transform", "transform.failed", "order", 101),
        (bad[1], "transform", "transform.failed", "order", 104),
    ]
    assert all(letter["error"].startswith("date: substr()") for letter in letters[1:])
    assert lake.count(tmp_path / "lake" / "order") == 103
    assert audit(pipeline).ok


def test_columns_that_transforms_bring_later_are_added(tmp_path: Path) -> None:
    source = MemorySource()
    source.add(*(_order(n) for n in range(10)))
    land_all(shop(source, tmp_path / "lake"))
    source.add(*(_order(n) for n in range(10, 100)))

    land_all(shop(source, tmp_path / "lake", transforms=TRANSFORMS | {"loud": "to_string(n)"}))

    found = lake.rows(tmp_path / "lake" / "order", "n, date, loud, secret", "n in (3, 30) order by n")
    assert found == [
        {"n": 3, "date": None, "loud": None, "secret": "s"},
        {"n": 30, "date": "2026-11-16", "loud": "30", "secret": None},
    ]


def test_nulls_that_are_kept_leave_a_field_as_it_was(tmp_path: Path) -> None:
    source = MemorySource()
    source.add(event("order", 1, a="was"), event("order", 2, a="was", b="now"))

    land_all(shop(source, tmp_path / "lake", transforms={"a": "b"}, transform_nulls="keep"))

    assert [row["a"] for row in lake.rows(tmp_path / "lake" / "order", "a", "true order by n")] == ["was", "now"]


def test_values_are_made_to_fit_where_that_is_wanted(tmp_path: Path) -> None:
    source = MemorySource()
    schema = {"n": "long", "type": "string", "text": "string", "at": "timestamp", "day": "date"}
    values = [("text", None), (7, 1636668718000000), ({"x": [1.50]}, "2021-11-11T22:11:58Z"), (True, "nonsense")]
    source.add(*(event("order", n, text=text, at=at, day="2021-11-11") for n, (text, at) in enumerate(values)))
    source.add(*(event("order", n, text=n, at=n, day="2021-11-11") for n in range(10, 100)))

    land_all(
        shop(source, tmp_path / "lake", tables={"defaults": {"coerce": True}, "types": {"order": {"schema": schema}}})
    )

    moment = datetime(2021, 11, 11, 22, 11, 58, tzinfo=UTC)
    found = lake.rows(tmp_path / "lake" / "order", 'text, "at"', "n in (0, 1, 2, 50) order by n")
    assert [row["text"] for row in found] == ["text", "7", '{"x":[1.5]}', "50"]
    assert [row["at"] for row in found[:3]] == [None, moment, moment]
    (letter,) = lake.rows(tmp_path / "lake" / "dead_letters", "code, error")
    assert letter["code"] == "value.misfit"
    assert letter["error"].startswith("at: a string does not fit")


def test_times_of_messages_are_microseconds(tmp_path: Path) -> None:
    source = MemorySource()
    source.add(*(event("order", n) for n in range(100)))
    source.details = {("0", n): Details(None, (), 1626823098519 + n, 0) for n in range(0, 100, 2)}

    land_all(shop(source, tmp_path / "lake", transforms={"at": "kafka.timestamp", "whose": "kafka.timestamp_type"}))

    found = lake.rows(tmp_path / "lake" / "order", '"at", whose', "n in (0, 1, 80) order by n")
    assert found == [
        {"at": 1626823098519000, "whose": 0},
        {"at": None, "whose": -1},
        {"at": 1626823098599000, "whose": 0},
    ]


def test_dead_letters_get_columns_of_their_own(tmp_path: Path) -> None:
    source = MemorySource()
    wanted = {
        "date": "substr(epoch_micros_to_iso8601(timestamp),`0`,`10`)",
        "env": "'production'",
        "length": "length(json_string)",
        "offset": "kafka.offset",
    }
    source.add(b"{broken", b"\xff", event("order", 1))

    land_all(shop(source, tmp_path / "lake", dead_letters={"transforms": wanted}))

    letters = lake.rows(
        tmp_path / "lake" / "dead_letters", 'date, env, "length", "offset", position', "true order by position"
    )
    today = datetime.now(UTC).date()
    assert letters == [
        {"date": today, "env": "production", "length": 7, "offset": None, "position": 0},
        {"date": today, "env": "production", "length": None, "offset": None, "position": 1},
    ]


def test_a_transform_that_fails_on_every_letter_loses_none(tmp_path: Path) -> None:
    source = MemorySource()
    source.add(b"{broken", event("order", 1))

    land_all(
        shop(source, tmp_path / "lake", dead_letters={"transforms": {"x": "substr(nowhere, `0`, `1`)", "y": "'y'"}})
    )

    assert lake.rows(tmp_path / "lake" / "dead_letters", "x, y") == [{"x": None, "y": "y"}]


def test_gzipped_messages_are_kept_as_they_came(tmp_path: Path) -> None:
    source = MemorySource()
    source.add(*(gzip.compress(_order(n)) for n in range(100)), b"not gzip", gzip.compress(b"{"))

    land_all(shop(source, tmp_path / "lake", format=JsonFormat(gzip=True), transforms=TRANSFORMS))

    assert lake.count(tmp_path / "lake" / "order") == 100
    letters = lake.rows(tmp_path / "lake" / "dead_letters", "json_string, code", "true order by position")
    assert [letter["code"] for letter in letters] == ["json.not-gzip", "json.malformed"]
    assert letters[0]["json_string"] == "not gzip"
