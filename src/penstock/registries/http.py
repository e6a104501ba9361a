"""One question over HTTP to somebody who is not trusted: bounded in time and size, and sent nowhere else."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any

from penstock.errors import Transient, in_one_line, shown
from penstock.registries.policy import Endpoint, addresses, is_address

MAX_BODY = 4 * 10**6
MAX_ADDRESSES = 4
_ACCEPTED = ("application/vnd.schemaregistry.v1+json", "application/json")


@dataclass(frozen=True)
class Trust:
    """Files for TLS: whom to trust, instead of the system's authorities, and what to show of ourselves."""

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    def context(self) -> ssl.SSLContext:
        try:
            found = ssl.create_default_context(cafile=self.ca)
            if self.certificate is not None:
                found.load_cert_chain(self.certificate, self.key, password="")  # or it asks at the terminal
        except (OSError, ValueError) as cause:
            files = ", ".join(shown(file) for file in (self.ca, self.certificate, self.key) if file)
            raise Transient(
                "registry.certificates",
                f"the certificates for the registry cannot be used ({files}): {in_one_line(cause)}",
                "penstock waits; put PEM files there that this process may read, with a key that needs no password",
            ) from None
        return found


@dataclass(frozen=True)
class Access:
    """How to get there, and as whom. Nothing of this is ever shown."""

    headers: dict[str, str] = field(default_factory=dict, repr=False)
    proxy: Endpoint | None = field(default=None, repr=False)
    proxy_headers: dict[str, str] = field(default_factory=dict, repr=False)
    trust: Trust = Trust()
    timeout: float = 10.0
    private: bool = True


@dataclass(frozen=True)
class Answer:
    """A status, and the JSON value that came with it."""

    status: int
    content: Any

    @property
    def error_code(self) -> int | None:
        code = self.content.get("error_code") if isinstance(self.content, dict) else None
        return code if isinstance(code, int) else None

    @property
    def message(self) -> str:
        told = self.content.get("message") if isinstance(self.content, dict) else None
        return shown(told) if isinstance(told, str) else ""


def basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def ask(place: Endpoint, path: str, access: Access, content: Any = None) -> Answer:
    """Ask for a path below a place, or send a JSON value there. Whatever is not a clear answer in time is `Transient`:
    an error of the server, a redirect (none is followed), something other than JSON, or too much of it."""
    deadline = time.monotonic() + access.timeout
    try:
        connection = _connected(place, access, deadline)
        try:
            with _cut_off_at(deadline, connection):
                response = _sent(connection, place, path, access, content)
                _in_time(deadline)
                _refuse(response, place)
                body = _body(response, place)
                _in_time(deadline)
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError) as cause:
        late = time.monotonic() >= deadline
        why = f"it took longer than {access.timeout:g} seconds" if late else in_one_line(cause)
        raise Transient(
            "registry.unavailable",
            f"no answer from {shown(str(place))}: {why}",
            "penstock waits; check the registry's URL, the network, and certificates if there are any",
        ) from None
    return Answer(response.status, _parsed(body, place))


# --- the connection ------------------------------------------------------------------------------


def _connected(place: Endpoint, access: Access, deadline: float) -> HTTPConnection:
    """A connection to the first address that takes one: to the very address that was checked, not to the name."""
    if access.proxy is None:
        reachable = addresses(place, private=access.private)[:MAX_ADDRESSES]
    else:
        if is_address(place.host):  # behind a proxy names are the proxy's to look up, but an address is an address
            addresses(place, private=access.private)
        reachable = addresses(access.proxy)[:MAX_ADDRESSES]
    first: Exception | None = None
    for number, address in enumerate(reachable):
        share = max(deadline - time.monotonic(), 0.001) / (len(reachable) - number)
        connection = _connection(place, address, access, share)
        try:
            with _cut_off_at(deadline, connection):
                connection.connect()
        except (OSError, HTTPException) as cause:
            connection.close()
            first = first or cause
        else:
            connection.sock.settimeout(max(deadline - time.monotonic(), 0.001))
            return connection
    assert first is not None
    raise first


