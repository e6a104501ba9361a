"""Two paths, one meaning: whatever comes, the fast path says of it what the reference path says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.contracts import Shape, Shapes
from penstock.formats.json import JsonFormat
from penstock.formats.json import format as json_format
from penstock.schema import columns
from tests.formats.json.generated import Traffic, bounded, traffic
from tests.formats.json.oracle import expected, found, run

RANDOMS = st.randoms(use_true_random=True)


@pytest.fixture(autouse=True, scope="module")
def _learn_soon() -> Iterator[None]:
    """What a run of messages teaches is used from the fifth message on, not from the 65th."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_format, "FIRST_LOOK", 4)
        yield


def agree(it: Traffic, format: JsonFormat) -> None:
    types: Sequence[str | None] = it.types or [None] * len(it.values)
    reject = format.duplicate_keys == "reject"
    wanted = [expected(v, t, it.shapes, reject_duplicates=reject) for v, t in zip(it.values, types, strict=True)]
    reader = format.reader(it.shapes)
    for again in range(2):  # what was learned must not change the answer
        for at, fate in enumerate(found(reader, it.values, it.types, it.shapes)):
            assert fate == wanted[at], f"\n{it.values[at]!r}\nof type {types[at]}, time {again}\n{it.shapes}"


@bounded(150)
@given(RANDOMS)
def test_fast_path_agrees_with_the_reference_path(random: Random) -> None:
    agree(traffic(random), JsonFormat())


@bounded(40)
@given(RANDOMS)
def test_it_does_so_where_equal_keys_are_refused_too(random: Random) -> None:
    agree(traffic(random), JsonFormat(duplicate_keys="reject"))


@bounded(10)
@given(RANDOMS)
def test_it_does_so_for_many_messages_of_few_shapes(random: Random) -> None:
    agree(traffic(random, count=400), JsonFormat())


SEEDS = [b"", b"{}", b'{"type":"t"}', b'{"type":"t","a":[{"b":"\\u00e9"}],"c":1e5}', b'{"type":"new"}']
SHAPES = Shapes({"t": Shape(columns({"type": "string", "a": "array<struct<b: string>>", "c": "double"}))}, "type")
PARTS = st.one_of(
    st.binary(max_size=12), st.sampled_from([*SEEDS, b'"', b"[", b"{", b"\\", b":", b",", b"\xed\xa0\x80"])
)


@bounded(150)
@given(st.lists(st.lists(PARTS, max_size=4).map(b"".join), max_size=6), st.sampled_from(["type", "a.b", None]))
def test_no_bytes_whatsoever_make_it_raise_or_lose_a_message(values: list[bytes], field: str | None) -> None:
    shapes = replace(SHAPES, field=field)
    types = None if field else (["t", "new"] * len(values))[: len(values)]
    agree(Traffic(shapes, values, types), JsonFormat())
    JsonFormat().reader(shapes).infer("new", run(values))
