"""Several formats in one topic: each message goes to the reader that its header names, and comes back in its place."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from penstock.contracts import Shape, Shapes
from penstock.formats.avro import AvroFormat
from penstock.formats.dynamodb import DynamodbFormat
from penstock.formats.json import JsonFormat
from penstock.formats.mixed import MixedFormat
from penstock.messages import Messages
from penstock.schema import columns, written
from penstock.values.plain import Refusal
from tests.contracts.writers import container, item
from tests.formats.runs import run

WRITERS = {"json": lambda message: json.dumps(message).encode(), "avro": container, "items": item}
FORMAT = MixedFormat(
    header="format", formats={"json": JsonFormat(), "avro": AvroFormat(), "items": DynamodbFormat(rows="items")}
)
TABLE = Shape(columns({"type": "string", "n": "long", "who": "struct<name: string, age: long>", "note": "string"}))
SHAPES = Shapes({"order": TABLE}, field="type", allow="^(order|new)$")
Sent = tuple[str, Mapping[str, Any]]


def _run(*sent: Sent) -> Messages:
    return run([WRITERS[how](message) for how, message in sent], [[("format", how.encode())] for how, _ in sent])


def _order(n: int, **more: Any) -> dict[str, Any]:
    return {"type": "order", "n": n, **more}


def test_rows_of_several_formats_are_in_the_order_of_their_messages() -> None:
    """Each has other fields, so that the columns of one format are not those of another."""
    sent: list[Sent] = []
    for n in range(0, 40, 4):
        sent += [("json", _order(n, note="j")), ("avro", _order(n + 1, who={"name": "ada"})), ("json", _order(n + 2))]
        sent += [("avro", _order(n + 3, who={"age": 3}, note="a"))]
    messages, reader = _run(*sent), FORMAT.reader(SHAPES)
    clean = reader.sort(messages, None).clean["order"]
    assert clean.tolist() == list(range(40))

    made = reader.columns("order", messages.only(clean))

    assert made.rows is not None
    assert not made.declined.any()
    found = [{name: row.get(name) for name in ("n", "who", "note")} for row in made.rows.to_pylist()]
    assert [row["n"] for row in found] == list(range(40))
    assert found[:4] == [
        {"n": 0, "who": None, "note": "j"},
        {"n": 1, "who": {"name": "ada", "age": None}, "note": None},
        {"n": 2, "who": None, "note": None},
        {"n": 3, "who": {"name": None, "age": 3}, "note": "a"},
    ]


def test_every_message_is_in_its_place_whatever_becomes_of_it() -> None:
    messages = _run(
        ("items", _order(0)),
        ("json", {"type": "spam"}),
        ("avro", {"type": "new", "n": 1}),
        ("json", _order(3)),
        ("items", {"type": "new", "n": 1}),
        ("avro", {"type": "spam"}),
        ("json", {"n": 6}),
        ("items", {"n": 7}),
    )

    found = FORMAT.reader(SHAPES).sort(messages, None)

    assert [row.at for row in found.rows["order"]] == [0]
    assert {name: at.tolist() for name, at in found.clean.items()} == {"order": [3]}
    assert {name: at.tolist() for name, at in found.waiting.items()} == {"new": [2, 4]}
    assert found.filtered.tolist() == [1, 5]
    assert sorted(reject.at for reject in found.rejects) == [6, 7]


def test_types_that_the_route_knows_stay_with_their_messages() -> None:
    messages = _run(("json", {"n": 0}), ("avro", {"n": 1}), ("json", {"n": 2}), ("avro", {"n": 3}))

    found = FORMAT.reader(SHAPES).sort(messages, ["order", "new", "spam", "order"])

    assert sorted([*found.clean["order"].tolist(), *(row.at for row in found.rows["order"])]) == [0, 3]
    assert found.waiting["new"].tolist() == [1]
    assert found.filtered.tolist() == [2]


def test_messages_that_one_format_declines_are_declined_in_their_place() -> None:
    messages = _run(
        ("json", _order(0)), ("items", _order(1)), ("avro", {**_order(2), "n": "many"}), ("avro", _order(3))
    )

    made = FORMAT.reader(SHAPES).columns("order", messages)

    assert made.declined.tolist() == [False, True, True, False]
    assert made.rows is not None
    assert made.rows.column("n").to_pylist() == [0, 3]
    assert FORMAT.reader(SHAPES).columns("order", _run(("items", _order(1)))).rows is None


def test_plain_values_are_those_of_the_format_that_the_header_names() -> None:
    messages, reader = _run(("json", _order(0)), ("items", _order(1)), ("avro", _order(2))), FORMAT.reader(SHAPES)

    assert [reader.plain(messages, at)["n"] for at in range(3)] == ["0", "1", "2"]


def test_columns_that_several_formats_bring_are_seen_together() -> None:
    reader = FORMAT.reader(SHAPES)

    first = reader.infer("new", _run(("json", {"a": 1}), ("avro", {"b": "x"})))
    second = reader.infer("new", _run(("items", {"c": {"d": True}}), ("json", {"a": 1.5})))

    assert written(first) == {"a": "long", "b": "string"}
    assert written(second) == {"a": "double", "b": "string", "c": "struct<d: boolean>"}
    assert written(reader.infer("order", _run(("avro", _order(1, e=1))))) == {"e": "long"}


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ([], "no header 'format'"),
        ([("Format", b"json")], "no header 'format'"),
        ([("format", None)], "no header 'format'"),
        ([("format", b"thrift")], '"thrift" as header'),
        ([("format", b"\xff\x00")], "as header"),
        ([("format", b"json"), ("format", b"thrift")], '"thrift" as header'),
    ],
)
def test_message_that_names_no_format_is_refused(headers: Sequence[tuple[str, bytes | None]], told: str) -> None:
    messages, reader = run([b'{"type": "order"}'], [headers]), FORMAT.reader(SHAPES)

    (reject,) = reader.sort(messages, None).rejects

    assert (reject.at, reject.stage, reject.code) == (0, "parse", "format.unknown")
    assert told in reject.text
    with pytest.raises(Refusal, match="format"):
        reader.plain(messages, 0)
    assert reader.columns("order", messages).declined.tolist() == [True]


def test_of_several_headers_the_last_one_counts() -> None:
    messages = run([b'{"type": "order"}'], [[("format", b"avro"), ("other", b"x"), ("format", b"json")]])

    assert FORMAT.reader(SHAPES).sort(messages, None).rejects == []


def test_messages_that_say_nothing_have_the_default() -> None:
    format = FORMAT.model_copy(update={"default": "json"})
    messages = run([b'{"type": "order"}'] * 3, [[], [("format", None)], [("format", b"thrift")]])

    found = format.reader(SHAPES).sort(messages, None)

    assert found.clean["order"].tolist() == [0, 1]
    assert [reject.at for reject in found.rejects] == [2]


def test_default_must_be_one_of_the_formats() -> None:
    with pytest.raises(ValidationError, match="default"):
        MixedFormat(header="format", formats={"json": JsonFormat()}, default="avro")


def test_formats_with_files_take_along_what_these_hold_now(tmp_path: Any) -> None:
    file = tmp_path / "order.avsc"
    file.write_text('{"type": "record", "name": "order", "fields": []}')
    format = MixedFormat(header="f", formats={"json": JsonFormat(), "avro": AvroFormat(single_object=str(tmp_path))})

    found = pickle.loads(pickle.dumps(format.refreshed()))
    file.unlink()

    assert found.formats["json"] == format.formats["json"]
    found.reader(SHAPES)  # on a worker, where there is no such file
