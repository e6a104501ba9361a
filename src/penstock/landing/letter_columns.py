"""Columns that a pipeline adds to its dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Any

from penstock.contracts import Shape
from penstock.messages import DEAD_LETTERS
from penstock.schema import JSON, NOTHING, STRING, Field, Scalar, Schema, Struct
from penstock.transforms.reference import apply
from penstock.transforms.rules import Rules, rules
from penstock.values.fit import fit
from penstock.values.plain import Number, Refusal, infer

_EXAMPLE = {
    **{field.name: "" for field in DEAD_LETTERS if field.type == STRING},
    **{name: Number("1700000000000000") for name in ("timestamp", "message_timestamp", "position")},
    "date": "2023-11-14",
}


def letter_schema(transforms: Mapping[str, str]) -> Schema:
    """The columns of dead letters with those that transforms add. What an added one holds is told by an
    example, since there may be no letter for a long time."""
    added = [name for name in transforms if name not in DEAD_LETTERS]
    kinds = (_kind(_changed(rules({name: transforms[name]}), name, _EXAMPLE)) for name in added)
    return Struct((*DEAD_LETTERS, *map(Field, added, kinds)))


def _kind(value: Any) -> Scalar:
    kind = infer(value)
    return JSON if not isinstance(kind, Scalar) else STRING if kind == NOTHING else kind


class LetterColumns:
    """What is added to each letter. A letter is never lost over it: what fails is null."""

    def __init__(self, transforms: Mapping[str, str], schema: Schema) -> None:
        self._each = [(rules({name: source}), _shape(schema, name)) for name, source in transforms.items()]

    def added(self, letter: dict[str, object]) -> dict[str, object]:
        if not self._each:
            return letter
        plain, more = _plain(letter), {}
        for rule, shape in self._each:
            (name,) = [field.name for field in shape.schema]
            found = _fitted(_changed(rule, name, plain), name, shape)
            if found is not None or name not in DEAD_LETTERS:
                more[name] = found
        return letter | more


def _shape(schema: Schema, name: str) -> Shape:
    """One column, which may be null while it is made."""
    field = schema.get(name)
    assert field is not None
    return Shape(Struct((Field(name, field.type),)), coerce=True)


def _changed(rule: Rules, name: str, plain: dict[str, Any]) -> Any:
    with suppress(Refusal):
        return apply(rule, plain, None).get(name)
    return None


def _fitted(value: Any, name: str, shape: Shape) -> object:
    with suppress(Refusal):
        return fit({name: value}, shape)[name]
    return None


def _plain(letter: Mapping[str, object]) -> dict[str, Any]:
    numbers = {name: Number(str(value)) for name, value in letter.items() if isinstance(value, int)}
    days = numbers.pop("date", None)
    day = date.fromordinal(date(1970, 1, 1).toordinal() + int(days)).isoformat() if days else None
    return {**letter, **numbers, "date": day}
