"""Jars from a pinned list, fetched once through the Ivy that Spark brings along, and checked byte for byte."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from penstock.engine.java import java
from penstock.errors import PenstockError


@dataclass(frozen=True)
class Jar:
    organisation: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.jar"


def locked(lock: Path) -> list[Jar]:
    """What a lock file lists: organisation, name, version and SHA-256 per line."""
    lines = [line.split() for line in lock.read_text().splitlines() if line and not line.startswith("#")]
    return [Jar(*line) for line in lines]


def cache() -> Path:
    """Where fetched things are kept between runs."""
    home = os.environ.get("PENSTOCK_CACHE")
    return Path(home) if home else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "penstock"


def fetch(lock: Path) -> Path:
    """A folder with exactly the jars of a lock file."""
    jars = locked(lock)
    folder = cache() / f"{lock.stem}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            _retrieve(jars, Path(scratch))
            verify(jars, Path(scratch) / "lib")
            try:
                (Path(scratch) / "lib").rename(folder)
            except OSError:
                if not folder.exists():  # another process was quicker
                    raise
    return folder


def verify(jars: list[Jar], folder: Path) -> None:
    """Raise unless the folder holds every jar exactly as it was pinned, and no other."""
    for jar in jars:
        path = folder / jar.file
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != jar.sha256:
            raise PenstockError(
                "jars.mismatch",
                f"{jar.file} is not what the lock file says it must be",
                "fetch again; if it stays so, the repository or a mirror serves something else",
            )
    if foreign := {path.name for path in folder.glob("*.jar")} - {jar.file for jar in jars}:
        raise PenstockError(
            "jars.mismatch",
            f"{', '.join(sorted(foreign))} is not in the lock file",
            "remove the folder and fetch again",
        )


def _retrieve(jars: list[Jar], scratch: Path) -> None:
    (scratch / "ivy.xml").write_text(_module(jars))
    settings = os.environ.get("PENSTOCK_IVY_SETTINGS")
    if settings is None:
        (scratch / "settings.xml").write_text(
            f'<ivysettings><settings defaultResolver="m"/><caches defaultCacheDir={quoteattr(str(scratch / "cache"))}/>'
            '<resolvers><ibiblio name="m" m2compatible="true" usepoms="false" useMavenMetadata="false"/></resolvers>'
            "</ivysettings>"
        )
    command = [java(), "-cp", str(_ivy()), "org.apache.ivy.Main", "-warn", "-types", "jar", "bundle"]
    command += ["-settings", settings or str(scratch / "settings.xml"), "-ivy", str(scratch / "ivy.xml")]
    command += ["-retrieve", f"{scratch}/lib/[artifact]-[revision].[ext]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not (scratch / "lib").exists():
        told = (done.stdout + done.stderr).strip().splitlines()
        raise PenstockError(
            "jars.unavailable",
            f"the jars could not be fetched: {told[-1] if told else 'Ivy gave no reason'}",
            "check the network; for a mirror set PENSTOCK_IVY_SETTINGS to an Ivy settings file",
        )
    shutil.rmtree(scratch / "cache", ignore_errors=True)


def _module(jars: list[Jar]) -> str:
    """A flat list for Ivy: nothing is resolved, so nothing can change behind our back."""
    lines = "".join(
        f"<dependency org={quoteattr(j.organisation)} name={quoteattr(j.name)} rev={quoteattr(j.version)} "
        'transitive="false"/>'
        for j in jars
    )
    return (
        '<ivy-module version="2.0"><info organisation="penstock" module="lock"/>'
        '<configurations><conf name="default"/></configurations>'
        f'<dependencies defaultconf="default->default">{lines}</dependencies></ivy-module>'
    )


def _ivy() -> Path:
    spark = os.environ.get("SPARK_HOME")
    if spark is None:
        found = importlib.util.find_spec("pyspark")
        assert found is not None
        spark = str(Path(found.origin or "").parent)
    return next(Path(spark, "jars").glob("ivy-*.jar"))
