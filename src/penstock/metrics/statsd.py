"""Numbers to StatsD: what changed, once a second, in UDP packets that nobody waits for."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator

from penstock.errors import Transient
from penstock.metrics.beside import Beside, Warn, host_and_port
from penstock.metrics.names import BY_NAME, OWN
from penstock.metrics.numbers import Key, Numbers

EVERY = 1.0  # seconds between two looks at the numbers
RESOLVE_EVERY = 60.0  # the host may have moved
RESOLVE_AGAIN = 5.0  # if nobody knew it
REPEAT_EVERY = 60.0  # gauges that do not change are told again: a server forgets
PACKET = 1_400  # bytes: no packet is broken into pieces on its way
BURST = 32  # packets sent without a pause

_HOSTILE = re.compile(r"[^A-Za-z0-9-]")

Line = tuple[Key, float, str]  # what it is about, the value that is told by it, and its text


def harmless(text: str) -> str:
    """A label as one part of a name: a dot becomes `_`, and whatever else means something becomes its bytes in hex."""
    return _HOSTILE.sub(lambda found: _escaped(found[0]), text) or "_"


def _escaped(sign: str) -> str:
    if sign in "._":
        return "_"
    return "".join(f"_{byte:02X}" for byte in sign.encode("utf-8", "replace"))


class StatsdSender(Beside):
    """Tells a StatsD server what was counted. What could not be sent yet is sent later, as one number."""

    def __init__(self, address: str, prefix: str, numbers: Numbers, warn: Warn) -> None:
        super().__init__("penstock-statsd", warn)
        self._host, self._port = host_and_port(address)
        self._prefix, self._numbers = prefix, numbers
        self._told: dict[Key, float] = {}
        self._socket: socket.socket | None = None
        self._target: tuple[object, ...] = ()
        self._resolve_at = self._repeat_at = 0.0

    def _run(self) -> None:
        last = False
        while not last:
            last = self._closed.wait(EVERY)
            if self._reachable():
                self._send()
        if self._socket is not None:
            self._socket.close()

    def _reachable(self) -> bool:
        """Is it known where to send? A name server may take its time: it is only our own."""
        if time.monotonic() >= self._resolve_at:
            self._resolve_at = time.monotonic() + RESOLVE_EVERY
            try:
                family, _, _, _, target = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_DGRAM)[0]
            except (OSError, UnicodeError) as cause:  # a name may also be none: `a..b`
                self._resolve_at = time.monotonic() + RESOLVE_AGAIN
                self._trouble(_unknown(self._host, cause))
            else:
                self._open(family, target)
                self._well()
        return self._socket is not None

    def _open(self, family: int, target: tuple[object, ...]) -> None:
        if self._socket is not None and self._target == target:
            return
        if self._socket is not None:
            self._socket.close()
        self._socket, self._target = socket.socket(family, socket.SOCK_DGRAM), target
        self._socket.setblocking(False)

    def _send(self) -> None:
        assert self._socket is not None
        for sent, packet in enumerate(_packets(self._lines())):
            try:
                self._socket.sendto("\n".join(text for _, _, text in packet).encode(), self._target)
            except OSError:
                self._resolve_at = 0.0  # no way there just now: look again, and tell it then
                return
            self._told.update((key, value) for key, value, _ in packet)
            if sent % BURST == BURST - 1:
                self._closed.wait(0.01)

    def _lines(self) -> Iterator[Line]:
        for key, seconds in self._numbers.samples():
            yield key, seconds, f"{self._name(key)}:{seconds * 1e3:.3f}|ms"
        repeat = time.monotonic() >= self._repeat_at
        self._repeat_at = time.monotonic() + REPEAT_EVERY if repeat else self._repeat_at
        for key, value in self._numbers.values().items():
            before = self._told.get(key)
            if BY_NAME[key[0]].kind == "gauge":
                if repeat or value != before:
                    yield key, value, f"{self._name(key)}:{value:.0f}|g"
            elif value > (before or 0.0):
                yield key, value, f"{self._name(key)}:{value - (before or 0.0):.0f}|c"

    def _name(self, key: Key) -> str:
        """`<prefix>.<stat>[.<type>]`, and `penstock.<app>.<stat>[.<label>]` for penstock's own."""
        name, labels = key
        parts = [harmless(label) for label in labels]
        if name.startswith(OWN):
            return ".".join([OWN.rstrip("."), parts[0], name.removeprefix(OWN), *parts[1:]])
        return ".".join([self._prefix, name, *parts])


def _packets(lines: Iterator[Line]) -> Iterator[list[Line]]:
    packet: list[Line] = []
    size = 0
    for line in lines:
        if packet and size + len(line[2]) + 1 > PACKET:
            yield packet
            packet, size = [], 0
        packet.append(line)
        size += len(line[2]) + 1
    if packet:
        yield packet


def _unknown(host: str, cause: Exception) -> Transient:
    return Transient(
        "metrics.statsd-unknown",
        f"the StatsD host {host} is not known: {cause}",
        "the run goes on, and it is tried again; what is counted meanwhile is told then. Correct metrics.statsd",
    )
