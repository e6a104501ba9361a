"""`penstock plan`: what a run would do, told before anything is done."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from cyclopts import Parameter, validators
from rich.console import Console

from penstock.cli.commands import PipelineFile
from penstock.cli.reporting import reporting
from penstock.config.load import load
from penstock.operate.plan import plan as foresee
from penstock.operate.progress import Steps
from penstock.operate.show_plan import plan_values, show_plan

_ENDS = (KeyboardInterrupt, SystemExit)


@reporting
def plan(
    pipeline: PipelineFile,
    *,
    messages: Annotated[
        int, Parameter(help="How many messages to look at, at most.", validator=validators.Number(gte=1, lte=10**7))
    ] = 10_000,
    strict: Annotated[
        bool, Parameter(help="Fail if there is any dead letter, or if a table that is there would change.", negative="")
    ] = False,
    as_json: Annotated[bool, Parameter(name="--json", help="Print the plan as JSON.", negative="")] = False,
) -> int:
    """Show what a run would do: tables, columns, dead letters, files an hour. Reads a sample, and writes nothing."""
    declared = load(pipeline)
    with ended_tidily(), Steps(3) as steps:
        found = foresee(declared, messages, steps.step)
    if as_json:
        print(json.dumps(plan_values(found), indent=1))
    else:
        show_plan(found, Console())
    return 0 if (found.is_strictly_ok if strict else found.ok) else 1


@contextmanager
def ended_tidily() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does: messages must not be left behind in a temporary folder."""
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    except SystemError as broken:  # the signal came in the middle of a client that is written in C
        raise broken.__cause__ if isinstance(broken.__cause__, _ENDS) else broken from None
    finally:
        signal.signal(signal.SIGTERM, before)
