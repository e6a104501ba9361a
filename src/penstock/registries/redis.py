"""Redis as a registry of types: every string key is a type, and its value the Spark JSON schema of its payload.

The keys are read again for every batch, so that a type that was registered or changed counts from the next one on.
What others keep in the same database is complained of and does no harm. What it loses is not lost here: `listing.kept`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import redis
from pydantic import Field, SecretStr, field_validator, model_validator
from redis.backoff import NoBackoff
from redis.retry import Retry

from penstock.declared import Declared
from penstock.errors import PenstockError, Transient, refused, shown
from penstock.quantities import Duration
from penstock.registries.listing import Found
from penstock.registries.redis_answers import FAILURES, MAX_VALUE, failed, scanned, text_of, values
from penstock.registries.spark_json import from_spark

MAX_KEYS = 10_000
MAX_NAME = 1_000  # bytes of a key
MAX_ALTOGETHER = 100_000_000  # bytes of all schemas
PAGE = 1_000  # keys asked for at once
TOGETHER = 50  # values asked for at once: as many of the largest are in memory together
PATIENCE = 10  # time-outs within which all answers to one question must come

_GLOB = re.compile(rb"([\\*?\[\]])")

T = TypeVar("T")


class RedisTypes(Declared):
    """A Redis or Valkey database (no cluster) whose string keys are types."""

    host: str = "localhost"
    """The server's name or address."""
    port: int = Field(default=6379, ge=1, le=65_535)
    """The server's port."""
    db: int = Field(default=0, ge=0, le=65_535)
    """The number of the database."""
    username: str | None = Field(default=None, min_length=1)
    """The user, if it is not the default one."""
    password: SecretStr | None = None
    """The password."""
    tls: bool = False
    """Whether to speak TLS. The server's certificate is checked, and that it is made out to `host`."""
    ca: str | None = Field(default=None, min_length=1)
    """A file with the certificates to trust. Not set, they are the system's."""
    prefix: str = Field(default="", max_length=200)
    """Only keys that begin with this are types; the rest of the key is the type's name."""
    timeout: Duration = Field(default=5.0, gt=0, le=3_600)
    """How long to wait for a connection, and for an answer."""

    @field_validator("host")
    @classmethod
    def _host(cls, text: str) -> str:
        if not re.fullmatch(r"[\w.:%-]{1,255}", text, re.ASCII):
            raise ValueError("must be a name or an address alone, such as localhost or 10.0.0.7")
        return text

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.username and self.password is None:
            raise ValueError("a username needs a password beside it")
        if self.ca and not self.tls:
            raise ValueError("`ca` is for TLS: set `tls: true` too, or leave `ca` out")
        return self

    # --- what there is

    def types(self) -> Found:
        """Every type with its schema, and a complaint for every key that is none. Raises Transient if Redis is not
        there, or not whole, just now."""
        found, altogether, deadline = Found({}, {}), 0, self._deadline()
        with self._asking() as client:
            keys = sorted(self._keys(client))
            for start in range(0, len(keys), TOGETHER):
                some = keys[start : start + TOGETHER]
                self._check_time(deadline)
                for key, value in zip(some, values(client, some), strict=True):
                    altogether += len(value) if isinstance(value, bytes) else 0
                    self._sort(key, value, altogether, found)
        return found

    def names(self) -> list[str]:
        """The names of all string keys, sorted: whether they are good schemas or not."""
        with self._asking() as client:
            return sorted(self._name(key) for key in self._keys(client, "STRING"))

    def text(self, type: str) -> str | None:
        """The schema of a type as it is written; None if there is none. A ValueError if it is no text at all."""
        key = self._key(type)
        with self._asking() as client:
            [value] = values(client, [key])
        return None if value is None else text_of(value)

    def register(self, type: str, text: str) -> None:
        """Make a type known, or change its schema. A ValueError if it is not a schema, or the key is of other use."""
        from_spark(text)
        key, value = self._key(type), text.encode("utf-8")
        if len(value) > MAX_VALUE:
            raise ValueError(f"the schema is longer than {MAX_VALUE} bytes")
        with self._asking() as client:
            is_free = _is_free(client, key)
            if is_free:
                client.set(key, value)
        if not is_free:
            raise _of_other_use(type)

    def remove(self, type: str) -> bool:
        """Forget a type; False if there was none. Running pipelines keep the schema they know until they end."""
        key = self._key(type)
        with self._asking() as client:
            is_free = _is_free(client, key)
            if is_free:
                return bool(client.delete(key))
        raise _of_other_use(type)

    # --- keys and values

    def _keys(self, client: redis.Redis, kind: str | None = None) -> set[bytes]:
        """The keys that begin with the prefix. The server goes on working meanwhile, and may tell one twice."""
        pattern = _GLOB.sub(rb"\\\1", self.prefix.encode()) + b"*"
        deadline, cursor, keys = self._deadline(), 0, set[bytes]()
        while True:
            cursor, some = scanned(client.scan(cursor, pattern, PAGE, kind))
            keys.update(some)
            if len(keys) > MAX_KEYS:
                raise self._too_many()
            if not cursor:
                return keys
            self._check_time(deadline)

    def _sort(self, key: bytes, value: bytes | Exception | None, altogether: int, found: Found) -> None:
        if value is None:
            return  # it was deleted since it was listed
        name = self._name(key)
        try:
            _check_key(key, name)
            if altogether > MAX_ALTOGETHER:
                raise ValueError(f"there are more than {MAX_ALTOGETHER} bytes of schemas")
            found.types[name] = from_spark(text_of(value))
        except ValueError as why:
            found.complaints[name[:MAX_NAME]] = f"the key '{shown(name)}' in {self._place} is not a type: {why}"

    def _name(self, key: bytes) -> str:
        return key[len(self.prefix.encode()) :].decode("utf-8", "backslashreplace")

    def _key(self, type: str) -> bytes:
        if not type or not _is_unicode(type):
            raise ValueError("a type needs a name of whole characters")
        key = (self.prefix + type).encode()
        _check_key(key, type)
        return key

    # --- the server

    def _deadline(self) -> float:
        return time.monotonic() + PATIENCE * self.timeout

    def _check_time(self, deadline: float) -> None:
        """Every answer may come in time, and all of them never."""
        if time.monotonic() > deadline:
            raise redis.TimeoutError(f"its answers took more than {PATIENCE * self.timeout:g} s")

    @contextmanager
    def _asking(self) -> Iterator[redis.Redis]:
        """A connection for one question. What goes wrong with it is told once, without what was sent."""
        try:
            client = self._client()
            try:
                self._check_is_no_cluster(client)
                yield client
            finally:
                client.close()
        except FAILURES as cause:
            raise failed(self._place, cause, self._secret) from cause

    def _client(self) -> redis.Redis:
        return redis.Redis(
            host=self.host,
            port=self.port,
            db=self.db,
            username=self.username,
            password=self._secret,
            ssl=self.tls,
            ssl_ca_certs=self.ca,
            ssl_cert_reqs="required",
            ssl_check_hostname=True,
            socket_timeout=self.timeout,
            socket_connect_timeout=self.timeout,
            retry=Retry(NoBackoff(), 0),  # who asks decides when to ask again
            protocol=2,
            driver_info=None,  # two questions less for every connection
            single_connection_client=True,
        )

    def _check_is_no_cluster(self, client: redis.Redis) -> None:
        """A node of a cluster lists its own keys only: the others' types would seem not to exist."""
        try:
            about: Any = client.info("cluster")
        except redis.ResponseError:
            return  # not everybody may ask
        if isinstance(about, dict) and about.get("cluster_enabled") == 1:
            raise refused(
                "registry.cluster",
                f"{self._place} is a node of a cluster, which lists only its own keys",
                "keep the types in a Redis that is not a cluster",
            )

    @property
    def _secret(self) -> str | None:
        return self.password.get_secret_value() if self.password else None

    @property
    def _place(self) -> str:
        return f"Redis at {self.host}:{self.port}/{self.db}"

    def _too_many(self) -> PenstockError:
        beginning = f" that begin with '{shown(self.prefix)}'" if self.prefix else ""
        return Transient(
            "registry.too-many-keys",
            f"{self._place} has more than {MAX_KEYS} keys{beginning}",
            "give the types a database of their own, or keys with a prefix",
        )


def _check_key(key: bytes, name: str) -> None:
    if not name:
        raise ValueError("nothing follows the prefix")
    if len(key) > MAX_NAME:
        raise ValueError(f"it is longer than {MAX_NAME} bytes")
    if key.decode("utf-8", "replace").encode() != key:
        raise ValueError("it is not UTF-8")


def _is_unicode(text: str) -> bool:
    return not re.search("[\ud800-\udfff]", text)


def _is_free(client: redis.Redis, key: bytes) -> bool:
    return client.type(key) in (b"none", b"string")


def _of_other_use(type: str) -> ValueError:
    return ValueError(f"the key of '{shown(type)}' holds something that is not a string: it is left alone")
