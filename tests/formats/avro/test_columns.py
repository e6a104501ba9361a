"""Many messages at once: their places, chunks and limits, whatever array they come in."""

from __future__ import annotations

import json
import struct
import time
import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.arrow import arrow_schema
from penstock.formats.avro.decoder import AvroDecoder
from penstock.formats.avro.reference import Limits
from tests.formats.avro.encoding import array, fixed, logical, number, record, sized, text
from tests.formats.avro.oracle import COPIES, fast, referred

PAIR = json.dumps(record("long", "string"))
LONGS = {"type": "array", "items": "long"}
TEXTS = {"type": "array", "items": "string"}


def _pair(at: int) -> bytes:
    return number(at) + text(f"text {at}")


def _decoder(schema: Any, **limits: int) -> AvroDecoder:
    return AvroDecoder(json.dumps(schema), limits=Limits(**limits))


def test_no_messages_make_no_rows() -> None:
    rows, declined = AvroDecoder(PAIR).columns(pa.array([], pa.binary()))

    assert rows.schema == arrow_schema(AvroDecoder(PAIR).schema)
    assert (rows.num_rows, len(declined)) == (0, 0)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()], ids=str)
def test_messages_may_be_a_slice_of_others(kind: pa.DataType) -> None:
    bodies = pa.array([b"\xff" * 30, b"", *(_pair(at) for at in range(10)), b"\xff"], kind).slice(2, 10).slice(3)

    rows, declined = AvroDecoder(PAIR).columns(bodies)

    assert rows["a"].to_pylist() == list(range(3, 10))
    assert rows["b"].to_pylist() == [f"text {at}" for at in range(3, 10)]
    assert not declined.any()


def test_many_chunks_are_one_batch_in_order() -> None:
    bodies = [b"\x80" if at % 1_000 == 7 else _pair(at) for at in range(30_000)]

    rows, declined = AvroDecoder(PAIR).columns(pa.array(bodies, pa.binary()))

    good = [at for at in range(30_000) if at % 1_000 != 7]
    assert rows["a"].to_pylist() == good
    assert rows["b"].to_pylist() == [f"text {at}" for at in good]
    assert np.flatnonzero(~declined).tolist() == good


def test_messages_that_are_all_bad_make_no_rows() -> None:
    rows, declined = AvroDecoder(PAIR).columns(pa.array([b"\xff" * 12] * 20_000, pa.binary()))

    assert (rows.num_rows, declined.sum()) == (0, 20_000)
    assert rows.schema == arrow_schema(AvroDecoder(PAIR).schema)


def test_large_messages_are_in_chunks_of_their_own() -> None:
    bodies = [number(at) + text("ä" * 200_000) for at in range(12)]

    rows, declined = AvroDecoder(PAIR).columns(pa.array(bodies, pa.binary()))

    assert rows["a"].to_pylist() == list(range(12))
    assert not declined.any()


def test_messages_beyond_the_limit_are_left_to_the_reference_path() -> None:
    bodies = [_pair(1), number(2) + text("x" * 100), _pair(3)]

    rows, declined = _decoder(json.loads(PAIR), bytes=50).columns(pa.array(bodies, pa.binary()))

    assert rows["a"].to_pylist() == [1, 3]
    assert declined.tolist() == [False, True, False]


def test_a_huge_message_costs_its_neighbours_nothing() -> None:
    huge = pa.array([_pair(1), b"\0" * 100_000_000, _pair(2)], pa.binary())
    before = pa.total_allocated_bytes()

    tracemalloc.start()
    rows, declined = AvroDecoder(PAIR).columns(huge)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert rows["a"].to_pylist() == [1, 2]
    assert declined.tolist() == [False, True, False]
    assert peak + pa.total_allocated_bytes() - before < 10_000_000


@pytest.mark.parametrize(
    "schema",
    [
        record({"type": "array", "items": "null"}),
        record({"type": "array", "items": record(name="Empty")}),
        record({"type": "array", "items": fixed(0)}),
        record(logical("bytes", "decimal", precision=39)),
        record("null"),
    ],
    ids=str,
)
def test_what_has_no_fast_path_is_declined(schema: Any) -> None:
    rows, declined = _decoder(schema).columns(pa.array([b"\0"] * 20, pa.binary()))

    assert (rows.num_rows, declined.tolist()) == (0, [True] * 20)


def test_arrays_of_all_lengths_stand_side_by_side() -> None:
    lists = [list(range(size)) for size in (0, 1, 5, 2, 0, 9, 1)]
    bodies = [array(*map(number, each)) + array(*(text(f"é{at}") for at in each)) for each in lists]
    decoder = _decoder(record(LONGS, TEXTS))

    assert fast(decoder, bodies) == [{"a": each, "b": [f"é{at}" for at in each]} for each in lists]


