"""Which type each message is, and whether it is a row of it as it stands: the fast path's loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.contracts import Shape, Shapes
from penstock.formats.json.decoders import Declines, Decode, Union, decoder, object_decoder, path_decoder, union
from penstock.schema import JSON, STRING, Array, Struct, Type
from penstock.values.fit import is_hollow

FILTERED, DOUBT = -1, -2
MAX_LEARNED = 1_000

Paths = frozenset[tuple[str, ...]]


class Classifier:
    """Codes for messages: even numbers are rows of a type, odd ones messages that wait for it."""

    def __init__(self, shapes: Shapes, *, strict_keys: bool) -> None:
        self._shapes, self._blind = shapes, strict_keys
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._bare: dict[str, int] = {}  # names that only need to be recognised → their code
        self._nulls: dict[str, Paths] = {}
        self._new_types = 0
        for name in shapes.types:
            self._number(name)
        self._stale = True
        self._loop: Callable[[list[bytes], Sequence[str] | None], list[int]] = self._all_in_doubt
        self.refresh()

    # --- codes

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self._names)
            self._names.append(name)
        return self._numbers[name]

    def meaning(self, code: int) -> tuple[str, bool]:
        """The type behind a code, and whether the message waits for columns."""
        return self._names[code // 2], code % 2 == 1

    def waiting(self, name: str) -> int:
        return 2 * self._number(name) + 1

    def unproven(self, codes: np.ndarray) -> np.ndarray:
        """Messages of which decoding skipped a part: types without a table, and types that ignore fields."""
        loose = [2 * self._numbers[name] for name, shape in self._shapes.types.items() if shape.evolve == "ignore"]
        found: np.ndarray = np.isin(codes, [*self._bare.values(), *loose])
        return found

    # --- what messages teach

    def learn_filtered(self, name: str) -> None:
        self._learn_bare(name, FILTERED)

    def learn_waiting(self, name: str) -> int | None:
        """A type that has no table yet; None if there is no room for another."""
        if name not in self._numbers:
            if self._new_types >= self._shapes.room:
                return None
            self._new_types += 1
        code = self.waiting(name)
        self._learn_bare(name, code)
        return code

    def _learn_bare(self, name: str, code: int) -> None:
        if name not in self._bare and len(self._bare) < MAX_LEARNED:
            self._bare[name] = code
            self._stale = True

    def learn_nulls(self, name: str, message: Mapping[str, Any]) -> None:
        """Fields that hold nothing and have no column are no reason to leave the fast path."""
        have = self._nulls.get(name, frozenset())
        found = have | frozenset(_empty_paths(message, self._shapes.types[name].schema, ()))
        if found != have and len(found) <= MAX_LEARNED:
            self._nulls[name] = found
            self._stale = True

    # --- the loop

    def codes(self, values: list[bytes], types: Sequence[str] | None) -> list[int]:
        return self._loop(values, types)

    def refresh(self) -> None:
        """Make the decoders anew if anything was learned since."""
        if not self._stale:
            return
        self._stale = False
        if self._blind:
            return
        field = self._shapes.field
        try:
            if field and "." not in field:
                self._loop = self._by_union(field)
            else:
                self._loop = self._by_type(path_decoder(field) if field else None, field)
        except Declines:
            self._loop = self._all_in_doubt

    def _all_in_doubt(self, values: list[bytes], _: Sequence[str] | None) -> list[int]:
        return [DOUBT] * len(values)

    def _by_union(self, field: str) -> Callable[[list[bytes], Sequence[str] | None], list[int]]:
        """The type is a top-level field: one call per message tells the type and proves the row."""
        rows = {
            n: (s, self._nulls.get(n, frozenset()))
            for n, s in self._shapes.types.items()
            if _is_tag(s, field) and _is_fast(s)
        }
        bare = {name: code for name, code in self._bare.items() if name not in rows}
        if not rows and not bare:
            return self._all_in_doubt
        found: Union = union(field, rows, bare)
        code = {kind: 2 * self._number(m) if isinstance(m, str) else m for kind, m in found.meaning.items()}
        decode = found.decode

        def loop(values: list[bytes], _: Sequence[str] | None) -> list[int]:
            codes: list[int] = []
            add = codes.append
            for value in values:
                try:
                    add(code[type(decode(value))])  # type: ignore[arg-type]
                except Exception:  # malformed, misfit, unknown: the reference path says which
                    add(DOUBT)
            return codes

        return loop

    def _by_type(
        self, find: Decode | None, field: str | None
    ) -> Callable[[list[bytes], Sequence[str] | None], list[int]]:
        """The type is known before, or deep inside: find it, then prove the row."""
        bare = object_decoder if find is None else None
        proofs: dict[str, tuple[Decode | None, int]] = {
            name: (None if code == FILTERED else bare, code) for name, code in self._bare.items()
        }
        for name, shape in self._shapes.types.items():
            if _is_fast(shape):
                proofs[name] = decoder(shape, self._nulls.get(name, frozenset())), 2 * self._number(name)
        depth = len(field.split(".")) if field else 0

        def loop(values: list[bytes], types: Sequence[str] | None) -> list[int]:
            codes: list[int] = []
            for at, value in enumerate(values):
                try:
                    prove, code = proofs[types[at] if types is not None else _reach(find(value), depth)]  # type: ignore[misc]
                    if prove is not None:
                        prove(value)
                    codes.append(code)
                except Exception:
                    codes.append(DOUBT)
            return codes

        return loop


def _reach(found: Any, depth: int) -> str:
    for _ in range(depth):
        found = found.name
    return str(found)


def _is_tag(shape: Shape, field: str) -> bool:
    """Is the type's field a column that takes it as it is? To a table without it, it is a key like any other."""
    column = shape.schema.get(field)
    return column.type in (STRING, JSON) if column else shape.evolve == "ignore"


def _is_fast(shape: Shape) -> bool:
    try:
        decoder(shape, frozenset())
    except Declines:
        return False
    return True


def _empty_paths(value: Mapping[str, Any], columns: Struct, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, inner in value.items():
        column = columns.get(name)
        if column is None:
            if is_hollow(inner):
                found.append((*path, name))
        else:
            found += _inside(inner, column.type, (*path, name))
    return found


def _inside(value: Any, kind: Type, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    if isinstance(kind, Struct) and isinstance(value, dict):
        return _empty_paths(value, kind, path)
    if isinstance(kind, Array) and isinstance(value, list):
        return [found for element in value for found in _inside(element, kind.of, (*path, "[]"))]
    return []
