"""A small S3 in a process of its own: delta-rs keeps Python waiting during some calls, so it cannot be in this one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

_LONG_AGO = ("Thu, 01 Jan 2026 00:00:00 GMT", "2026-01-01T00:00:00.000Z")


class Bucket(ThreadingHTTPServer):
    """As much of S3 as a Delta table needs: objects, ranges, listings, and puts that fail if something is there."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.objects: dict[str, bytes] = {}


class _Request(BaseHTTPRequestHandler):
    server: Bucket
    protocol_version = "HTTP/1.1"

    def _asked(self) -> tuple[str, dict[str, str]]:
        split = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(split.query, keep_blank_values=True).items()}
        return unquote(split.path).removeprefix("/bucket").lstrip("/"), query

    def _answer(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        told = {"Content-Length": str(len(content)), "ETag": '"1"', "Last-Modified": _LONG_AGO[0]}
        for name, value in (told | {name.replace("_", "-"): value for name, value in headers.items()}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        key, _ = self._asked()
        if self.headers["If-None-Match"] == "*" and key in self.server.objects:
            return self._answer(412)
        self.server.objects[key] = content
        return self._answer(200)

    def do_GET(self) -> None:
        key, query = self._asked()
        if "list-type" in query:
            return self._list(query)
        found = self.server.objects.get(key)
        if found is None:
            return self._answer(404)
        if wanted := self.headers["Range"]:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end = (len(found) - int(last), len(found)) if not first else (int(first), int(last or 10**12) + 1)
            part = found[start:end]
            return self._answer(206, part, Content_Range=f"bytes {start}-{start + len(part) - 1}/{len(found)}")
        return self._answer(200, found)

    def do_HEAD(self) -> None:
        found = self.server.objects.get(self._asked()[0])
        self.send_response(404 if found is None else 200)
        for name, value in (("Content-Length", len(found or b"")), ("ETag", '"1"'), ("Last-Modified", _LONG_AGO[0])):
            self.send_header(name, str(value))
        self.end_headers()

    def _list(self, query: dict[str, str]) -> None:
        prefix, delimiter, after = (query.get(name, "") for name in ("prefix", "delimiter", "start-after"))
        keys, folders = [], set()
        for key in sorted(self.server.objects):
            rest = key.removeprefix(prefix)
            if not key.startswith(prefix) or key <= after:
                continue
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
            else:
                keys.append(key)
        found = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(self.server.objects[key])}</Size><ETag>1</ETag>"
            f"<LastModified>{_LONG_AGO[1]}</LastModified></Contents>"
            for key in keys
        )
        found += "".join(
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in sorted(folders)
        )
        self._answer(200, f"<ListBucketResult>{found}<IsTruncated>false</IsTruncated></ListBucketResult>".encode())

    def do_POST(self) -> None:
        asked = ElementTree.fromstring(self.rfile.read(int(self.headers["Content-Length"])))
        keys = [str(node.text) for node in asked.iter() if node.tag.endswith("Key")]
        for key in keys:
            self.server.objects.pop(key, None)
        told = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        self._answer(200, f"<DeleteResult>{told}</DeleteResult>".encode())

    def do_DELETE(self) -> None:
        self.server.objects.pop(self._asked()[0], None)
        self._answer(204)

    def log_message(self, format: str, *args: object) -> None: ...


def _serve(told: Connection) -> None:
    with Bucket() as running:
        told.send(running.server_port)
        running.serve_forever(0.02)


@contextmanager
def bucket() -> Iterator[str]:
    """The address of an empty bucket named `bucket`."""
    fresh = get_context("spawn")
    ours, theirs = fresh.Pipe()
    process = fresh.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        assert ours.poll(30), "the bucket did not start"
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.kill()
        process.join()
