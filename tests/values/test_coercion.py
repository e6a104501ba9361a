"""Values made to fit, as users of kafka-delta-ingest know it: driven by the table's schema, at any depth."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.contracts import Shape
from penstock.formats.json.reference import parse
from penstock.schema import columns
from penstock.values.fit import fit
from penstock.values.plain import Refusal

TABLE = columns(
    {
        "level1_string": "string",
        "level1_integer": "int",
        "level1_timestamp": "timestamp",
        "level1_date": "date",
        "level2": "struct<level2_string: string, level2_timestamp: timestamp>",
        "array_timestamp": "array<timestamp>",
        "array_string": "array<string>",
        "array_int": "array<int>",
        "array_struct": "array<struct<element_string: string, element_timestamp: timestamp, element_int: int>>",
    }
)
MOMENT = 1636668718000000


def coerced(message: dict[str, Any]) -> dict[str, Any]:
    found = fit(parse(json.dumps(message).encode(), 2**20), Shape(TABLE, "ignore", coerce=True))
    return {name: value for name, value in found.items() if value is not None}


def test_coercion_tree() -> None:
    """Texts and times are coerced wherever they are, and nothing else is."""
    leaves = coerced(
        {
            "level1_string": 1,
            "level1_integer": 2,
            "level2": {"level2_string": 3, "level2_timestamp": 4},
            "array_timestamp": [5],
            "array_string": [6],
            "array_int": [7],
            "array_struct": [{"element_string": 8, "element_timestamp": 9, "element_int": 10}],
        }
    )

    assert leaves == {
        "level1_string": "1",
        "level1_integer": 2,
        "level2": {"level2_string": "3", "level2_timestamp": 4},
        "array_timestamp": [5],
        "array_string": ["6"],
        "array_int": [7],
        "array_struct": [{"element_string": "8", "element_timestamp": 9, "element_int": 10}],
    }


@pytest.mark.parametrize(
    ("message", "row"),
    [
        ({"level1_string": "a", "level1_integer": 0}, {"level1_string": "a", "level1_integer": 0}),
        ({"level1_string": 1}, {"level1_string": "1"}),
        ({"level1_string": 1.10}, {"level1_string": "1.1"}),
        ({"level1_string": True}, {"level1_string": "true"}),
        ({"level1_string": {"x": "x", "y": "y"}}, {"level1_string": '{"x":"x","y":"y"}'}),
        ({"level1_string": [1, None]}, {"level1_string": "[1,null]"}),
        ({"level1_string": None}, {}),
        ({"level1_timestamp": "2021-11-11T22:11:58Z"}, {"level1_timestamp": MOMENT}),
        ({"level1_timestamp": "2021-11-11T22:11:58+00:00"}, {"level1_timestamp": MOMENT}),
        ({"level1_timestamp": "2021-11-11T22:11:58-00:00"}, {"level1_timestamp": MOMENT}),
        ({"level1_timestamp": MOMENT}, {"level1_timestamp": MOMENT}),
        ({"array_string": ["a", {"a": 1}, 2]}, {"array_string": ["a", '{"a":1}', "2"]}),
        ({"array_timestamp": ["2021-11-11T22:11:58Z", MOMENT]}, {"array_timestamp": [MOMENT, MOMENT]}),
    ],
)
def test_coercions(message: dict[str, Any], row: dict[str, Any]) -> None:
    assert coerced(message) == row


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"level1_timestamp": "20211111T22115800Z"}, "value.misfit"),
        ({"level1_timestamp": "2021-11-11 22:11:58"}, "value.misfit"),
        ({"level1_timestamp": "This definitely is not a timestamp"}, "value.misfit"),
        ({"level1_timestamp": str(MOMENT)}, "value.misfit"),
        ({"level1_timestamp": 1.5}, "value.misfit"),
        ({"level1_timestamp": 2**62}, "value.misfit"),
        ({"level1_date": "11.11.2021"}, "value.misfit"),
        ({"level1_integer": "1"}, "value.misfit"),
        ({"array_struct": [{"element_int": "1"}]}, "value.misfit"),
    ],
)
def test_what_still_does_not_fit_is_refused(message: dict[str, Any], code: str) -> None:
    with pytest.raises(Refusal) as caught:
        coerced(message)

    assert (caught.value.stage, caught.value.code) == ("fit", code)


def test_string_to_timestamp() -> None:
    """Times that nanoseconds since the epoch could not count."""
    assert coerced({"level1_timestamp": "2400-01-01T00:00:00Z"}) == {"level1_timestamp": 13569465600000000}


def test_dates_are_days() -> None:
    assert str(coerced({"level1_date": "2021-11-11"})["level1_date"]) == "2021-11-11"
