"""The id of a schema before a message: found wherever the message lies in its column."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formats.decoding import Framed, after, headed
from tests.formats.runs import run


def _with_id(id: int, body: bytes = b"") -> bytes:
    return struct.pack(">bI", 0, id) + body


def _ids(framed: Framed) -> list[int | None]:
    return [None if code < 0 else framed.keys[code] for code in framed.codes.tolist()]


def test_ids_and_bodies_are_told_apart() -> None:
    framed = headed(run([_with_id(7, b"abc"), _with_id(2**31 - 1), _with_id(7, b"\0")]))

    assert _ids(framed) == [7, 2**31 - 1, 7]
    assert framed.bodies.to_pylist() == [b"abc", b"", b"\0"]
    assert framed.refused == {}


@pytest.mark.parametrize(
    "value", [b"", b"\0", b"\0\0\0\1", b"\1\0\0\0\1abc", b'{"n": 1}', b"\xff" * 10, b"\0\xff\xff\xff\xff"]
)
def test_message_without_an_id_is_refused_alone(value: bytes) -> None:
    framed = headed(run([_with_id(1, b"a"), value, _with_id(2, b"b")]))

    assert _ids(framed) == [1, None, 2]
    assert {at: (why.stage, why.code) for at, why in framed.refused.items()} == {1: ("parse", "schema.no-id")}


def test_nothing_is_nothing() -> None:
    framed = headed(run([]))

    assert (len(framed.bodies), list(framed.keys), len(framed.codes), framed.refused) == (0, [], 0, {})


@given(st.lists(st.one_of(st.binary(max_size=12), st.integers(0, 2**32 - 1).map(_with_id)), max_size=20), st.data())
def test_part_of_a_column_is_read_as_if_it_were_alone(values: list[bytes], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(start, len(values)))

    part, alone = headed(run(values).cut(start, end)), headed(run(values[start:end]))

    expected = [
        int.from_bytes(value[1:5], "big") if len(value) >= 5 and value[0] == 0 and value[1] < 128 else None
        for value in values[start:end]
    ]
    assert _ids(part) == _ids(alone) == expected
    assert part.bodies.to_pylist() == [value[5:] for value in values[start:end]]
    assert sorted(part.refused) == [at for at, id in enumerate(expected) if id is None]


def test_what_follows_some_bytes_may_be_nothing() -> None:
    assert after(pa.array([b"abc", b"a", b""], pa.binary()), 2).to_pylist() == [b"c", b"", b""]
