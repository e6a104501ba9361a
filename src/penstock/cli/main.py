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
    "penstock.cli.plan:plan",
    name="plan",
    help="Show what a run would do, from a sample of messages; nothing is written.",
)
app.command(
    "penstock.cli.commands:audit", name="audit", help="Prove from ledger and tables that nothing was lost or doubled."
)
app.command("penstock.cli.adopt:adopt", name="adopt", help="Give a type its table, with the messages kept for it.")
app.command(
    "penstock.cli.commands:demo", name="demo", help="Start a local broker, land a topic of several types, show it all."
)
app.command(
    "penstock.cli.table_commands:repair", name="repair", help="Take missing files out of a table, then optimize it."
)
tables = App(name="table", help="Keep any Delta table in order: optimize, vacuum, history, checkpoint.")
tables.command("penstock.cli.table_commands:optimize", name="optimize", help="Put small files together.")
tables.command("penstock.cli.table_commands:vacuum", name="vacuum", help="Delete files that nobody needs any more.")
tables.command("penstock.cli.table_commands:history", name="history", help="Show who changed the table, and how.")
tables.command("penstock.cli.table_commands:checkpoint", name="checkpoint", help="Write a checkpoint of its log.")
app.command(tables)
schemas = App(name="schemas", help="What a registry holds, and what a new schema would do to tables.")
schemas.command("penstock.cli.schemas:list_all", name="list", help="List what a registry holds.")
schemas.command("penstock.cli.schemas:show", name="show", help="Show a schema, or the columns a table would get of it.")
schemas.command("penstock.cli.schemas:register", name="register", help="Check a schema, then register it.")
schemas.command("penstock.cli.schemas:diff", name="diff", help="Show what tables would do with another schema.")
app.command(schemas)
app.command(
    "penstock.cli.ingest:ingest",
    name="ingest",
    help="Read a topic into Delta tables with the options of kafka-delta-ingest.",
    help_flags=(),
    end_of_options_delimiter="\0",  # none: what follows is not ours to take apart
)


def main() -> None:
    if sys.argv[1:2] == ["help"]:  # as users of kafka-delta-ingest ask for it
        sys.argv[1:] = [*sys.argv[2:], "--help"]
    sys.exit(app(result_action="return_value") or 0)
