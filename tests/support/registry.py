"""A real schema registry on this machine, on loopback: Apicurio, with Confluent's REST interface."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tarfile
import tempfile
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

from penstock.demo.broker import _TIED, free_port
from penstock.demo.jars import cache
from penstock.engine.java import java
from tests.support.process import eventually

VERSION = "2.6.13.Final"
SHA256 = "3cda1b34aa020fb4ac4dd6a66018d757e81e437f97e20a1f92d366b70091c6ba"
_NAME = "apicurio-registry-app"
_JVM = ["-Xms64m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
_SETTINGS = (
    '<ivysettings><settings defaultResolver="m"/><caches defaultCacheDir="{cache}"/>'
    '<resolvers><ibiblio name="m" m2compatible="true" usepoms="false" useMavenMetadata="false"/></resolvers>'
    "</ivysettings>"
)
_MODULE = (
    '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven"><info organisation="penstock" module="tests"/>'
    '<configurations><conf name="default"/></configurations><dependencies defaultconf="default->default">'
    f'<dependency org="io.apicurio" name="{_NAME}" rev="{VERSION}" transitive="false">'
    f'<artifact name="{_NAME}" type="tar.gz" ext="tar.gz" m:classifier="all"/></dependency>'
    "</dependencies></ivy-module>"
)


def fetched() -> Path:
    """The folder with the registry's program: fetched once, by the Ivy that Spark brings along, and checked."""
    folder = cache() / f"apicurio-{SHA256[:12]}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            archive = _archive(Path(scratch))
            assert hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256, f"{archive.name} is not what it must be"
            with tarfile.open(archive) as packed:
                packed.extractall(Path(scratch, "unpacked"), filter="data")
            try:
                Path(scratch, "unpacked").rename(folder)
            except OSError:
                assert folder.exists(), "the cache cannot be written to"  # else another process was quicker
    return folder


def _archive(scratch: Path) -> Path:
    module, settings = scratch / "ivy.xml", scratch / "settings.xml"
    module.write_text(_MODULE)
    settings.write_text(_SETTINGS.format(cache=scratch / "cache"))
    ivy = next(Path(pyspark.__file__).parent.joinpath("jars").glob("ivy-*.jar"))
    command = [java(), "-cp", str(ivy), "org.apache.ivy.Main", "-warn", "-ivy", str(module)]
    command += ["-settings", os.environ.get("PENSTOCK_IVY_SETTINGS", str(settings))]
    command += ["-retrieve", f"{scratch}/lib/[artifact]-[revision].[ext]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = scratch / "lib" / f"{_NAME}-{VERSION}.tar.gz"
    assert found.exists(), f"the registry could not be fetched: {(done.stdout + done.stderr)[-500:]}"
    return found


class LocalRegistry:
    """One registry that keeps its schemas in memory. Started again, it has the same port, and is empty."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def start(self) -> Self:
        program = fetched() / f"{_NAME}-{VERSION}-runner.jar"
        self.folder.mkdir(parents=True, exist_ok=True)
        command = ["sh", "-c", _TIED, "sh", java(), *_JVM, f"-Dquarkus.http.port={self.port}"]
        command += ["-Dquarkus.http.host=127.0.0.1", "-jar", str(program)]
        with (self.folder / "registry.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.PIPE, cwd=self.folder, start_new_session=True
            )
        eventually(self._answers, 90, self._told)
        return self

    def _told(self) -> str:
        return (self.folder / "registry.log").read_text(errors="replace")[-3000:]

    def _answers(self) -> bool:
        assert self._process
        assert self._process.poll() is None, self._told()
        with suppress(OSError), urllib.request.urlopen(f"{self.url}/subjects", timeout=5) as answer:
            return bool(answer.status == 200)
        return False

    def kill(self) -> None:
        """As if the machine had lost power."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
