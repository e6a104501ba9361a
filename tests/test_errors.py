"""Errors say what happened and what to do, and nothing that a message smuggles in."""

from __future__ import annotations

import pytest

from penstock.errors import (
    USAGE,
    in_one_line,
    landing_failed,
    ledger_behind,
    ledger_missing,
    parked_tables,
    shown,
    too_many_dead_letters,
)

EVIL = "\x1b]0;owned\x07\x1b[2J\r\npenstock: all is well \u202e\ud800" + "A" * 100_000


@pytest.mark.parametrize("text", ["", "plain", "Grüße, 世界", "a" * 200])
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_text_from_outside_is_cut_and_its_control_characters_are_spelled_out() -> None:
    told = shown(EVIL)
    assert told.isprintable()
    assert told.startswith(r"\x1b]0;owned\x07\x1b[2J\r\npenstock: all is well \u202e\ud800AAA")
    assert told.endswith("A…")
    assert len(told) < 300


def test_dead_letter_in_an_error_cannot_write_to_the_terminal() -> None:
    error = too_many_dead_letters(0.9, 0.5, 100, {"value.misfit": 90}, EVIL)
    assert error.what.isprintable()
    assert len(error.what) < 500
    assert error.remedy.startswith("nothing of this batch was decided;")


def test_foreign_error_and_reason_of_a_parked_table_cannot_either() -> None:
    assert in_one_line(ValueError(EVIL)).isprintable()
    assert in_one_line(ValueError("two\n  lines")) == "two lines"
    assert landing_failed(EVIL).what.isprintable()
    assert all(line.isprintable() for line in str(parked_tables({"order": EVIL})).split("\n"))


def test_only_the_newest_ledger_will_do() -> None:
    behind = ledger_behind("shop", "order", carried=42, head=40)
    assert (behind.code, behind.exit_status) == ("ledger.behind", USAGE)
    assert "table order carries batch 42 of app 'shop', but the ledger ends with entry 40" in str(behind)
    assert "put the newest ledger back" in str(behind)
    assert "another app name" in str(behind)
    assert "no older one will do" in str(ledger_missing("shop", "/lake/_penstock/shop", ["order"]))
