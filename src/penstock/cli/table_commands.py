"""The commands that keep tables in order: `penstock repair` and `penstock table …`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import urlsplit

from cyclopts import Parameter, validators
from rich.console import Console

from penstock.cli.reporting import reporting
from penstock.errors import refused, shown
from penstock.operate.maintain import Keep
from penstock.operate.maintain import vacuum as sweep
from penstock.operate.progress import Steps
from penstock.operate.repair import repair as mend
from penstock.operate.show_tables import (
    commit_values,
    repair_values,
    show_history,
    show_repair,
    show_rewrite,
    show_vacuum,
)
from penstock.quantities import seconds, size
from penstock.storage import absolute
from penstock.tables.upkeep import Upkeep, Where

TARGET = "100000000"
LARGEST = 2**63 - 1
# Of the environment's settings only those of the HTTP client must be handed on: stores find their own.
CLIENT = {"AWS_ALLOW_HTTP", "AWS_ALLOW_INVALID_CERTIFICATES"}

Location = Annotated[str, Parameter(help="The table's folder or URL.")]
TargetSize = Annotated[str, Parameter(help="The size to put files together to: bytes, or such as 128MB.")]
DryRun = Annotated[bool, Parameter(name="--dry-run", help="Show what would be done, and write nothing.", negative="")]
AsJson = Annotated[bool, Parameter(name="--json", help="Print it as JSON.", negative="")]


def _either(name: str, help: str, **more: Any) -> Parameter:
    """An option that may be written with underscores or dashes, or come from the environment."""
    names = [f"--{name}", f"--{name.replace('_', '-')}"]
    return Parameter(name=names, env_var=name.upper(), help=help, **more)


@reporting
def repair(
    *,
    table_url: Annotated[str | None, _either("table_url", "The table's folder or URL. It must be given.")] = None,
    optimize_target_size: Annotated[
        str, _either("optimize_target_size", "The size to put files together to: bytes, or such as 128MB.")
    ] = TARGET,
    optimize_partition: Annotated[
        str | None, _either("optimize_partition", "Optimize only one partition: its column.")
    ] = None,
    optimize_partition_predicate: Annotated[
        str | None,
        _either("optimize_partition_predicate", "Optimize only one partition: its value.", allow_leading_hyphen=True),
    ] = None,
    dry_run: Annotated[
        bool,
        Parameter(name=["--dry-run", "--dry_run"], help="Show what would be done, and write nothing.", negative=""),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Take files that are gone out of a table and list what was lost with them, then put small files together."""
    if table_url is None:
        raise refused("usage.no-table", "no table is given", "give --table_url, or set TABLE_URL")
    target = _target(optimize_target_size or TARGET)
    where = _partition(optimize_partition or "", optimize_partition_predicate or "")
    with Steps(5) as steps:
        steps.step("opening the table")
        done = mend(_open(table_url), target=target, where=where, dry_run=dry_run, steps=steps)
    if as_json:
        print(json.dumps(repair_values(done), indent=1))
    else:
        show_repair(done, Console())
    if done.failed is not None:
        raise done.failed
    return 0


@reporting
def optimize(
    location: Location,
    *,
    target_size: TargetSize = TARGET,
    where: Annotated[
        str | None, Parameter(help="Only the partition with this value: column=value.", allow_leading_hyphen=True)
    ] = None,
) -> int:
    """Put the small files of a table together. No row changes; the old files stay until a vacuum."""
    target, chosen = _target(target_size), _where(where)
    with Steps(2) as steps:
        steps.step("opening the table")
        table = _open(location)
        table.check_where(chosen)
        steps.step("putting small files together")
        done = table.optimize(target, chosen)
    show_rewrite(done, Console())
    return 0


