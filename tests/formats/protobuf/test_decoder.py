from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest
from google.protobuf.message_factory import GetMessageClass

from penstock.arrow import arrow_schema
from penstock.formats.protobuf import batches
from penstock.formats.protobuf.decoder import ProtobufDecoder
from penstock.formats.protobuf.descriptors import compile_source
from tests.formats.protobuf.corpus import WHOLE, key, ld, num, types
from tests.formats.protobuf.oracle import agree


@pytest.fixture(scope="module")
def decoder() -> ProtobufDecoder:
    return ProtobufDecoder(types().named("c.Inner"))


def bodies(count: int) -> list[bytes]:
    make = GetMessageClass(types().named("c.Inner"))
    return [make(name=f"n{n}", count=n, marks=range(n % 4)).SerializeToString() for n in range(count)]


def test_record_is_the_full_name(decoder: ProtobufDecoder) -> None:
    assert decoder.record == "c.Inner"


def test_batches_of_nothing_and_of_empty_messages_have_their_columns(decoder: ProtobufDecoder) -> None:
    for count in (0, 3):
        rows, declined = decoder.columns(pa.array([b""] * count, pa.binary()))
        assert (rows.num_rows, len(declined), declined.sum()) == (count, count, 0)
        assert rows.schema.equals(arrow_schema(decoder.schema))


def test_writers_messages_are_never_declined(decoder: ProtobufDecoder) -> None:
    assert not agree(decoder, bodies(500)).any()


def test_chunks_make_no_difference(decoder: ProtobufDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    given = pa.array([*bodies(50), b"\xff", *bodies(50)], pa.binary())
    whole, declined = decoder.columns(given)
    monkeypatch.setattr(batches, "CHUNK_MESSAGES", 7)
    monkeypatch.setattr(batches, "CHUNK_BYTES", 40)
    parts, again = decoder.columns(given)
    assert parts.equals(whole)
    assert np.flatnonzero(declined).tolist() == np.flatnonzero(again).tolist() == [50]


def test_type_without_fields_is_left_to_the_reference_path() -> None:
    empty = ProtobufDecoder(types().pool.FindMessageTypeByName("google.protobuf.Empty"))
    _, declined = empty.columns(pa.array([b"", b"\x80"], pa.binary()))
    assert declined.all()
    assert empty.plain(b"") == {}


def test_unknown_fields_are_counted_and_declined_only_if_strict(decoder: ProtobufDecoder) -> None:
    given = [ld(1, b"a"), num(99, 1) + ld(1, b"b"), ld(3, num(88, 1) + num(89, 1))]
    before = decoder.unknown_fields
    _, declined = decoder.columns(pa.array(given, pa.binary()))
    assert (declined.sum(), decoder.unknown_fields - before) == (0, 3)
    strict = ProtobufDecoder(types().named("c.Inner"), strict=True)
    _, declined = strict.columns(pa.array(given, pa.binary()))
    assert (declined.tolist(), strict.unknown_fields) == ([False, True, True], 0)


def test_a_message_of_endless_fields_does_not_hold_up_its_batch(decoder: ProtobufDecoder) -> None:
    """Others wait for it, at later fields, only so long."""
    given = [*bodies(2_000), ld(1, b"x") * 100_000, *bodies(2_000)]
    start = time.process_time()
    _, declined = decoder.columns(pa.array(given, pa.binary()))
    assert np.flatnonzero(declined).tolist() == [2_000]
    assert time.process_time() - start < 2


def test_messages_that_unfold_are_declined_before_they_fill_memory() -> None:
    """Each is within the limit of a message; together they are ten million values."""
    rich = ProtobufDecoder(types().named("c.Rich"))
    given = [WHOLE] + [ld(31) * 100] * 100
    before = pa.total_allocated_bytes()
    rows, declined = rich.columns(pa.array(given, pa.binary()))
    assert not declined[0]
    assert pa.total_allocated_bytes() - before < 400 * 2**20
    assert rows.num_rows == (~declined).sum()


def test_fields_of_other_wire_types_leave_their_neighbours_alone(decoder: ProtobufDecoder) -> None:
    odd = [num(1, 5), key(2, 1) + bytes(8), key(3, 3) + key(3, 4), b"\x00", b""]
    declined = agree(decoder, [body for one in odd for body in (one, WHOLE[:2], ld(1, b"ok"))])
    assert not declined[2::3].any()


def test_many_messages_are_read_in_little_time() -> None:
    """Hundreds of times quicker than this is usual; the point is that no message is read by itself."""
    source = 'syntax = "proto3"; message M { string a = 1; int64 b = 2; double c = 3; string d = 4; bool e = 5; }'
    descriptor = compile_source(source).named("M")
    make = GetMessageClass(descriptor)
    given = [make(a=f"name {n}", b=n * n, c=n / 7, d="x" * (n % 50), e=n % 2 == 0) for n in range(20_000)]
    values = pa.array([one.SerializeToString() for one in given], pa.binary())
    decoder = ProtobufDecoder(descriptor)
    start = time.process_time()
    rows, declined = decoder.columns(values)
    assert time.process_time() - start < 0.4
    assert not declined.any()
    assert rows.column("b").to_pylist() == [n * n for n in range(20_000)]
