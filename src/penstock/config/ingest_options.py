"""Every option that `penstock ingest` understands: names, variables and defaults are those of kafka-delta-ingest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FROM, TO, MESSAGES, FILES = "where from", "where to", "what becomes of a message", "batches and files"
METRICS, IDLE, OWN = "metrics", "accepted, without effect here", "penstock's own"


@dataclass(frozen=True)
class Option:
    """One option: how it is spelled, which variables stand in for it, and what it means here."""

    name: str
    group: str
    meaning: str
    short: str = ""
    env: tuple[str, ...] = ()
    default: str | None = None
    takes: Literal["one", "many", "nothing"] = "one"
    metavar: str = "TEXT"
    empty_counts: bool = False

    @property
    def flag(self) -> str:
        return f"--{self.name}"


def _idle(name: str, env: str, default: str, meaning: str) -> Option:
    return Option(name, IDLE, meaning, env=(env,), default=default, metavar="NUMBER")


def _format(name: str, meaning: str, env: str = "") -> Option:
    return Option(name, MESSAGES, meaning, env=(env,) if env else (), metavar="SOURCE", empty_counts=True)


_FROM = (
    Option("topic", FROM, "The topic to read. It may also be the first argument.", env=("KAFKA_TOPIC",)),
    Option("kafka", FROM, "The brokers to ask first.", "k", ("KAFKA_BROKERS",), "localhost:9092", metavar="HOSTS"),
    Option(
        "consumer_group",
        FROM,
        "The group under which positions are published. They are never taken from there.",
        "g",
        ("KAFKA_CONSUMER_GROUP",),
        "kafka_delta_ingest",
    ),
    Option(
        "auto_offset_reset",
        FROM,
        "Where a first start begins: earliest or latest.",
        "o",
        ("KAFKA_AUTO_OFFSET_RESET",),
        "earliest",
    ),
    Option(
        "seek_offsets",
        FROM,
        'Where a first start begins, by partition: {"0": 123} begins with the message after 123.',
        env=("KAFKA_SEEK_OFFSETS",),
        metavar="JSON",
    ),
    Option(
        "ends_at_latest_offsets",
        FROM,
        "Stop at the end offsets seen at start, without waiting for one more message.",
        "e",
        ("TURN_OFF_AT_KAFKA_TOPIC_END", "ENDS_AT_LATEST_OFFSETS"),
        takes="nothing",
    ),
    Option(
        "kafka_setting",
        FROM,
        "Settings of the Kafka client, such as security.protocol=SSL. KAFKA_SETTING_SECURITY_PROTOCOL=SSL is the same.",
        "K",
        takes="many",
        metavar="NAME=VALUE",
    ),
)

_TO = (
    Option(
        "table_base_uri",
        TO,
        "The folder or URL that holds the tables: <base>/<topic> for a topic of plain JSON.",
        env=("TABLE_BASE_URI",),
        metavar="URI",
    ),
    Option(
        "table_location",
        TO,
        "Instead of a base: the place of the only table. It may also be the second argument.",
        env=("TABLE_LOCATION",),
        metavar="URI",
    ),
    Option(
        "app_id",
        TO,
        "The name under which progress is kept, in every table and in the ledger.",
        "a",
        ("APP_ID",),
        "kafka_delta_ingest",
    ),
    Option(
        "message_type_whitelist",
        TO,
        "An RE2 pattern, searched for in the name of the type. Messages of other types are counted and left out.",
        env=("MESSAGE_TYPE_WHITELIST",),
        metavar="PATTERN",
    ),
    Option(
        "partition_columns",
        TO,
        "The columns, separated by commas, by which new tables are partitioned.",
        env=("PARTITION_COLUMNS",),
        metavar="NAMES",
    ),
    Option(
        "dlq_table_location",
        TO,
        "The table of messages that cannot become rows. Not set, it is `dead_letters` beside the tables.",
        env=("DLQ_TABLE_LOCATION",),
        metavar="URI",
    ),
)

_MESSAGES = (
    Option(
        "transform",
        MESSAGES,
        "What to set in every message: a dotted path and a JMESPath expression or Kafka property, as in "
        "'date: substr(created,`0`,`10`)' 'meta.offset: kafka.offset'. '^' separates several in one value.",
        "t",
        ("TRANSFORMS",),
        takes="many",
        metavar="PATH: SOURCE",
    ),
    Option(
        "dlq_transform",
        MESSAGES,
        "The same for dead letters, over their own columns.",
        env=("DLQ_TRANSFORMS",),
        takes="many",
        metavar="PATH: SOURCE",
    ),
    _format("json", "Messages are JSON, the default: plain, or of the schema registry at a URL.", "JSON_REGISTRY"),
    _format(
        "avro",
        "Messages are Avro: of the schema registry at a URL; or each is a container file, read with the schema in a "
        "file, or with its own if nothing follows: --avro ''.",
        "AVRO_REGISTRY",
    ),
    _format("protobuf", "Messages are Protobuf, of the schema registry at a URL.", "PROTOBUF_REGISTRY"),
    _format("soe-avro", "Messages are Avro in single-object encoding, of the schemas in a file or folder."),
    _format("aidl", "Refused: it needs parts that were never published.", "AIDL_REGISTRY"),
    Option(
        "decompress_gzip",
        MESSAGES,
        "Messages of plain JSON are compressed with gzip.",
        env=("DECOMPRESS_GZIP",),
        takes="nothing",
    ),
)

_FILES = (
    Option(
        "allowed_latency",
        FILES,
        "How many seconds a message may wait before it is written.",
        "l",
        ("ALLOWED_LATENCY",),
        "300",
        metavar="SECONDS",
    ),
    Option(
        "max_messages_per_batch",
        FILES,
        "How many messages make a full batch.",
        "m",
        ("MAX_MESSAGES_PER_BATCH",),
        "1000000",
        metavar="NUMBER",
    ),
    Option(
        "min_bytes_per_file",
        FILES,
        "How large files should become, if the latency allows.",
        "b",
        ("MIN_BYTES_PER_FILE",),
        "134217728",
        metavar="BYTES",
    ),
    Option(
        "checkpoints",
        FILES,
        "Write Delta checkpoints. Penstock always does.",
        "c",
        ("WRITE_CHECKPOINTS",),
        takes="nothing",
    ),
)

_METRICS = (
    Option(
        "statsd_endpoint",
        METRICS,
        "Where to send StatsD metrics. Not together with --prometheus_port. With --table_location it is "
        "localhost:8125 if neither is set.",
        "s",
        ("STATSD_ENDPOINT",),
        metavar="HOST:PORT",
    ),
    Option(
        "prometheus_port",
        METRICS,
        "Where Prometheus finds metrics: on loopback only, unless given as 0.0.0.0:PORT.",
        env=("PROMETHEUS_PORT",),
        metavar="[HOST:]PORT",
    ),
)

_IDLE = (
    _idle("deserialization_workers", "DESERIALIZATION_WORKERS", "10", "Spark's cores decide: --master 'local[N]'."),
    _idle("num_arrow_writer_threads", "NUM_ARROW_WRITER_THREADS", "4", "Spark's cores decide."),
    _idle("num_converting_workers", "NUM_CONVERTING_WORKERS", "4", "Spark's cores decide."),
    _idle("worker_to_messages_multiplier", "WORKER_TO_MESSAGES_MULTIPLIER", "10000", "Batches decide."),
    _idle("housekeeping_loop_iteration", "HOUSEKEEPING_LOOP_ITERATION", "5000", "It is done after every batch."),
    _idle(
        "seconds_idle_kafka_read_before_flush",
        "SECONDS_IDLE_KAFKA_READ_BEFORE_FLUSH",
        "180",
        "The latency holds for a quiet topic too.",
    ),
    _idle("max_version_lookback", "MAX_VERSION_LOOKBACK", "5", "Positions are found however old they are."),
)

_OWN = (
    Option("print-config", OWN, "Print the YAML that means the same to `penstock run`, and end.", takes="nothing"),
    Option("batches", OWN, "Stop after so many batches.", metavar="NUMBER"),
    Option("master", OWN, "The Spark master; local[*] by default.", metavar="URL"),
    Option("conf", OWN, "A Spark setting.", takes="many", metavar="NAME=VALUE"),
    Option(
        "accept-gap",
        OWN,
        "Go on although these records are lost: as the error message shows.",
        takes="many",
        metavar="GAP",
    ),
    Option("adopt", OWN, "Go on although source or place changed under this app.", takes="nothing"),
    Option("help", OWN, "Show this and end.", "h", takes="nothing"),
)

OPTIONS = (*_FROM, *_TO, *_MESSAGES, *_FILES, *_METRICS, *_IDLE, *_OWN)
FORMATS = ("json", "avro", "protobuf", "soe-avro", "aidl")
WITHOUT_EFFECT = tuple(option.name for option in _IDLE)
