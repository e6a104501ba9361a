"""From the command line of kafka-delta-ingest to the settings of a pipeline: those a YAML file would hold."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.config.client_settings import ClientSettings, client_settings
from penstock.config.document import Document, Location
from penstock.config.flags import Given, read
from penstock.config.ingest_notes import comments, notes
from penstock.config.ingest_options import WITHOUT_EFFECT
from penstock.config.ingest_place import Place, place
from penstock.config.ingest_transforms import transforms
from penstock.config.load import declared
from penstock.config.schema_source import Encoding, RegistryAccess, encoding, registry_access, said, settings
from penstock.config.spark_conf import SparkConf, spark_conf
from penstock.config.written import written
from penstock.errors import ConfigError, refused, shown
from penstock.pipeline import Pipeline

JITTER = 0.1  # the share of the latency by which kafka-delta-ingest lets it vary
METRICS_PREFIX, STATSD = "kafka_delta_ingest", "localhost:8125"


@dataclass(frozen=True)
class Own:
    """What concerns only this run, and stands in no file."""

    caught_up: bool = False
    batches: int | None = None
    accept_gap: tuple[str, ...] = ()
    adopt: bool = False
    print_config: bool = False

    def options(self) -> list[str]:
        """The same as options of `penstock run`."""
        told = ["--until-caught-up"] * self.caught_up
        told += [] if self.batches is None else ["--batches", str(self.batches)]
        told += [word for gap in self.accept_gap for word in ("--accept-gap", gap)]
        return told + ["--adopt"] * self.adopt


@dataclass(frozen=True)
class IngestRequest:
    """What a command line and its environment ask for."""

    settings: Mapping[str, Any]
    said: Mapping[Location, str]  # where a setting stands → the option or variable it came from
    own: Own
    notes: tuple[str, ...]
    stand_ins: Mapping[str, str] = field(repr=False)  # variables that stand for secrets given otherwise

    def pipeline(self, environ: Mapping[str, str]) -> Pipeline:
        """The pipeline, read by the same code as a file. Raises ConfigError that names options and variables."""
        document = _Arguments("penstock ingest", dict(self.settings), said=dict(self.said))
        return declared(document, {**environ, **self.stand_ins})

    def yaml(self) -> str:
        """The file that means the same, with references for secrets."""
        return written(self.settings, comments(self.own.options(), sorted(self.stand_ins)))


@dataclass
class _Arguments(Document):
    """Settings that were typed: complaints name options, not places in a file."""

    said: dict[Location, str] = field(default_factory=dict)

    def where(self, location: Location) -> str:  # noqa: ARG002
        return ""

    def called(self, location: Location) -> str:
        for length in range(len(location), 0, -1):
            if by := self.said.get(location[:length]):
                rest = ".".join(str(step) for step in location[length:])
                return f"{by} '{shown(rest, 100)}'" if rest else by
        return super().called(location)


@dataclass
class _Draft:
    """Settings as they gather, each with what gave it."""

    given: Given
    settings: dict[str, Any] = field(default_factory=dict)
    said: dict[Location, str] = field(default_factory=dict)

    def put(self, value: Any, by: str, *path: str) -> None:
        inner = self.settings
        for step in path[:-1]:
            inner = inner.setdefault(step, {})
        inner[path[-1]] = value
        self.said[path] = by

    def option(self, name: str, *path: str) -> None:
        """An option's text, or its default, as it is."""
        if text := self.given.text(name):
            self.put(text, self.given.by(name), *path)


