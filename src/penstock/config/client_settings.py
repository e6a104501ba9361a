"""Settings of the Kafka client from flags and variables, in the order of kafka-delta-ingest: the last one counts.

Secrets are not carried as values but as references to variables. For one that came another way a variable of the
same meaning stands in, so that everything made of these settings can be shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.errors import Complaint, ConfigError, refused
from penstock.sources.kafka_settings import OURS

PREFIX, FLAG = "KAFKA_SETTING_", "--kafka_setting"
_PEMS = {
    "KAFKA_DELTA_INGEST_CERT": "ssl.certificate.pem",
    "KAFKA_DELTA_INGEST_KEY": "ssl.key.pem",
    "KAFKA_DELTA_INGEST_CA": "ssl.ca.pem",
}
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SCRAM = "KAFKA_DELTA_INGEST_SCRAM_JSON"
_FORCED = ("bootstrap.servers", "group.id", "enable.auto.commit")

# What only a member of a consumer group needs, or names it: penstock reads without being one.
_POINTLESS = (
    *("session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "auto.commit.interval.ms"),
    *("partition.assignment.strategy", "group.instance.id", "coordinator.query.interval.ms", "client.id"),
    *("group.protocol", "group.remote.assignor", "statistics.interval.ms", "log_level"),
)
_STARTS = {
    **dict.fromkeys(("earliest", "smallest", "beginning"), "earliest"),
    **dict.fromkeys(("latest", "largest", "end"), "latest"),
}

# Settings that can be shown; every other one may be a secret.
_OPEN = (
    *("socket.", "connections.", "reconnect.", "retry.", "broker.", "fetch.", "queued.", "receive.", "message."),
    *("check.crcs", "metadata.", "client.", "api.version.", "debug", "enable.", "isolation.", "allow.", "auto."),
    *("security.protocol", "sasl.mechanism", "ssl.endpoint.identification.algorithm", "ssl.cipher.suites"),
    *("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.keystore.location", "ssl.crl.location"),
)


@dataclass
class ClientSettings:
    """What the client is told, which of it is not told, and the variables that stand in for secrets."""

    settings: dict[str, str] = field(default_factory=dict)
    stand_ins: dict[str, str] = field(default_factory=dict, repr=False)
    by: dict[str, str] = field(default_factory=dict)
    start: str | None = None
    dropped: dict[str, str] = field(default_factory=dict)  # setting → why

    @property
    def typed_secrets(self) -> list[str]:
        """Settings that may be secrets and stand on the command line, where everybody on the machine can read them."""
        typed = [name for name in self.settings if self.by[name] == FLAG]
        return sorted(name for name in typed if variable(name) in self.stand_ins)

    def take(self, name: str, value: str, by: str) -> None:
        """One more setting, in place of an earlier one of the same name."""
        self.stand_ins.pop(variable(name), None)
        self.by[name] = by
        if by.startswith(("KAFKA_DELTA_INGEST_C", "KAFKA_DELTA_INGEST_K", PREFIX)):
            self.settings[name] = f"${{env:{by}}}"
        elif name.startswith(_OPEN) and "${" not in value:
            self.settings[name] = value
        else:
            self.settings[name] = f"${{env:{variable(name)}}}"
            self.stand_ins[variable(name)] = value


def client_settings(typed: Sequence[str], environ: Mapping[str, str]) -> ClientSettings:
    """The settings from everywhere. Raises ConfigError with what is wrong about them."""
    taken = ClientSettings()
    complaints: list[Complaint] = []
    values: dict[str, str] = {}
    for settings in (_pems(environ), _scram(environ), _typed(typed), _variables(environ)):
        try:
            for name, value, by in settings:
                values[name] = value
                taken.take(name, value, by)
        except ConfigError as why:
            complaints += why.complaints
    if complaints:
        raise ConfigError(complaints)
    _drop(taken, values)
    return taken


def variable(name: str) -> str:
    """The variable that stands for a setting."""
    return PREFIX + name.upper().replace(".", "_")


def _pems(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for by, name in _PEMS.items():
        if environ.get(by):
            yield name, environ[by], by


def _scram(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    if not (text := environ.get(_SCRAM)):
        return
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    for key in ("username", "password"):
        if not isinstance(found, dict) or not isinstance(found.get(key), str):
            raise refused(
                "usage.scram",
                "KAFKA_DELTA_INGEST_SCRAM_JSON is not a JSON object with the texts username and password",
                "correct it",
            ) from None
        yield f"sasl.{key}", found[key], _SCRAM


def _typed(typed: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for setting in typed:
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not _NAME.fullmatch(name):
            # What stands alone may be a value that lost its name: shown only if it is surely none.
            told = name if name.startswith((*_OPEN, "sasl.", "ssl.")) and _NAME.fullmatch(name) else "…"
            raise refused(
                "usage.kafka-setting",
                f"{FLAG}: '{told}' - Each Kafka setting must be delimited by an '=' and match the pattern "
                "'PROPERTY_NAME=PROPERTY_VALUE'",
                "write -K security.protocol=SSL",
            )
        yield name, value, FLAG


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for by in sorted(environ):
        if by.startswith(PREFIX) and by != PREFIX:
            yield by.removeprefix(PREFIX).lower().replace("_", "."), environ[by], by


def _drop(taken: ClientSettings, values: Mapping[str, str]) -> None:
    """Leave out what was never the user's to set, what has no meaning here, and what holds anyway."""
    taken.start = _STARTS.get(values.get("auto.offset.reset", ""))
    for name in list(taken.settings):
        if name in _FORCED:
            taken.dropped[name] = "penstock sets it"
        elif name in _POINTLESS:
            taken.dropped[name] = "it has no meaning here"
        elif name == "auto.offset.reset" and taken.start:
            pass
        elif str(OURS.get(name)).lower() != values[name].lower():
            continue
        del taken.settings[name]
        taken.stand_ins.pop(variable(name), None)
