"""`penstock ingest`: the options of kafka-delta-ingest, the pipeline they mean, and the same loop as `penstock run`."""

from __future__ import annotations

import os
import sys
from typing import Annotated

from cyclopts import Parameter

from penstock.cli.landing import accepted, land
from penstock.cli.reporting import reporting
from penstock.config.flags import help_text
from penstock.config.ingest import request
from penstock.errors import USAGE
from penstock.loop import Until

_ENOUGH = {"TABLE_BASE_URI", "TABLE_LOCATION", "KAFKA_TOPIC"}  # variables that can stand for a command line


@reporting
def ingest(*tokens: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    """Read a topic into Delta tables, told with the options and variables of kafka-delta-ingest."""
    if {"-h", "--help"} & set(tokens):
        print(help_text(), end="")
        return 0
    if not tokens and not _ENOUGH & set(os.environ):
        print(help_text(), end="", file=sys.stderr)
        return USAGE
    asked = request(tokens, os.environ)
    pipeline, own = asked.pipeline(os.environ), asked.own
    given_up = accepted(own.accept_gap, adopt=own.adopt)
    if own.print_config:
        print(asked.yaml(), end="")
        return 0
    for note in asked.notes:
        print(f"penstock: {note}", file=sys.stderr)
    land(pipeline, Until(own.caught_up, own.batches), given_up)
    return 0
