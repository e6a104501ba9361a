"""What a user tells Spark reaches it in a file of theirs, and no command line."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.engine.submit import submitted

# The odd characters are those that mean something in a properties file.
SECRET = " canary-5d1e ü=#!\\:\n\t😀 'x\" "


def _arguments() -> list[str]:
    return shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])


def test_file_is_private_and_gone_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)

    with submitted({"spark.x": "y"}):
        option, name, *others = _arguments()
        file = Path(name)
        assert option == "--properties-file"
        assert others == ["--load-spark-defaults", "pyspark-shell"]
        assert file.read_text() == "spark.x=y\n"
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)

    assert not file.parent.exists()
    assert "PYSPARK_SUBMIT_ARGS" not in os.environ


def test_without_settings_there_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    with submitted({}):
        assert "PYSPARK_SUBMIT_ARGS" not in os.environ


@pytest.mark.parametrize("form", ["--properties-file {}", "--properties-file={}"])
def test_arguments_that_are_there_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str) -> None:
    theirs = tmp_path / "theirs.properties"
    theirs.write_text("spark.x theirs\nspark.z z")
    given = f"--driver-memory 1g {form.format(theirs)} --conf 'spark.a=b c' pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", given)

    with submitted({"spark.x": "y"}):
        _, name, *others = _arguments()
        assert others == ["--driver-memory", "1g", "--conf", "spark.a=b c", "pyspark-shell"]
        assert Path(name).read_text() == "spark.x theirs\nspark.z z\nspark.x=y\n"

    assert os.environ["PYSPARK_SUBMIT_ARGS"] == given


WATCHING = """
import json, os, threading
from pathlib import Path
from penstock.engine.session import open_context
from penstock.pipeline import Spark

def look():
    while not done.is_set():
        for process in Path("/proc").glob("[0-9]*"):
            try:
                lines.add((process / "cmdline").read_bytes().decode(errors="replace"))
            except OSError:
                continue
        done.wait(0.01)

lines, done = set(), threading.Event()
watch = threading.Thread(target=look)
watch.start()
try:
    given = {
        "spark.hadoop.fs.s3a.secret.key": os.environ["SECRET"],
        "spark.driver.memory": "600m",
        "spark.master": "nowhere://x",
    }
    context = open_context("test", Spark(master="local[1]", conf=given))
    done.set()
    watch.join()
    print(json.dumps({
        "setting": context._jsc.hadoopConfiguration().get("fs.s3a.secret.key"),
        "master": context.master,
        "lines": sorted(lines),
    }))
    context.stop()
finally:
    done.set()
"""


@pytest.mark.timeout(120)
def test_setting_reaches_spark_and_stands_in_no_command_line() -> None:
    env = {**os.environ, "SECRET": SECRET}
    ended = subprocess.run([sys.executable, "-c", WATCHING], capture_output=True, env=env, text=True, check=True)

    found = json.loads(ended.stdout)
    assert found["setting"] == SECRET
    assert found["master"] == "local[1]"
    started = [line for line in found["lines"] if "org.apache.spark.deploy.SparkSubmit" in line]
    assert any("-Xmx600m" in line for line in started), "what a JVM must know when it starts, it knows"
    assert [line for line in found["lines"] if "canary-5d1e" in line] == []
    assert ended.stderr == ""
