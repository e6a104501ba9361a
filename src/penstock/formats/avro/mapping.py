"""The columns that values of an Avro type have."""

from __future__ import annotations

from penstock.formats.avro.model import (
    AvroType,
    Entries,
    Enum,
    Fixed,
    Items,
    Logical,
    Primitive,
    Record,
    Union,
)
from penstock.merging import MAX_DIGITS
from penstock.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    JSON,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    Scalar,
    Schema,
    Struct,
    Type,
)

"""A decimal with more has no column type of its own and is text."""

_BINARY, _FLOAT, _NTZ = Scalar("binary"), Scalar("float"), Scalar("timestamp_ntz")
_PRIMITIVES: dict[str, Type] = {
    "boolean": BOOLEAN,
    "int": INT,
    "long": LONG,
    "float": _FLOAT,
    "double": DOUBLE,
    "bytes": _BINARY,
    "string": STRING,
}
DURATION = Struct((Field("months", LONG), Field("days", LONG), Field("milliseconds", LONG)))


def schema_of(type: AvroType) -> Schema:
    """The columns of a message: the fields of a record, or one column `value` for anything else."""
    if isinstance(type, Record):
        return _fields(type)
    column = column_of(type)
    return Struct(() if column is None else (Field("value", column),))


def column_of(type: AvroType) -> Type | None:
    """The type of the column that holds such values; None for those that are always null."""
    if isinstance(type, Primitive):
        return _logical(type.logical) if type.logical else _PRIMITIVES.get(type.name)
    if isinstance(type, Fixed):
        return _logical(type.logical) if type.logical else _BINARY
    if isinstance(type, Enum):
        return STRING
    if isinstance(type, Items):
        return Array(column_of(type.of) or JSON)
    if isinstance(type, Entries):
        return Map(column_of(type.of) or JSON)
    if isinstance(type, Record):
        found = _fields(type)
        return found if found.fields else JSON  # no table has a struct without fields
    return _union(type)


def _fields(record: Record) -> Struct:
    pairs = ((field.name, column_of(field.type)) for field in record.fields)
    return Struct(tuple(Field(name, column) for name, column in pairs if column is not None))


def _logical(logical: Logical) -> Type:
    match logical.name:
        case "decimal":
            return Decimal(logical.precision, logical.scale) if logical.precision <= MAX_DIGITS else STRING
        case "date":
            return DATE
        case "time-millis" | "time-micros" | "uuid":
            return STRING
        case "duration":
            return DURATION
    return _NTZ if logical.name.startswith("local-") else TIMESTAMP


def _union(union: Union) -> Type | None:
    if len(union.filled) == 1:
        return column_of(union.branches[union.filled[0]])
    if union.wide:
        return _PRIMITIVES[union.wide]
    fields = tuple(Field(union.names[place], column_of(union.branches[place]) or JSON) for place in union.filled)
    return Struct(fields) if fields else None
