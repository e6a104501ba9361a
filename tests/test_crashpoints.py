"""Places to die at: off by default, and then exactly where, when and whom it was asked for."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from penstock.crashpoints import POINTS

KILLED = -signal.SIGKILL

THREE_TIMES = """
from penstock.crashpoints import reach
for time in (1, 2, 3):
    reach("commit.before")
    print(time, flush=True)
"""
DISARMED = "from penstock import crashpoints\ncrashpoints.disarm()\n" + THREE_TIMES
WITH_CHILD = """
import subprocess, sys
from penstock import crashpoints
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=subprocess.DEVNULL)
if {known}:
    crashpoints.know_jvm(child.pid)
print(child.pid, flush=True)
crashpoints.reach("commit.before")
print("alive", flush=True)
if {known}:
    print(child.wait(timeout=60), flush=True)
else:
    print(child.poll(), flush=True)
    child.kill()
    child.wait()
"""


def run(script: str, crash: str | None) -> subprocess.CompletedProcess[str]:
    """A process of its own, with a process group of its own."""
    environ = {name: value for name, value in os.environ.items() if name != "PENSTOCK_CRASH"}
    if crash is not None:
        environ["PENSTOCK_CRASH"] = crash
    return subprocess.run(
        [sys.executable, "-c", script],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
    )


def dies(pid: int) -> bool:
    """Does a process that is not our child end within a minute, if it has not already?"""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 60.0)[0])
    finally:
        os.close(handle)


# --- off -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("crash", [None, "", "no.such.place", "commit.before:4", "commit", "commit.before.x"])
def test_nothing_happens_unless_a_place_is_named_and_reached(crash: str | None) -> None:
    done = run(THREE_TIMES, crash)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n2\n3\n", "")


def test_disarmed_process_gets_past_the_place() -> None:
    done = run(DISARMED, "commit.before")
    assert (done.returncode, done.stdout) == (0, "1\n2\n3\n")


# --- on ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("crash", "reached"),
    [("commit.before", ""), ("commit.before:1", ""), ("commit.before:3", "1\n2\n"), ("commit.before:2@python", "1\n")],
)
def test_process_dies_the_nth_time_it_reaches_the_place(crash: str, reached: str) -> None:
    done = run(THREE_TIMES, crash)
    assert (done.returncode, done.stdout) == (KILLED, reached)
    assert "killed at commit.before" in done.stderr


def test_whole_group_dies() -> None:
    done = run(WITH_CHILD.format(known=False), "commit.before@group")
    assert done.returncode == KILLED
    assert "alive" not in done.stdout
    assert dies(int(done.stdout))


def test_only_the_jvm_dies() -> None:
    done = run(WITH_CHILD.format(known=True), "commit.before@jvm")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == ["alive", str(KILLED)]


def test_nobody_dies_for_a_jvm_that_was_never_started() -> None:
    done = run(WITH_CHILD.format(known=False), "commit.before@jvm")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == ["alive", "None"]


# --- the list ------------------------------------------------------------------------------------


def test_list_of_places_is_what_the_code_reaches() -> None:
    sources = Path(penstock.__file__).parent.rglob("*.py")
    found = {name for path in sources for name in re.findall(r'\breach\("([^"]+)"\)', path.read_text())}
    assert found == set(POINTS)
    assert len(POINTS) == len(set(POINTS))