@reporting
def vacuum(
    location: Location,
    *,
    keep: Annotated[
        str | None, Parameter(help="How long files stay that are no longer needed; by default as the table says, 7d.")
    ] = None,
    dry_run: DryRun = False,
    ledger: Annotated[
        list[str] | None,
        Parameter(help="A ledger that is not beside the table. May be given more than once.", negative=""),
    ] = None,
    without: Annotated[
        list[str] | None, Parameter(help="An app that wrote to the table and is no more.", negative="")
    ] = None,
) -> int:
    """Delete files that the table no longer needs. Files of batches that wait to be committed are not touched."""
    given = None if keep is None else _parsed("--keep", seconds, keep)
    wanted = Keep(given, [_location(each) for each in ledger or ()], frozenset(without or ()))
    with Steps(2) as steps:
        steps.step("opening the table")
        table = _open(location)
        steps.step("looking for files that nobody needs")
        files = sweep(table, wanted, dry_run=dry_run)
    show_vacuum(files, Console(), dry_run=dry_run)
    return 0


@reporting
def history(
    location: Location,
    *,
    limit: Annotated[int, Parameter(help="How many versions, newest first.", validator=validators.Number(gte=1))] = 20,
    as_json: AsJson = False,
) -> int:
    """Show the versions of a table: who made them, with which batch, how many files and rows came and went."""
    commits = list(_open(location).commits(limit))
    if as_json:
        print(json.dumps([commit_values(commit) for commit in commits], indent=1))
    else:
        show_history(commits, Console())
    return 0


@reporting
def checkpoint(location: Location) -> int:
    """Write a checkpoint of a table's log, so that readers need not read all of it."""
    print(f"the log is checkpointed at version {_open(location).checkpoint()}")
    return 0


# --- what was typed ------------------------------------------------------------------------------


def _open(location: str) -> Upkeep:
    return Upkeep(_location(location), {name: value for name, value in os.environ.items() if name in CLIENT})


def _location(written: str) -> str:
    """A place as it was typed. What is in it would be seen in every process list and error message."""
    text = _text(written)
    try:
        split = urlsplit(text)
        secret = bool(split.password or (split.query and "://" in text))
    except ValueError:
        raise refused("usage.location", f"'{shown(text)}' is not a location", "write a path or a URL") from None
    if secret:
        raise refused(
            "usage.location",
            "a location must not hold a password or a token",
            "put credentials into the environment, such as AWS_SECRET_ACCESS_KEY",
        )
    if not text.strip():
        raise refused("usage.location", "the location of the table is empty", "write a path or a URL")
    return absolute(text)


def _text(written: str) -> str:
    if not written.isascii() and written != written.encode("utf-8", "replace").decode():
        raise refused("usage.not-text", f"'{shown(written)}' is not UTF-8 text", "write it in UTF-8")
    return written


def _target(written: str) -> int:
    target = (
        int(written) if written.isdecimal() and len(written) < 30 else int(_parsed("the target size", size, written))
    )
    if not 0 < target <= LARGEST:
        raise refused("usage.value", f"the target size {target} makes no sense", "write a size such as 100MB")
    return target


def _parsed(name: str, parse: Callable[[object], float], written: str) -> float:
    try:
        return parse(written)
    except (ValueError, OverflowError) as why:
        raise refused("usage.value", f"{name} '{shown(written)}' {why}", "") from None


def _partition(column: str, value: str) -> Where | None:
    if bool(column) != bool(value):
        raise refused(
            "usage.half-a-filter",
            "--optimize_partition and --optimize_partition_predicate belong together: "
            f"only the {'column' if column else 'value'} was given",
            "give both, or neither to optimize the whole table",
        )
    return Where.of(_text(column), _text(value)) if column else None


def _where(written: str | None) -> Where | None:
    if written is None:
        return None
    column, equals, value = (part.strip() for part in _text(written).partition("="))
    if not (column and equals and value):
        raise refused("usage.where", f"--where '{shown(written)}' is not column=value", "write it as country=NL")
    return Where.of(column, value)
