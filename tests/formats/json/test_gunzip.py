"""Compressed messages: opened, and never further than the limit."""

from __future__ import annotations

import gzip
import time

import numpy as np
import pyarrow as pa
import pytest

from penstock.contracts import Shape, Shapes
from penstock.formats.json import JsonFormat
from penstock.formats.json.gunzip import opened
from penstock.messages import Details, Messages
from penstock.schema import columns
from penstock.values.plain import Refusal


def _messages(*values: bytes) -> Messages:
    return Messages(
        "t", "0", np.arange(len(values)), pa.array(values, pa.binary()), lambda _: Details(None, [], None), list(values)
    )


def test_a_value_in_several_members_is_whole() -> None:
    assert opened(gzip.compress(b'{"a":') + gzip.compress(b"1}"), 100) == b'{"a":1}'


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b'{"a": 1}', "json.not-gzip"),
        (gzip.compress(b'{"a": 1}')[:-9], "json.not-gzip"),
        (gzip.compress(b"0" * 100_000_000), "json.too-large"),
        (gzip.compress(b'{"a": 1}') + b"rest", "json.not-gzip"),
    ],
    ids=["plain", "cut off", "large", "with a rest"],
)
def test_what_cannot_be_opened_is_refused(value: bytes, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        opened(value, 1_000)

    assert (caught.value.stage, caught.value.code) == ("parse", code)


def test_many_members_are_refused_before_they_cost_anything() -> None:
    value, start = gzip.compress(b"") * 50_000, time.process_time()

    with pytest.raises(Refusal) as caught:
        opened(value, 1_000)

    assert time.process_time() - start < 0.1
    assert (caught.value.stage, caught.value.code) == ("parse", "json.not-gzip")
    assert caught.value.text == "the compressed value is in more than 100 members"
    assert opened(gzip.compress(b"1") * 100, 1_000) == b"1" * 100


def test_messages_keep_their_places() -> None:
    good = [gzip.compress(b'{"a": %d}' % number) for number in range(3)]
    late = gzip.compress(b'{"a": 7, "b": 1}')
    reader = JsonFormat(gzip=True).reader(Shapes({"t": Shape(columns({"a": "long"}))}))

    found = reader.sort(_messages(b"bad", good[0], late, good[1], b"worse", good[2]), ["t"] * 6)

    assert [reject.at for reject in found.rejects] == [0, 4]
    assert [*found.clean["t"], *(row.at for row in found.rows.get("t", []))] == [1, 3, 5]
    assert list(found.waiting["t"]) == [2]
    made = reader.columns("t", _messages(*good)).rows
    assert made is not None
    assert made.to_pylist() == [{"a": 0}, {"a": 1}, {"a": 2}]
