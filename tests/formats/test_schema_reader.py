"""Messages with schemas: what their schemas say of them is enough to say what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.contracts import Shape, Shapes, Told
from penstock.formats.avro import AvroFormat
from penstock.formats.schema_reader import SchemaReader
from penstock.messages import Messages
from penstock.new_columns import beyond
from penstock.schema import columns, written
from penstock.values.plain import Refusal
from tests.contracts.writers import container
from tests.formats.runs import run

TABLE = columns({"n": "long", "who": "struct<name: string>"})
SHAPES = Shapes({"order": Shape(TABLE)})


def _reader(shapes: Shapes = SHAPES) -> SchemaReader:
    """Of Avro containers, which bring their schemas along."""
    made = AvroFormat().reader(shapes)
    assert isinstance(made, SchemaReader)
    return made


def _run(*messages: dict[str, Any] | bytes) -> Messages:
    return run([message if isinstance(message, bytes) else container(message) for message in messages])


def test_messages_with_several_schemas_are_rows_in_their_order() -> None:
    sent = [{"n": n} if n % 3 else {"who": {"name": f"w{n}"}, "n": n} for n in range(30)]

    made = _reader().columns("order", _run(*sent))

    assert made.rows is not None
    assert not made.declined.any()
    assert [row["n"] for row in made.rows.to_pylist()] == list(range(30))
    assert made.rows.column("who").to_pylist()[:2] == [{"name": "w0"}, None]


def test_schema_that_has_more_than_the_table_waits_whatever_is_in_the_message() -> None:
    found = _reader().sort(_run({"n": 1}, {"n": 2, "more": "x"}, {"who": {"name": "a", "age": 1}}), ["order"] * 3)

    assert found.clean["order"].tolist() == [0]
    assert found.waiting["order"].tolist() == [1, 2]


@pytest.mark.parametrize("evolve", ["freeze", "rescue", "ignore"])
def test_where_the_table_may_not_grow_nothing_waits(evolve: Any) -> None:
    shapes = replace(SHAPES, types={"order": Shape(TABLE, evolve)})

    found = _reader(shapes).sort(_run({"n": 2, "more": "x"}), ["order"])

    assert found.waiting == {}
    assert found.clean["order"].tolist() == [0]


def test_type_is_a_part_of_the_schema() -> None:
    found = _reader(replace(SHAPES, part="record")).sort(_run({"n": 1}, {"n": 2, "more": 1}), None)

    assert found.waiting["message"].tolist() == [0, 1]


def test_part_that_schemas_without_a_registry_do_not_have_is_missing() -> None:
    found = _reader(replace(SHAPES, part="subject")).sort(_run({"n": 1}), None)

    assert [(reject.stage, reject.code) for reject in found.rejects] == [("identify", "type.missing")]


def test_type_is_a_field_however_deep() -> None:
    shapes = replace(SHAPES, field="head.type")
    sent: list[dict[str, Any]] = [
        {"head": {"type": "order"}},
        {"head": {"type": None}},
        {"head": {"type": 7}},
        {"head": "x"},
        {"n": 1},
    ]

    found = _reader(shapes).sort(_run(*sent, {"head": {"type": "other"}}), None)

    assert {name: at.tolist() for name, at in found.waiting.items()} == {"order": [0], "other": [5]}
    assert sorted(reject.at for reject in found.rejects) == [1, 2, 3, 4]


def test_message_of_an_unwanted_type_is_filtered_whatever_it_holds() -> None:
    found = _reader(replace(SHAPES, allow="^order$")).sort(_run(b"nonsense", b"nonsense"), ["spam", "order"])

    assert found.filtered.tolist() == [0]
    assert [reject.at for reject in found.rejects] == [1]


def test_trouble_of_a_message_comes_before_that_of_its_type() -> None:
    shapes = replace(SHAPES, refused={"page": ("type.limit", "there is no room")})
    values = _run({"n": 1}, b"nonsense")

    found = _reader(shapes).sort(values, ["page", "page"])

    codes = {reject.at: reject.code for reject in found.rejects}
    assert codes[0] == "type.limit"
    assert codes[1] != "type.limit"


def test_values_that_do_not_fit_are_declined_alone() -> None:
    made = _reader().columns("order", _run({"n": 1}, {"n": "many"}, {"n": 3}, b"nonsense", {"n": 1.5}))

    assert made.declined.tolist() == [False, True, False, True, True]
    assert made.rows is not None
    assert made.rows.column("n").to_pylist() == [1, 3]


def test_plain_values_and_their_schema_are_told_of_each_message() -> None:
    reader, messages = _reader(), _run({"n": 1}, {"who": {"name": "a"}}, b"nonsense")

    assert isinstance(reader, Told)
    assert reader.plain(messages, 1) == {"who": {"name": "a"}}
    assert written(reader.told(messages.cut(1, 2))[0].schema) == {"who": "struct<name: string>"}
    assert [each.at.tolist() for each in reader.told(messages)] == [[0], [1]]
    with pytest.raises(Refusal):
        reader.plain(messages, 2)


def test_what_messages_lack_is_what_their_schemas_have_beyond_the_table() -> None:
    reader = _reader()

    first = reader.infer("order", _run({"n": 1}, {"n": 1, "who": {"name": "a", "age": 1}}, b"nonsense"))
    second = reader.infer("order", _run({"tags": ["a"]}))

    assert written(first) == {"who": "struct<age: long>"}
    assert written(second) == {"tags": "array<string>", "who": "struct<age: long>"}


@pytest.mark.parametrize(
    ("have", "kind", "lacks"),
    [
        ("long", "long", None),
        ("long", "string", None),
        ("struct<a: long>", "struct<a: long, b: long>", "struct<b: long>"),
        ("array<struct<a: long>>", "array<struct<b: long>>", "array<struct<b: long>>"),
        ("map<string, struct<a: long>>", "map<string, struct<b: long>>", "map<string, struct<b: long>>"),
        ("array<struct<a: long>>", "map<string, struct<b: long>>", None),
        ("struct<a: struct<b: long>>", "struct<a: struct<b: long, c: long>>", "struct<a: struct<c: long>>"),
    ],
)
def test_only_what_a_table_lacks_is_beyond_it(have: str, kind: str, lacks: str | None) -> None:
    found = beyond(columns({"x": kind, "new": "long"}), columns({"x": have}))

    assert found == columns({"x": lacks, "new": "long"} if lacks else {"new": "long"})
