"""Faults 40 to 46 of the matrix: what registries and schemas can do to a pipeline that runs."""

from __future__ import annotations

import json
import struct
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.formats.avro.fingerprint import fingerprint
from penstock.formats.avro.schema import parse
from penstock.registries.shelf import forget
from tests.faults.trade import CHANGED, ORDER, PAGE, WIDER, Trade, body, framed, orders, record
from tests.registries.hostile import Small, small
from tests.support.lake import rows
from tests.support.registry import LocalRegistry
from tests.support.steady import steady
from tests.support.topics import Topics


@pytest.fixture
def registry() -> Iterator[Small]:
    forget()
    with small() as running:
        running.holds(1, json.dumps(ORDER))
        running.holds(2, json.dumps(PAGE))
        yield running


@pytest.fixture
def trade(topics: Topics, registry: Small, tmp_path: Path) -> Trade:
    return Trade(topics, tmp_path, registry.url)


# --- 40 and 41: the registry is away, ill, lying or taken over -----------------------------------

TROUBLES = [
    "status 503",
    "status 500 with a schema",
    "a 404 of somebody else",
    "a page",
    "another id",
    "a redirect",
    "endless",
    "a reset",
    "silent",
]
"""Some of each kind: all of them are asked for in the tests of the registry itself."""


@pytest.mark.parametrize("trouble", TROUBLES)
def test_while_a_registry_is_in_trouble_known_ids_go_on_and_new_ones_wait(
    trade: Trade, registry: Small, trouble: str
) -> None:
    with steady(trade.pipeline) as running:
        trade.send(framed(1, ORDER, orders(range(5))))
        running.until(lambda: trade.has(order=5))

        registry.fault = trouble
        trade.send(framed(1, ORDER, orders(range(5, 10))))
        running.until(lambda: trade.has(order=10))

        trade.send(framed(2, PAGE, orders(range(3), url="/")))
        running.until_it_waits("registry")
        assert trade.has(page=0, dead_letters=0)

        registry.fault = None
        running.until(lambda: trade.has(page=3))

    assert trade.numbers("order") == Counter(range(10))
    assert trade.letters() == []


def test_real_registry_that_is_killed_keeps_nobody_from_reading_what_is_known(topics: Topics, tmp_path: Path) -> None:
    def registered(server: LocalRegistry, schema: Mapping[str, Any]) -> int:
        content = json.dumps({"schema": json.dumps(schema)}).encode()
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        place = f"{server.url}/subjects/{schema['name']}/versions"
        with urllib.request.urlopen(urllib.request.Request(place, content, headers), timeout=30) as answer:
            return int(json.loads(answer.read())["id"])

    forget()
    with LocalRegistry(tmp_path / "registry") as server:
        trade = Trade(topics, tmp_path, server.url)
        known = registered(server, ORDER)
        with steady(trade.pipeline) as running:
            trade.send(framed(known, ORDER, orders(range(3))))
            running.until(lambda: trade.has(order=3))
            server.kill()
            forget()  # as workers that have just begun: what was kept beside the ledger is enough
            trade.send(framed(known, ORDER, orders(range(3, 6))))
            running.until(lambda: trade.has(order=6))

            trade.send(framed(known + 1, PAGE, orders(range(2), url="/")))
            running.until_it_waits("registry")
            server.start()  # empty: it gives out the same ids for the same schemas
            assert registered(server, ORDER) == known
            assert registered(server, PAGE) == known + 1
            running.until(lambda: trade.has(page=2))

    assert trade.numbers("order") == Counter(range(6))
    assert trade.letters() == []


# --- 42: an id that the registry does not know ---------------------------------------------------


def test_unknown_id_is_a_dead_letter_that_names_it_after_its_grace(trade: Trade) -> None:
    with steady(trade.pipeline) as running:
        trade.send([*framed(999_999, ORDER, orders(range(2))), *framed(1, ORDER, orders(range(3)))])
        running.until_it_waits("999999")
        assert trade.has(dead_letters=0)
        running.until(lambda: trade.has(dead_letters=2, order=3))

    assert {(row["code"], row["stage"]) for row in trade.letters()} == {("schema.unknown-id", "parse")}
    assert all("999999" in row["error"] for row in trade.letters())


def test_id_that_becomes_known_within_its_grace_is_no_dead_letter(trade: Trade, registry: Small) -> None:
    trade.write(f'avro: {{registry: {{url: "{registry.url}", timeout: 1s, grace: 1h}}}}')
    with steady(trade.pipeline) as running:
        trade.send(framed(7, WIDER, orders(range(2), note="late", line=None)))
        running.until_it_waits("id 7")
        registry.holds(7, json.dumps(WIDER))
        running.until(lambda: trade.has(order=2))

    assert trade.letters() == []


# --- 43 and 44: schemas that change --------------------------------------------------------------


