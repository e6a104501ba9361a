"""What a Redis server answers, and what it means if it does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis

from penstock.errors import Transient, in_one_line

MAX_VALUE = 1_000_000  # bytes of a schema

FAILURES = (redis.RedisError, OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What the client raises. Only the first two are meant: the others come of answers that are none."""

_MEANINGS: tuple[tuple[tuple[type[Exception], ...], str, str, str], ...] = (
    (
        (redis.AuthenticationError, redis.exceptions.NoPermissionError),
        "registry.not-allowed",
        "does not let us in",
        "correct the username and the password, or what the user may do: SCAN, GETRANGE, EXISTS, TYPE, SET, DEL, INFO",
    ),
    ((redis.BusyLoadingError,), "registry.loading", "is still loading", "penstock waits for it"),
    ((redis.ReadOnlyError,), "registry.read-only", "is a replica that cannot be written", "use its primary"),
    (
        (redis.ConnectionError, redis.TimeoutError, OSError),
        "registry.unavailable",
        "does not answer",
        "penstock waits; check the address, the network and whether the server speaks TLS",
    ),
)


def failed(place: str, cause: Exception, secret: str | None) -> Transient:
    """What to tell of a failure. The server's words are shown, unless they repeat the password."""
    told = in_one_line(cause)
    if secret and secret in told:
        told = type(cause).__name__
    for kinds, code, what, remedy in _MEANINGS:
        if isinstance(cause, kinds):
            return Transient(code, f"{place} {what}: {told}", remedy)
    return Transient("registry.failed", f"{place} gave no usable answer: {told}", "penstock waits; check the server")


def scanned(answer: Any) -> tuple[int, Sequence[bytes]]:
    match answer:
        case (int(cursor), list(keys)) if all(isinstance(key, bytes) for key in keys):
            return cursor, keys
    raise ValueError("this is not an answer to SCAN")


def values(client: redis.Redis, keys: list[bytes]) -> list[bytes | Exception | None]:
    """The values of keys, None for one that is gone. One that is too long is cut, to be told by its length."""
    batch = client.pipeline(transaction=False)
    for key in keys:
        batch.getrange(key, 0, MAX_VALUE)
        batch.exists(key)  # an empty value and none at all look the same
    answers = batch.execute(raise_on_error=False)
    pairs = zip(answers[::2], answers[1::2], strict=True)
    return [_value(value, exists) for value, exists in pairs]


def _value(answer: Any, exists: Any) -> bytes | Exception | None:
    if isinstance(answer, redis.ResponseError) and "WRONGTYPE" in str(answer):
        return ValueError("its value is not a string")
    for each in (answer, exists):
        if isinstance(each, Exception):
            raise each
    if not isinstance(answer, bytes):
        raise ValueError("this is not an answer to GETRANGE")
    return answer if answer or exists else None


def text_of(value: bytes | Exception) -> str:
    if isinstance(value, Exception):
        raise value
    if len(value) > MAX_VALUE:
        raise ValueError(f"its value is longer than {MAX_VALUE} bytes")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as why:
        raise ValueError(f"its value is not UTF-8 at byte {why.start}") from None
