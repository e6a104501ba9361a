"""The command line. Commands are named by text, so that `--help` imports none of them."""

from __future__ import annotations

import sys

from cyclopts import App

from penstock import __version__

app = App(
    name="penstock",
    help="Land streams in lakehouse tables: one table per message type, exactly once.",
    version=__version__,
)
app.command("penstock.cli.commands:run", name="run", help="Land a pipeline's source in its tables, until told to stop.")
app.command(
    "penstock.cli.commands:check", name="check", help="Check a pipeline: its file, then its broker and its tables."
)
app.command(
    "penstock.cli.commands:audit", name="audit", help="Prove from ledger and tables that nothing was lost or doubled."
)
app.command(
    "penstock.cli.commands:demo", name="demo", help="Start a local broker, land a topic of several types, show it all."
)


def main() -> None:
    sys.exit(app(result_action="return_value") or 0)
