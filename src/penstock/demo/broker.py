"""A real Kafka broker on this machine, on loopback, for demonstrations and tests. Not for production."""

from __future__ import annotations

import base64
import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.demo.jars import fetch
from penstock.engine.java import java
from penstock.errors import PenstockError

LOCK = Path(__file__).with_name("kafka.lock")
_JVM = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
READY_WITHIN = 90.0

# Runs a command that ends with us, however we end: then our end of the pipe that it reads from is closed.
_TIED = """
exec 3<&0
trap : TERM
"$@" </dev/null 3<&- & child=$!
(cat <&3 >/dev/null; kill -9 $child) & watch=$!
while kill -0 $child 2>/dev/null; do wait $child; done
kill -9 $watch 2>/dev/null
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _cluster_id() -> str:
    """A random id; one that begins with a dash would be taken for an option."""
    while (found := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return found


class LocalBroker:
    """One broker with its data in one folder. Started again on the same folder, it goes on."""

    def __init__(self, folder: Path, *, port: int | None = None, settings: Mapping[str, str] | None = None) -> None:
        self.folder, self.port = folder, port or free_port()
        self._controller = free_port()
        self._extra = dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> Self:
        jars = fetch(LOCK)
        self.folder.mkdir(parents=True, exist_ok=True)
        properties = self.folder / "server.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in self._properties().items()))
        if not (self.folder / "data" / "meta.properties").exists():
            self._run(
                jars, "kafka.tools.StorageTool", "format", "--standalone", "-t", _cluster_id(), "-c", str(properties)
            ).wait()
        self._process = self._run(jars, "kafka.Kafka", str(properties))
        self._await_ready()
        return self

    def _run(self, jars: Path, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.folder / "broker.log").open("ab")
        command = ["sh", "-c", _TIED, "sh", java(), *_JVM, "-cp", f"{jars}/*", *arguments]
        # A session of its own: Ctrl-C reaches us, and we stop it in our own time.
        return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.PIPE, start_new_session=True)

    def _properties(self) -> dict[str, str]:
        here, controller = f"PLAINTEXT://{self.servers}", f"127.0.0.1:{self._controller}"
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": controller,
            "listeners": f"{here},CONTROLLER://{controller}",
            "advertised.listeners": f"{here},CONTROLLER://{controller}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.folder / "data"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
            **self._extra,
        }

    def _await_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.3).close()
                return
            except OSError:
                time.sleep(0.05)
        tail = (self.folder / "broker.log").read_text(errors="replace").strip().splitlines()[-1:]
        raise PenstockError(
            "demo.broker", f"the local broker did not start: {' '.join(tail)}", f"see {self.folder / 'broker.log'}"
        )

    def kill(self) -> None:
        """As if the machine had lost power."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            os.killpg(self._process.pid, how)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
