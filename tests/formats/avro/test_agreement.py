"""Whatever the schema and the message: both paths mean the same, and what fastavro wrote."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.formats.avro.decoder import AvroDecoder
from tests.formats.avro.encoding import written
from tests.formats.avro.generated import Case, cases, records
from tests.formats.avro.oracle import fast, referred, shown


def _messages(drawn: st.DataObject, case: Case, most: int = 4) -> tuple[AvroDecoder, list[bytes], list[Any]]:
    decoder = AvroDecoder(json.dumps(case.schema))
    pairs = drawn.draw(st.lists(case.values, min_size=1, max_size=most))
    return decoder, [written(case.schema, value) for value, _ in pairs], [plain for _, plain in pairs]


@given(case=cases(), drawn=st.data())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_what_fastavro_wrote_is_read_by_both_paths(case: Case, drawn: st.DataObject) -> None:
    decoder, bodies, meant = _messages(drawn, case)

    is_record = isinstance(case.schema, dict) and case.schema["type"] == "record"
    plain = [decoder.plain(body) for body in bodies]

    assert shown(plain) == shown(meant if is_record else [{"value": value} for value in meant])
    assert fast(decoder, bodies) == [referred(decoder, body) for body in bodies]


@given(case=records(depth=2), drawn=st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_what_was_damaged_makes_the_same_row_or_none(case: Case, drawn: st.DataObject) -> None:
    decoder, bodies, _ = _messages(drawn, case)

    damaged = [_damaged(drawn, body, bodies) for body in bodies for _ in range(4)]

    for row, body in zip(fast(decoder, damaged), damaged, strict=True):
        referent = referred(decoder, body)
        assert row == (None if isinstance(referent, str) else referent)


def _damaged(drawn: st.DataObject, body: bytes, others: list[bytes]) -> bytes:
    place = drawn.draw(st.integers(0, len(body)))
    match drawn.draw(st.sampled_from(["flip", "cut", "extend", "splice", "replace", "leave"])):
        case "flip" if place < len(body):
            changed = body[place] ^ (1 << drawn.draw(st.integers(0, 7)))
            return body[:place] + bytes([changed]) + body[place + 1 :]
        case "cut":
            return body[:place]
        case "extend":
            return body + drawn.draw(st.binary(min_size=1, max_size=3))
        case "splice":
            other = drawn.draw(st.sampled_from(others))
            return body[:place] + other[drawn.draw(st.integers(0, len(other))) :]
        case "replace":
            return body[:place] + drawn.draw(st.binary(min_size=1, max_size=12)) + body[place + 1 :]
    return body
