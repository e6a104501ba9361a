"""A store behind HTTP: its settings reach the client below it, and a table's files are where its log is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest

from penstock.errors import PenstockError
from penstock.storage import Storage, child
from penstock.tables.delta import DeltaTable
from penstock.tables.names import table_name


class Bucket(ThreadingHTTPServer):
    """As much of S3 as it takes to put and get objects; it remembers which keys were asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.objects: dict[str, bytes] = {}
        self.asked: list[str] = []

    def options(self, prefix: str) -> dict[str, str]:
        return {
            "aws_endpoint": f"http://127.0.0.1:{self.server_port}",
            f"{prefix}allow_http": "true",
            "aws_region": "nowhere-1",
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
        }


class _Request(BaseHTTPRequestHandler):
    server: Bucket

    def _key(self) -> str:
        key = unquote(self.path.partition("?")[0]).removeprefix("/bucket/")
        self.server.asked.append(key)
        return key

    def _answer(self, status: int, content: bytes = b"") -> None:
        self.send_response(status)
        for name, value in (("Content-Length", str(len(content))), ("ETag", '"1"'), ("Last-Modified", _LONG_AGO)):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_PUT(self) -> None:
        self.server.objects[self._key()] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200)

    def do_GET(self) -> None:
        found = self.server.objects.get(self._key())
        self._answer(404 if found is None else 200, found or b"")

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None: ...


_LONG_AGO = "Thu, 01 Jan 2026 00:00:00 GMT"


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with Bucket() as running:
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        yield running
        running.shutdown()


@pytest.mark.parametrize("prefix", ["", "aws_", "AWS_"])
def test_settings_of_the_client_may_stand_among_those_of_the_store(bucket: Bucket, prefix: str) -> None:
    storage = Storage("s3://bucket/lake", bucket.options(prefix) | {"timeout": "5s", "connect_timeout": "2s"})

    storage.put("a/file", b"here")

    assert bucket.objects == {"lake/a/file": b"here"}
    assert storage.get("a/file") == b"here"
    assert storage.missing(["a/file", "a/other"]) == ["a/other"]


def test_setting_that_no_store_knows_is_refused_with_its_name(bucket: Bucket) -> None:
    with pytest.raises(PenstockError, match="aws_regoin") as refused:
        Storage("s3://bucket/lake", bucket.options("") | {"aws_regoin": "x"})

    assert refused.value.code == "storage.unusable"


@pytest.mark.parametrize("type", ["order", "order/new", "../../up", "%2e%2e%2fup", "a b", "käse", "a+b", "~", "a@b"])
def test_files_of_any_type_and_the_log_of_its_table_are_in_one_folder_below_the_base(bucket: Bucket, type: str) -> None:
    location, folder = child("s3://bucket/lake", table_name(type)), f"lake/{table_name(type)}"

    Storage(location, bucket.options("")).put("part-1.parquet", b"rows")
    with suppress(PenstockError):  # this bucket cannot list
        DeltaTable(location, "shop", bucket.options("") | {"max_retries": "0"}).state()

    assert set(bucket.objects) == {f"{folder}/part-1.parquet"}
    assert f"{folder}/_delta_log/_last_checkpoint" in bucket.asked
