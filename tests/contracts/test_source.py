"""What every source must keep, run over all of them: the real broker's topics and messages in memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from confluent_kafka import TopicPartition

from penstock.contracts import ShortRead, Slice, Source
from penstock.messages import Details
from penstock.sources.kafka import KafkaSource
from penstock.testing import MemorySource
from tests.support.topics import Topics

Make = Callable[[list[bytes | None]], Source]


@pytest.fixture(params=["kafka", "memory"])
def make(request: pytest.FixtureRequest, topics: Topics) -> Make:
    """A source with these values in its only partition."""

    def kafka(values: list[bytes | None]) -> Source:
        topic = topics.create()
        topics.produce(topic, values, key=b"k", headers=[("h", b"v")])
        return KafkaSource(servers=topics.servers, topic=topic)

    def memory(values: list[bytes | None]) -> Source:
        details = {("0", at): Details(b"k", [("h", b"v")], 1_700_000_000_000 + at) for at in range(len(values))}
        return MemorySource({"0": list(values)}, details=details)

    return kafka if request.param == "kafka" else memory


def _values(source: Source, piece: Slice) -> list[tuple[int, bytes | None]]:
    return [
        (int(position), value)
        for run in source.read(piece)
        for position, value in zip(run.positions, run.values.to_pylist(), strict=True)
    ]


def _numbered(count: int) -> list[bytes | None]:
    return [b"%d" % number for number in range(count)]


def test_bounds_tell_what_is_held(make: Make) -> None:
    bounds = make(_numbered(7)).bounds()

    assert bounds.keys() == {"0"}
    assert (bounds["0"].first, bounds["0"].next, bounds["0"].begin) == (0, 7, 0)


def test_identity_stays_the_same(make: Make) -> None:
    source = make(_numbered(1))

    assert source.identity() == source.identity()


@pytest.mark.parametrize(("start", "end"), [(0, 50), (0, 1), (49, 50), (10, 20)])
def test_a_slice_is_read_exactly(make: Make, start: int, end: int) -> None:
    source = make(_numbered(50))

    assert _values(source, Slice("0", start, end)) == [(at, b"%d" % at) for at in range(start, end)]


def test_any_cut_of_a_partition_reads_the_same_messages(make: Make) -> None:
    source = make(_numbered(3_000))
    cuts = [0, 1, 2, 999, 1_000, 1_001, 2_500, 3_000]

    pieces = [Slice("0", a, b) for a, b in pairwise(cuts)]

    assert [v for piece in pieces for v in _values(source, piece)] == _values(source, Slice("0", 0, 3_000))


def test_the_same_slice_can_be_read_again(make: Make) -> None:
    source = make(_numbered(20))

    assert _values(source, Slice("0", 5, 15)) == _values(source, Slice("0", 5, 15))


def test_null_and_empty_values_are_told_apart(make: Make) -> None:
    source = make([b"a", None, b"", b"b"])

    assert _values(source, Slice("0", 0, 4)) == [(0, b"a"), (1, None), (2, b""), (3, b"b")]


def test_details_are_there_for_who_asks(make: Make) -> None:
    (run,) = make(_numbered(3)).read(Slice("0", 0, 3))

    details = run.details(1)

    assert details.key == b"k"
    assert list(details.headers) == [("h", b"v")]
    assert details.timestamp is not None
    assert run.only(np.array([2, 0])).positions.tolist() == [2, 0]


def test_publishing_positions_does_no_harm(make: Make) -> None:
    source = make(_numbered(3))

    source.publish("an-app", {"0": 2})

    assert source.bounds()["0"].next == 3


def test_what_is_no_longer_held_is_a_short_read(topics: Topics) -> None:
    kafka, memory = _expired_kafka(topics), MemorySource({"0": _numbered(20)}, dropped={"0": 10})

    for source in (kafka, memory):
        assert source.bounds()["0"].first == 10
        with pytest.raises(ShortRead):
            list(source.read(Slice("0", 5, 20)))


def _expired_kafka(topics: Topics) -> Source:
    topic = topics.create()
    topics.produce(topic, _numbered(20))
    for answer in topics.admin.delete_records([TopicPartition(topic, 0, 10)]).values():
        answer.result(30)
    return KafkaSource(servers=topics.servers, topic=topic)
