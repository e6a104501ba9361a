"""The fingerprint by which single-object encoding names a schema."""

from __future__ import annotations

from functools import cache

from penstock.formats.avro.model import AvroType, Entries, Enum, Fixed, Items, Named, Primitive, Record

_EMPTY = 0xC15D213AA4D7A795


def fingerprint(type: AvroType) -> int:
    """CRC-64-AVRO of the schema's parsing canonical form."""
    table, found = _table(), _EMPTY
    for part in canonical(type).encode():
        found = (found >> 8) ^ table[(found ^ part) & 0xFF]
    return found


def canonical(type: AvroType) -> str:
    """The parsing canonical form: a schema as text without anything that does not matter to how values are encoded."""
    return _canonical(type, set())


@cache
def _table() -> list[int]:
    found = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (_EMPTY & -(number & 1))
        found.append(number)
    return found


def _canonical(type: AvroType, defined: set[str]) -> str:
    if isinstance(type, Primitive):
        return f'"{type.name}"'
    if isinstance(type, Items):
        return f'{{"type":"array","items":{_canonical(type.of, defined)}}}'
    if isinstance(type, Entries):
        return f'{{"type":"map","values":{_canonical(type.of, defined)}}}'
    if isinstance(type, Named):
        return _named(type, defined)
    return f"[{','.join(_canonical(branch, defined) for branch in type.branches)}]"


def _named(type: Named, defined: set[str]) -> str:
    if type.name in defined:
        return f'"{type.name}"'
    defined.add(type.name)
    if isinstance(type, Fixed):
        return f'{{"name":"{type.name}","type":"fixed","size":{type.size}}}'
    if isinstance(type, Enum):
        symbols = ",".join(f'"{symbol}"' for symbol in type.symbols)
        return f'{{"name":"{type.name}","type":"enum","symbols":[{symbols}]}}'
    assert isinstance(type, Record)
    fields = ",".join(f'{{"name":"{f.name}","type":{_canonical(f.type, defined)}}}' for f in type.fields)
    return f'{{"name":"{type.name}","type":"record","fields":[{fields}]}}'
