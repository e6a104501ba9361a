"""JSON objects that are no row of their table: by code, by name."""

from __future__ import annotations

from tests.formats.json.payloads import asset, each, order, words

_WRONG: dict[str, list[str]] = {
    "text": words("1 1.5 true {} []"),
    "long": [*words('"7" "" 1.5 1.0 1e2 -1e0 true {} [] [1] {"a":1}')],
    "int": words('"7" 1.5 false'),
    "short": words('"7" 1.5 {}'),
    "byte": words('"7" 1.0 []'),
    "double": words('"1.5" "NaN" true {} [1.5]'),
    "flag": words('"true" "false" 0 1 "" {}'),
    "day": [
        *words(
            '20240101 "2024-02-30" "2023-02-29" "2024-13-01" "2024-1-1" "20240101" "2020-W01-1" "2024-001" "01.02.2024"'
        ),
        *words('"0000-01-01" "10000-01-01" "-001-01-01" "2024-01-01T00:00:00Z" "tomorrow" "" true'),
    ],
    "moment": [
        *words('1700000000 1700000000000 1.7e9 true {} "" "now" "2024-01-01" "12:00:00Z" "2024-01-01T12:00:00"'),
        *words('"2024-02-30T12:00:00Z" "2024-01-01T24:00:00Z" "2024-01-01T12:60:00Z" "2016-12-31T23:59:60Z"'),
        *words('"2024-01-01T12:00Z" "2024-01-01T12:00:00.Z" "2024-01-01T12:00:00+24:00" "2024-01-01T12:00:00+01"'),
        *words('"2024-01-01T12:00:00[UTC]" "20240101T120000Z" "99999-01-01T00:00:00Z" "0000-01-01T00:00:00Z"'),
        *words('"9999-12-31T23:59:59-01:00" "0001-01-01T00:00:00+01:00" "２０２４-01-01T00:00:00Z"'),
    ],
    "tags": words('"a" 1 {} {"0":"a"} [1] [true] [["a"]] [{}] ["a",1]'),
    "place": words('"a" 1 [] [{}] {"city":1} {"zip":"1"} {"geo":1} {"geo":{"lat":"1"}}'),
    "lines": words('"a" {} [1] [[]] [{"sku":1}] [{"qty":"1"}] [{"qty":1},{"qty":1.5}]'),
}
_WRONG_ASSETS: dict[str, list[str]] = {
    "float": words('"1" true []'),
    "clock": words('1 "2024-01-01" "2024-01-01T12:00:00Z" "2024-01-01T12:00:00+01:00" "2024-02-30T12:00:00"'),
    "raw": [*words('1 "=" "YQ" "YQ===" "é" [1]'), '"Y Q="'],
    "price": words('"1.50" true {}'),
    "counts": words('[] "a" {"a":"1"} {"a":1.5} {"a":{}}'),
}
_MISFIT: dict[str, bytes] = {
    **{n: v for column, kinds in _WRONG.items() for n, v in each(column, f'"{column}":?', kinds).items()},
    **{
        f"the {column} {kind}": asset(f'"{column}":{kind}') for column, kinds in _WRONG_ASSETS.items() for kind in kinds
    },
    "no id": b'{"type":"order"}',
    "a null id": b'{"type":"order","id":null}',
    "an id that is null at last": b'{"type":"order","id":1,"id":null}',
    "a text as id": b'{"type":"order","id":"1"}',
    "a misfit that comes last": order('"long":1,"long":"1"'),
}

