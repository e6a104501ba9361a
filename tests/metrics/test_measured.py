"""A pipeline with metrics, landed in real tables: the numbers are right, and nothing stops it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pydantic import ValidationError

from penstock.config.load import fingerprint
from penstock.errors import PenstockError, Transient
from penstock.metrics import measured, prometheus, statsd
from penstock.observe import BatchReport, Observer, Silence
from penstock.operate.show import LogLines
from penstock.pipeline import Metrics, Pipeline
from penstock.protocol.entry import Entry, decode
from penstock.testing import MemorySource, land_all
from tests.memory_shop import event, shop
from tests.metrics.pages import free_port, scrape, value, values
from tests.metrics.test_statsd import LINE, Receiver
from tests.support.process import eventually

TYPES = ["order.v1", "page", 'ho:st|il#e@"\n']


class _Warnings(Silence):
    def __init__(self) -> None:
        self.told: list[Transient] = []

    def warned(self, why: Transient) -> None:
        self.told.append(why)


class _Then(Silence):
    """Does something after every batch, while the run goes on."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def batch(self, report: BatchReport) -> None:
        self._then()


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "FRESH", 0.0)
    monkeypatch.setattr(prometheus, "AGAIN", 0.02)
    monkeypatch.setattr(statsd, "EVERY", 0.02)


def _messages(source: MemorySource) -> None:
    """Rows of three types, dead letters for three reasons, tombstones, and a type that nobody wants."""
    source.add(*(event(type, n) for n in range(60) for type in TYPES))
    source.add(*[b"{"] * 5, *[b"[]"] * 3, *[b'{"n": 1}'] * 2, None, None, partition="1")
    source.add(*(event("unwanted", n) for n in range(7)), partition="1")


def _pipeline(source: MemorySource, folder: Path, **metrics: Any) -> Pipeline:
    return shop(
        source,
        folder / "lake",
        metrics=metrics,
        batch={"messages": 50},
        dead_letters={"max_share": 1},
        route={"by": {"field": "type"}, "allow": "^(order|page|ho)"},
    )


def _ledger(folder: Path) -> list[Entry]:
    return [decode(path.read_bytes()) for path in sorted((folder / "lake/_penstock/shop/ledger").glob("*.json"))]


