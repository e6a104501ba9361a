"""Jars from a pinned list: exactly those, byte for byte."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.demo.broker import LOCK
from penstock.demo.jars import Jar, cache, fetch, locked, verify
from penstock.errors import PenstockError

CONTENT = {"alpha-1.0.jar": b"PK alpha", "beta-2.1.jar": b"PK beta"}


@pytest.fixture
def jars() -> list[Jar]:
    """Two pinned jars."""
    return [
        Jar("org.alpha", "alpha", "1.0", hashlib.sha256(CONTENT["alpha-1.0.jar"]).hexdigest()),
        Jar("org.beta", "beta", "2.1", hashlib.sha256(CONTENT["beta-2.1.jar"]).hexdigest()),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds them."""
    found = tmp_path / "jars"
    found.mkdir()
    for name, content in CONTENT.items():
        (found / name).write_bytes(content)
    return found


@pytest.fixture
def lock(tmp_path: Path, jars: list[Jar], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Their lock file, and an empty cache."""
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    found = tmp_path / "demo.lock"
    lines = [f"{jar.organisation} {jar.name} {jar.version} {jar.sha256}" for jar in jars]
    found.write_text("\n".join(["# a comment", *lines, ""]))
    return found


@pytest.fixture
def java_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A `java` of a good version that does something else than Ivy: no test here reaches a network."""

    def installed(script: str) -> None:
        command = tmp_path / "home" / "bin" / "java"
        command.parent.mkdir(parents=True, exist_ok=True)
        version = '[ "$1" = -version ] && { echo \'openjdk version "17.0.1"\' >&2; exit 0; }'
        command.write_text(f'#!/bin/sh\n{version}\nfor last; do :; done\nlib="$(dirname "$last")"\n{script}\n')
        command.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(command.parent.parent))

    return installed


def refusal(act: Callable[[], object], code: str = "jars.mismatch") -> str:
    with pytest.raises(PenstockError) as refused:
        act()
    assert refused.value.code == code
    return refused.value.what


# --- verify --------------------------------------------------------------------------------------


def test_jars_as_they_were_pinned_are_accepted(jars: list[Jar], folder: Path) -> None:
    verify(jars, folder)


@pytest.mark.parametrize("at", [0, 3, 6])
def test_jar_with_a_flipped_bit_is_refused(jars: list[Jar], folder: Path, at: int) -> None:
    content = bytearray(CONTENT["beta-2.1.jar"])
    content[at] ^= 1
    (folder / "beta-2.1.jar").write_bytes(content)
    assert refusal(lambda: verify(jars, folder)).startswith("beta-2.1.jar is not what the lock file says")


def test_jar_with_a_byte_more_or_less_is_refused(jars: list[Jar], folder: Path) -> None:
    for content in (b"PK bet", b"PK beta\n", b""):
        (folder / "beta-2.1.jar").write_bytes(content)
        assert "beta-2.1.jar" in refusal(lambda: verify(jars, folder))


def test_missing_jar_is_refused(jars: list[Jar], folder: Path) -> None:
    (folder / "alpha-1.0.jar").unlink()
    assert "alpha-1.0.jar" in refusal(lambda: verify(jars, folder))


def test_foreign_jar_is_refused(jars: list[Jar], folder: Path) -> None:
    (folder / "gamma-1.0.jar").write_bytes(b"PK gamma")
    assert refusal(lambda: verify(jars, folder)) == "gamma-1.0.jar is not in the lock file"


# --- the lock file -------------------------------------------------------------------------------


def test_lock_file_lists_jars(lock: Path, jars: list[Jar]) -> None:
    assert locked(lock) == jars


def test_lock_file_of_the_broker_pins_every_jar_once() -> None:
    pinned = locked(LOCK)
    assert len(pinned) > 10
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in pinned)
    assert len({jar.file for jar in pinned}) == len(pinned)
    assert all("SNAPSHOT" not in jar.version and "+" not in jar.version for jar in pinned)


# --- fetch ---------------------------------------------------------------------------------------


def test_fetched_jars_are_kept_and_not_fetched_again(
    lock: Path, folder: Path, java_that: Callable[[str], None], tmp_path: Path
) -> None:
    java_that(f'echo once >> {tmp_path}/fetched; cp -r {folder} "$lib"')
    found = fetch(lock)
    assert {path.name: path.read_bytes() for path in found.iterdir()} == CONTENT
    assert found.parent == cache() == tmp_path / "cache"
    assert fetch(lock) == found
    assert (tmp_path / "fetched").read_text() == "once\n"


def test_other_lock_file_has_a_folder_of_its_own(lock: Path, folder: Path, java_that: Callable[[str], None]) -> None:
    java_that(f'cp -r {folder} "$lib"')
    before = fetch(lock)
    lock.write_text(lock.read_text() + "# changed\n")
    assert fetch(lock) != before


def test_jar_that_a_mirror_altered_is_never_kept(lock: Path, folder: Path, java_that: Callable[[str], None]) -> None:
    (folder / "alpha-1.0.jar").write_bytes(b"PK alphA")
    java_that(f'cp -r {folder} "$lib"')
    assert "alpha-1.0.jar" in refusal(lambda: fetch(lock))
    assert list(cache().iterdir()) == []


@pytest.mark.parametrize(
    ("script", "reason"), [("echo 'no route to host'; exit 1", "no route to host"), ("", "no reason")]
)
def test_jars_that_cannot_be_fetched_are_told_with_the_reason(
    lock: Path, java_that: Callable[[str], None], script: str, reason: str
) -> None:
    java_that(script)
    assert reason in refusal(lambda: fetch(lock), "jars.unavailable")
    assert list(cache().iterdir()) == []


def test_cache_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache() == tmp_path / "own"
    monkeypatch.delenv("PENSTOCK_CACHE")
    assert cache() == tmp_path / "xdg" / "penstock"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache() == tmp_path / ".cache" / "penstock"