def test_blocks_may_be_split_and_tell_their_size() -> None:
    items = [number(at * 1_000) for at in range(6)]
    bodies = [
        sized(*items) + b"\0",
        sized(*items[:2]) + sized(*items[2:]) + b"\0",
        number(2) + items[0] + items[1] + sized(*items[2:5]) + number(1) + items[5] + b"\0",
        array(*items),
    ]

    assert fast(_decoder(record(LONGS)), bodies) == [{"a": [0, 1_000, 2_000, 3_000, 4_000, 5_000]}] * 4


def test_long_arrays_of_few_messages_are_left_to_the_reference_path() -> None:
    short, long = array(*[b"\x02"] * 3), array(*[b"\x02"] * 500)
    decoder = _decoder(record(LONGS))

    rows, declined = decoder.columns(pa.array([short] * 50 + [long] * 3, pa.binary()))

    assert rows["a"].to_pylist() == [[1] * 3] * 50
    assert declined.tolist() == [False] * 50 + [True] * 3
    assert referred(decoder, long) == {"a": [1] * 500}


def test_rounds_are_limited() -> None:
    long = array(*[b"\x02"] * 20_000)
    start = time.process_time()

    _, declined = _decoder(record(LONGS)).columns(pa.array([long] * COPIES, pa.binary()))

    assert declined.all()
    assert time.process_time() - start < 2


def test_what_grows_large_in_its_columns_is_left_to_the_reference_path() -> None:
    """A hundred messages of five hundred bytes, which would be thirty million values."""
    wide = record(record(*["long"] * 26, name="Inner"), *["Inner"] * 25, name="Wide")
    decoder, body = _decoder(record({"type": "array", "items": ["null", wide]})), array(*[b"\0"] * 500)

    rows, declined = decoder.columns(pa.array([body] * 100, pa.binary()))

    assert rows.num_rows * 500 * 677 <= 4_000_000
    assert declined.sum() == 100 - rows.num_rows
    assert referred(decoder, body) == {"a": [None] * 500}


@pytest.mark.parametrize(("items", "is_row"), [(6, True), (5, False)])
def test_items_are_limited_as_on_the_reference_path(items: int, is_row: bool) -> None:
    decoder, body = (
        _decoder(record(LONGS, TEXTS), items=items),
        array(b"\x02", b"\x02", b"\x02") + array(*[text("x")] * 3),
    )

    assert (fast(decoder, [body]) != [None]) == is_row
    assert (referred(decoder, body) != "avro.items") == is_row


def test_maps_keep_their_order_and_are_told_apart() -> None:
    decoder = _decoder(record({"type": "map", "values": "int"}))
    one, two = text("b") + b"\x02", text("a") + b"\x04"

    found = fast(decoder, [array(one, two), array(two), array(), array(one, one), array(two, one)])

    assert found == [{"a": [("b", 1), ("a", 2)]}, {"a": [("a", 2)]}, {"a": []}, None, {"a": [("a", 2), ("b", 1)]}]


def test_nothing_is_read_from_a_neighbour() -> None:
    """A message that ends too early is declined, also where the bytes of the next one would complete it."""
    whole = number(5) + text("abcdef")
    bodies = [piece for cut in range(len(whole)) for piece in (whole[:cut], whole[cut:])]

    decoder = AvroDecoder(PAIR)
    rows, declined = decoder.columns(pa.array(bodies, pa.binary()))

    assert [isinstance(referred(decoder, body), str) for body in bodies] == declined.tolist()
    assert rows.num_rows == (~declined).sum() > 0


def test_flat_records_are_fast_also_with_some_that_are_bad() -> None:
    """Far below what one message at a time takes, which is about forty microseconds."""
    kinds = ["long", "string", "string", "int", "double", "boolean", ["null", "string"], "string", ["null", "double"]]
    good = number(10**12) + text("customer") * 2 + number(5) + struct.pack("<d", 1.5) + b"\x01"
    good += b"\x02" + text("please ring twice") + text("é") + b"\0"
    bodies = pa.array([good[:-1] if at % 100 == 0 else good for at in range(20_000)], pa.binary())
    decoder = _decoder(record(*kinds))
    decoder.columns(bodies)
    start = time.process_time()

    rows, declined = decoder.columns(bodies)

    assert time.process_time() - start < 20_000 * 5e-6
    assert (rows.num_rows, declined.sum()) == (19_800, 200)
