"""The page that Prometheus scrapes: right in form, and nobody's trouble."""

from __future__ import annotations

import http.client
import socket
import threading
import urllib.error
from collections.abc import Callable, Iterator

import pytest

from penstock.errors import Transient
from penstock.metrics import prometheus
from penstock.metrics.names import METRICS
from penstock.metrics.numbers import Numbers
from penstock.metrics.prometheus import Page, PrometheusPage
from tests.metrics.pages import declared, families, free_port, open_families, problems, scrape, value, values
from tests.support.process import eventually

Tell = Callable[..., None]
HOSTILE = 'a"b\\c\nd{}\u2028€\x00'


@pytest.fixture
def numbers() -> Numbers:
    """Something of every metric."""
    found = Numbers("shop", 10)
    for n, metric in enumerate(METRICS, 1):
        labels = ("order",) * (len(metric.labels) - metric.is_own)
        tell: dict[str, Tell] = {"counter": found.add, "gauge": found.put, "timer": found.took}
        tell[metric.kind](metric.name, n, *labels)
    return found


@pytest.fixture
def port(numbers: Numbers) -> Iterator[int]:
    found = free_port()
    with PrometheusPage(f"127.0.0.1:{found}", numbers, lambda why: None):
        eventually(lambda: _listens(found))
        yield found


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_page_has_every_metric_with_its_labels(port: int) -> None:
    text = scrape(port)

    assert list(declared(text)) == [metric.in_prometheus for metric in METRICS]
    for metric in METRICS:
        samples = [sample for key, sample in values(text) if key.startswith(metric.in_prometheus)]
        assert any({name for name, _ in labels} - {"quantile", "le"} == set(metric.labels) for labels in samples)


def test_page_is_as_promtool_wants_it(port: int) -> None:
    text = scrape(port)

    assert families(text)
    assert list(problems(text)) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("wrong_total", "gauge"),
        ("wrong", "counter"),
        ("wrong_count", "gauge"),
        ("wrong_ms", "gauge"),
        ("wrong_milliseconds", "gauge"),
        ("wrong_gauge", "gauge"),
        ("wrongCase", "gauge"),
    ],
)
def test_rules_find_what_promtool_finds(name: str, kind: str) -> None:
    (found,) = problems(f"# HELP {name} x\n# TYPE {name} {kind}\n{name} 1\n")
    assert found.startswith(name)
    assert len(list(problems(f"# TYPE {name} {kind}\n{name} 1\n"))) == 2  # and no help text


def test_page_is_open_metrics_for_those_who_ask(port: int) -> None:
    text = scrape(port, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")

    assert text.endswith("# EOF\n")
    assert len(open_families(text)) == len(METRICS)


def test_timers_of_kafka_delta_ingest_are_summaries_in_milliseconds(port: int, numbers: Numbers) -> None:
    name = "delta.write.duration"
    seconds = [metric.name for metric in METRICS].index(name) + 1
    text = scrape(port)

    assert value(text, "delta_write_duration", message_type="order", quantile="0.95") == seconds * 1_000
    assert value(text, "delta_write_duration_sum", message_type="order") == seconds * 1_000
    assert value(text, "delta_write_duration_count", message_type="order") == 1


def test_own_timer_is_a_histogram_in_seconds() -> None:
    numbers = Numbers("shop", 10)
    for seconds in (0.004, 0.2, 0.3, 1_000.0):
        numbers.took("penstock.phase.duration", seconds, "land")
    text = Page(numbers).render("")[1].decode()

    told = [value(text, "penstock_phase_duration_seconds_bucket", app="shop", phase="land", le=le) for le in BOUNDS]
    assert told == [1, 2, 3, 3, 4]


BOUNDS = ("0.005", "0.25", "0.5", "300.0", "+Inf")


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text"])
def test_hostile_types_stay_labels(accept: str) -> None:
    numbers = Numbers("shop", 10)
    numbers.add("penstock.rows", 3, HOSTILE)
    numbers.add("messages.transform.completed", 3, f"{HOSTILE}\nfake_metric 1")
    text = Page(numbers).render(accept)[1].decode()

    found = open_families(text) if accept else families(text)
    assert len(found) == len(METRICS)
    labels = [sample.labels for family in found for sample in family.samples]
    assert {"app": "shop", "table": HOSTILE} in labels
    assert not any(line.startswith("fake_metric") for line in text.splitlines())


def test_many_scrapers_cost_no_more_than_one(numbers: Numbers, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(numbers)
    first = page.render("")[1]
    numbers.add("penstock.batches")
    assert page.render("")[1] is first

    monkeypatch.setattr(prometheus, "FRESH", 0.0)  # it is not good enough any more
    hasty = Page(numbers)
    before = hasty.render("")[1]
    numbers.add("penstock.batches")
    assert hasty.render("")[1] != before


def test_other_pages_do_not_exist(port: int) -> None:
    assert scrape(port, path="/") == scrape(port, path="/metrics?x=1")
    with pytest.raises(urllib.error.HTTPError) as refused:
        scrape(port, path="/etc/passwd")
    assert refused.value.code == 404


def test_head_has_no_body_and_post_is_refused(port: int) -> None:
    for method, status in (("HEAD", 200), ("POST", 501)):
        asking = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        asking.request(method, "/metrics")
        answer = asking.getresponse()
        assert answer.status == status
        assert method != "HEAD" or answer.read() == b""
        asking.close()


def test_port_alone_is_on_loopback_only(port: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.2", port))  # somebody on all interfaces would be in the way here
        other.listen()


def test_ipv6_addresses_are_served(numbers: Numbers) -> None:
    port = free_port()
    with PrometheusPage(f"[::1]:{port}", numbers, lambda why: None), socket.socket(socket.AF_INET6) as probe:
        eventually(lambda: probe.connect_ex(("::1", port)) == 0)


def test_port_in_use_is_told_once_and_served_when_it_is_free(numbers: Numbers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "AGAIN", 0.02)
    told: list[Transient] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        page = PrometheusPage(f"127.0.0.1:{port}", numbers, told.append)
        with page:
            eventually(lambda: bool(told))
            taken.close()
            eventually(lambda: _listens(port))
            assert value(scrape(port), "penstock_batches_total", app="shop") is not None

    assert [why.code for why in told] == ["metrics.not-served"]
    assert str(port) in told[0].what


def test_the_end_of_a_run_frees_the_port(numbers: Numbers) -> None:
    port = free_port()
    with PrometheusPage(f"127.0.0.1:{port}", numbers, lambda why: None) as page:
        eventually(lambda: _listens(port))

    assert not page._thread.is_alive()
    assert not _listens(port)


def test_scrapers_that_never_ask_are_bounded_and_hung_up_on(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus._Request, "timeout", 0.3)
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(3 * prometheus.MOST_SCRAPERS)]

    assert sum("process_request_thread" in thread.name for thread in threading.enumerate()) <= prometheus.MOST_SCRAPERS
    for one in silent:
        one.settimeout(20)
        assert one.recv(1) == b""  # hung up, at once or after a while
        one.close()
    eventually(lambda: "penstock_batches_total" in scrape(port))
