"""A plan, as lines for people and as values for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.errors import shown
from penstock.operate.arrival import Arrival
from penstock.operate.ddl import add_columns, create_table
from penstock.operate.plan import Plan, TablePlan
from penstock.operate.plan_letters import Letter, Unmade
from penstock.places import LETTERS, UNROUTED
from penstock.schema import written

LINE = 20_000  # characters of a statement's line: columns may have long types
_TOLD = 20  # different reasons on a screen


def show_plan(found: Plan, console: Console) -> None:
    """Everything that would happen; at the end, whether it would go well."""
    _say(console, f"{found.app}: {_stand(found)}; {_config(found)}", "bold")
    _say(console, _sample(found))
    if found.tables:
        console.print(_tables(found))
    for statement in _statements(found):
        for line in ["", *statement.split("\n")]:
            _say(console, shown(line, LINE))
    for line in (*_letters(found), *_unmade(found), *_slow(found), *_arrival(found)):
        _say(console, line)
    for note in found.notes:
        _say(console, f"note: {note}", "dim")
    for table in found.tables:
        if table.refused:
            _say(console, f"{_label(table)} would not take its rows: {shown(table.refused, 500)}", "red")
    for why in found.refused:
        _say(console, f"it would be refused: {why}", "red")
    _say(console, f"{found.app}: {_verdict(found)}", "green" if found.ok else "red")


def _say(console: Console, line: str, style: str | None = None) -> None:
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def _stand(found: Plan) -> str:
    after = f"after ledger entry {found.entry}" if found.entry else "at its first start"
    return f"reading {shown(found.source)} {after}" if found.source else after


def _config(found: Plan) -> str:
    if not found.entry:
        return f"configuration {found.config}"
    if found.is_config_new is None:
        return f"configuration {found.config}; the one that ran before is not known"
    return (
        f"configuration {found.config}, where {found.ran_with} ran before"
        if found.is_config_new
        else "same configuration"
    )


def _sample(found: Plan) -> str:
    counts = found.counts
    if not found.slices:
        return "the source holds no message to look at"
    which = f"of {found.waiting:,} positions that wait" if found.waiting else "from the end: nothing waits"
    rare = [(kind, getattr(counts, kind)) for kind in ("filtered", "tombstones", "skipped")]
    fates = [("rows", counts.rows), ("dead letters", counts.dead), *((kind, n) for kind, n in rare if n)]
    told = " + ".join(f"{count:,} {kind}" for kind, count in fates)
    return f"{counts.read:,} messages read {which} = {told}"


def _label(table: TablePlan) -> str:
    return {LETTERS: "dead letters", UNROUTED: "unrouted"}.get(table.name, table.name)


def _tables(found: Plan) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("table", "rows", "commits\nan hour", "files\nan hour", ""):
        table.add_column(name, justify="left" if name in ("table", "") else "right", overflow="fold")
    for line in found.tables:
        costs = _costs(found, line)
        table.add_row(
            Text(_label(line)),
            f"{line.rows:,}",
            _about(costs["commits_per_hour"]),
            _about(costs["files_per_hour"]),
            Text(_change(line), "red" if line.refused else "dim"),
        )
    return table


def _change(table: TablePlan) -> str:
    if table.refused:
        return "refused"
    if table.is_new:
        return "new"
    return f"{len(table.added)} new column{'s' if table.added[1:] else ''}" if table.added else ""


def _costs(found: Plan, table: TablePlan) -> dict[str, float | None]:
    """What a table would cost in an hour; None where nobody can tell."""
    share = table.rows / found.counts.read if found.counts.read else 0.0
    if found.arrival is None:
        return {"commits_per_hour": None, "files_per_hour": None}
    commits, files = found.arrival.commits(share), found.arrival.files(share, table.values)
    return {"commits_per_hour": round(commits, 3), "files_per_hour": round(files, 3)}


def _about(number: float | None) -> str:
    if number is None:
        return "?"
    return f"{number:,.0f}" if number >= 10 or not number else f"{number:.1f}" if number >= 0.05 else "< 0.1"


def _statements(found: Plan) -> Iterator[str]:
    for table in found.tables:
        if statement := _statement(found, table):
            yield statement + ";"


def _statement(found: Plan, table: TablePlan) -> str:
    if table.is_new:
        return create_table(table.location, found.format, table.columns, table.partition_by)
    return add_columns(table.location, found.format, table.added) if table.added else ""


def _letters(found: Plan) -> Iterator[str]:
    if found.letters:
        yield "\ndead letters:"
    for letter in found.letters:
        share = letter.count / max(1, found.counts.read)
        yield f"  {letter.code}: {letter.count:,} ({share:.1%}), such as {_where(letter)}"
        yield f"    {letter.reason}"
        if letter.value:
            yield f"    {letter.value}"


def _where(letter: Letter) -> str:
    of = f" of type {shown(letter.type)}" if letter.type else ""
    return f"{shown(letter.topic)} partition {letter.partition} position {letter.position}{of}"


def _unmade(found: Plan) -> Iterator[str]:
    if found.unmade:
        yield "\ncolumns and tables that could not be made:"
    for each in found.unmade[:_TOLD]:
        of = f"{shown(each.type)}: " if each.type else ""
        yield f"  {of}{each.reason} [{each.code}], {each.messages:,} messages"
    if left := found.unmade[_TOLD:]:
        yield f"  and {len(left):,} other reasons"


def _slow(found: Plan) -> Iterator[str]:
    """What does not go with many others at once."""
    ways = [f"  transform {shown(target)}: {_way(way)}" for target, way in found.transforms]
    tables = [
        f"  {_label(table)}: {table.slow:,} of {table.rows:,} rows were made one by one"
        for table in found.tables
        if table.slow
    ]
    if ways or tables:
        yield "\nfast and slow:"
        yield from ways
        yield from tables


def _way(way: str) -> str:
    return way if way == "fast" else f"one message at a time, for {way}"


def _arrival(found: Plan) -> Iterator[str]:
    if found.arrival is not None:
        arrival = found.arrival
        yield (
            f"\nat about {_about(arrival.rate)} messages a second: {_about(arrival.batches)} batches an hour, "
            f"each of {arrival.tasks} task{'s' if arrival.tasks > 1 else ''} on {arrival.cores} cores"
        )


def _verdict(found: Plan) -> str:
    if not found.ok:
        return "it would not go well"
    new, grown = (sum(map(bool, each)) for each in ([t.is_new for t in found.tables], [t.added for t in found.tables]))
    return f"it would run; {new} new tables, {grown} with new columns, {found.counts.dead:,} dead letters in the sample"


# --- for programs --------------------------------------------------------------------------------


def plan_values(found: Plan) -> dict[str, Any]:
    return {
        "app": found.app,
        "ok": found.ok,
        "refused": list(found.refused),
        "ledger": {"entry": found.entry or None, "config": found.ran_with},
        "config": found.config,
        "config_changed": found.is_config_new if found.entry else None,
        "source": found.source or None,
        "sample": {
            "positions": {s.partition: [s.start, s.end] for s in found.slices},
            "waiting": found.waiting,
            "is_past": found.is_past,
            **{name: getattr(found.counts, name) for name in found.counts.__struct_fields__},
        },
        "tables": [_table_values(found, table) for table in found.tables],
        "dead_letters": [msgspec.to_builtins(letter) for letter in found.letters],
        "unmade": [_unmade_values(each) for each in found.unmade],
        "transforms": [{"target": target, "way": way} for target, way in found.transforms],
        "arrival": _arrival_values(found.arrival),
        "notes": list(found.notes),
    }


def _table_values(found: Plan, table: TablePlan) -> dict[str, Any]:
    return {
        "table": table.name,
        "location": table.location,
        "is_new": table.is_new,
        "columns": written(table.columns),
        "partition_by": list(table.partition_by),
        "added": [{"path": list(each.path), "type": str(each.type)} for each in table.added],
        "ddl": _statement(found, table) or None,
        "rows": table.rows,
        "rows_one_by_one": table.slow,
        "bytes": table.bytes,
        **_costs(found, table),
        "refused": table.refused or None,
    }


def _unmade_values(each: Unmade) -> dict[str, Any]:
    return {"type": each.type, "code": each.code, "reason": each.reason, "messages": each.messages}


def _arrival_values(arrival: Arrival | None) -> dict[str, Any] | None:
    if arrival is None:
        return None
    return {
        "messages_per_second": round(arrival.rate, 3),
        "batches_per_hour": round(arrival.batches, 3),
        "tasks": arrival.tasks,
        "cores": arrival.cores,
    }
