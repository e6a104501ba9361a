"""Every error penstock raises: a stable code, an exit status, and what to do about it.

Bad data is not an error: a message that cannot become a row is a value (a dead letter).
Errors are for the outside refusing, for configurations that make no sense, and for the
moments when going on would break the promise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FAILED, USAGE, FENCED, SOURCE_LOST, TOO_MANY_DEAD_LETTERS = 1, 2, 3, 4, 5


class PenstockError(Exception):
    """Something the operator should read: what happened, under which code, and what to do."""

    exit_status = FAILED

    def __init__(self, code: str, what: str, remedy: str = "") -> None:
        super().__init__(code, what, remedy)
        self.code, self.what, self.remedy = code, what, remedy

    def __str__(self) -> str:
        return f"{self.what} [{self.code}]" + (f"\n  {self.remedy}" if self.remedy else "")


class Transient(PenstockError):
    """The outside is not there just now. Wait and try again; never a dead letter."""


class Unavailable(Transient):
    """A call to storage whose outcome may be unknown: settle it by reading, never by repeating."""


class TableRefused(PenstockError):
    """One table cannot take its batches. It is parked; the others go on."""


class Fenced(PenstockError):
    """Another instance of this app has taken over."""

    exit_status = FENCED


class SourceLost(PenstockError):
    """The source no longer holds what comes next, or its history was rewritten."""

    exit_status = SOURCE_LOST


class TooManyDeadLetters(PenstockError):
    """So much of a batch is bad that landing it would bury the cause."""

    exit_status = TOO_MANY_DEAD_LETTERS


@dataclass(frozen=True)
class Complaint:
    """One thing wrong with a configuration, with the place where the user wrote it."""

    where: str
    what: str
    remedy: str = ""
    code: str = "config.invalid"

    def __str__(self) -> str:
        first = f"{self.where}: {self.what}" if self.where else self.what
        return f"{first}\n  {self.remedy}  [{self.code}]" if self.remedy else f"{first}  [{self.code}]"


class ConfigError(PenstockError):
    """A configuration that cannot be run: every complaint about it, at once."""

    exit_status = USAGE

    def __init__(self, complaints: Sequence[Complaint]) -> None:
        super().__init__(complaints[0].code, "\n".join(map(str, complaints)))
        self.complaints = tuple(complaints)

    def __reduce__(self) -> tuple[type[ConfigError], tuple[tuple[Complaint, ...]]]:
        return ConfigError, (self.complaints,)

    def __str__(self) -> str:
        return self.what


def shown(text: str, limit: int = 200) -> str:
    """Text that came from outside as a terminal may show it: cut, and control characters spelled out."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def in_one_line(cause: BaseException) -> str:
    """A foreign error's text without line breaks and colours. Its last words often say the most."""
    told = re.split(r"\n\s*(?:stack )?backtrace:|\n\s*0: ", str(cause), maxsplit=1, flags=re.IGNORECASE)[0]
    steps = re.split(r"\s*(?:\x1b\[\d+m)?↳(?:\x1b\[\d+m)?\s*", told)
    return shown(" ".join(": ".join(steps).split()), 500)


# --- configuration -------------------------------------------------------------------------------


def refused(code: str, what: str, remedy: str, where: str = "") -> ConfigError:
    """A run that must not start as configured."""
    return ConfigError([Complaint(where, what, remedy, code)])


def another_source(app: str, recorded: str, configured: str) -> ConfigError:
    return refused(
        "config.source-changed",
        f"app '{app}' has so far read {recorded}, and is now configured to read {configured}",
        "give the pipeline another app name, or run once with --adopt to go on from the new source's start policy",
    )


def another_place(app: str, what: str, recorded: str, configured: str) -> ConfigError:
    return refused(
        "config.place-changed",
        f"app '{app}' has so far written to {what} {recorded}, and is now configured for {configured}",
        "change it back, give the pipeline another app name, or run once with --adopt",
    )


def ledger_missing(app: str, ledger: str, tables: Sequence[str]) -> ConfigError:
    return refused(
        "ledger.missing",
        f"there is no ledger at {ledger}, but {', '.join(tables[:5])} already carr{'ies' if len(tables) == 1 else 'y'} "
        f"batches of app '{app}': starting afresh would double them",
        "point `ledger` at the right place, or put the newest copy of the ledger back: no older one will do. "
        "If it is lost for good, choose another app name",
    )


def ledger_behind(app: str, table: str, carried: int, head: int) -> ConfigError:
    return refused(
        "ledger.behind",
        f"table {table} carries batch {carried} of app '{app}', but the ledger ends with entry {head}: "
        "it is an older copy, or another one",
        "put the newest ledger back: on top of an older one, new batches would be taken for those that tables carry "
        "already. If it is lost for good, give the pipeline another app name, which reads from its start policy",
    )


