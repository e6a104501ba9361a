"""`penstock adopt`: a type that nobody declared gets its table, with the messages that were kept for it."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from penstock.cli.commands import PipelineFile
from penstock.cli.reporting import reporting
from penstock.config.load import load
from penstock.errors import shown
from penstock.operate.adopt import Outcome
from penstock.operate.adopt import adopt as move


@reporting
def adopt(
    pipeline: PipelineFile,
    type: Annotated[str, Parameter(help="The type, as the messages name it.")],
    *,
    no_wait: Annotated[
        bool, Parameter(help="Leave it to the instance that runs, or to the next one.", negative="")
    ] = False,
) -> int:
    """Give a type its table. The running instance does it between two batches; where none runs, it is done here."""
    print(told(move(load(pipeline), type, wait=not no_wait, tell=_say)))
    return 0


def told(done: Outcome) -> str:
    """What became of it, in a sentence."""
    name = shown(done.type, 60)
    if not done.is_done:
        return f"{name}: wished; the running instance does it, or the next one"
    if not done.counts.read:
        return f"{name}: no message is kept, and it has its table: {done.table}"
    others = done.counts.read - done.counts.rows - done.counts.dead
    beside = f", {others:,} were neither" if others else ""
    return f"{name}: {done.counts.rows:,} rows moved to table {done.table}, {done.counts.dead:,} dead letters{beside}"


def _say(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)
