from __future__ import annotations

import pytest

from penstock.formats.protobuf.framing import indexes, message_at
from penstock.values.plain import Refusal
from tests.formats.protobuf.corpus import types


@pytest.mark.parametrize(
    ("body", "found", "start"),
    [
        (b"\x00rest", (0,), 1),
        (b"\x02\x00rest", (0,), 2),
        (b"\x02\x02rest", (1,), 2),
        (b"\x04\x02\x06rest", (1, 3), 3),
        (b"\x02\xac\x02rest", (150,), 3),
        (b"\x02\x01rest", (-1,), 2),
    ],
)
def test_indexes_are_read_up_to_where_the_message_starts(body: bytes, found: tuple[int, ...], start: int) -> None:
    assert indexes(body) == (found, start)
    assert indexes(b"\x00\x00\x00\x00\x07" + body, 5) == (found, start + 5)


@pytest.mark.parametrize("body", [b"", b"\x02", b"\x04\x02", b"\x01", b"\x80", b"\xfe\x01" + bytes(200), b"\xff" * 9])
def test_indexes_that_are_none_are_refused(body: bytes) -> None:
    with pytest.raises(Refusal) as why:
        indexes(body)
    assert why.value.code == "protobuf.framing"


def test_indexes_lead_to_types_in_the_order_of_the_source() -> None:
    main = types().main
    assert [message_at(main, [n]).name for n in range(4)] == ["Inner", "Inner2", "Rich", "Wide"]
    descriptor = message_at(types().pool.FindFileByName("old.proto"), [0, 0])
    assert descriptor.full_name == "old.Old.Part"


@pytest.mark.parametrize("path", [[], [4], [-1], [0, 0], [2, 0], [2, 99], [0] * 64])
def test_indexes_that_lead_nowhere_or_to_an_entry_of_a_map_are_refused(path: list[int]) -> None:
    with pytest.raises(Refusal) as why:
        message_at(types().main, path)
    assert why.value.code == "protobuf.framing"
