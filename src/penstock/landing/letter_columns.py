"""Columns that a pipeline adds to its dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from penstock.contracts import Shape
from penstock.messages import DEAD_LETTERS
from penstock.schema import JSON, STRING, Field, Scalar, Schema, Struct
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
    found, names = rules(transforms), [name for name in transforms if name not in DEAD_LETTERS]
    example = apply(found, _EXAMPLE, None) if names else {}
    return Struct((*DEAD_LETTERS, *(Field(name, _kind(example.get(name))) for name in names)))


def _kind(value: Any) -> Scalar:
    kind = infer(value)
    return JSON if not isinstance(kind, Scalar) else STRING if str(kind) == "nothing" else kind


class LetterColumns:
    """What is added to each letter. A letter is never lost over it: what fails is null."""

    def __init__(self, transforms: Mapping[str, str], schema: Schema) -> None:
        self._rules = [rules({name: source}) for name, source in transforms.items()]
        self._added = [schema.get(name) for name in transforms]

    def add(self, letter: dict[str, object]) -> dict[str, object]:
        plain = _plain(letter)
        for rule, field in zip(self._rules, self._added, strict=True):
            assert field is not None
            found = _value(rule, field, plain)
            if found is not None or field.name not in DEAD_LETTERS:
                letter[field.name] = found
        return letter


def _value(rule: Rules, field: Field, plain: dict[str, Any]) -> object:
    try:
        changed = apply(rule, plain, None)
        return fit({field.name: changed.get(field.name)}, Shape(Struct((Field(field.name, field.type),)), coerce=True))[
            field.name
        ]
    except Refusal:
        return None


def _plain(letter: Mapping[str, object]) -> dict[str, Any]:
    numbers = {name: Number(str(value)) for name, value in letter.items() if isinstance(value, int)}
    days = numbers.pop("date", None)
    day = date.fromordinal(date(1970, 1, 1).toordinal() + int(days)).isoformat() if days else None
    return {**letter, **numbers, "date": day}
