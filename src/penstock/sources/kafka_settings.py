"""What the Kafka client is told: by us, and by a pipeline as far as we pass it on."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, SecretStr

# What a pipeline may tell the client. The rest is ours to set, or (plugins, callbacks) nobody's.
_PASSED_ON = (
    *("security.", "sasl.", "ssl.", "enable.ssl.", "socket.", "connections.", "reconnect.", "retry.", "broker."),
    *("fetch.", "queued.", "receive.", "message.", "check.crcs", "metadata.", "client.", "api.version.", "debug"),
)
OURS = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",
    "allow.auto.create.topics": False,
}
QUICK = {
    # A full local queue otherwise stops fetching for a second.
    "fetch.queue.backoff.ms": 2,
    # Small queues bound what is read past the end of a slice, and a worker's memory.
    "queued.max.messages.kbytes": 4096,
    "fetch.message.max.bytes": 2 * 2**20,
    # What a slice holds is there already. A fetch that waits for more at the end of the log keeps the
    # next slice's fetch waiting behind it.
    "fetch.wait.max.ms": 5,
}


def open_servers(text: str) -> str:
    """Addresses are shown in logs, errors and printed settings: a ValueError, without the text, if they hold a user."""
    if "@" in text:
        raise ValueError(
            "must not hold a user or a password: give them as the settings sasl.username and sasl.password"
        )
    return text


def _settings(given: dict[str, SecretStr]) -> dict[str, SecretStr]:
    for name in given:
        if name in OURS:
            raise ValueError(f"sets '{name}', which penstock needs to be '{OURS[name]}'")
        if not name.startswith(_PASSED_ON) or name == "client.id":
            raise ValueError(f"sets '{name}', which is not a setting that penstock passes on to the Kafka client")
    return given


Servers = Annotated[str, AfterValidator(open_servers)]
Settings = Annotated[dict[str, SecretStr], AfterValidator(_settings)]
