"""What `$ref` leads to: inside the document that says it, or in one of those that the registry gave with it.
Nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urljoin

from penstock.registries.documents import is_text

MAX_REFERENCE = 2_000  # characters


class Documents:
    """A schema and those it may refer to, by their names and by their ids."""

    def __init__(self, document: Any, references: Mapping[str, Any]) -> None:
        self._roots: dict[str, Any] = {"": document}
        for name, each in [("", document), *references.items()]:
            for address, inner in _addressed(each, ""):
                self._roots.setdefault(address, inner)
            self._roots.setdefault(name.removesuffix("#"), each)
        self._anchors: dict[int, dict[str, Any]] = {}

    def find(self, reference: Any, base: Any) -> tuple[Any, Any] | None:
        """What a reference in a document `base` leads to, and the document that is in; None if it leads nowhere."""
        if not is_text(reference) or len(reference) > MAX_REFERENCE:
            return None
        address, _, fragment = reference.partition("#")
        root = base if not address else self._root(address, base)
        found = None if root is None else self._within(root, fragment)
        return None if found is None else (found, root)

    def _root(self, address: str, base: Any) -> Any:
        for candidate in (address, _joined(_id(base), address)):
            if candidate in self._roots:
                return self._roots[candidate]
        return None

    def _within(self, root: Any, fragment: str) -> Any:
        """What a fragment names: nothing is the whole, /a/b a path, and anything else an anchor."""
        if not fragment:
            return root
        if not fragment.startswith("/"):
            return self._anchored(root).get(fragment)
        found = root
        for step in fragment[1:].split("/"):
            found = _step(found, unquote(step).replace("~1", "/").replace("~0", "~"))
        return found

    def _anchored(self, root: Any) -> dict[str, Any]:
        if id(root) not in self._anchors:
            self._anchors[id(root)] = {name: inner for inner in _parts(root) for name in _names(inner)}
        return self._anchors[id(root)]


def _names(schema: Any) -> Iterator[str]:
    """`$anchor`, and what did its work before draft 2019-09: an id that is a fragment."""
    if isinstance(schema, dict):
        given = (schema.get("$anchor"), schema.get("$id"), schema.get("id"))
        yield from (name.removeprefix("#") for name in given if is_text(name))


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address).partition("#")[0]
    except ValueError:  # brackets that are no IPv6 address
        return address


def _id(document: Any) -> str:
    """What a document calls itself: `$id`, or `id` before draft 6."""
    if not isinstance(document, dict):
        return ""
    given = document.get("$id", document.get("id"))
    return given.partition("#")[0] if is_text(given) and len(given) <= MAX_REFERENCE else ""


def _parts(document: Any) -> Iterator[Any]:
    """The definitions of a document: the only schemas inside of it that may have an id of their own."""
    for word in ("definitions", "$defs"):
        inner = document.get(word) if isinstance(document, dict) else None
        yield from inner.values() if isinstance(inner, dict) else ()


def _addressed(document: Any, base: str) -> Iterator[tuple[str, Any]]:
    own = _joined(base, _id(document))
    if _id(document):
        yield own, document
    for inner in _parts(document):
        if _id(inner):
            yield _joined(own, _id(inner)), inner


def _step(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, list) and name.isdecimal() and name.isascii() and len(name) < 7 and int(name) < len(value):
        return value[int(name)]
    return None
