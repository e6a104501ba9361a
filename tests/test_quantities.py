"""Durations and sizes as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from penstock.quantities import Duration, Size, seconds, size


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("500ms", 0.5),
        ("10s", 10.0),
        ("1.5 s", 1.5),
        ("2m", 120.0),
        ("1h", 3_600.0),
        ("7d", 604_800.0),
        ("0s", 0.0),
        (10, 10.0),
        (0.25, 0.25),
    ],
)
def test_duration_is_a_number_with_a_unit_or_seconds(written: object, meant: float) -> None:
    assert seconds(written) == pytest.approx(meant)


@pytest.mark.parametrize("written", ["10", "s", "-1s", "10 parsecs", "10S", "1h30m", "", " 1s", -1, True, None, [1]])
def test_duration_that_could_mean_anything_is_refused_with_examples(written: object) -> None:
    with pytest.raises(ValueError, match="such as 500ms, 10s, 2m or 1h"):
        seconds(written)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0B", 0),
        ("7B", 7),
        ("64KB", 64_000),
        ("512MB", 512_000_000),
        ("512mb", 512_000_000),
        ("1.5 GB", 1_500_000_000),
        ("8MiB", 8 * 2**20),
        ("1KiB", 1_024),
        ("2GiB", 2 * 2**30),
        (1_000, 1_000),
        (0, 0),
    ],
)
def test_size_is_a_number_with_a_unit_or_bytes(written: object, meant: int) -> None:
    assert size(written) == meant


@pytest.mark.parametrize("written", ["512", "MB", "-1MB", "5 bits", "5iB", "1MB2KB", "", 1.5, -1, False, None])
def test_size_that_could_mean_anything_is_refused_with_examples(written: object) -> None:
    with pytest.raises(ValueError, match="such as 64KB, 512MB or 8MiB"):
        size(written)


@given(st.integers(0, 7 * 86_400))
def test_duration_of_a_model_is_written_so_that_it_can_be_read_again(whole: int) -> None:
    durations: TypeAdapter[float] = TypeAdapter(Duration)
    told = durations.dump_python(float(whole), mode="json")
    assert told.endswith("s")
    assert durations.validate_python(told) == whole


def test_models_take_what_people_write_and_refuse_the_rest() -> None:
    sizes: TypeAdapter[int] = TypeAdapter(Size)
    assert sizes.validate_python("8MiB") == 8 * 2**20
    with pytest.raises(ValidationError, match="is not a size"):
        sizes.validate_python("eight")
