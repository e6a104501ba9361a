"""Settings for a Spark that starts, in a file that nobody else can read."""

from __future__ import annotations

import os
import re
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_TO_BE_ESCAPED = re.compile(r"[^A-Za-z0-9._-]")


@contextmanager
def submitted(settings: Mapping[str, str]) -> Iterator[None]:
    """A JVM that PySpark starts here has these settings from its first moment. The file is gone after."""
    if not settings:
        yield
        return
    before = os.environ.get(_ARGUMENTS)
    with TemporaryDirectory(prefix="penstock-") as folder:  # its mode is 0700
        file = Path(folder) / "spark.properties"
        file.touch(mode=0o600)
        os.environ[_ARGUMENTS] = _submit(before or "pyspark-shell", settings, file)
        try:
            yield
        finally:
            if before is None:
                del os.environ[_ARGUMENTS]
            else:
                os.environ[_ARGUMENTS] = before


def _submit(arguments: str, settings: Mapping[str, str], file: Path) -> str:
    """Write the file, and name it to spark-submit beside its other arguments. It reads one such file
    only: what stands in another one that is named already, comes first in ours."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--properties-file", type=Path)
    known, others = parser.parse_known_args(shlex.split(arguments))
    named: Path | None = known.properties_file
    already = f"{named.read_text(encoding='utf-8')}\n" if named else ""
    file.write_text(already + properties(settings), encoding="utf-8")
    # Who names a file is not given spark-defaults.conf, unless they ask for it.
    defaults = [] if named else ["--load-spark-defaults"]
    return shlex.join(["--properties-file", str(file), *defaults, *others])


def properties(settings: Mapping[str, str]) -> str:
    """As java.util.Properties reads it: of what is said twice, the last is right."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(text: str) -> str:
    return _TO_BE_ESCAPED.sub(lambda found: _units(found[0]), text)


def _units(character: str) -> str:
    code = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))
