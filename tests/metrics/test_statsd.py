"""StatsD: what reaches a real UDP socket, and what never does."""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Iterator

import pytest

from penstock.errors import Transient
from penstock.metrics import statsd
from penstock.metrics.numbers import Numbers
from penstock.metrics.statsd import StatsdSender, harmless
from tests.support.process import eventually

HOSTILE = ["a.b", "x:1|c", "new\nline", "tag#@0.1", "\x00", "заказ", "", "a b", "é" * 200, "../..", "x\r\ny:9|g"]
LINE = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+:-?[0-9]+(\.[0-9]+)?\|(c|g|ms)")


class Receiver:
    """A StatsD server that keeps what it gets."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.packets: list[bytes] = []

    def lines(self) -> list[str]:
        try:
            while True:
                self.packets.append(self._socket.recv(65_536))
        except BlockingIOError:
            return [line for packet in self.packets for line in packet.decode().split("\n")]

    def counted(self) -> Counter[str]:
        """The sum of every counter."""
        found: Counter[str] = Counter()
        for line in self.lines():
            name, _, told = line.partition(":")
            if told.endswith("|c"):
                found[name] += int(told.removesuffix("|c"))
        return found

    def gauge(self, name: str) -> str | None:
        told = [line.partition(":")[2] for line in self.lines() if line.startswith(f"{name}:")]
        return told[-1] if told else None

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setattr(statsd, "EVERY", 0.02)
    monkeypatch.setattr(statsd, "RESOLVE_AGAIN", 0.02)
    found = Receiver()
    yield found
    found.close()


@pytest.fixture
def numbers() -> Numbers:
    return Numbers("my.shop", 100, keep_samples=True)


def _nothing(why: Transient) -> None:
    raise AssertionError(why)


def test_names_are_those_of_kafka_delta_ingest_with_their_prefix(receiver: Receiver, numbers: Numbers) -> None:
    with StatsdSender(receiver.address, "kafka_delta_ingest", numbers, _nothing):
        numbers.add("messages.deserialization.completed", 7, "order.v1")
        numbers.add("messages.deserialization.failed", 2)
        numbers.put("buffer.lag.total", 12)
        numbers.took("delta.write.duration", 1.25, "order.v1")

    lines = receiver.lines()
    assert "kafka_delta_ingest.messages.deserialization.completed.order_v1:7|c" in lines
    assert "kafka_delta_ingest.messages.deserialization.failed:2|c" in lines
    assert "kafka_delta_ingest.buffer.lag.total:12|g" in lines
    assert "kafka_delta_ingest.delta.write.duration.order_v1:1250.000|ms" in lines


def test_own_names_begin_with_penstock_and_the_app(receiver: Receiver, numbers: Numbers) -> None:
    with StatsdSender(receiver.address, "any.prefix", numbers, _nothing):
        numbers.add("penstock.rows", 7, "order.v1")
        numbers.put("penstock.lag.write", 3, "0")

    assert "penstock.my_shop.rows.order_v1:7|c" in receiver.lines()
    assert "penstock.my_shop.lag.write.0:3|g" in receiver.lines()


def test_counters_are_told_as_what_was_added_and_gauges_as_they_are(receiver: Receiver, numbers: Numbers) -> None:
    with StatsdSender(receiver.address, "p", numbers, _nothing):
        for n in range(1, 6):
            numbers.add("penstock.batches", n)
            numbers.put("messages.size", n)
            eventually(lambda n=n: receiver.gauge("p.messages.size") == f"{n}|g")  # type: ignore[misc]

    assert receiver.counted()["penstock.my_shop.batches"] == 15


@pytest.mark.parametrize("type", HOSTILE)
def test_hostile_types_do_no_harm_on_the_wire(receiver: Receiver, numbers: Numbers, type: str) -> None:
    with StatsdSender(receiver.address, "p", numbers, _nothing):
        numbers.add("messages.transform.completed", 1, type)
        numbers.put("delta.add.size", 5, type)
        numbers.took("transform.duration", 0.1, type)

    lines = receiver.lines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert sum("transform.completed" in line for line in lines) == 1


def test_types_that_differ_are_told_apart() -> None:
    assert harmless("a/b") == "a_2Fb"
    assert harmless("заказ") != harmless("товар")
    assert harmless("order.v1") == "order_v1"


def test_packets_are_small_enough_for_any_network(receiver: Receiver) -> None:
    numbers = Numbers("shop", 1_000)
    with StatsdSender(receiver.address, "p", numbers, _nothing):
        for n in range(500):
            numbers.add("penstock.rows", 1, f"a-type-with-a-long-name-{n}")

    assert sum(count for name, count in receiver.counted().items() if ".rows." in name) == 500
    assert max(map(len, receiver.packets)) <= statsd.PACKET
    assert len(receiver.packets) < 100


def test_gauges_that_do_not_change_are_told_now_and_then(
    receiver: Receiver, numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statsd, "REPEAT_EVERY", 0.05)
    numbers.put("messages.size", 9)
    with StatsdSender(receiver.address, "p", numbers, _nothing):
        eventually(lambda: receiver.lines().count("p.messages.size:9|g") >= 3)


def test_server_that_is_away_is_not_noticed(receiver: Receiver, numbers: Numbers) -> None:
    address = receiver.address
    receiver.close()
    with StatsdSender(address, "p", numbers, _nothing) as sender:
        numbers.add("penstock.batches")
        eventually(lambda: sender._told.get(("penstock.batches", ("my.shop",))) == 1)  # sent, to nobody

    assert not sender._thread.is_alive()


@pytest.mark.parametrize("host", ["a..b", "x" * 64])
def test_host_that_is_no_name_is_told_once(receiver: Receiver, numbers: Numbers, host: str) -> None:
    told: list[Transient] = []
    with StatsdSender(f"{host}:8125", "p", numbers, told.append) as sender:
        eventually(lambda: bool(told))
        first = sender._resolve_at
        eventually(lambda: sender._resolve_at > first)  # it was tried again

    assert [why.code for why in told] == ["metrics.statsd-unknown"]
    assert host in told[0].what


def test_what_was_counted_while_the_host_was_unknown_is_told_later(
    receiver: Receiver, numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Transient] = []
    real = socket.getaddrinfo

    def unknown(*args: object, **more: object) -> object:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with StatsdSender(receiver.address, "p", numbers, told.append):
        numbers.add("penstock.batches", 2)
        eventually(lambda: bool(told))
        numbers.add("penstock.batches", 3)
        assert receiver.lines() == []
        monkeypatch.setattr(socket, "getaddrinfo", real)
        eventually(lambda: receiver.counted()["penstock.my_shop.batches"] == 5)

    assert len(told) == 1
