"""A page that Prometheus scrapes: made at most once a second, served from threads of its own."""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from penstock.errors import Transient
from penstock.metrics.beside import Beside, Warn, host_and_port
from penstock.metrics.names import METRICS, Metric
from penstock.metrics.numbers import BUCKETS, Numbers, Snapshot, Timings

AGAIN = 10.0  # seconds until a port in use is tried again
PATIENCE = 10.0  # and until a scraper that neither asks nor reads is hung up on
FRESH = 1.0  # seconds for which a page is good enough; longer if it is much work
SPARE = 20  # times as long as it took to make it
MOST_SCRAPERS = 16
OPEN = "application/openmetrics-text"
QUANTILES = (0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0)  # those that kafka-delta-ingest tells


class Families(Collector):
    """The numbers as the Prometheus client wants them."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def collect(self) -> Iterator[Family]:
        now = self._numbers.snapshot()
        by_name: dict[str, list[tuple[str, ...]]] = {}
        for name, labels in (*now.values, *now.timings):
            by_name.setdefault(name, []).append(labels)
        for metric in METRICS:
            yield _family(metric, now, sorted(by_name.get(metric.name, ())))


def _family(metric: Metric, now: Snapshot, series: list[tuple[str, ...]]) -> Family:
    name = metric.in_prometheus.removesuffix("_total") if metric.prometheus_type == "counter" else metric.in_prometheus
    family = Family(name, metric.meaning, metric.prometheus_type)
    for values in series:
        labels = dict(zip(metric.labels, values, strict=False))  # a type that is not known is no label
        if metric.kind == "timer":
            tell = _histogram if metric.is_own else _summary
            tell(family, labels, now.timings[metric.name, values])
        else:
            family.add_sample(metric.in_prometheus, labels, now.values[metric.name, values])
    return family


def _summary(family: Family, labels: dict[str, str], told: Timings) -> None:
    """Milliseconds, as kafka-delta-ingest has them."""
    for share, seconds in zip(QUANTILES, told.quantiles(*QUANTILES), strict=True):
        family.add_sample(family.name, {**labels, "quantile": f"{share:g}"}, seconds * 1e3)
    family.add_sample(f"{family.name}_count", labels, told.count)
    family.add_sample(f"{family.name}_sum", labels, told.total * 1e3)


def _histogram(family: Family, labels: dict[str, str], told: Timings) -> None:
    for bound, count in zip((*map(str, BUCKETS), "+Inf"), accumulate(told.buckets), strict=True):
        family.add_sample(f"{family.name}_bucket", {**labels, "le": bound}, count)
    family.add_sample(f"{family.name}_count", labels, told.count)
    family.add_sample(f"{family.name}_sum", labels, told.total)


class Page:
    """The text for a scraper. Many scrapers cost no more than one."""

    def __init__(self, numbers: Numbers) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(Families(numbers))
        self._lock = threading.Lock()
        self._rendered: dict[str, tuple[float, bytes]] = {}

    def render(self, accept: str) -> tuple[str, bytes]:
        """The page's content type and its text, as OpenMetrics for those who know it."""
        encode, kind = choose_encoder(OPEN if OPEN in accept else "")
        with self._lock:
            until, text = self._rendered.get(kind, (0.0, b""))
            began = time.monotonic()
            if not text or began >= until:
                text = encode(self._registry)
                done = time.monotonic()
                self._rendered[kind] = (done + FRESH * max(1.0, (done - began) * SPARE), text)
        return kind, text


class _Request(BaseHTTPRequestHandler):
    server: _Server
    timeout = PATIENCE
    server_version, sys_version = "penstock", ""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] not in ("/", "/metrics"):
            self.send_error(404)
            return
        kind, text = self.server.page.render(self.headers.get("Accept", ""))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None: ...


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_port = False  # a port in use is in use
    request_queue_size = 64

    def __init__(self, address: str, page: Page) -> None:
        host, port = host_and_port(address)
        self.page = page
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.timeout = 0.2
        self._room = threading.BoundedSemaphore(MOST_SCRAPERS)
        super().__init__((host, port), _Request)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # not HTTPServer's, which asks a name server for our name

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None: ...  # a scraper that went away


class PrometheusPage(Beside):
    """Serves the numbers at `/metrics`. A port in use is told once and tried again, and the run goes on."""

    def __init__(self, address: str, numbers: Numbers, warn: Warn) -> None:
        super().__init__("penstock-prometheus", warn)
        self._address, self._page = address, Page(numbers)

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                server = _Server(self._address, self._page)
            except (OSError, UnicodeError) as cause:
                self._trouble(_not_served(self._address, cause))
                self._closed.wait(AGAIN)
                continue
            self._well()
            with server:
                while not self._closed.is_set():
                    server.handle_request()


def _not_served(address: str, cause: Exception) -> Transient:
    return Transient(
        "metrics.not-served",
        f"metrics cannot be served on {address}: {cause}",
        "the run goes on without, and it is tried again; free the port, or choose another in metrics.prometheus",
    )
