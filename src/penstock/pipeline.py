"""What a user declares: a pipeline and its parts, as frozen values. Nothing here does anything."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import re2
from pydantic import AfterValidator, ConfigDict, Field, SecretStr, model_validator

from penstock.declared import Declared
from penstock.envelope import Envelope
from penstock.errors import shown
from penstock.messages import DEAD_LETTERS
from penstock.quantities import Duration, Size
from penstock.route import Route
from penstock.schema import Schema, columns
from penstock.transforms.rules import checked

Evolve = Literal["add", "freeze", "rescue", "ignore"]


def _address(text: str) -> str:
    found = re2.fullmatch(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})", text)
    if not found or not 1 <= int(found[1]) <= 65_535:
        raise ValueError("must be a host and a port, such as localhost:8125")
    return text


def _listener(given: int | str) -> str:
    """A port alone is served on loopback: nobody else sees it unless an address is given."""
    return _address(f"127.0.0.1:{given}" if str(given).isdecimal() else str(given))


def _prefix(text: str) -> str:
    if not re2.fullmatch(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*", text) or len(text) > 100:
        raise ValueError("may hold letters, digits, '_' and '-', up to 100, in parts separated by dots")
    return text


def _app_name(text: str) -> str:
    if not re2.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text):
        raise ValueError("may hold letters, digits, '.', '_' and '-', up to 100, and begins with a letter or digit")
    return text


def _letter_transforms(given: dict[str, str]) -> dict[str, str]:
    wrong = []
    for name in given:
        if "." in name:
            wrong.append(f"'{shown(name)}': a dead letter gets columns, not fields inside of them; leave out the dots")
        elif name in DEAD_LETTERS and name != "date":
            wrong.append(f"'{name}': every dead letter has that column already; choose another name")
    return checked(given, tuple(wrong))


Transforms = Annotated[dict[str, str], AfterValidator(checked)]
"""Dotted path → expression, in the order in which they are applied."""


class TableSpec(Declared):
    """Settings of one table, or the defaults of all of them. What is not set falls to the defaults."""

    evolve: Evolve | None = None
    """What becomes of fields the table lacks: `add` columns, refuse (`freeze`), keep as text (`rescue`), `ignore`.
    Not set anywhere, it is `add`."""
    partition_by: tuple[str, ...] | None = Field(default=None, strict=False)
    """The columns a new table is partitioned by. From the defaults, only those that the type has."""
    source_columns: bool | None = None
    """Whether rows also get `_source`, `_partition`, `_position` and `_timestamp`. Not set anywhere, they do not."""
    coerce: bool | None = None
    """Whether values are made to fit: whatever is no text becomes its JSON text in a text column, and an integer
    in a timestamp column is microseconds. Not set anywhere, they are not."""
    columns: dict[str, str] | None = Field(default=None, alias="schema")
    """Columns by name, each with its type. Not set, they are inferred from the first batch that has the type."""

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
    """The folder or URL that holds the tables."""
    format: str = "delta"
    """The table format, by its entry point."""
    defaults: TableSpec = TableSpec()
    """Settings for types that do not say otherwise."""
    types: dict[str, TableSpec] = {}
    """Settings by type."""
    limit: int = Field(default=500, ge=1)
    """How many tables there may be. Messages of further types are dead letters."""
    max_columns: int = Field(default=1_000, ge=1)
    """How many columns a table may get from messages; fields inside of objects count too."""
    new_per_hour: int | None = Field(default=None, ge=0)
    """How many tables may be made within an hour. Messages of further types are dead letters. Not set, any number."""
    new_columns_per_hour: int | None = Field(default=None, ge=0)
    """How many columns tables may get from messages within an hour. Not set, any number."""
    park_after: Duration = 120.0
    """How long a table may fail before the others stop waiting for it."""
    storage: dict[str, SecretStr] = {}
    """Options of the object store, passed to obstore and delta-rs."""

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
                "coerce": own.coerce if own.coerce is not None else bool(self.defaults.coerce),
            }
        )


class DeadLetters(Declared):
    """Where messages go that cannot become rows, and how many are too many."""

    @model_validator(mode="before")
    @classmethod
    def _a_path_is_enough(cls, given: Any) -> Any:
        return {"table": given} if isinstance(given, str) else given

    table: str | None = None
    """Where the dead-letter table is. Not set, it is `dead_letters` under the base."""
    max_share: float = Field(default=0.5, ge=0, le=1, strict=False)
    """A batch with a larger share of dead letters stops the app before it is decided."""
    min_messages: int = Field(default=100, ge=1)
    """A batch with fewer messages than this never does."""
    transforms: Annotated[dict[str, str], AfterValidator(_letter_transforms)] = {}
    """Columns to add to dead letters: like `transforms`, over the letter's own columns."""


