"""A small registry that does what it is told: answer as a registry does, or as one that is ill, lying or taken over."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

JSON = "application/vnd.schemaregistry.v1+json"


class Small(ThreadingHTTPServer):
    """Schemas by path, and a fault if there is one."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.answers: dict[str, Any] = {}
        self.fault: str | None = None
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.sent: list[Any] = []
        self.ended = threading.Event()
        self._tls = context

    def finish_request(self, request: Any, client_address: Any) -> None:
        with suppress(OSError):  # in its own thread: whoever does not get through the handshake keeps nobody waiting
            wrapped = self._tls.wrap_socket(request, server_side=True) if self._tls else request
            super().finish_request(wrapped, client_address)
            if self._tls:
                wrapped.close()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def holds(self, id: int, text: str, kind: str = "AVRO", references: Any = (), subject: str = "orders") -> None:
        self.answers[f"/schemas/ids/{id}"] = {"schema": text, "schemaType": kind, "references": list(references)}
        self.answers[f"/schemas/ids/{id}/versions"] = [{"subject": subject, "version": 1}]

    def holds_version(self, subject: str, version: int, text: str, references: Any = ()) -> None:
        told = {"subject": subject, "version": version, "id": 900, "schema": text, "references": list(references)}
        self.answers[f"/subjects/{subject}/versions/{version}"] = told


@contextmanager
def small(context: ssl.SSLContext | None = None) -> Iterator[Small]:
    server = Small(context)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Request(BaseHTTPRequestHandler):
    server: Small

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.headers.append(dict(self.headers))
        if self.server.fault is not None:
            with suppress(OSError):  # the other side may have had enough
                FAULTS[self.server.fault](self)
            return
        path = unquote(urlsplit(self.path).path)
        if path in self.server.answers:
            self.answer(200, json.dumps(self.server.answers[path]).encode())
        else:
            self.answer(404, b'{"error_code": 40403, "message": "Schema not found"}')

    def do_POST(self) -> None:
        self.server.sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.do_GET()

    def do_CONNECT(self) -> None:
        """As a proxy does: pass on what comes, both ways."""
        self.server.asked.append(f"CONNECT {self.path}")
        self.server.headers.append(dict(self.headers))
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port)), 5) as there:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=_pass_on, args=(there, self.connection), daemon=True)
            back.start()
            _pass_on(self.connection, there)
            back.join(5)

    def answer(self, status: int, content: bytes, kind: str = JSON, **headers: str) -> None:
        self.send_response(status)
        told = {"Content-Type": kind, "Content-Length": str(len(content))}
        for name, value in (told | {name.replace("_", "-"): value for name, value in headers.items()}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def _pass_on(here: socket.socket, there: socket.socket) -> None:
    with suppress(OSError):
        while chunk := here.recv(65_536):
            there.sendall(chunk)
        there.shutdown(socket.SHUT_WR)


GOOD = json.dumps({"schema": '"string"'}).encode()


def _trickle(request: _Request) -> None:
    """A byte now and then, so that no single read takes long."""
    request.wfile.write(b"HTTP/1.0 200 OK\r\n")
    while not request.server.ended.wait(0.02):
        request.wfile.write(b"X")


def _endless(request: _Request) -> None:
    request.send_response(200)
    request.send_header("Content-Type", JSON)
    request.end_headers()
    request.wfile.write(b'{"schema": "')
    while not request.server.ended.is_set():
        request.wfile.write(b"x" * 65_536)


def _half(request: _Request) -> None:
    request.send_response(200)
    request.send_header("Content-Type", JSON)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(GOOD)


def _reset(request: _Request) -> None:
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.connection.close()


def _headers(request: _Request) -> None:
    request.wfile.write(b"HTTP/1.0 200 OK\r\n" + b"X-Y: z\r\n" * 100_000)


FAULTS: dict[str, Callable[[_Request], Any]] = {
    "status 503": lambda r: r.answer(503, b'{"error_code": 50302, "message": "not yet"}'),
    "status 500 with a schema": lambda r: r.answer(500, GOOD),
    "status 429": lambda r: r.answer(429, b"{}"),
    "status 401": lambda r: r.answer(401, b'{"error_code": 401, "message": "Unauthorized"}'),
    "status 403": lambda r: r.answer(403, b'{"error_code": 40301, "message": "Forbidden"}'),
    "a 404 of somebody else": lambda r: r.answer(404, b"<html>404</html>", "text/html"),
    "a 404 without a code": lambda r: r.answer(404, b'{"error_code": 404, "message": "HTTP 404 Not Found"}'),
    "status 204": lambda r: r.answer(204, b""),
    "a page": lambda r: r.answer(200, b"<html>sign in</html>", "text/html"),
    "a page called JSON": lambda r: r.answer(200, b"<html>sign in</html>"),
    "garbage": lambda r: r.wfile.write(b"\x00\xff\x16garbage\r\n\r\n"),
    "nothing": lambda r: None,
    "empty": lambda r: r.answer(200, b""),
    "no object": lambda r: r.answer(200, b"[1, 2]"),
    "no text": lambda r: r.answer(200, b'{"schema": 7}'),
    "half a character": lambda r: r.answer(200, b'{"schema": "\\ud800"}'),
    "odd references": lambda r: r.answer(200, b'{"schema": "x", "references": {"name": "y"}}'),
    "odd versions": lambda r: r.answer(
        200, b'{"schema": "x", "references": [{"name":"a","subject":"b","version":"1"}]}'
    ),
    "another id": lambda r: r.answer(200, json.dumps({"id": 99, "schema": '"string"'}).encode()),
    "too deep": lambda r: r.answer(200, b'{"schema":' * 100_000),
    "a huge number": lambda r: r.answer(200, b'{"schema": ' + b"9" * 100_000 + b"}"),
    "packed": lambda r: r.answer(200, gzip.compress(GOOD), Content_Encoding="gzip"),
    "a redirect": lambda r: r.answer(302, b"", Location="http://169.254.169.254/latest/meta-data/"),
    "a redirect to a file": lambda r: r.answer(307, b"", Location="file:///etc/passwd"),
    "a large length": lambda r: r.answer(200, GOOD, Content_Length="1000000000"),
    "an odd length": lambda r: r.answer(200, GOOD, Content_Length="1" * 5_000),
    "endless": _endless,
    "too many headers": _headers,
    "half": _half,
    "a reset": _reset,
}
SLOW: dict[str, Callable[[_Request], Any]] = {
    "silent": lambda r: r.server.ended.wait(30),
    "a trickle": _trickle,
}
FAULTS |= SLOW
