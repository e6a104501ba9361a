"""Two paths, one meaning: whatever comes, the fast path says of it what the reference path says, or declines."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from penstock.formats.protobuf.decoder import ProtobufDecoder
from penstock.formats.protobuf.weight import Limits
from tests.formats.protobuf.generated import bounded, mutated, rewritten, types, written
from tests.formats.protobuf.oracle import agree

RANDOMS = st.randoms(use_true_random=True)


def decoder(random: Random) -> ProtobufDecoder:
    return ProtobufDecoder(types(random).named("g.M0"), random.random() < 0.3)


@bounded(120)
@given(RANDOMS)
def test_fast_path_agrees_with_the_reference_path(random: Random) -> None:
    it = decoder(random)
    agree(it, [written(random, it.descriptor) for _ in range(random.randint(0, 8))])


@bounded(120)
@given(RANDOMS)
def test_it_does_so_for_fields_in_any_order_repeated_or_unknown(random: Random) -> None:
    it = decoder(random)
    agree(it, [rewritten(random, written(random, it.descriptor)) for _ in range(6)])


@bounded(120)
@given(RANDOMS)
def test_it_does_so_for_mutated_bytes(random: Random) -> None:
    it = decoder(random)
    agree(it, [mutated(random, written(random, it.descriptor)) for _ in range(12)])


@bounded(60)
@given(RANDOMS, st.lists(st.binary(max_size=40), max_size=8))
def test_it_does_so_for_any_bytes_and_any_limits(random: Random, bodies: list[bytes]) -> None:
    limits = Limits(bytes=random.choice([10, 30, 1000]), values=random.choice([20, 60, 1000]))
    descriptor = types(random).named("g.M0")
    it = ProtobufDecoder(descriptor, limits=limits, strict=random.random() < 0.5)
    agree(it, bodies + [written(random, descriptor) for _ in range(4)])
