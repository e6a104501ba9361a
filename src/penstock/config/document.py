"""YAML as penstock reads it: plain data with line numbers, and nothing that could surprise.

Duplicate keys, tags, and documents that unfold into far more than they seem are refused. Only
`true` and `false` are booleans: `no` and `on` are words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from penstock.errors import Complaint, ConfigError

MAX_BYTES, MAX_NODES, MAX_DEPTH = 1_000_000, 20_000, 50

Location = tuple[str | int, ...]


class _Resolver(yaml.resolver.BaseResolver):
    """The core rules of YAML 1.2, which hold fewer surprises than those of 1.1."""


for _tag, _pattern, _first in (
    ("null", r"(?:~|null|)$", ["~", "n", ""]),
    ("bool", r"(?:true|false)$", ["t", "f"]),
    ("int", r"[-+]?[0-9]+$", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", list("-+.0123456789")),
):
    _Resolver.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first)


class _Loader(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser, yaml.composer.Composer, _Resolver):
    def __init__(self, text: str, name: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)
        yaml.composer.Composer.__init__(self)
        _Resolver.__init__(self)
        self.document, self.depth = name, 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Stop before deep nesting exhausts the interpreter's stack: composing calls itself."""
        self.depth += 1
        if self.depth > MAX_DEPTH + 1:
            raise _too_large(self.document, self.line + 1)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


@dataclass
class Document:
    """What a file says, and on which line it says it."""

    name: str
    content: Any = None
    lines: dict[Location, int] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)

    def where(self, location: Location) -> str:
        """The place of a value; of the nearest one around it if it is not there itself."""
        while location and location not in self.lines:
            location = location[:-1]
        line = self.lines.get(location)
        return f"{self.name}:{line}" if line else self.name

    def called(self, location: Location) -> str:
        """The name of a setting in a sentence about it."""
        return ".".join(str(step) for step in location)


def read(path: Path) -> Document:
    """The content of a YAML file. Raises ConfigError if it cannot be had at all."""
    document = Document(path.name)
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8")
    except OSError as cause:
        raise _hopeless(str(path), f"cannot be read: {cause.strerror}", "config.unreadable") from None
    except UnicodeDecodeError:
        raise _hopeless(document.name, "is not UTF-8 text", "config.unreadable") from None
    if len(raw) > MAX_BYTES:
        raise _hopeless(document.name, f"is larger than {MAX_BYTES:,} bytes", "config.too-large")
    try:
        loader = _Loader(text, document.name)
        node = loader.get_single_node()
    except yaml.YAMLError as cause:
        mark = getattr(cause, "problem_mark", None)
        place = f"{document.name}:{mark.line + 1}" if mark else document.name
        raise _hopeless(place, f"is not YAML: {getattr(cause, 'problem', None) or cause}", "config.not-yaml") from None
    document.content = _Walk(document).value(node, (), 0) if node is not None else {}
    return document


def _hopeless(where: str, what: str, code: str) -> ConfigError:
    return ConfigError([Complaint(where, what, code=code)])


def _too_large(name: str, line: int) -> ConfigError:
    return _hopeless(f"{name}:{line}", "unfolds into more than any pipeline needs", "config.too-large")


class _Walk:
    """From nodes to data, counting what aliases unfold into."""

    def __init__(self, document: Document) -> None:
        self.document, self.nodes = document, 0

    def value(self, node: yaml.Node, at: Location, depth: int) -> Any:
        line = node.start_mark.line + 1
        self.document.lines.setdefault(at, line)
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            raise _too_large(self.document.name, line)
        if not node.tag.startswith("tag:yaml.org,2002:") or _is_tagged(node):
            self._complain(at, f"the tag {node.tag} has no place here", "config.tag")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, at, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(inner, (*at, i), depth + 1) for i, inner in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return _scalar(node)

    def _mapping(self, node: yaml.MappingNode, at: Location, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, inner in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is None:
                self._complain(at, "a key must be a word", "config.key")
                continue
            here = (*at, name)
            if name in found:
                self.document.lines[here] = key.start_mark.line + 1
                self._complain(here, f"'{name}' is set twice", "config.duplicate-key")
                continue
            self.document.lines[here] = key.start_mark.line + 1
            found[name] = self.value(inner, here, depth + 1)
        return found

    def _complain(self, at: Location, what: str, code: str) -> None:
        self.document.complaints.append(Complaint(self.document.where(at), what, code=code))


def _is_tagged(node: yaml.Node) -> bool:
    """Collections have exactly one tag; scalars those that the resolver gives."""
    kinds: tuple[str, ...] = ("null", "bool", "int", "float", "str")
    if isinstance(node, yaml.CollectionNode):
        kinds = ("map",) if isinstance(node, yaml.MappingNode) else ("seq",)
    return node.tag.removeprefix("tag:yaml.org,2002:") not in kinds


def _scalar(node: yaml.ScalarNode) -> Any:
    match node.tag.removeprefix("tag:yaml.org,2002:"):
        case "null":
            return None
        case "bool":
            return node.value == "true"
        case "int":
            return int(node.value) if len(node.value) < 30 else node.value
        case "float":
            return float(node.value)
    return node.value
