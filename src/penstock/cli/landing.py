"""Landing from a command line: what may be given up, what Spark is told, and who watches."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console

from penstock.errors import refused
from penstock.loop import Until
from penstock.operate.show import LogLines, Screen
from penstock.pipeline import Pipeline
from penstock.protocol.begin import Accepted
from penstock.running import run


def land(pipeline: Pipeline, until: Until, accepted: Accepted) -> None:
    """Run a pipeline with a picture of it on a terminal, and with log lines anywhere else."""
    console = Console(stderr=True)
    observer = Screen(pipeline, console) if console.is_terminal else LogLines(pipeline)
    with observer:
        run(pipeline, until=until, accepted=accepted, observer=observer, handle_signals=True)


def spark_settings(given: Sequence[str]) -> dict[str, str]:
    for setting in given:
        if "=" not in setting:
            raise refused(
                "usage.conf", f"--conf '{setting}' is not name=value", "write --conf spark.executor.memory=2g"
            )
    return dict(setting.split("=", 1) for setting in given)


def accepted(given: Sequence[str], *, adopt: bool) -> Accepted:
    """What may be given up, for this start only."""
    gaps: dict[str, tuple[int, int]] = {}
    named: dict[str, set[str]] = {"topic": set(), "cluster": set()}
    for text in given:
        gap = re.fullmatch(r"(\d+):(\d+)-(\d+)", text)
        name, _, value = text.partition("=")
        if gap and int(gap[2]) <= int(gap[3]):
            gaps[gap[1]] = (int(gap[2]), int(gap[3]) + 1)
        elif name in named and value:
            named[name].add(value)
        else:
            raise refused(
                "usage.accept-gap",
                f"--accept-gap '{text}' is not understood",
                "write it exactly as the error message shows it",
            )
    return Accepted(gaps, frozenset(named["topic"]), frozenset(named["cluster"]), adopt)
