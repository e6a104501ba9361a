"""One question over HTTP, to a server that means no good."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from penstock.errors import Transient
from penstock.registries.confluent import ConfluentRegistry
from tests.registries.hostile import FAULTS, SLOW, Small


@pytest.mark.parametrize("fault", FAULTS)
def test_an_answer_that_cannot_be_trusted_is_waited_out(server: Small, fault: str) -> None:
    server.fault = fault
    registry = ConfluentRegistry(url=server.url, timeout=0.3 if fault in SLOW else 20.0)
    began = time.monotonic()

    with pytest.raises(Transient) as told:
        registry.look_up(7)

    assert time.monotonic() - began < 5
    assert told.value.code.startswith("registry.")
    assert "penstock waits" in told.value.remedy
    assert str(server.port) in told.value.what
    assert "\n" not in told.value.what
    assert server.asked == ["/schemas/ids/7"], "nothing else is asked, and no redirect followed"


@pytest.mark.parametrize(
    ("fault", "code", "told"),
    [
        ("status 503", "registry.unavailable", "status 503"),
        ("status 500 with a schema", "registry.unavailable", "status 500"),
        ("status 429", "registry.unavailable", "status 429"),
        ("status 401", "registry.denied", "status 401"),
        ("status 403", "registry.denied", "status 403"),
        ("a redirect", "registry.redirect", "does not follow"),
        ("a redirect to a file", "registry.redirect", "does not follow"),
        ("a page", "registry.garbage", "content of type 'text/html'"),
        ("packed", "registry.garbage", "an encoding that was not asked for"),
        ("another id", "registry.garbage", "another id"),
        ("a large length", "registry.garbage", "longer than 4,000,000 bytes"),
        ("a 404 without a code", "registry.garbage", "HTTP 404 Not Found"),
        ("half", "registry.unavailable", "of 1000 bytes"),
        ("a reset", "registry.unavailable", "reset"),
    ],
)
def test_a_person_is_told_what_is_wrong(server: Small, fault: str, code: str, told: str) -> None:
    server.fault = fault
    with pytest.raises(Transient) as raised:
        ConfluentRegistry(url=server.url).look_up(7)

    assert raised.value.code == code
    assert told in raised.value.what
    assert "meta-data" not in str(raised.value), "where a redirect leads is nobody's business"


@pytest.mark.parametrize("fault", SLOW)
def test_the_time_limit_is_for_the_whole_answer(server: Small, fault: str) -> None:
    server.fault = fault

    with pytest.raises(Transient, match=r"longer than 0\.3 seconds"):
        ConfluentRegistry(url=server.url, timeout=0.3).look_up(7)


def test_no_more_than_the_limit_of_an_endless_answer_is_kept(server: Small) -> None:
    server.fault = "endless"
    tracemalloc.start()
    with pytest.raises(Transient, match="longer than 4,000,000 bytes"):
        ConfluentRegistry(url=server.url).look_up(7)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 20 * 10**6


def test_of_several_urls_one_that_works_is_enough(server: Small) -> None:
    server.holds(7, '"string"')
    registry = ConfluentRegistry(url=("http://127.0.0.1:1", server.url))

    assert registry.look_up(7).text == '"string"'
