"""Moments as text for many at once say what the reference path says for one."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.transforms import functions
from penstock.transforms.moments import FIRST, LAST, iso8601, micros
from tests.formats.json.generated import bounded


@bounded(100)
@given(st.lists(st.integers(FIRST, LAST), max_size=20), st.sampled_from([1, 1_000, 1_000_000]))
def test_many_moments_are_written_like_one(moments: list[int], unit: int) -> None:
    whole = [moment // unit * unit if moment // unit * unit >= FIRST else moment for moment in moments]

    found = iso8601(np.array(whole, np.int64), None).to_pylist()
    assert found == [functions.iso8601(moment) for moment in whole]


def test_moments_that_are_not_there_are_null() -> None:
    found = iso8601(np.array([0, 1_500_000, 1]), np.array([True, False, False]))

    assert found.to_pylist() == [None, "1970-01-01T00:00:01.500Z", "1970-01-01T00:00:00.000001Z"]


@pytest.mark.parametrize("nanos", [1_000, 1_000_000, 1_000_000_000])
def test_epochs_outside_the_calendar_are_told(nanos: int) -> None:
    unit = nanos // 1_000
    edges = np.array([FIRST // unit, FIRST // unit - 1, LAST // unit, LAST // unit + 1, 2**63 - 1, -(2**63)])
    found, outside = micros(edges, nanos)

    assert outside is not None
    assert outside.tolist() == [False, True, False, True, True, True]
    assert found[:3:2].tolist() == [FIRST, LAST // unit * unit]


def test_nanoseconds_are_cut_off_towards_zero() -> None:
    random = Random(1)
    epochs = [
        -1,
        -999,
        -1000,
        -1001,
        0,
        999,
        1001,
        2**63 - 1,
        -(2**63),
        *(random.randint(-(10**18), 10**18) for _ in range(50)),
    ]
    found, outside = micros(np.array(epochs), 1)

    assert outside is None
    assert found.tolist() == [abs(epoch) // 1_000 * (1 if epoch >= 0 else -1) for epoch in epochs]
