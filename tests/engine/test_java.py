"""A Java that Spark can run on, or one sentence that says what is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.engine.java import java
from penstock.errors import FAILED, PenstockError

OPENJDK = 'echo \'openjdk version "{}" 2025-04-15\' >&2; echo "OpenJDK Runtime Environment" >&2'

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """The only `java` there is: a script that says so, on PATH or in JAVA_HOME."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))

    def installed(script: str, *, where: str = "path") -> Path:
        command = tmp_path / where / "bin" / "java"
        command.parent.mkdir(parents=True)
        command.write_text(f"#!/bin/sh\n{script}\n")
        command.chmod(0o755)
        if where == "path":
            monkeypatch.setenv("PATH", str(command.parent))
        else:
            monkeypatch.setenv("JAVA_HOME", str(command.parent.parent))
        return command

    return installed


def refusal() -> str:
    with pytest.raises(PenstockError) as refused:
        java()
    assert refused.value.code == "engine.no-java"
    assert refused.value.exit_status == FAILED
    assert "\n" not in refused.value.what
    assert "17 or 21" in refused.value.remedy
    assert "JAVA_HOME" in refused.value.remedy
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    return refused.value.what


# --- found ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.2", "21-ea"])
def test_java_that_spark_runs_on_is_found_on_the_path(install: Install, version: str) -> None:
    assert java_is(install(OPENJDK.format(version)))


def java_is(command: Path) -> bool:
    return java() == str(command)


def test_java_home_comes_before_the_path(install: Install) -> None:
    install(OPENJDK.format("1.8.0_402"))
    assert java_is(install(OPENJDK.format("17.0.15"), where="home"))


def test_empty_java_home_is_none(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    command = install(OPENJDK.format("17.0.15"))
    monkeypatch.setenv("JAVA_HOME", "")
    assert java_is(command)


def test_words_before_the_version_do_no_harm(install: Install) -> None:
    assert java_is(install("echo 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g' >&2; " + OPENJDK.format("21.0.1")))


def test_java_of_this_machine_is_found() -> None:
    assert Path(java()).name == "java"


# --- not found -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("install")
def test_missing_java_is_told_in_one_sentence() -> None:
    assert refusal() == "penstock needs Java 17 or 21 for Spark, and found none"


@pytest.mark.parametrize(
    ("version", "major"), [("1.8.0_402", 8), ("11.0.22", 11), ("16", 16), ("25", 25), ("26-ea", 26)]
)
def test_java_of_another_version_is_told_with_its_place(install: Install, version: str, major: int) -> None:
    command = install(OPENJDK.format(version))
    assert refusal() == f"penstock needs Java 17 or 21 for Spark, and found Java {major} at {command}"


def test_java_home_without_a_java_is_told(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(OPENJDK.format("17.0.15"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert refusal().endswith(f"found none that starts at {tmp_path}/nowhere/bin/java")


def test_java_that_cannot_be_started_is_told(install: Install) -> None:
    command = install("", where="home")
    command.chmod(0o644)
    assert refusal().endswith(f"found none that starts at {command}")


@pytest.mark.parametrize("script", ["exit 1", "echo 'coffee, black' >&2", "echo 'version: 17'"])
def test_something_that_is_no_java_is_told(install: Install, script: str) -> None:
    assert refusal_at(install(script))


def refusal_at(command: Path) -> bool:
    return refusal().endswith(f"found something else at {command}")
