"""Reading messages one by one: rows, rejects beside them, and those that wait for a column."""

from __future__ import annotations

from penstock.contracts import Shape, Shapes
from penstock.formats.json import JsonFormat
from penstock.landing.reading import AsTheyCome
from penstock.schema import columns
from tests.formats.json.oracle import run


def test_rows_are_made_one_by_one_with_rejects_beside_them() -> None:
    shapes = Shapes({"a": Shape(columns({"x": "long"}))})
    reading = AsTheyCome(JsonFormat().reader(shapes), shapes)

    found = reading.rows("a", run([b'{"x":1}', b'{"x":"1"}', b'{"y":1}', b'{"x":2}', b"{"]))

    assert [(row.at, row.values["x"]) for row in found.rows["a"]] == [(0, 1), (3, 2)]
    assert [(reject.at, reject.code) for reject in found.rejects] == [(1, "value.misfit"), (4, "json.malformed")]
    assert found.waiting["a"].tolist() == [2]
