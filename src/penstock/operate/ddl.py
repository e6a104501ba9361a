"""Statements of Spark SQL that would do what penstock does to a table: for people to read, and to run elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.schema import Array, Decimal, Field, Map, Schema, Struct, Type

_NAMES = {
    "string": "STRING",
    "long": "BIGINT",
    "int": "INT",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "double": "DOUBLE",
    "float": "FLOAT",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP_NTZ",
    "binary": "BINARY",
    "json": "STRING",
    "nothing": "VOID",
}


@dataclass(frozen=True)
class Added:
    """A column that a table lacks, also inside of another one: its path, as Spark SQL walks it."""

    path: tuple[str, ...]
    type: Type


def create_table(location: str, format: str, schema: Schema, partition_by: Sequence[str] = ()) -> str:
    """The statement that makes a table at its place."""
    body = ",\n".join(f"  {_column(field)}" for field in schema)
    parts = f"\nPARTITIONED BY ({', '.join(map(quoted, partition_by))})" if partition_by else ""
    return f"CREATE TABLE {_place(location, format)} (\n{body}\n)\nUSING {format.upper()}{parts}"


def add_columns(location: str, format: str, added: Sequence[Added]) -> str:
    """The statement that gives a table these columns."""
    body = ",\n".join(f"  {'.'.join(map(quoted, each.path))} {type_name(each.type)}" for each in added)
    return f"ALTER TABLE {_place(location, format)} ADD COLUMNS (\n{body}\n)"


def lacking(table: Schema, wanted: Schema, path: tuple[str, ...] = ()) -> list[Added]:
    """The columns that a table does not have, also inside of those that it has."""
    found: list[Added] = []
    for field in wanted:
        have, place = table.get(field.name), (*path, field.name)
        found += [Added(place, field.type)] if have is None else _inside(have.type, field.type, place)
    return found


def _inside(have: Type, wanted: Type, path: tuple[str, ...]) -> list[Added]:
    if isinstance(have, Struct) and isinstance(wanted, Struct):
        return lacking(have, wanted, path)
    if isinstance(have, Array) and isinstance(wanted, Array):
        return _inside(have.of, wanted.of, (*path, "element"))
    return []


def type_name(kind: Type) -> str:
    """A type in the words of Spark SQL. What holds JSON text is text to it."""
    if isinstance(kind, Decimal):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if isinstance(kind, Array):
        return f"ARRAY<{type_name(kind.of)}>"
    if isinstance(kind, Map):
        return f"MAP<STRING, {type_name(kind.of)}>"
    if isinstance(kind, Struct):
        return f"STRUCT<{', '.join(_column(field, ':') for field in kind)}>"
    return _NAMES[kind.name]


def quoted(name: str) -> str:
    """A name that means itself, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _column(field: Field, mark: str = "") -> str:
    return f"{quoted(field.name)}{mark} {type_name(field.type)}{' NOT NULL' if field.required else ''}"


def _place(location: str, format: str) -> str:
    """A table by its place: a catalog may know it by another name, or not at all."""
    return f"{format.lower()}.{quoted(location)}"
