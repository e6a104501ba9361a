"""What is kept of what was counted: bounded, whatever messages call themselves."""

from __future__ import annotations

import threading

import pytest

from penstock.metrics import numbers as module
from penstock.metrics.numbers import OTHER, Numbers


def test_ten_thousand_types_make_no_more_series_than_there_may_be_tables() -> None:
    numbers = Numbers("shop", 5)
    for n in range(10_000):
        numbers.add("penstock.rows", 1, f"type-{n}")
        numbers.took("delta.write.duration", 0.1, f"type-{n}")

    now = numbers.snapshot()
    rows = {labels: value for (name, labels), value in now.values.items() if name == "penstock.rows"}
    assert rows == {("shop", f"type-{n}"): 1 for n in range(5)} | {("shop", OTHER): 9_995}
    assert len(now.timings) == 6


def test_codes_are_bounded_too() -> None:
    numbers = Numbers("shop", 5)
    for n in range(10_000):
        numbers.add("penstock.dead_letters", 1, f"format.{n}")

    found = [value for (name, _), value in numbers.snapshot().values.items() if name == "penstock.dead_letters"]
    assert (len(found), sum(found)) == (module.MOST_CODES + 1, 10_000)


def test_half_a_surrogate_pair_is_replaced() -> None:
    numbers = Numbers("shop", 5)
    numbers.add("penstock.rows", 1, "a\ud800b")

    assert ("penstock.rows", ("shop", "a?b")) in numbers.snapshot().values


def test_type_that_is_not_known_is_no_label() -> None:
    numbers = Numbers("shop", 5)
    numbers.add("messages.deserialization.completed", 2)
    numbers.add("messages.deserialization.completed", 3, "order")

    now = numbers.snapshot().values
    assert now["messages.deserialization.completed", ()] == 2
    assert now["messages.deserialization.completed", ("order",)] == 3


def test_what_has_not_happened_yet_is_zero() -> None:
    now = Numbers("shop", 5).snapshot().values

    assert now["penstock.batches", ("shop",)] == 0
    assert now["messages.deserialization.failed", ()] == 0


def test_quantiles_are_of_the_last_hundred_and_sums_of_all() -> None:
    numbers = Numbers("shop", 5)
    for seconds in [1_000.0] * 50 + [n / 100 for n in range(1, 101)]:
        numbers.took("deserialize.duration", seconds)

    (told,) = numbers.snapshot().timings.values()
    assert told.count == 150
    assert told.total == pytest.approx(50_000 + 50.5)
    assert told.quantiles(0.0, 0.5, 0.9, 1.0) == [0.01, 0.51, 0.9, 1.0]
    assert sum(told.buckets) == 150


def test_a_value_on_a_bound_is_in_its_bucket() -> None:
    numbers = Numbers("shop", 5)
    for seconds in (0.005, 0.0051, 300.0, 301.0):
        numbers.took("penstock.phase.duration", seconds, "land")

    (told,) = numbers.snapshot().timings.values()
    assert told.buckets == [1, 1, *[0] * 11, 1, 1]


def test_timings_that_nobody_takes_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLES", 10)
    numbers = Numbers("shop", 5, keep_samples=True)
    for _ in range(25):
        numbers.took("deserialize.duration", 0.1)

    assert numbers.snapshot().values["penstock.metrics.dropped", ("shop",)] == 15
    assert len(numbers.samples()) == 10
    assert numbers.samples() == []


def test_timings_are_not_kept_for_nobody() -> None:
    numbers = Numbers("shop", 5)
    numbers.took("deserialize.duration", 0.1)

    assert numbers.samples() == []


def test_a_snapshot_stays_as_it_was() -> None:
    numbers = Numbers("shop", 5)
    numbers.took("deserialize.duration", 0.1)
    before = numbers.snapshot()
    numbers.took("deserialize.duration", 0.1)
    numbers.add("penstock.batches")

    (told,) = before.timings.values()
    assert (told.count, sum(told.buckets), len(told.recent)) == (1, 1, 1)
    assert before.values["penstock.batches", ("shop",)] == 0


def test_threads_lose_nothing() -> None:
    numbers = Numbers("shop", 5)

    def count() -> None:
        for _ in range(5_000):
            numbers.add("penstock.batches")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert numbers.snapshot().values["penstock.batches", ("shop",)] == 20_000
