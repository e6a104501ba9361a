"""Running protoc on what nobody vouches for: in a process of its own, under limits of memory and time, in a folder
of its own that holds the given files and nothing else."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import Transient, shown
from penstock.values.plain import Refusal

CPU_SECONDS, WALL_SECONDS, MEMORY = 10, 60, 2**30

_REFUSES = 3
_BY_OTHERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Ends that a schema does not bring about."""

_FILE_NAME = re.compile(r"(?:\w[\w.+-]{0,99}/){0,16}\w[\w.+-]{0,99}", re.ASCII)

# Limits are set by the child for itself: a fork that runs Python before exec is not safe among threads.
_PROTOC = """
import os, resource, sys
sys.path[:] = sys.argv[1].split(os.pathsep)
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]), int(sys.argv[2]) + 5))
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]), int(sys.argv[3])))
resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 20, 16 << 20))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
from importlib.resources import files
from grpc_tools import protoc
known = str(files("grpc_tools") / "_proto")
open("started", "w").close()
sys.exit(3 * bool(protoc.main(["protoc", "--proto_path=files", "--proto_path=" + known, "--include_imports",
                               "--descriptor_set_out=found", *sys.argv[4:]])))
"""


def refused(text: str) -> Refusal:
    """A schema that no message can be read with."""
    return Refusal("parse", "protobuf.schema", text)


def compiled(texts: Mapping[str, str], name: str) -> bytes:
    """Descriptors of the source text of this name and all that it imports, from these texts or google/protobuf/*."""
    for one in texts:
        _check_name(one)
    with tempfile.TemporaryDirectory(prefix="penstock-protoc-") as folder:
        for one, text in texts.items():
            path = Path(folder, "files", one)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode("utf-8", "replace"))
            except (FileExistsError, NotADirectoryError, IsADirectoryError):
                raise refused(f"{shown(one)} is the name of a schema file and of a folder of others") from None
        return _run(Path(folder), name)


def checked(descriptors: bytes, name: str) -> bytes:
    """The same descriptors, of the file of this name and all that it imports, if they make sense."""
    _check_name(name)
    with tempfile.TemporaryDirectory(prefix="penstock-protoc-") as folder:
        Path(folder, "files").mkdir()
        Path(folder, "given").write_bytes(descriptors)
        return _run(Path(folder), "--descriptor_set_in=given", name)


def _check_name(name: str) -> None:
    if not _FILE_NAME.fullmatch(name):
        raise refused(f"{shown(name)} cannot be the name of a schema file")


def _run(folder: Path, *arguments: str) -> bytes:
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-I", "-c", _PROTOC, path, str(CPU_SECONDS), str(MEMORY), *arguments]
    try:
        run = subprocess.run(
            command, cwd=folder, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=WALL_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Transient("protobuf.compile", f"protoc took more than {WALL_SECONDS} seconds for a schema") from None
    told = run.stderr.decode("utf-8", "replace").strip().splitlines()
    if run.returncode == _REFUSES:
        lines = [line for line in told if not re.match(r"WARNING:|W\d{4} ", line)]
        raise refused(f"protoc refuses the schema: {shown('; '.join(lines[:3]) or 'it gives no reason', 400)}")
    if run.returncode == 0:
        return (folder / "found").read_bytes()
    if -run.returncode in _BY_OTHERS or not (folder / "started").exists():
        raise Transient("protobuf.compile", f"protoc cannot be run: {shown(' '.join(told[-1:]), 400)}")
    raise refused(f"protoc crashes on the schema, or needs more than {CPU_SECONDS} seconds or {MEMORY >> 20} MB")
