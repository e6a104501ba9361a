"""Messages that a table got from others: counted, not written, whatever becomes of them here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.contracts import Slice
from penstock.landing.land import land
from penstock.landing.recipe import Piece
from penstock.landing.routing import SKIPPED, WAITING, unpack
from tests.landing.recipes import LETTERS, landed, letters, recipe, rows, source, target, whole


def message(x: object, type: str = "t", **more: object) -> bytes:
    return json.dumps({"type": type, "x": x} | more).encode()


def test_only_the_table_that_had_them_skips_them(tmp_path: Path) -> None:
    t, u = target(tmp_path), target(tmp_path, "u")
    values = [message(n, "tu"[n % 2]) for n in range(10)]

    found = landed(tmp_path, values, t, u, skips={"t": {"0": 5, "1": 9}, "u": {"7": 9}})

    assert [row["x"] for row in rows(found, t)] == [6, 8]
    assert [row["x"] for row in rows(found, u)] == [1, 3, 5, 7, 9]
    (account,) = found.accounts
    assert (account.counts.read, account.counts.rows, account.counts.skipped) == (10, 7, 3)
    assert account.counts.accounted
    assert unpack(account.routing).count(SKIPPED) == 3


@pytest.mark.parametrize("bad", [message("text"), message(2**70)])
def test_message_that_does_not_fit_is_skipped_like_one_that_does(tmp_path: Path, bad: bytes) -> None:
    """Its table's former writer has made a dead letter of it."""
    found = landed(tmp_path, [bad, bad], target(tmp_path), skips={"t": {"0": 1}})

    counts = found.accounts[0].counts
    assert (counts.read, counts.dead, counts.skipped) == (2, 1, 1)
    assert [letter["position"] for letter in letters(tmp_path, found)] == [1]
    assert sum(found.reasons.values()) == 1


def test_message_whose_type_nobody_can_tell_is_a_dead_letter(tmp_path: Path) -> None:
    found = landed(tmp_path, [b"{", message(1)], target(tmp_path), skips={"t": {"0": 2}})

    counts = found.accounts[0].counts
    assert (counts.read, counts.dead, counts.skipped) == (2, 1, 1)
    assert [letter["position"] for letter in letters(tmp_path, found)] == [0]


def test_route_that_knows_the_type_skips_what_cannot_be_read_at_all(tmp_path: Path) -> None:
    t = target(tmp_path, schema={"x": "long"})
    given = source(b"{", b'{"x": 1}', b"{", b'{"x": 2}')
    given.topic = "t"

    found = land(whole(given), recipe(tmp_path, given, t, by="topic", skips={"t": {"0": 2}}))

    counts = found.accounts[0].counts
    assert (counts.rows, counts.dead, counts.skipped) == (1, 1, 2)
    assert [row["x"] for row in rows(found, t)] == [2]
    assert [letter["position"] for letter in letters(tmp_path, found)] == [2]


def test_skipped_messages_bring_no_columns(tmp_path: Path) -> None:
    t = target(tmp_path)
    values = [message(1, old=1), message(2, old=1), message(3), message(4, new=1)]

    both = landed(tmp_path, values, t, skips={"t": {"0": 2}})
    none = landed(tmp_path, values[:2], t, skips={"t": {"0": 2}})

    assert [field.name for field in both.seen["t"]] == ["new"]
    assert (both.accounts[0].waiting, both.accounts[0].counts.skipped) == (1, 2)
    assert unpack(both.accounts[0].routing).count(WAITING) == 1
    assert none.seen == {}
    assert none.files == {}


def test_what_is_landed_again_is_exactly_what_was_not_skipped(tmp_path: Path) -> None:
    t = target(tmp_path)
    given = source(*(message(n) for n in range(6)), b"{")
    skips = {"t": {"0": 4}}
    first = land(whole(given), recipe(tmp_path, given, t, skips=skips))
    routing = unpack(first.accounts[0].routing)

    for name, want in (("t", [4, 5]), (LETTERS, [6])):
        again = Piece(Slice("0", 0, 7), only=routing.mask_of(name), forced=name)
        found = land([again], recipe(tmp_path, given, t, settled=True))
        assert unpack(found.accounts[0].routing).positions(name).tolist() == want
