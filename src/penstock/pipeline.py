"""What a user declares: a pipeline and its parts, as frozen values. Nothing here does anything."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import re2
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from penstock.quantities import Duration, Size
from penstock.schema import Schema, columns

Evolve = Literal["add", "freeze", "rescue", "ignore"]
MAX_PATTERN = 1_000


class Declared(BaseModel):
    """A frozen value that refuses what it does not know, and never shows what it was given."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


def _pattern(text: str) -> str:
    if len(text) > MAX_PATTERN:
        raise ValueError(f"is longer than {MAX_PATTERN} characters")
    try:
        re2.compile(text, _quiet())
    except re2.error as cause:
        raise ValueError(f"is not an RE2 pattern: {cause}") from None
    return text


def _quiet() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    return options


def _app_name(text: str) -> str:
    if not re2.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text):
        raise ValueError("may hold letters, digits, '.', '_' and '-', up to 100, and begins with a letter or digit")
    return text


class FieldRoute(Declared):
    """The type is a field of the value; dots reach into objects."""

    field: str = Field(min_length=1)


class HeaderRoute(Declared):
    """The type is the value of a message header."""

    header: str = Field(min_length=1)


class Route(Declared):
    """What gives a message its type, and which types are wanted at all."""

    by: Literal["topic", "key"] | FieldRoute | HeaderRoute = "topic"
    allow: Annotated[str, AfterValidator(_pattern)] | None = None

    @property
    def field(self) -> str | None:
        return self.by.field if isinstance(self.by, FieldRoute) else None


class TableSpec(Declared):
    """Settings of one table, or the defaults of all of them. What is not set falls to the defaults."""

    evolve: Evolve | None = None
    partition_by: tuple[str, ...] | None = Field(default=None, strict=False)
    source_columns: bool | None = None
    columns: dict[str, str] | None = Field(default=None, alias="schema")

    model_config = ConfigDict(populate_by_name=True)

    @model_validator(mode="after")
    def _types_are_types(self) -> Self:
        if self.columns is not None:
            columns(self.columns)
        return self

    @property
    def declared(self) -> Schema | None:
        return None if self.columns is None else columns(self.columns)


class Tables(Declared):
    """Where the tables are and how they behave: one per type, at `<base>/<type>`."""

    base: str = Field(min_length=1)
    format: str = "delta"
    defaults: TableSpec = TableSpec()
    types: dict[str, TableSpec] = {}
    limit: int = Field(default=500, ge=1)
    max_columns: int = Field(default=1_000, ge=1)
    park_after: Duration = 120.0
    storage: dict[str, SecretStr] = {}

    def spec(self, type: str) -> TableSpec:
        """The settings of one type: its own where it has them, the defaults elsewhere."""
        own = self.types.get(type, TableSpec())
        return own.model_copy(
            update={
                "evolve": own.evolve or self.defaults.evolve or "add",
                "partition_by": own.partition_by if own.partition_by is not None else self.defaults.partition_by or (),
                "source_columns": own.source_columns
                if own.source_columns is not None
                else bool(self.defaults.source_columns),
            }
        )


class DeadLetters(Declared):
    """Where messages go that cannot become rows, and how many are too many."""

    @model_validator(mode="before")
    @classmethod
    def _a_path_is_enough(cls, given: Any) -> Any:
        return {"table": given} if isinstance(given, str) else given

    table: str | None = None
    max_share: float = Field(default=0.5, ge=0, le=1, strict=False)
    min_messages: int = Field(default=100, ge=1)


class Batch(Declared):
    """When a batch is due: so much waits, or something has waited for so long."""

    latency: Duration = 10.0
    messages: int = Field(default=1_000_000, ge=1)
    bytes: Annotated[Size, Field(ge=1)] = 512 * 10**6


class LedgerSpec(Declared):
    """Where the ledger is, and how long its entries keep their file lists."""

    path: str | None = None
    keep: Duration = 7 * 86400.0


class Spark(Declared):
    """How to reach Spark when no session is given."""

    master: str | None = None
    conf: dict[str, str] = {}


class Pipeline(Declared):
    """One source, one format, its routes and tables, its dead letters, its ledger."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    app: Annotated[str, AfterValidator(_app_name)]
    source: Any
    format: Any
    route: Route = Route()
    tables: Tables
    dead_letters: DeadLetters = DeadLetters()
    batch: Batch = Batch()
    ledger: LedgerSpec = LedgerSpec()
    spark: Spark = Spark()
    fsync: bool = False