def test_incompatible_change_costs_its_own_messages_only(trade: Trade, registry: Small) -> None:
    registry.holds(3, json.dumps(CHANGED))
    with steady(trade.pipeline) as running:
        trade.send(framed(1, ORDER, orders(range(5))))
        running.until(lambda: trade.has(order=5))
        mixed = [
            *framed(3, CHANGED, [{"n": "five"}, {"n": "six"}]),
            *framed(1, ORDER, orders(range(5, 8))),
            *framed(2, PAGE, orders(range(4), url="/")),
        ]
        trade.send(mixed)
        running.until(lambda: trade.has(order=8, page=4, dead_letters=2))

    assert trade.numbers("order") == Counter(range(8))
    assert {row["code"] for row in trade.letters()} == {"value.misfit"}
    assert all("n" in row["error"] for row in trade.letters())


def test_compatible_additions_become_columns_while_it_runs(trade: Trade, registry: Small) -> None:
    registry.holds(3, json.dumps(WIDER))
    with steady(trade.pipeline) as running:
        trade.send(framed(1, ORDER, orders(range(3))))
        running.until(lambda: trade.has(order=3))
        trade.send(framed(3, WIDER, orders(range(3, 5), note="new", line={"sku": "s"})))
        running.until(lambda: trade.has(order=5))
        trade.send(framed(1, ORDER, orders(range(5, 7))))  # some producers are not up to date yet
        running.until(lambda: trade.has(order=7))

    found = {row["n"]: (row["note"], row["line"]) for row in rows(trade.lake / "order")}
    assert found == {n: ("new", {"sku": "s"}) if n in (3, 4) else (None, None) for n in range(7)}
    assert trade.letters() == []


def test_narrower_and_wider_numbers_of_one_field_share_its_column(trade: Trade, registry: Small) -> None:
    registry.holds(4, json.dumps(record("order", n="int")))
    with steady(trade.pipeline) as running:
        trade.send([*framed(4, record("order", n="int"), orders(range(2))), *framed(1, ORDER, [{"n": 2**40}])])
        running.until(lambda: trade.has(order=3))

    assert trade.numbers("order") == Counter([0, 1, 2**40])


def test_schema_that_nothing_can_be_made_of_costs_its_own_messages_only(trade: Trade, registry: Small) -> None:
    node = {"type": "record", "name": "node", "fields": [{"name": "next", "type": ["null", "node"]}]}
    registry.holds(5, json.dumps(node))
    registry.holds(6, '{"type": "recor')
    with steady(trade.pipeline) as running:
        trade.send([struct.pack(">bI", 0, id) + b"\0" for id in (5, 6)] + framed(1, ORDER, orders(range(2))))
        running.until(lambda: trade.has(order=2, dead_letters=2))

    assert {row["code"] for row in trade.letters()} == {"schema.unusable"}


# --- 46: schema files ----------------------------------------------------------------------------


def single(schema: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """In single-object encoding."""
    mark = b"\xc3\x01" + fingerprint(parse(json.dumps(schema))).to_bytes(8, "little")
    return [mark + body(schema, message) for message in messages]


def test_schema_file_that_is_half_written_leaves_the_last_good_one_in_force(trade: Trade, tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    file = folder / "order.avsc"
    file.write_text(json.dumps(ORDER))
    trade.write(f"avro: {{single_object: {folder}}}")
    with steady(trade.pipeline) as running:
        trade.send(single(ORDER, orders(range(3))))
        running.until(lambda: trade.has(order=3))

        file.write_text(json.dumps(ORDER)[:25])
        trade.send(single(ORDER, orders(range(3, 6))))
        running.until(lambda: trade.has(order=6))

        file.write_text(json.dumps(ORDER))
        (folder / "page.avsc").write_text(json.dumps(PAGE))
        trade.send(single(PAGE, orders(range(2), url="/")))
        running.until(lambda: trade.has(page=2))

    assert trade.numbers("order") == Counter(range(6))
    assert trade.letters() == []


def test_file_of_a_type_that_is_half_written_leaves_the_last_good_one_in_force(trade: Trade, tmp_path: Path) -> None:
    folder = tmp_path / "types"
    folder.mkdir()
    text = json.dumps({"type": "struct", "fields": [{"name": "n", "type": "long", "nullable": True, "metadata": {}}]})
    (folder / "order.json").write_text(text)
    trade.write("json: {}")
    more = f"registry: {{files: {folder}}}"
    trade.path.write_text(
        trade.path.read_text().replace("{by: record}", "{by: {field: type}, unrouted: dead-letter}") + more
    )

    def sent(type: str, numbers: range) -> None:
        trade.send([json.dumps({"type": type, "n": n}).encode() for n in numbers])

    with steady(trade.pipeline) as running:
        sent("order", range(3))
        running.until(lambda: trade.has(order=3))

        (folder / "order.json").write_text(text[:30])
        sent("order", range(3, 6))
        running.until(lambda: trade.has(order=6))
        running.until(lambda: any("order.json" in str(why) for why in running.notes.warnings))

        (folder / "order.json").write_text(text)
        (folder / "page.json").write_text(text)
        sent("page", range(2))
        running.until(lambda: trade.has(page=2))

    assert trade.numbers("order") == Counter(range(6))
    assert trade.letters() == []
