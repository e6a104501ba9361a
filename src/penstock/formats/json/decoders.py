"""Typed decoders for the fast path: msgspec says, exactly and per message, which are clean.

The decoded objects are thrown away; that decoding succeeded is the proof. A type's decoder knows
its columns and their kinds and refuses everything else, so what it lets through, the columnar
parser (which is far more lenient) can be trusted with.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Annotated, Any, cast

import msgspec

from penstock.contracts import Shape
from penstock.schema import NOTHING, Array, Field, Scalar, Struct, Type

Decode = Callable[[bytes], object]

_UNSPEAKABLE = re.compile(r'["\\\x00-\x1f]')  # names with these are none to msgspec
_EXACT = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]


def _whole(bits: int) -> Any:
    return Annotated[int, msgspec.Meta(ge=-(2 ** (bits - 1)), le=2 ** (bits - 1) - 1)]


_SCALARS: dict[str, Any] = {
    "string": str,
    "json": str,  # other kinds than strings become text one message at a time
    "boolean": bool,
    "byte": _whole(8),
    "short": _whole(16),
    "int": _whole(32),
    "long": _whole(64),
    # An integer that a double cannot hold exactly is not clean.
    "double": _EXACT | float,
    "date": datetime.date,
    "timestamp": Annotated[datetime.datetime, msgspec.Meta(tz=True)],
    "nothing": None,
}


class Declines(Exception):
    """A column that the columnar parser reads differently from the reference path, or that msgspec cannot name."""


@dataclass(frozen=True)
class Strictness:
    """How a struct treats keys that are not its columns."""

    forbid_unknown: bool = True
    nulls: frozenset[tuple[str, ...]] = frozenset()  # paths that only ever held null: no column, no harm
    hollow: bool = False  # neither is an empty object


_HOLLOW = msgspec.defstruct("Hollow", [], forbid_unknown_fields=True) | None


def _typed(kind: Type, how: Strictness, path: tuple[str, ...]) -> Any:
    if kind == NOTHING and how.hollow:
        return _HOLLOW
    if isinstance(kind, Scalar) and kind.name in _SCALARS:
        return _SCALARS[kind.name]
    if isinstance(kind, Array):
        return list[_nullable(_typed(kind.of, how, (*path, "[]")))]  # type: ignore[misc]
    if isinstance(kind, Struct):
        return _struct(kind, how, path)
    raise Declines(str(kind))


def _nullable(kind: Any) -> Any:
    return kind | None if kind is not None else None


def _struct(kind: Struct, how: Strictness, path: tuple[str, ...], **tag: str) -> type[msgspec.Struct]:
    found: list[Field] = [f for f in kind if f.name != tag.get("tag_field") and _is_told(f, how)]
    known = {f.name for f in kind}
    nulls = [Field(p[-1], NOTHING) for p in how.nulls if p[:-1] == path and p[-1] not in known]
    found += [f for f in nulls if _is_told(f, how)]
    attributes: list[Any] = []
    for at, column in enumerate(found):
        inner = _typed(column.type, how, (*path, column.name))
        attributes.append((f"f{at}", inner) if column.required else (f"f{at}", _nullable(inner), None))
    attributes.sort(key=len)  # what has no default comes first
    return msgspec.defstruct(
        "Row",
        attributes,
        rename={f"f{at}": column.name for at, column in enumerate(found)},
        forbid_unknown_fields=how.forbid_unknown,
        gc=False,
        **cast(Any, tag),
    )


def _is_told(column: Field, how: Strictness) -> bool:
    """Has the decoder a field for this column? Without one, the column's key is an unknown key, and
    the few messages that have it are in doubt; but nobody would miss it, and nobody else look at it."""
    if not _UNSPEAKABLE.search(column.name):
        return True
    if column.required or not how.forbid_unknown:
        raise Declines(column.name)
    return False


def _strictness(shape: Shape, nulls: frozenset[tuple[str, ...]]) -> Strictness:
    return Strictness(shape.evolve != "ignore", nulls, shape.evolve == "add")


def decoder(shape: Shape, nulls: frozenset[tuple[str, ...]]) -> Decode:
    """A decoder that accepts exactly the messages of one type that are rows as they are."""
    return msgspec.json.Decoder(_struct(shape.schema, _strictness(shape, nulls), ())).decode


def inference_decoder(seen: Struct) -> Decode:
    """A decoder that accepts messages which hold nothing that `seen` does not tell already."""
    try:
        return msgspec.json.Decoder(_struct(seen, Strictness(), ())).decode
    except Declines:
        return _nothing


def _nothing(_: bytes) -> object:
    raise Declines("every message is looked at")


object_decoder: Decode = msgspec.json.Decoder(msgspec.defstruct("Object", [])).decode
"""A decoder that only asks whether a message is one object; see `path_decoder` for what it does not see."""


def path_decoder(path: str) -> Decode:
    """A decoder of nothing but the type, at a dotted path. The rest of a message is skipped:
    it is well-formed then, but may be nested too deep or not be UTF-8."""
    if _UNSPEAKABLE.search(path):
        raise Declines(path)
    inner: Any = str
    for name in reversed(path.split(".")):
        inner = msgspec.defstruct("At", [("name", inner)], rename={"name": name}, gc=False)
    return msgspec.json.Decoder(inner).decode


@dataclass
class Union:
    """One decoder for all types that a field names: decoding tells the type and proves the row
    in a single call. Types without a table yet, and types nobody wants, have a place in it too,
    so that they cost no more than the others."""

    decode: Decode
    meaning: Mapping[type, object] = field(default_factory=dict)


def _bare(tag_field: str, tag: str) -> type[msgspec.Struct]:
    return msgspec.defstruct("Bare", [], tag_field=tag_field, tag=tag, gc=False)


def union(
    tag_field: str, rows: Mapping[str, tuple[Shape, frozenset[tuple[str, ...]]]], bare: Mapping[str, object]
) -> Union:
    """`rows` are types with columns; `bare` are names that only need to be recognised.
    A name that nobody has is added: decoding into a single type, msgspec does not miss its tag."""
    members: dict[type, object] = {}
    for name, (shape, nulls) in rows.items():
        members[_struct(shape.schema, _strictness(shape, nulls), (), tag_field=tag_field, tag=name)] = name
    for name, meaning in bare.items():
        members[_bare(tag_field, name)] = meaning
    nobody = max((*rows, *bare), key=len, default="") + "."
    everything: Any = reduce(or_, members, _bare(tag_field, nobody))
    return Union(msgspec.json.Decoder(everything).decode, members)
