"""The commands: each loads a pipeline, calls one thing, and turns the answer into text and a status."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter, validators
from rich.console import Console

from penstock.cli.landing import accepted, land, spark_settings
from penstock.cli.reporting import reporting
from penstock.config.load import load
from penstock.demo.story import demo as tell
from penstock.loop import Until
from penstock.operate.audit import audit as prove
from penstock.operate.check import check as ask
from penstock.operate.show import show_audit, show_finding
from penstock.running import with_spark

PipelineFile = Annotated[Path, Parameter(help="The pipeline's YAML file.")]


@dataclass(frozen=True)
class Acceptance:
    """What may be given up, for this start only."""

    accept_gap: Annotated[
        tuple[str, ...],
        Parameter(help="Go on although these records are lost: as the error message shows.", negative=""),
    ] = ()
    adopt: Annotated[bool, Parameter(help="Go on although source or place changed under this app.", negative="")] = (
        False
    )


@reporting
def run(
    pipeline: PipelineFile,
    *,
    until_caught_up: Annotated[bool, Parameter(help="Stop at the end positions seen at start.", negative="")] = False,
    batches: Annotated[
        int | None, Parameter(help="Stop after so many batches.", validator=validators.Number(gte=1))
    ] = None,
    master: Annotated[str | None, Parameter(help="The Spark master; local[*] by default.")] = None,
    conf: Annotated[
        list[str] | None, Parameter(help="A Spark setting, name=value. May be given more than once.", negative="")
    ] = None,
    accept: Annotated[Acceptance | None, Parameter(name="*")] = None,
) -> int:
    """Land a pipeline's source in its tables, until SIGTERM or SIGINT. The batch in hand is finished first."""
    declared = with_spark(load(pipeline), master, spark_settings(conf or []))
    given = accept or Acceptance()
    land(declared, Until(until_caught_up, batches), accepted(given.accept_gap, adopt=given.adopt))
    return 0


@reporting
def check(pipeline: PipelineFile) -> int:
    """Check a pipeline: first its file, then what the broker and the table location allow."""
    declared = load(pipeline)
    console = Console()
    console.print(f"[green]✓[/] {pipeline.name}: every setting is known and makes sense", highlight=False)
    good = True
    for finding in ask(declared):
        show_finding(finding, console)
        good &= finding.ok
    return 0 if good else 1


@reporting
def audit(
    pipeline: PipelineFile,
    *,
    as_json: Annotated[bool, Parameter(name="--json", help="Print the account as JSON.", negative="")] = False,
) -> int:
    """Prove from the ledger and the tables alone that every message is in exactly one place, once."""
    found = prove(load(pipeline))
    if as_json:
        print(json.dumps(msgspec.to_builtins(asdict(found)) | {"ok": found.ok}, indent=1, default=msgspec.to_builtins))
    else:
        show_audit(found, Console())
    return 0 if found.ok else 1


@reporting
def demo(
    *,
    folder: Annotated[Path, Parameter(help="Where everything is kept; found again, it goes on.")] = Path(
        "penstock-demo"
    ),
    messages: Annotated[
        int, Parameter(help="How many messages to produce.", validator=validators.Number(gte=1))
    ] = 50_000,
) -> int:
    """Start a real local Kafka broker, land a topic of several types, show the tables and the audit."""
    return tell(folder, messages, Console())