def request(tokens: Sequence[str], environ: Mapping[str, str]) -> IngestRequest:
    """What is asked for. Raises ConfigError with everything that is wrong with how it was asked."""
    given = read(tokens, environ)
    client = given.attempt(lambda: client_settings(given.texts("kafka_setting"), environ), ClientSettings())
    format = given.attempt(lambda: encoding(given), Encoding())
    registry = given.attempt(lambda: registry_access(format, environ), RegistryAccess())
    where = given.attempt(lambda: place(given, names_itself=format.is_registered), Place("", ""))
    draft = _Draft(given)
    draft.option("app_id", "app")
    _source(draft, where, client)
    _format(draft, format, registry)
    _route(draft, where, format)
    _transforms(draft, "transform", "transforms")
    _tables(draft, where, environ)
    _batch(draft)
    given.attempt(lambda: _metrics(draft, environ, upstream=bool(where.table)), None)
    conf = given.attempt(lambda: spark_conf(given.texts("conf")), SparkConf())
    _spark(draft, conf)
    own = _own(given)
    for name in WITHOUT_EFFECT:
        given.number(name)
    if given.complaints:
        raise ConfigError(given.complaints)
    told = notes(given, where, client, format, environ)
    secrets = {**client.stand_ins, **registry.stand_ins, **conf.stand_ins}
    return IngestRequest(draft.settings, draft.said, own, told, secrets)


def _own(given: Given) -> Own:
    return Own(
        caught_up="ends_at_latest_offsets" in given,
        batches=given.number("batches", least=1) if "batches" in given else None,
        accept_gap=given.texts("accept-gap"),
        adopt="adopt" in given,
        print_config="print-config" in given,
    )


# --- where from ----------------------------------------------------------------------------------


def _source(draft: _Draft, where: Place, client: ClientSettings) -> None:
    given = draft.given
    given.attempt(lambda: _check_servers(given), None)
    draft.option("kafka", "source", "kafka", "servers")
    draft.put(where.topic, given.by("topic"), "source", "kafka", "topic")
    start = given.attempt(lambda: _start(given, client), "earliest")
    draft.put(start, given.by("auto_offset_reset"), "source", "kafka", "start")
    if seek := given.attempt(lambda: _seek(given), None):
        draft.put(seek, given.by("seek_offsets"), "source", "kafka", "start")
    draft.option("consumer_group", "source", "kafka", "group")
    if client.settings:
        by = dict.fromkeys("KAFKA_SETTING_*" if b.startswith("KAFKA_SETTING_") else b for b in client.by.values())
        draft.put(client.settings, " and ".join(by), "source", "kafka", "settings")


def _check_servers(given: Given) -> None:
    if "@" in given.text("kafka"):
        raise refused(
            "usage.servers",
            f"{given.by('kafka')}: the addresses of brokers must not hold a user or a password",
            "give them as the Kafka settings sasl.username and sasl.password: set KAFKA_SETTING_SASL_USERNAME and "
            "KAFKA_SETTING_SASL_PASSWORD",
        )


def _start(given: Given, client: ClientSettings) -> str:
    """The option decides, as in the original; a setting of the client only where the option is not given."""
    text = given.text("auto_offset_reset")
    if text not in ("earliest", "latest"):
        raise refused(
            "usage.start",
            f"{given.by('auto_offset_reset')}: '{shown(text, 40)}' is neither earliest nor latest",
            "write one of them",
        )
    return text if "auto_offset_reset" in given else client.start or text


def parse_seek_offsets(text: str) -> list[tuple[int, int]]:
    """Partitions with their offsets, in order. ValueError if the text is not such a JSON object."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    for partition, offset in found.items():
        if not re.fullmatch(r"[0-9]{1,9}", partition, re.ASCII) or type(offset) is not int or not 0 <= offset < 2**62:
            raise ValueError("not a partition with its offset")
    return sorted((int(partition), offset) for partition, offset in found.items())


def _seek(given: Given) -> dict[str, int] | None:
    """The first position of each partition: the one after the offset that was last seen."""
    if "seek_offsets" not in given:
        return None
    try:
        return {str(partition): offset + 1 for partition, offset in parse_seek_offsets(given.text("seek_offsets"))}
    except (ValueError, RecursionError):
        raise refused(
            "usage.seek-offsets",
            f"{given.by('seek_offsets')}: this is not a JSON object of partitions and their offsets",
            'write it as {"0": 123, "1": 321}',
        ) from None


# --- where to, and how ---------------------------------------------------------------------------


def _format(draft: _Draft, format: Encoding, registry: RegistryAccess) -> None:
    draft.settings["format"] = settings(format, registry, gzip="decompress_gzip" in draft.given)
    draft.said |= said(format, registry)


def _route(draft: _Draft, where: Place, format: Encoding) -> None:
    """One table takes all. Else a type is what the message's schema calls it, or the topic."""
    if where.table and (where.table != where.topic or format.is_registered):
        draft.put({"constant": where.table}, draft.given.by("table_location"), "route", "by")
    elif format.is_registered:
        draft.put("record", format.by, "route", "by")
    draft.option("message_type_whitelist", "route", "allow")


