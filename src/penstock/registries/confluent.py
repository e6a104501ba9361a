"""A schema registry that speaks Confluent's REST interface: Confluent's own, Apicurio, Karapace, Redpanda."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Self, TypeVar
from urllib.parse import quote

from pydantic import AfterValidator, Field, SecretStr, model_validator

from penstock.declared import Declared
from penstock.errors import PenstockError, Transient, shown
from penstock.quantities import Duration
from penstock.registries import Registered, UnknownSchema
from penstock.registries.answers import (
    Needed,
    Odd,
    Reference,
    Stored,
    content,
    names,
    number,
    numbers,
    obstacles,
    stored,
    subjects_in,
)
from penstock.registries.http import Access, Answer, Trust, ask, basic, garbage
from penstock.registries.policy import Endpoint, credentials, endpoint, without_credentials

MAX_URLS = 10
_UNKNOWN = (40401, 40402, 40403)  # no such subject, no such version, no such schema

T = TypeVar("T")


def _urls(given: str | tuple[str, ...]) -> str | tuple[str, ...]:
    urls = (given,) if isinstance(given, str) else given
    if not 1 <= len(urls) <= MAX_URLS:
        raise ValueError(f"must be one URL, or up to {MAX_URLS} of the same registry")
    for url in urls:
        endpoint(url)
    return given


def _proxy(given: SecretStr) -> SecretStr:
    if endpoint(given.get_secret_value()).scheme != "http":
        raise ValueError("must be a URL that begins with http://; what passes through to https:// stays encrypted")
    return given


def _token(given: SecretStr) -> SecretStr:
    text = given.get_secret_value()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("must be a token of plain characters, without blanks and line breaks")
    return given


class ConfluentRegistry(Declared):
    """A registry that gives out schemas by the id that every message begins with."""

    url: Annotated[str | tuple[str, ...], AfterValidator(_urls)]
    """Where the registry is, `http://` or `https://`; several URLs of one registry are tried in order."""
    username: str | None = None
    """The user, for basic authentication. May also be in the URL."""
    password: SecretStr | None = None
    """The user's password."""
    token: Annotated[SecretStr, AfterValidator(_token)] | None = None
    """A bearer token, instead of a user."""
    ca: str | None = None
    """A file with the certificates of authorities to trust, instead of the system's."""
    certificate: str | None = None
    """A file with the certificate to show."""
    key: str | None = None
    """A file with the certificate's key, if it is not in the same file."""
    proxy: Annotated[SecretStr, AfterValidator(_proxy)] | None = None
    """The proxy to go through, `http://`; it may hold a user and a password."""
    timeout: Annotated[Duration, Field(gt=0, le=300)] = 10.0
    """How long one question may take."""
    grace: Annotated[Duration, Field(ge=0, le=86_400)] = 60.0
    """How long an id may be unknown to the registry before its messages are dead letters. Until then penstock waits."""
    private: bool = True
    """Whether the registry may be on this machine or in a private network."""

    @model_validator(mode="before")
    @classmethod
    def _user_of_the_url(cls, given: Any) -> Any:
        """A user in the URL is moved out of it, so that the URL can be shown."""
        urls = given.get("url") if isinstance(given, dict) else None
        listed = (urls,) if isinstance(urls, str) else urls
        if not isinstance(listed, list | tuple) or not all(isinstance(url, str) for url in listed):
            return given
        for url in listed:
            endpoint(url)
        plain = tuple(map(without_credentials, listed))
        given = given | {"url": plain[0] if isinstance(urls, str) else plain}
        users = {user for user in map(credentials, listed) if user is not None}
        if not users:
            return given
        if len(users) > 1 or given.get("username") is not None or given.get("password") is not None:
            raise ValueError("has more than one user: give it once, in the URL or as username and password")
        username, password = users.pop()
        return given | {"username": username, "password": SecretStr(password)}

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        if self.token is not None and self.username is not None:
            raise ValueError("has a token and a username: only one of them can be sent")
        if self.password is not None and self.username is None:
            raise ValueError("has a password without a username")
        if self.key is not None and self.certificate is None:
            raise ValueError("has a key without a certificate")
        return self

    @property
    def folder(self) -> str:
        """Told from the URLs alone: other credentials see the same registry."""
        places = sorted(map(str, self._places()))
        return hashlib.sha256("\n".join(["confluent", *places]).encode()).hexdigest()[:16]

    # --- what readers of messages ask

    def look_up(self, id: int) -> Registered:
        """The schema with an id, and all that it refers to."""

        def read(answer: Answer) -> Stored:
            if answer.status == 404 and answer.error_code in _UNKNOWN:
                raise UnknownSchema(f"the registry has no schema with id {id}")
            return stored(answer, id=id)

        schema = self._ask(f"/schemas/ids/{id}", read)
        needed = Needed(self.version)
        needed.collect(schema)
        return Registered(id, schema.kind, schema.text, tuple(needed.texts.items()), self._subjects_of(id))

    def version(self, reference: Reference) -> Stored:
        """One version of a subject, even if it was deleted since: messages that need it were written before. Raises
        `UnknownSchema` if there is none."""

        def read(answer: Answer) -> Stored:
            if answer.status == 404 and answer.error_code in _UNKNOWN:
                raise UnknownSchema(f"the registry has no {reference}, which the schema refers to")
            return stored(answer, subject=reference.subject, version=reference.version)

        return self._ask(f"{_under(reference.subject)}/versions/{reference.version}?deleted=true", read)

    def _subjects_of(self, id: int) -> tuple[str, ...]:
        def read(answer: Answer) -> list[str]:
            return [] if answer.status == 404 else subjects_in(answer)  # deleted since, or not told

        return tuple(sorted(set(self._ask(f"/schemas/ids/{id}/versions", read))))

    # --- what people ask

    def subjects(self) -> list[str]:
        """The names of all subjects, in order."""
        return sorted(self._ask("/subjects", names))

    def versions(self, subject: str) -> list[int]:
        """The versions that a subject has, in order."""
        return sorted(self._ask(f"{_under(subject)}/versions", _of(subject, numbers)))

    def latest(self, subject: str) -> Stored:
        """The newest version of a subject."""
        read = _of(subject, lambda answer: stored(answer, subject=subject))
        return self._ask(f"{_under(subject)}/versions/latest", read)

    def register(self, subject: str, kind: str, text: str, references: Sequence[Reference] = ()) -> int:
        """The id of a schema under a subject. One that is there already keeps the id that it has."""

        def read(answer: Answer) -> int:
            if answer.status in (409, 422):
                why = "does not fit the versions before it" if answer.status == 409 else "is not valid"
                raise PenstockError(
                    "registry.refused",
                    f"the registry refuses the schema for '{shown(subject)}', which {why}: {answer.message}",
                    "change the schema, or the compatibility that the subject asks for",
                )
            return number(content(answer)["id"])

        return self._ask(f"{_under(subject)}/versions", read, _sent(kind, text, references))

    def compatibility(self, subject: str, kind: str, text: str, references: Sequence[Reference] = ()) -> list[str]:
        """Why a schema cannot be the next version of a subject; nothing if it can."""

        def read(answer: Answer) -> list[str]:
            if answer.status == 404 and answer.error_code in _UNKNOWN:
                return []
            if answer.status == 422:
                return [answer.message or "it is not valid"]
            return obstacles(answer)

        path = f"/compatibility{_under(subject)}/versions/latest?verbose=true"
        return self._ask(path, read, _sent(kind, text, references))

    # --- asking

    def _places(self) -> list[Endpoint]:
        return [endpoint(url) for url in ((self.url,) if isinstance(self.url, str) else self.url)]

    def _access(self) -> Access:
        headers = {}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token.get_secret_value()}"
        elif self.username is not None:
            headers["Authorization"] = basic(self.username, self.password.get_secret_value() if self.password else "")
        proxy = self.proxy.get_secret_value() if self.proxy else None
        user = credentials(proxy) if proxy else None
        return Access(
            headers,
            endpoint(proxy) if proxy else None,
            {"Proxy-Authorization": basic(*user)} if user else {},
            Trust(self.ca, self.certificate, self.key),
            self.timeout,
            self.private,
        )

    def _ask(self, path: str, read: Callable[[Answer], T], sent: object = None) -> T:
        """What is read from the first answer that makes sense: of several URLs, one may be of a server that is ill."""
        access = self._access()
        failed: Transient | None = None
        for place in self._places():
            try:
                return read(ask(place, path, access, sent))
            except Transient as cause:
                failed = failed or cause
            except (ValueError, KeyError, TypeError) as cause:
                failed = failed or garbage(place, str(cause) if isinstance(cause, Odd) else "fields are missing or odd")
        assert failed is not None
        raise failed


def _under(subject: str) -> str:
    return f"/subjects/{quote(subject, safe='')}"


def _of(subject: str, read: Callable[[Answer], T]) -> Callable[[Answer], T]:
    """Reads what is about a subject that people named, and may have misspelled."""

    def found(answer: Answer) -> T:
        if answer.status == 404 and answer.error_code in _UNKNOWN:
            raise PenstockError(
                "registry.no-subject",
                f"the registry has no subject '{shown(subject)}'",
                "`penstock schemas list` lists those that it has",
            )
        return read(answer)

    return found


def _sent(kind: str, text: str, references: Sequence[Reference]) -> dict[str, object]:
    listed = [{"name": r.name, "subject": r.subject, "version": r.version} for r in references]
    # Older registries know no other kind than Avro, and refuse to be told of it.
    return (
        {"schema": text} | ({} if kind == "AVRO" else {"schemaType": kind}) | ({"references": listed} if listed else {})
    )