_LONGS = [str(2**63), str(-(2**63) - 1), str(2**64), "9" * 20, "-" + "9" * 20, str(2**70), "9" * 400, "9" * 5_000]
_RANGES: dict[str, list[str]] = {
    "long": _LONGS,
    "int": [str(2**31), str(-(2**31) - 1), str(2**32), "9" * 30],
    "short": ["32768", "-32769"],
    "byte": ["128", "-129", "255"],
    "double": [*words("1e999 -1e999 1e309 1.8e308 9007199254740993 -9007199254740993"), str(2**63), "9" * 5_000],
    "unheard": [*_LONGS, "1e400", "[1e400]", '{"a":18446744073709551616}'],
}
_RANGE: dict[str, bytes] = {
    **{n: v for column, kinds in _RANGES.items() for n, v in each(column, f'"{column}":?', kinds).items()},
    "a nested long": order('"place":{"zip":9223372036854775808}'),
    "a nested double": order('"place":{"geo":{"lat":1e400}}'),
    "a long in a list": order('"lines":[{"qty":1},{"qty":9223372036854775808}]'),
    **{f"the float {text}": asset(f'"float":{text}') for text in words("1e39 -3.5e38 16777217 1e999")},
    **{
        f"the price {text}": asset(f'"price":{text}')
        for text in [*words("100000000 1.234 0.001 1e10 1e400 -1e8 1e99999999999999999999"), "1." + "0" * 300 + "1"]
    },
    "a count beyond 64 bits": asset('"counts":{"a":9223372036854775808}'),
}

_NAMES = [
    "",
    " ",
    "a b",
    "a,b",
    "a;b",
    "{a",
    "a}",
    "(a",
    "a)",
    "a=b",
    r"a\tb",
    r"a\nb",
    r"\u0000",
    r"a\u0001",
    r"\u007f",
]
_NAMED: dict[str, bytes] = {
    **each("key", '"?":1', _NAMES),
    "a key of 256 letters": order('"' + "k" * 256 + '":1'),
    "a key of 5,000 letters": order('"' + "k" * 5_000 + '":1'),
    "a bad key in a new object": order('"unheard":{"a":{"b c":1}}'),
    "a bad key in a new array": order('"unheard":[{"a":1},{"b c":1}]'),
    "a bad key in a known object": order('"place":{"city name":"a"}'),
    "a bad key in a known array": order('"lines":[{"sku":"a"},{"unit price":1}]'),
}

MISFITS: dict[str, dict[str, bytes]] = {
    "type.missing": {
        "an empty object": b"{}",
        "no type": b'{"id":1}',
        "a null type": b'{"type":null,"id":1}',
        "a type that is null at last": b'{"type":"order","id":1,"type":null}',
        "a type in another case": b'{"Type":"order","id":1}',
        "a type further inside": b'{"order":{"type":"order"},"id":1}',
        "a type with space around it": b'{" type ":"order","id":1}',
    },
    "type.not-text": {f"the type {t}": f'{{"type":{t},"id":1}}'.encode() for t in words('1 1.5 true [] ["order"] {}')},
    "type.name": {
        "an empty type": order(type=""),
        "a type of 201 letters": order(type="t" * 201),
        "a type of 67 Chinese letters": order(type="字" * 67),
        "a type of 1,001 letters": order(type="t" * 1_001),
        "a type of 100,000 letters": order(type="t" * 100_000),
    },
    "type.case-clash": {"the type Order": order(type="Order"), "the type ORDER": order(type="ORDER")},
    "type.reserved": {"the type dead_letters": order(type="dead_letters")},
    "value.misfit": _MISFIT,
    "number.range": _RANGE,
    "column.name": _NAMED,
    "column.case-clash": {
        **each("key", '"?":1', words("ID Id TEXT Place")),
        "two new keys": order('"unheard":1,"Unheard":1'),
        "two new keys in an object": order('"unheard":{"a":1,"A":1}'),
        "a key in a known object": order('"place":{"City":"a"}'),
        "a key in a known array": order('"lines":[{"SKU":"a"}]'),
    },
    "column.reserved": each("key", '"?":1', words("_source _partition _position _timestamp _SOURCE")),
    "schema.unknown-field": {
        "an unknown field": order('"unheard":1', "strict"),
        "an empty unknown object": order('"unheard":{}', "strict"),
        "an unknown field inside": order('"place":{"zip":1}', "strict"),
    },
    "schema.too-many-columns": {"5,000 new fields": order(",".join(f'"k{n}":1' for n in range(5_000)), "wide")},
    "partition.empty": {"an empty partition value": order('"site":""', "visit")},
}
