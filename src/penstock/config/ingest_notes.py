"""What is different from kafka-delta-ingest for this command line: told once, at the start."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from penstock.config.client_settings import FLAG, ClientSettings, variable
from penstock.config.flags import Given
from penstock.config.ingest_options import WITHOUT_EFFECT
from penstock.config.ingest_place import Place
from penstock.config.schema_source import PASSWORD, USERNAME, Encoding
from penstock.errors import shown
from penstock.storage import child

_LOCK = ("AWS_S3_LOCKING_PROVIDER", "DYNAMO_LOCK_", "DELTA_DYNAMO_", "DEAD_LETTER_DYNAMO_LOCK_")
_QUEUE = "KDI_METRICS_INPUT_QUEUE_SIZE"


def notes(
    given: Given, where: Place, client: ClientSettings, format: Encoding, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """One sentence for everything that was asked for and is done differently, or not at all."""
    found = [_without_effect(given, environ), _letters(given, where), *_client(given, client)]
    found += [_tables(where, format), *_registry(given, format, environ)]
    if "decompress_gzip" in given and not format.is_plain_json:
        found.append(f"{given.by('decompress_gzip')}: without effect, it is for JSON without a registry")
    if "seek_offsets" in given and given.text("auto_offset_reset") == "latest":
        found.append(f"partitions that {given.by('seek_offsets')} does not name begin with their first message")
    if "checkpoints" in given:
        found.append(f"{given.by('checkpoints')}: checkpoints are written whenever a table's log has grown")
    if "prometheus_port" in given and given.text("prometheus_port").isdecimal():
        port = given.text("prometheus_port")
        found.append(f"{given.by('prometheus_port')}: listening on 127.0.0.1 only; 0.0.0.0:{port} opens it to others")
    if lock := sorted(name for name in environ if name.startswith(_LOCK)):
        found.append(
            f"{', '.join(lock)}: no lock table is used, commits rely on conditional writes of the object store; "
            "let nobody who relies on the lock write to these tables meanwhile"
        )
    return tuple(note for note in found if note)


def _without_effect(given: Given, environ: Mapping[str, str]) -> str:
    named = [given.by(name) for name in WITHOUT_EFFECT if name in given] + [_QUEUE] * (_QUEUE in environ)
    if not named:
        return ""
    return (
        f"{', '.join(named)}: accepted, without effect here; cores are Spark's (--master 'local[N]'), the rest adapts"
    )


def _letters(given: Given, where: Place) -> str:
    if "dlq_table_location" in given:
        return ""
    told = shown(child(where.base, "dead_letters"))
    return f"no --dlq_table_location: messages that cannot become rows are kept in {told}"


def _client(given: Given, client: ClientSettings) -> list[str]:
    found = [f"the Kafka setting {name} is left out: {why}" for name, why in sorted(client.dropped.items())]
    if client.start and "auto_offset_reset" in given and client.start != given.text("auto_offset_reset"):
        found.append(f"{given.by('auto_offset_reset')} decides where to start, not the Kafka setting auto.offset.reset")
    return found + [
        f"{FLAG} {name}: everybody on this machine can read it; set {variable(name)} instead"
        for name in client.typed_secrets
    ]


def _tables(where: Place, format: Encoding) -> str:
    """Which tables there will be, where the original has other ones."""
    if where.table:
        return ""
    if format.name == "json" and format.is_registered:
        return f"{format.by}: tables are named for the $id of their schema, with '@2F' for '/' and '@3A' for ':'"
    if format.name == "avro" and not format.is_registered and format.schemas.path is None:
        return f"{format.by}: messages are of the type that the topic names, in {shown(child(where.base, where.topic))}"
    return ""


def _registry(given: Given, format: Encoding, environ: Mapping[str, str]) -> list[str]:
    if format.user is not None and format.user[1] and given.typed(format.name):
        return [
            f"{format.by}: everybody on this machine can read the password in it; set {USERNAME} and {PASSWORD} instead"
        ]
    if format.is_registered and format.user is None and environ.get(PASSWORD) and not environ.get(USERNAME):
        return [f"{PASSWORD}: without effect, there is no {USERNAME}"]
    return []


def comments(options: Sequence[str], stand_ins: Sequence[str]) -> list[str]:
    """What stands above the printed settings: how to run them, with what belongs to this run alone."""
    how = shlex.join(["penstock", "run", "FILE", *map(shown, options)])
    told = [f"What was asked of `penstock ingest`, for `{how}`."]
    return told + [
        f"Set the variable {name} to what was given in another way: it may be a secret." for name in stand_ins
    ]