class _Encrypted(HTTPConnection):
    """A connection to an address, where the one who answers must prove the name that was asked for."""

    def __init__(self, address: str, port: int, timeout: float, context: ssl.SSLContext, name: str) -> None:
        super().__init__(address, port, timeout=timeout)
        self._context, self._name = context, name

    def connect(self) -> None:
        super().connect()
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self._name)


def _connection(place: Endpoint, address: str, access: Access, timeout: float) -> HTTPConnection:
    port = (access.proxy or place).port
    if place.scheme == "http":
        return HTTPConnection(address, port, timeout=timeout)
    connection = _Encrypted(address, port, timeout, access.trust.context(), place.host)
    if access.proxy is not None:
        connection.set_tunnel(place.host, place.port, access.proxy_headers)
    return connection


@contextmanager
def _cut_off_at(deadline: float, connection: HTTPConnection) -> Iterator[None]:
    """End a connection at the deadline, whatever it is doing: somebody who sends a byte now and then keeps
    every single read from timing out."""
    done = threading.Event()

    def watch() -> None:
        wait = deadline - time.monotonic()
        while not done.wait(wait):
            with suppress(OSError, AttributeError):  # not connected yet, or in the middle of a handshake
                connection.sock.shutdown(socket.SHUT_RDWR)
            wait = 0.05

    threading.Thread(target=watch, name="penstock-registry-deadline", daemon=True).start()
    try:
        yield
    finally:
        done.set()


# --- question and answer -------------------------------------------------------------------------


def _sent(connection: HTTPConnection, place: Endpoint, path: str, access: Access, content: Any) -> HTTPResponse:
    """What comes back for a question, up to where its content begins."""
    headers = {"Host": place.authority, "Accept": ", ".join(_ACCEPTED), "Accept-Encoding": "identity"} | access.headers
    target = place.path + path
    if access.proxy is not None and place.scheme == "http":
        target, headers = f"http://{place.authority}{target}", headers | access.proxy_headers
    body = None if content is None else json.dumps(content).encode()
    if body is not None:
        headers["Content-Type"] = _ACCEPTED[0]
    connection.request("GET" if body is None else "POST", target, body, headers)
    return connection.getresponse()


def _in_time(deadline: float) -> None:
    """What was cut off may look like something that ended."""
    if time.monotonic() >= deadline:
        raise TimeoutError


def _refuse(response: HTTPResponse, place: Endpoint) -> None:
    """Raise for a status that answers nothing."""
    status, where = response.status, shown(str(place))
    if status in (401, 403):
        raise Transient(
            "registry.denied",
            f"{where} does not let us in: status {status}",
            "penstock waits; check the username and password, or the token, and what they may read",
        )
    if 300 <= status < 400:
        raise Transient(
            "registry.redirect",
            f"{where} sends us elsewhere (status {status}), and penstock does not follow",
            "penstock waits; give the URL where the registry itself answers",
        )
    if status in (407, 408, 429) or status >= 500 or status < 200:
        raise Transient(
            "registry.unavailable", f"{where} answered with status {status}", "penstock waits; look at the registry"
        )
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise garbage(place, f"status {status} with content of type '{shown(kind, 60)}'")
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise garbage(place, "content in an encoding that was not asked for")


def _body(response: HTTPResponse, place: Endpoint) -> bytes:
    """All of the content, never more than the limit of it in memory."""
    told = response.headers.get("Content-Length", "0")
    length = int(told) if told.isdecimal() and len(told) < 20 else MAX_BODY + 1
    body = b"" if length > MAX_BODY else response.read(MAX_BODY + 1)
    if max(length, len(body)) > MAX_BODY:
        raise garbage(place, f"an answer longer than {MAX_BODY:,} bytes")
    if len(body) < length:
        raise HTTPException(f"it ended after {len(body)} of {length} bytes")
    return body


def _parsed(body: bytes, place: Endpoint) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise garbage(place, "something that is no JSON") from None


def garbage(place: Endpoint, what: str) -> Transient:
    """An answer that no schema registry would give."""
    return Transient(
        "registry.garbage",
        f"{shown(str(place))} does not answer like a schema registry: {what}",
        "penstock waits; check the registry's URL, and what stands between",
    )
