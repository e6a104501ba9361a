"""Schemas and what would come of them, as lines for people and as values for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.errors import shown
from penstock.operate.ddl import create_table
from penstock.operate.schema_diff import Change, Difference, Effect
from penstock.operate.schema_places import Line, SchemaPlace
from penstock.operate.schema_records import Kept, records
from penstock.operate.schema_tables import fate, held, looking, reading, type_of
from penstock.operate.schemas import Registration
from penstock.pipeline import Pipeline
from penstock.schema import Schema, written
from penstock.tables.names import table_name

LINE = 20_000  # characters of a line: columns may have long types
_COLORS = {"refused": "red", "widened": "yellow", "partly": "yellow", "added": "green"}


def _say(console: Console, line: str, style: str | None = None) -> None:
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


# --- list ----------------------------------------------------------------------------------------


def show_lines(place: SchemaPlace, lines: Sequence[Line], console: Console) -> None:
    """Every name with what it is; what cannot be used, with the reason."""
    good = sum(not line.wrong for line in lines)
    bad = f", {len(lines) - good:,} that cannot be used" if good < len(lines) else ""
    _say(console, f"{shown(place.address, 500)}: {len(lines):,} schema{'' if len(lines) == 1 else 's'}{bad}", "bold")
    for line in lines:
        versions = f"versions {', '.join(map(str, line.versions))}" if line.versions else ""
        told = "  ".join(filter(None, (shown(line.name, 1_000), line.kind.lower(), versions)))
        _say(console, f"  {told}" + (f"  cannot be used: {shown(line.wrong, 500)}" if line.wrong else ""))


def line_values(place: SchemaPlace, line: Line) -> dict[str, Any]:
    return {
        "registry": place.address,
        "name": line.name,
        "kind": line.kind.lower() or None,
        "versions": list(line.versions),
        "wrong": line.wrong or None,
    }


# --- show ----------------------------------------------------------------------------------------


def show_columns(schema: Kept, pipeline: Pipeline | None, console: Console) -> None:
    """The columns that a table of each record would get."""
    for title, _, columns, _ in _tables(schema, pipeline):
        _say(console, title, "bold")
        table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
        table.add_column(overflow="fold")
        table.add_column(overflow="fold")
        for name, kind in written(columns).items():
            table.add_row(Text(shown(name)), Text(shown(kind, LINE)))
        console.print(table)


def show_statements(schema: Kept, pipeline: Pipeline | None, console: Console) -> None:
    """The statement that makes a table of each record."""
    for number, (_, location, columns, partition_by) in enumerate(_tables(schema, pipeline)):
        format = pipeline.tables.format if pipeline else "delta"
        statement = create_table(location, format, columns, partition_by) + ";"
        for line in [*([""] if number else []), *statement.split("\n")]:
            _say(console, shown(line, LINE))


def _tables(schema: Kept, pipeline: Pipeline | None) -> Iterator[tuple[str, str, Schema, tuple[str, ...]]]:
    """Each record with what its table would be called, where it would be, its columns and its partitions. As far
    as the pipeline tells; else by the schema alone."""
    found = records(schema, reading(pipeline))
    if pipeline is None:
        yield from ((shown(name), name, columns, ()) for name, columns in found.items())
        return
    is_type = schema.kind == "SPARK"
    with looking(pipeline) as catalog:
        for record, columns in found.items():
            type = type_of(pipeline, schema.name, record, is_type=is_type)
            seen = held(pipeline, columns, is_type=is_type)
            made = None if type is None or seen is None else fate(catalog, pipeline, type, seen, is_type=is_type)
            if type is None or made is None or made.after is None or made.columns is None:
                why = (made and (made.refused or made.note)) or "its table is not known from the schema alone"
                yield f"{shown(record)}: {shown(why, 500)}", record, columns, ()
                continue
            yield (
                f"{shown(record)} in table {table_name(type)}",
                made.after.location,
                made.columns,
                made.after.partition_by,
            )


# --- register ------------------------------------------------------------------------------------


def show_registration(told: Registration, console: Console) -> None:
    name, place = shown(told.name), shown(told.address, 500)
    if told.obstacles:
        _say(console, f"{place} refuses {name}:", "red")
        for why in told.obstacles:
            _say(console, f"  {shown(why, 500)}")
    elif not told.is_done:
        _say(console, f"{name} can be registered; nothing was done", "green")
    else:
        _say(console, f"{name} is registered" + (f" with id {told.id}" if told.id is not None else ""), "green")


# --- diff ----------------------------------------------------------------------------------------


def show_difference(found: Difference, console: Console) -> None:
    """What every table would do; at the end, whether messages would be refused."""
    for effect in found.effects:
        _say(console, _head(effect), "bold" if effect.decides else "dim")
        for change in effect.changes:
            _say(console, f"  {_line(change)}", _COLORS.get(change.word, "dim"))
        for why, style in ((effect.refused, "red"), (effect.note, "dim")):
            if why:
                _say(console, f"  {shown(why, 500)}", style)
        if not (effect.changes or effect.refused or effect.note):
            _say(console, "  nothing changes", "dim")
    for note in found.notes:
        _say(console, f"note: {shown(note, 500)}", "dim")
    _say(console, f"{shown(found.name)}: {_verdict(found)}", "green" if found.ok else "red")


def _head(effect: Effect) -> str:
    new = ", which would be made" if effect.is_new else ""
    return f"{shown(effect.record)} against {shown(effect.against)}{new}"


def _line(change: Change) -> str:
    path, have, given = shown(change.path, 500), shown(change.have, 1_000), shown(change.given, 1_000)
    if change.why:
        return f"refused  {path}: {shown(change.why, 500)}; messages become dead letters"
    return (
        f"{change.word}  {path}: "
        + {
            "added": f"a new column, {given}",
            "fits": f"{given} fits the column, which is {have}",
            "widened": f"{given} comes, and the column stays {have}; messages with values that do not fit it become "
            "dead letters",
            "partly": f"{given} comes, and the column stays {have}; messages with values that do not fit it become "
            "dead letters",
            "refused": f"{given} comes, and the column is {have}; messages become dead letters",
            "dropped": "the column stays, and is null in these messages",
            "rescued": f"{given} is kept as text among what was rescued",
            "ignored": f"{given} has no column, and is left out",
        }[change.word]
    )


def _verdict(found: Difference) -> str:
    if not found.ok:
        return "messages would be refused"
    return "compatible" if found.is_strictly_ok else "compatible, but for values that do not fit"


def difference_values(found: Difference) -> dict[str, Any]:
    return {
        "name": found.name,
        "ok": found.ok,
        "strictly_ok": found.is_strictly_ok,
        "effects": [_effect_values(effect) for effect in found.effects],
        "notes": list(found.notes),
    }


def _effect_values(effect: Effect) -> dict[str, Any]:
    return {
        "record": effect.record,
        "against": effect.against,
        "table": effect.table,
        "is_new": effect.is_new,
        "decides": effect.decides,
        "refused": effect.refused or None,
        "note": effect.note or None,
        "changes": [
            {
                "column": change.path,
                "change": change.word,
                "have": change.have or None,
                "given": change.given or None,
                "why": change.why or None,
            }
            for change in effect.changes
        ],
    }