# --- the source ----------------------------------------------------------------------------------


def broker_away(servers: str, cause: object) -> Transient:
    return Transient(
        "source.unavailable",
        f"no answer from the Kafka brokers at {servers}: {cause}",
        "penstock waits; check the address, the network and the security settings",
    )


def topic_missing(topic: str, servers: str) -> SourceLost:
    return SourceLost(
        "source.topic-missing",
        f"topic '{topic}' does not exist on {servers}",
        "create it, or correct source.kafka.topic",
    )


def topic_recreated(topic: str, recorded: str, found: str, ends: Mapping[str, int]) -> SourceLost:
    return SourceLost(
        "source.recreated",
        f"topic '{topic}' is not the one this app has read: its id was {recorded} and is now {found}. "
        f"What the old topic held after {_positions(ends)} cannot be read any more",
        f"if that is accepted, run once with --accept-gap topic={found}: the new topic is read from its beginning",
    )


def cluster_exchanged(servers: str, recorded: str, found: str) -> SourceLost:
    return SourceLost(
        "source.cluster-exchanged",
        f"the cluster behind {servers} is not the one this app has read: its id was {recorded} and is now {found}",
        f"correct source.kafka.servers, or run once with --accept-gap cluster={found} to read it from the start",
    )


def partitions_away(partitions: Sequence[str]) -> Transient:
    return Transient(
        "source.partitions-away",
        f"the source does not show partition {', '.join(partitions)}, which this app has read before",
        "penstock waits for it to come back",
    )


def records_lost(lost: Mapping[str, tuple[int, int]], why: str, tables: Sequence[str] = ()) -> SourceLost:
    """`tables`: those that were written by others up to the beginning of these ranges."""
    flags = " ".join(f"--accept-gap {p}:{start}-{end - 1}" for p, (start, end) in sorted(lost.items()))
    ranges = ", ".join(f"partition {p} positions {start} to {end - 1}" for p, (start, end) in sorted(lost.items()))
    if tables:
        ranges += f". What {', '.join(tables[:5])} stored ends there"
    unless = "if none of them was for these tables, or that is accepted" if tables else "if that is accepted"
    return SourceLost(f"source.{why}", f"{_REASONS[why]}: {ranges}", f"{unless}, run once with {flags}")


_REASONS = {
    "expired": "the source dropped records before they were read",
    "truncated": "the source lost records that were already read: its log is shorter than what this app has landed",
}


def _positions(ends: Mapping[str, int]) -> str:
    return ", ".join(f"partition {p} position {end}" for p, end in sorted(ends.items())) or "the beginning"


# --- running -------------------------------------------------------------------------------------


def fenced(app: str, instance: str, number: int) -> Fenced:
    return Fenced(
        "app.fenced",
        f"another instance of app '{app}' ({instance}) has taken over with ledger entry {number}",
        "nothing to do: it goes on from here. To run two pipelines, give them different app names",
    )


def too_many_dead_letters(
    share: float, limit: float, read: int, reasons: Mapping[str, int], example: str
) -> TooManyDeadLetters:
    ranked = ", ".join(f"{code} {count:,}" for code, count in sorted(reasons.items(), key=lambda r: -r[1])[:5])
    return TooManyDeadLetters(
        "dead-letters.too-many",
        f"{share:.1%} of a batch of {read:,} messages would be dead letters (limit {limit:.1%}): {ranked}. "
        f"First: {shown(example)}",
        "nothing of this batch was decided; correct the producer or the pipeline, or raise dead_letters.max_share",
    )


def parked_tables(parked: Mapping[str, str]) -> PenstockError:
    lines = "".join(f"\n  {shown(name)}: {shown(reason, 500)}" for name, reason in sorted(parked.items()))
    return PenstockError(
        "tables.parked",
        f"everything was read and decided, but {len(parked)} table(s) did not take all of it yet:{lines}",
        "their files wait in the ledger; mend the tables and run again",
    )


def landing_failed(cause: str) -> PenstockError:
    remedy = "nothing of this batch was decided; run again when the cause is gone"
    if "No module named" in cause:
        remedy = "the workers' Python lacks it: let PYSPARK_PYTHON name the Python that penstock is installed in"
    return PenstockError("engine.landing-failed", f"the landing job failed: {shown(cause, 500)}", remedy)


def spark_gone(cause: object) -> PenstockError:
    return PenstockError(
        "engine.spark-gone",
        f"Spark is gone: {cause}",
        "run again; what was decided is committed from the ledger, what was not is read again",
    )


def no_java(found: str) -> PenstockError:
    return PenstockError(
        "engine.no-java",
        f"penstock needs Java 17 or 21 for Spark, and found {found}",
        "install a JDK or JRE of version 17 or 21 and put it on PATH or in JAVA_HOME",
    )
