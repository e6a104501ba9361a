"""Formats that only make plain values: every message is decided by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from penstock.contracts import Shape, Shapes
from penstock.errors import Transient
from penstock.formats.json.reference import parse
from penstock.formats.plain_reader import PlainReader
from penstock.schema import columns, written
from tests.formats.runs import run

SHAPES = Shapes({"order": Shape(columns({"type": "string", "n": "long"}))}, field="type", allow="^(order|page|late)")


def _parse(value: bytes) -> dict[str, Any]:
    return parse(value, 1_000)


def _values(*messages: Any) -> list[bytes]:
    return [message if isinstance(message, bytes) else json.dumps(message).encode() for message in messages]


def test_messages_are_rows_wait_are_filtered_or_rejected() -> None:
    values = _values(
        {"type": "order", "n": 1},
        {"type": "order", "n": 2, "more": True},
        {"type": "page", "n": 3},
        {"type": "spam"},
        {"type": "order", "n": "x"},
        b"{",
        {"n": 4},
    )

    found = PlainReader(_parse, SHAPES).sort(run(values), None)

    assert [(row.at, row.values) for row in found.rows["order"]] == [(0, {"type": "order", "n": 1})]
    assert {name: at.tolist() for name, at in found.waiting.items()} == {"order": [1], "page": [2]}
    assert found.filtered.tolist() == [3]
    assert [(reject.at, reject.stage, reject.type) for reject in found.rejects] == [
        (4, "fit", "order"),
        (5, "parse", None),
        (6, "identify", None),
    ]
    assert found.clean == {}


def test_type_that_is_known_and_unwanted_is_filtered_whatever_the_message_holds() -> None:
    found = PlainReader(_parse, replace(SHAPES, field=None)).sort(run(_values(b"{", b"{")), ["spam", "order"])

    assert found.filtered.tolist() == [0]
    assert [(reject.at, reject.type) for reject in found.rejects] == [(1, "order")]


def test_trouble_of_a_message_comes_before_that_of_its_type() -> None:
    shapes = replace(SHAPES, refused={"page": ("type.limit", "there is no room")})
    values = _values({"type": "page", "n": 1}, {"type": "page", "\x00": 1})

    codes = [reject.code for reject in PlainReader(_parse, shapes).sort(run(values), None).rejects]

    assert codes[0] == "type.limit"
    assert codes[1] != "type.limit"


def test_type_that_must_wait_for_the_registry_stops_the_task_and_is_no_reject() -> None:
    shapes = replace(SHAPES, unrouted="wait", routed=frozenset({"order"}))
    reader = PlainReader(_parse, shapes)
    assert reader.sort(run(_values({"type": "order", "n": 1})), None).rows["order"]

    with pytest.raises(Transient, match="'page'"):
        reader.sort(run(_values({"type": "page", "n": 1})), None)


def test_columns_are_declined_and_seen_columns_add_up() -> None:
    reader = PlainReader(_parse, SHAPES)
    values = run(_values({"n": 1, "a": "x"}, b"{", {"b": {"c": 1.5}}))

    assert reader.columns("order", values).declined.tolist() == [True] * 3
    assert written(reader.infer("late", values)) == {"a": "string", "b": "struct<c: double>", "n": "long"}
    assert written(reader.infer("late", run(_values({"d": True})))) == {
        "a": "string",
        "b": "struct<c: double>",
        "d": "boolean",
        "n": "long",
    }
    assert written(reader.infer("order", run(_values({"n": 1, "e": 1})))) == {"e": "long"}