class Batch(Declared):
    """When a batch is due: so much waits, or something has waited for so long."""

    latency: Duration = 10.0
    """How long a message may wait before a batch is made of what there is."""
    messages: int = Field(default=1_000_000, ge=1)
    """How many messages make a full batch. No batch is larger, unless `min_file_bytes` needs several times as many."""
    bytes: Annotated[Size, Field(ge=1)] = 512 * 10**6
    """How many bytes make a full batch: a target, from the average size in the batch before."""
    min_file_bytes: Annotated[Size, Field(ge=1)] | None = None
    """How large files should become, if latency allows: a batch that would make smaller ones waits."""
    jitter: float = Field(default=0.0, ge=0, le=1, strict=False)
    """By how much of itself the latency is stretched at most, at random, so that instances do not commit in step."""


class LedgerSpec(Declared):
    """Where the ledger is, and how long its entries keep their file lists."""

    path: str | None = None
    """Where the ledger is. Not set, it is `_penstock/<app>` under the base."""
    keep: Duration = 7 * 86400.0
    """How long an entry keeps its file lists after every table carries it."""


class Spark(Declared):
    """How to reach Spark when no session is given."""

    master: str | None = None
    """The Spark master. Not set anywhere, it is `local[*,4]`."""
    conf: dict[str, str] = Field(default={}, repr=False)
    """Spark settings by name."""


class Metrics(Declared):
    """Where a run's numbers go: to StatsD, or to whoever asks as Prometheus does."""

    statsd: Annotated[str, AfterValidator(_address)] | None = None
    """The StatsD server, `host:port`. It is sent UDP packets and never waited for."""
    prometheus: Annotated[int | str, AfterValidator(_listener)] | None = None
    """Where Prometheus may scrape `/metrics`: a port on loopback, or `host:port`; `0.0.0.0:9000` is everywhere."""
    prefix: Annotated[str, AfterValidator(_prefix)] = "kafka_delta_ingest"
    """What StatsD names begin with, those that begin with `penstock` aside."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.statsd is not None and self.prometheus is not None:
            raise ValueError("has statsd and prometheus: as with kafka-delta-ingest, only one of them may be given")
        return self


class Pipeline(Declared):
    """One source, one format, its routes and tables, its dead letters, its ledger."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    app: Annotated[str, AfterValidator(_app_name)]
    """The pipeline's name in its ledger and in every table. Of two instances with one name the newer goes on."""
    source: Any
    """Where messages come from: one source by name, with its settings."""
    format: Any
    """How bytes become rows: one format by name, with its settings if there are any."""
    registry: Any = None
    """Where types are registered with their columns, if anywhere: one registry by name, with its settings."""
    route: Route = Route()
    """What gives a message its type."""
    envelope: Envelope | None = None
    """What is around each message, if another system wrapped it. Not set, nothing is."""
    transforms: Transforms = {}
    """What is set in every message before it becomes a row: a dotted path, and the JMESPath expression or
    Kafka property (`kafka.offset`) that gives its value. All of them see the message as it came."""
    transform_nulls: Literal["remove", "keep"] = "remove"
    """What becomes of a field whose expression gives null: it is removed, or left as it was."""
    tables: Tables
    """Where rows end."""
    dead_letters: DeadLetters = DeadLetters()
    """Where messages end that cannot become rows. A path alone is enough."""
    batch: Batch = Batch()
    """When a batch is due."""
    ledger: LedgerSpec = LedgerSpec()
    """Where decisions are kept, and for how long in full."""
    spark: Spark = Spark()
    """How to reach Spark. A session that exists is used instead."""
    metrics: Metrics = Metrics()
    """Where numbers about the run go. Not set, they go nowhere."""
    fsync: bool = False
    """Whether files on a local disk must survive a power cut too, not only the death of a process."""