def _transforms(draft: _Draft, option: str, *path: str) -> None:
    given = draft.given
    if found := transforms(given, option):
        draft.put(found, given.by(option), *path)


def _tables(draft: _Draft, where: Place, environ: Mapping[str, str]) -> None:
    given = draft.given
    draft.put(where.base, given.by("table_location" if where.table else "table_base_uri"), "tables", "base")
    draft.put("ignore", "", "tables", "defaults", "evolve")
    draft.put(True, "", "tables", "defaults", "coerce")
    names = [name.strip() for name in given.text("partition_columns").split(",") if name.strip()]
    if names:
        draft.put(names, given.by("partition_columns"), "tables", "defaults", "partition_by")
    if where.plain_http(given.text("dlq_table_location"), environ):
        draft.put("true", "AWS_ENDPOINT_URL", "tables", "storage", "allow_http")
    draft.option("dlq_table_location", "dead_letters", "table")
    draft.put(1.0, "", "dead_letters", "max_share")  # bad messages never stop the original
    _transforms(draft, "dlq_transform", "dead_letters", "transforms")


def _batch(draft: _Draft) -> None:
    given = draft.given
    draft.put(f"{given.number('allowed_latency')}s", given.by("allowed_latency"), "batch", "latency")
    draft.put(given.number("max_messages_per_batch", least=1), given.by("max_messages_per_batch"), "batch", "messages")
    if smallest := given.number("min_bytes_per_file"):
        draft.put(smallest, given.by("min_bytes_per_file"), "batch", "min_file_bytes")
    draft.put(JITTER, "", "batch", "jitter")


def _spark(draft: _Draft, conf: SparkConf) -> None:
    given = draft.given
    if master := given.text("master"):
        draft.put(conf.shown("spark.master", master), given.by("master"), "spark", "master")
    if conf.settings:
        draft.put(conf.settings, given.by("conf"), "spark", "conf")


def _metrics(draft: _Draft, environ: Mapping[str, str], *, upstream: bool) -> None:
    given = draft.given
    if "statsd_endpoint" in given and "prometheus_port" in given:
        both = f"{given.by('statsd_endpoint')} and {given.by('prometheus_port')}"
        raise refused("usage.metrics", f"{both} cannot be given together", "leave one of them")
    if "prometheus_port" in given:
        draft.put(_listener(given), given.by("prometheus_port"), "metrics", "prometheus")
    elif "statsd_endpoint" in given or upstream:
        draft.put(given.text("statsd_endpoint") or STATSD, given.by("statsd_endpoint"), "metrics", "statsd")
    else:
        return
    draft.put(environ.get("KDI_METRICS_PREFIX") or METRICS_PREFIX, "KDI_METRICS_PREFIX", "metrics", "prefix")


def _listener(given: Given) -> str:
    """On loopback unless a host is given."""
    text = given.text("prometheus_port")
    host, _, port = text.rpartition(":")
    if not re.fullmatch(r"[0-9]{1,5}", port, re.ASCII) or not 1 <= int(port) <= 65_535:
        raise refused(
            "usage.port",
            f"{given.by('prometheus_port')}: '{shown(text, 40)}' is neither a port nor host:port",
            "write 9000 or 0.0.0.0:9000",
        )
    return f"{host or '127.0.0.1'}:{port}"
