"""Fingerprints, as other implementations compute them."""

from __future__ import annotations

import json
from typing import Any

import fastavro.schema
import pytest
from hypothesis import given, settings

from penstock.formats.avro.fingerprint import canonical, fingerprint
from penstock.formats.avro.schema import parse
from tests.formats.avro.encoding import enum, fixed, logical, record
from tests.formats.avro.generated import Case, cases


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("null", 7195948357588979594),
        ("boolean", -6970731678124411036),
        (fixed(15, name="foo"), 1756455273707447556),
    ],
    ids=str,
)
def test_values_that_are_known(schema: Any, expected: int) -> None:
    assert fingerprint(parse(json.dumps(schema))) == expected % 2**64


def test_canonical_form_leaves_out_what_does_not_matter() -> None:
    schema = {**record(logical("int", "date"), enum("A", "B"), "E"), "namespace": "n", "doc": "x", "aliases": ["y"]}

    assert canonical(parse(json.dumps(schema))) == (
        '{"name":"n.R","type":"record","fields":[{"name":"a","type":"int"},'
        '{"name":"b","type":{"name":"n.E","type":"enum","symbols":["A","B"]}},{"name":"c","type":"n.E"}]}'
    )


@given(case=cases(depth=2))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_fastavro_says_the_same(case: Case) -> None:
    form = fastavro.schema.to_parsing_canonical_form(case.schema)
    type = parse(json.dumps(case.schema))

    assert canonical(type) == form
    assert fingerprint(type).to_bytes(8, "little").hex() == fastavro.schema.fingerprint(form, "CRC-64-AVRO")
