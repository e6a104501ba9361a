"""Spark's Python daemon, spoken to as Spark does: nobody hears of a worker that was hung up on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.support.process import eventually

Daemon = subprocess.Popen[bytes]


def _start(**env: str) -> Daemon:
    without = {name: value for name, value in os.environ.items() if name != "PYTHON_WORKER_FACTORY_SECRET"}
    return subprocess.Popen(
        [sys.executable, "-m", "penstock.engine.daemon", "pyspark.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**without, "SPARK_REUSE_WORKER": "1", "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1", **env},
    )


def _number(stream: IO[bytes] | None) -> int:
    assert stream is not None
    return int.from_bytes(stream.read(4), "big")


def _printed(daemon: Daemon) -> str:
    """What the daemon and its workers have printed, when the workers have ended by themselves."""
    children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children")
    try:
        eventually(lambda: not children.read_text())
        return daemon.communicate(timeout=30)[1].decode()
    finally:
        daemon.kill()


@pytest.fixture
def short_path() -> Iterator[str]:
    """A folder for sockets, whose names may have about a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="p") as folder:
        yield folder


@pytest.mark.timeout(60)
def test_worker_that_spark_hangs_up_on_ends_in_silence(short_path: str) -> None:
    daemon = _start(PYTHON_UNIX_DOMAIN_ENABLED="true", PYTHON_WORKER_FACTORY_SOCK_DIR=short_path)
    length = _number(daemon.stdout)
    assert daemon.stdout is not None
    path = daemon.stdout.read(length).decode()
    with socket.socket(socket.AF_UNIX) as at_once:
        at_once.connect(path)
    with socket.socket(socket.AF_UNIX) as idle:
        idle.connect(path)
        assert _number(idle.makefile("rb")) > 0  # the process of its worker

    assert _printed(daemon) == ""


@pytest.mark.timeout(60)
def test_worker_that_fails_in_another_way_tells_of_it() -> None:
    daemon = _start()  # without the secret that it is to compare with
    port = _number(daemon.stdout)
    with socket.create_connection(("127.0.0.1", port)) as spark:
        assert _number(spark.makefile("rb")) > 0
        spark.sendall(b"\0\0\0\x01x")

        assert "KeyError: 'PYTHON_WORKER_FACTORY_SECRET'" in _printed(daemon)