def _totals(entries: list[Entry]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """What the ledger says: rows by table, dead letters by code, messages by what became of them."""
    rows: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for entry in entries:
        reasons.update(entry.reasons)
        rows.update({name: portion.rows for name, portion in entry.tables.items()})
        kinds.update({kind: getattr(entry.total, kind) for kind in ("read", "filtered", "tombstones", "bytes")})
    return rows, reasons, kinds


def _by(text: str, name: str, label: str) -> dict[str, float]:
    return {dict(labels).get(label, ""): found for (key, labels), found in values(text).items() if key == name}


def test_prometheus_is_told_what_the_ledger_says(tmp_path: Path) -> None:
    source, port = MemorySource(), free_port()
    _messages(source)
    pipeline = _pipeline(source, tmp_path, prometheus=port)
    with measured(pipeline, Silence()) as observer:
        land_all(pipeline, observer)
        text = scrape(port)

    entries = _ledger(tmp_path)
    rows, reasons, kinds = _totals(entries)
    assert len(entries) > 4
    assert sum(rows.values()) == 190
    assert _by(text, "penstock_rows_total", "table") == rows
    assert _by(text, "penstock_dead_letters_total", "code") == reasons
    assert len(reasons) == 3
    assert value(text, "penstock_batches_total", app="shop") == sum(not entry.is_claim for entry in entries)
    for kind in ("read", "filtered", "tombstones"):
        assert value(text, f"penstock_messages_{kind}_total", app="shop") == kinds[kind]
    assert value(text, "penstock_bytes_read_total", app="shop") == kinds["bytes"]
    parsed = _by(text, "messages_deserialization_completed", "message_type")
    assert parsed == {name: count for name, count in rows.items() if name != "_dead_letters"} | {"": 2}
    assert value(text, "messages_deserialization_failed") == 8


def test_commits_and_lag_are_told_as_they_are_in_the_end(tmp_path: Path) -> None:
    source, port = MemorySource(), free_port()
    _messages(source)
    pipeline = _pipeline(source, tmp_path, prometheus=port)
    with measured(pipeline, Silence()) as observer:
        land_all(pipeline, observer)
        text = scrape(port)

    shares = Counter(name for entry in _ledger(tmp_path) for name in entry.tables)
    assert _by(text, "penstock_commits_total", "table") == shares
    assert _by(text, "delta_write_duration_count", "message_type") == shares
    assert set(_by(text, "penstock_table_waiting", "table").values()) == {0}
    assert _by(text, "penstock_lag_buffer", "partition") == {"0": 0, "1": 0}
    assert _by(text, "penstock_lag_write", "partition") == {"0": 0, "1": 0}
    phases = _by(text, "penstock_phase_duration_seconds_count", "phase")
    assert phases["plan"] == phases["land"] == phases["decide"] == value(text, "penstock_batches_total", app="shop")
    assert phases["commit"] == sum(shares.values())


def test_lag_is_seen_while_it_lasts(tmp_path: Path) -> None:
    source, port = MemorySource(), free_port()
    source.add(*(event("page", n) for n in range(150)))
    pipeline = _pipeline(source, tmp_path, prometheus=port)
    seen: list[tuple[float | None, float | None]] = []

    with measured(pipeline, _Then(lambda: seen.append(_lags(port)))) as observer:
        land_all(pipeline, observer)

    assert [buffer for buffer, _ in seen] == [150, 100, 50]  # asked before the batch itself was counted
    assert all(write is not None and write >= (buffer or 0) for buffer, write in seen)


def _lags(port: int) -> tuple[float | None, float | None]:
    eventually(lambda: _answers(port))
    text = scrape(port)
    return value(text, "buffer_lag_total"), value(text, "delta_write_lag_total")


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_parked_table_is_told_also_after_a_restart(tmp_path: Path) -> None:
    source, port = MemorySource(), free_port()
    source.add(event("order", 0), event("page", 0))
    land_all(_parking(source, tmp_path, port))
    DeltaTable(tmp_path / "lake" / "order").alter.add_constraint({"closed": "n >= 0"})

    for owed in (1, 2):
        source.add(event("order", owed), event("page", owed))
        pipeline = _parking(source, tmp_path, port)
        with measured(pipeline, Silence()) as observer:
            with pytest.raises(PenstockError) as parked:
                land_all(pipeline, observer)
            assert parked.value.code == "tables.parked"
            text = scrape(port)
        assert _by(text, "penstock_table_waiting", "table") == {"order": owed, "page": 0}
        assert _by(text, "penstock_table_parked", "table") == {"order": 1}
        assert (value(text, "penstock_commits_failed_total", app="shop", table="order") or 0) >= 1
        assert value(text, "delta_write_lag_total") == 0  # parked tables aside


def _parking(source: MemorySource, folder: Path, port: int) -> Pipeline:
    return shop(source, folder / "lake", tables={"park_after": 0}, metrics={"prometheus": port})


def test_statsd_is_told_what_the_ledger_says(tmp_path: Path) -> None:
    source, receiver = MemorySource(), Receiver()
    _messages(source)
    pipeline = _pipeline(source, tmp_path, statsd=receiver.address, prefix="kdi.test")
    with measured(pipeline, Silence()) as observer:
        land_all(pipeline, observer)

    rows, reasons, kinds = _totals(_ledger(tmp_path))
    counted = receiver.counted()
    assert counted["kdi.test.messages.deserialization.completed.order_v1"] == rows["order.v1"] == 60
    assert counted["kdi.test.messages.deserialization.failed"] == 8
    assert sum(n for name, n in counted.items() if name.startswith("penstock.shop.rows.")) == sum(rows.values())
    assert counted["penstock.shop.messages.read"] == kinds["read"]
    assert counted["penstock.shop.dead_letters.json_malformed"] == reasons["json.malformed"] == 5
    assert receiver.gauge("kdi.test.buffer.lag.total") == "0|g"
    assert sum("kdi.test.delta.write.duration." in line for line in receiver.lines()) >= 4
    assert [line for line in receiver.lines() if not LINE.fullmatch(line)] == []
    receiver.close()


# --- nothing of it stops a run -------------------------------------------------------------------


def test_port_in_use_is_one_line_in_the_log_and_the_run_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = MemorySource()
    _messages(source)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        pipeline = _pipeline(source, tmp_path, prometheus=taken.getsockname()[1])
        with LogLines(pipeline) as log, measured(pipeline, log) as observer:
            land_all(pipeline, observer)

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    (warning,) = [line for line in lines if line["event"] == "warning"]
    assert warning["code"] == "metrics.not-served"
    assert warning["remedy"]
    assert DeltaTable(tmp_path / "lake" / "page").count() == 60


@pytest.mark.parametrize("host", ["nobody.invalid", "a..b"])
def test_unknown_statsd_host_neither_stops_nor_slows_a_run(tmp_path: Path, host: str) -> None:
    source, warnings = MemorySource(), _Warnings()
    _messages(source)
    pipeline = _pipeline(source, tmp_path, statsd=f"{host}:8125")
    with measured(pipeline, warnings) as observer:
        land_all(pipeline, observer)
        eventually(lambda: bool(warnings.told))

    assert [why.code for why in warnings.told] == ["metrics.statsd-unknown"]
    assert DeltaTable(tmp_path / "lake" / "page").count() == 60


def test_scrapers_that_connect_and_never_read_do_not_slow_a_run(tmp_path: Path) -> None:
    source, port = MemorySource(), free_port()
    _messages(source)
    pipeline = _pipeline(source, tmp_path, prometheus=port)
    asked = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    slow: list[socket.socket] = []

    def scrape_slowly() -> None:
        eventually(lambda: _answers(port))
        for n in range(10):
            one = socket.create_connection(("127.0.0.1", port))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            one.sendall(asked if n % 2 else b"G")
            slow.append(one)

    with measured(pipeline, _Then(scrape_slowly)) as observer:
        began = time.monotonic()
        land_all(pipeline, observer)
        took = time.monotonic() - began
        assert len(slow) >= 40
        workers = sum("process_request_thread" in thread.name for thread in threading.enumerate())
        assert workers <= prometheus.MOST_SCRAPERS

    assert took < prometheus.PATIENCE  # nobody waited until they were hung up on
    assert DeltaTable(tmp_path / "lake" / "page").count() == 60
    for one in slow:
        one.close()


def test_a_run_without_metrics_has_nothing_beside_it(tmp_path: Path) -> None:
    observer: Observer = Silence()
    before = threading.active_count()
    with measured(_pipeline(MemorySource(), tmp_path), observer) as same:
        assert same is observer
        assert threading.active_count() == before


# --- what may be declared ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "address"),
    [
        (9000, "127.0.0.1:9000"),
        ("9000", "127.0.0.1:9000"),
        ("0.0.0.0:9000", "0.0.0.0:9000"),
        ("[::1]:9000", "[::1]:9000"),
        ("metrics.local:1", "metrics.local:1"),
    ],
)
def test_port_alone_means_loopback(given: int | str, address: str) -> None:
    assert Metrics(prometheus=given).prometheus == address


@pytest.mark.parametrize(
    "given",
    [
        {"prometheus": 0},
        {"prometheus": 65_536},
        {"prometheus": "here"},
        {"prometheus": ":9000"},
        {"prometheus": True},
        {"prometheus": "::1:9000"},
        {"statsd": "localhost"},
        {"statsd": "localhost:"},
        {"statsd": "localhost:0"},
        {"statsd": "http://localhost:8125"},
        {"statsd": "a b:8125"},
        {"prefix": ""},
        {"prefix": "a..b"},
        {"prefix": "a:b"},
        {"prefix": "a|b"},
        {"prefix": "a\n"},
        {"prefix": "x" * 101},
        {"statsd": "localhost:8125", "prometheus": 9000},
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Metrics(**given)


def test_both_at_once_are_refused_with_the_reason() -> None:
    with pytest.raises(ValidationError, match="only one of them may be given"):
        Metrics(statsd="localhost:8125", prometheus=9000)


def test_metrics_are_no_part_of_what_a_pipeline_does(tmp_path: Path) -> None:
    source = MemorySource()

    assert fingerprint(_pipeline(source, tmp_path, prometheus=9000)) == fingerprint(_pipeline(source, tmp_path))
