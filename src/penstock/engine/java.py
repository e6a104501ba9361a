"""Is there a Java that Spark can run on? Asked before Spark is, whose own answer is a stack trace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from penstock.errors import no_java

OLDEST, NEWEST = 17, 23


def java() -> str:
    """The command that starts a usable Java, or an error that says in one sentence what is missing."""
    home = os.environ.get("JAVA_HOME")
    command = f"{home}/bin/java" if home else shutil.which("java")
    if not command:
        raise no_java("none")
    try:
        told = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        raise no_java(f"none that starts at {command}") from None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', told)
    if not found:
        raise no_java(f"something else at {command}")
    major = int(found[2] or 0) if found[1] == "1" else int(found[1])
    if not OLDEST <= major <= NEWEST:
        raise no_java(f"Java {major} at {command}")
    return command
