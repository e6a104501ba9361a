"""Which topic is read and where its table is: under a base, or at a place of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from penstock.config.flags import Given
from penstock.errors import refused, shown
from penstock.storage import child
from penstock.tables.names import table_name


@dataclass(frozen=True)
class Place:
    """A topic, the folder of its tables and, if there is only one table, that table's name."""

    topic: str
    base: str
    table: str = ""

    def plain_http(self, letters: str, environ: Mapping[str, str]) -> bool:
        """Is there an object store to be spoken to without TLS? delta-rs can tell by itself, obstore cannot."""
        if not any(location.startswith(("s3://", "s3a://")) for location in (self.base, letters)):
            return False
        allowed = environ.get("AWS_ALLOW_HTTP") or environ.get("AWS_STORAGE_ALLOW_HTTP") or ""
        return allowed.lower() in ("true", "1") or environ.get("AWS_ENDPOINT_URL", "").startswith("http://")


def place(given: Given, *, names_itself: bool = False) -> Place:
    """The topic and the place that were given. Raises ConfigError if one is missing or both places are named. Messages
    that name their type themselves have no table that is called like the topic."""
    for name in ("table_base_uri", "table_location", "dlq_table_location"):
        _check_open(given.text(name), given.by(name))
    topic = given.text("topic")
    if not topic:
        raise refused("usage.topic", "no topic is given", "give --topic, or set KAFKA_TOPIC")
    found = Place(topic, given.text("table_base_uri"))
    if _one_table(given):
        base, table = _apart(given)
        found = Place(topic, base, table)
    if not found.base:
        raise refused(
            "usage.place",
            "no place for the tables is given",
            "give --table_base_uri, or set TABLE_BASE_URI; for a table at a place of its own, give TOPIC and TABLE",
        )
    if found.table or not names_itself:
        _check_letters(given, found)
    return found


def _check_open(location: str, by: str) -> None:
    """A place is shown in logs, errors and printed settings."""
    try:
        parts = urlsplit(location)
        secret = bool(parts.password or (parts.query and "://" in location))
    except ValueError:
        raise refused("usage.location", f"{by}: this is neither a path nor a URL", "correct it") from None
    if secret:
        raise refused(
            "usage.location",
            f"{by}: a location must not hold a password or a token",
            "put credentials into the environment, such as AWS_SECRET_ACCESS_KEY",
        )


def _one_table(given: Given) -> bool:
    """A place that was typed comes before one that a variable holds; two of a kind contradict each other."""
    one, many = "table_location" in given, "table_base_uri" in given
    if not (one and many):
        return one
    if given.typed("table_location") == given.typed("table_base_uri"):
        both = f"{given.by('table_base_uri')} and {given.by('table_location')}"
        raise refused("usage.places", f"{both} both say where rows go", "give one of them")
    return given.typed("table_location")


def _apart(given: Given) -> tuple[str, str]:
    """A table's location as the folder around it and its name in there."""
    location = given.text("table_location")
    head, slash, name = location.rstrip("/").rpartition("/")
    if head.endswith(":/") or name in ("", ".", "..") or table_name(name) != name:
        raise refused(
            "usage.table",
            f"{given.by('table_location')}: '{shown(location)}' does not end with a name for a table",
            "write a folder and a name in it, such as ./lake/orders; "
            "the name has letters, digits, '.', '_' and '-', and begins with a letter or digit",
        )
    if head.endswith("//"):  # file:///name
        return f"{head}/", name
    return head or slash or ".", name


def _check_letters(given: Given, found: Place) -> None:
    """Rows and dead letters need tables of their own."""
    rows = child(found.base, found.table or found.topic)
    letters = given.text("dlq_table_location") or child(found.base, "dead_letters")
    if rows.rstrip("/").lower() == letters.rstrip("/").lower():
        raise refused(
            "usage.same-table",
            f"rows and dead letters would both go to {shown(rows)}",
            "give --dlq_table_location another place",
        )
