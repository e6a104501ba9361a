"""Messages that begin with the id of their schema, which a registry knows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from penstock.contracts import Home
from penstock.declared import Declared
from penstock.formats.decoding import Decoder, Framed, headed
from penstock.messages import Messages
from penstock.registries import Registered
from penstock.registries.confluent import ConfluentRegistry
from penstock.registries.shelf import Shelf
from penstock.values.plain import Refusal

MAX_DECODERS = 100
_decoders: OrderedDict[Hashable, Decoder] = OrderedDict()
"""Decoders that this process has made: a worker that is used again keeps them."""


def kept(key: Any, make: Callable[[], Decoder]) -> Decoder:
    """The decoder that was made for this key before, or a new one. What cannot be made is refused."""
    if key not in _decoders:
        try:
            _decoders[key] = make()
        except ValueError as why:
            raise Refusal("parse", "schema.unusable", f"the message's schema cannot be used: {why}") from None
        except RecursionError:
            raise Refusal("parse", "schema.unusable", "the message's schema is nested too deep") from None
        while len(_decoders) > MAX_DECODERS:
            _decoders.popitem(last=False)
    _decoders.move_to_end(key)
    return _decoders[key]


def unknown_fields() -> int:
    """How many fields this process has met, in messages that became rows, that their schemas do not have."""
    return sum(getattr(decoder, "unknown_fields", 0) for decoder in _decoders.values())


def settings(format: Declared) -> str:
    """All that a format says of how messages are decoded."""
    return format.model_dump_json(exclude={"registry"})


class RegisteredSchemas:
    """The schemas that messages of a registry were written with, by the ids that they begin with."""

    def __init__(self, kind: str, registry: ConfluentRegistry, home: Home | None) -> None:
        assert home is not None, "schemas are kept in the app's own area"
        self.kind, self.registry = kind, registry
        self._shelf = Shelf(home.location, home.options, registry.grace if home.grace is None else home.grace)
        self._topic = ""
        self._found: dict[int, Registered | Refusal] = {}

    def framed(self, messages: Messages) -> Framed:
        framed, self._topic = headed(messages), messages.source
        new = [key for key in framed.keys if key not in self._found]
        self._found |= self._shelf.find_all(self.registry, new)
        return framed

    def schema(self, id: int) -> Registered:
        """Raises `Refusal` if there is none, or none of this kind."""
        found = self._found[id]
        if isinstance(found, Refusal):
            raise found
        if found.kind != self.kind:
            text = f"schema id {found.id} is a schema of {found.kind}, and the pipeline's format is {self.kind}"
            raise Refusal("parse", "schema.kind", text)
        return found

    def part(self, id: int, name: str) -> str:
        """The `subject` or the id of the `schema`."""
        schema = self.schema(id)
        return str(schema.id) if name == "schema" else subject(schema, self._topic)


class RegistryFraming:
    """How messages of a registry say which schema they were written with, where that is all they say."""

    def __init__(self, schemas: RegisteredSchemas, make: Callable[[Registered], Decoder], settings: str = "") -> None:
        """`settings` is all that decides, beside the schema, how messages are decoded."""
        self._schemas, self._make, self._settings = schemas, make, settings

    def framed(self, messages: Messages) -> Framed:
        return self._schemas.framed(messages)

    def decoder(self, key: Any) -> Decoder:
        schema = self._schemas.schema(key)
        folder = self._schemas.registry.folder
        return kept((self._schemas.kind, folder, key, self._settings), lambda: self._make(schema))

    def part(self, key: Any, name: str) -> str:
        return self.decoder(key).record if name == "record" else self._schemas.part(key, name)


def subject(schema: Registered, topic: str) -> str:
    """The subject of a schema. Of several, the one that is named for the topic, else the first."""
    if not schema.subjects:
        text = f"the registry does not say which subject schema id {schema.id} belongs to"
        raise Refusal("identify", "type.missing", text)
    own = [name for name in schema.subjects if name == topic or name.startswith(f"{topic}-")]
    return (own or list(schema.subjects))[0]
