"""Typed attributes that are none: by name, with the path of the fault and a part of what is said of it."""

from __future__ import annotations

import json
from typing import Any

PATH = "a"


def nested(levels: int, tag: str = "L", inside: Any = None) -> Any:
    """An attribute so many levels deep."""
    value = inside or {"S": "x"}
    for _ in range(levels):
        value = {"M": {"m": value}} if tag == "M" else {"L": [value]}
    return value


_SHAPES: dict[str, tuple[Any, str]] = {
    "null": (None, "a: an attribute is an object with its type, and this is null"),
    "a string": ("x", "this is a string"),
    "a number": (1, "this is a number"),
    "true": (True, "this is a boolean"),
    "an array": ([{"S": "x"}], "this is an array"),
    "no type": ({}, "exactly one type, and this has none"),
    "two types": ({"S": "x", "N": "1"}, 'exactly one type, and this has "S" and "N"'),
    "two types that agree": ({"S": "1", "N": "1"}, "exactly one type"),
    "all types": (dict.fromkeys(["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"]), "exactly one type"),
    "an unknown type": ({"X": "x"}, 'there is no type "X"'),
    "a type in small letters": ({"s": "x"}, 'no type "s"'),
    "an empty type": ({"": "x"}, 'no type ""'),
    "a type with a space": ({"S ": "x"}, 'no type "S "'),
    "a plain object": ({"city": "x"}, 'no type "city"'),
    "a long type": ({"T" * 100_000: 1}, "no type"),
    "a type of control characters": ({"\x1b[31m": 1}, "no type"),
    "a set that is a map": ({"SM": {}}, 'no type "SM"'),
}

_SCALARS: dict[str, tuple[Any, str]] = {
    "S of a number": ({"S": 1}, "S holds a string, and this is a number"),
    "S of null": ({"S": None}, "this is null"),
    "S of true": ({"S": True}, "this is a boolean"),
    "S of an array": ({"S": ["x"]}, "this is an array"),
    "S of an object": ({"S": {"S": "x"}}, "this is an object"),
    "BOOL of a string": ({"BOOL": "true"}, "BOOL holds true or false, and this is a string"),
    "BOOL of a number": ({"BOOL": 1}, "this is a number"),
    "BOOL of null": ({"BOOL": None}, "this is null"),
    "NULL of false": ({"NULL": False}, "NULL holds true"),
    "NULL of null": ({"NULL": None}, "NULL holds true"),
    "NULL of a string": ({"NULL": "true"}, "NULL holds true"),
    "NULL of a number": ({"NULL": 1}, "NULL holds true"),
    "N of a number": ({"N": 1}, "N holds a string, and this is a number"),
    "N of null": ({"N": None}, "this is null"),
    "N of true": ({"N": True}, "this is a boolean"),
    "N of an array": ({"N": ["1"]}, "this is an array"),
    "N of 39 digits": ({"N": "1" * 39}, "the number has 39 digits, and DynamoDB holds 38"),
    "N of 39 digits around a point": ({"N": "1." + "0" * 37 + "1"}, "39 digits"),
    "N too large": ({"N": "1E+126"}, "beyond what DynamoDB holds"),
    "N too large in digits": ({"N": "1" + "0" * 126}, "beyond what DynamoDB holds"),
    "N too small": ({"N": "1E-131"}, "beyond what DynamoDB holds"),
    "N with a large exponent": ({"N": "1E+9999"}, "beyond what DynamoDB holds"),
    "N with an endless exponent": ({"N": "1E" + "9" * 100_000}, "is none"),
    "N of many digits": ({"N": "9" * 1_000_000}, "is none"),
    "N of many zeros": ({"N": "0." + "0" * 1_000_000 + "1"}, "is none"),
    "B of a number": ({"B": 1}, "B holds a string"),
    "B of null": ({"B": None}, "B holds a string"),
    "B of words": ({"B": "not base64!"}, "B holds bytes as base64 text"),
    "B without padding": ({"B": "YQ"}, "base64"),
    "B with a line break": ({"B": "YWJj\nZGVm"}, "base64"),
    "B in the other alphabet": ({"B": "_-_-"}, "base64"),
    "B of characters": ({"B": "ÿÿÿÿ"}, "base64"),
    "B with padding in between": ({"B": "YQ==YQ=="}, "base64"),
}

_NUMBERS = "NaN nan -NaN Infinity -Infinity inf 1,5 1_000 0x1F +1 .5 5. 01 -01 -- - 1e e1 1e+ 1..2 １２ ½ 1L 1f"
_TEXTS = ["", " ", " 1", "1 ", "1\n", "\x00", "one", "1 2", "1/2"]

_COLLECTIONS: dict[str, tuple[Any, str]] = {
    "SS of a string": ({"SS": "x"}, "SS holds an array, and this is a string"),
    "SS of null": ({"SS": None}, "this is null"),
    "SS of an object": ({"SS": {"0": "x"}}, "this is an object"),
    "SS with a number": ({"SS": ["x", 1]}, "a[1]: S holds a string"),
    "SS with null": ({"SS": [None]}, "a[0]: S holds a string"),
    "SS of typed strings": ({"SS": [{"S": "x"}]}, "a[0]: S holds a string"),
    "NS with numbers": ({"NS": [1]}, "a[0]: N holds a string"),
    "NS with a word": ({"NS": ["1", "x"]}, "a[1]: N holds a number as text"),
    "NS with NaN": ({"NS": ["NaN"]}, "a[0]"),
    "BS with a word": ({"BS": ["YQ==", "x"]}, "a[1]: B holds bytes"),
    "L of an object": ({"L": {"S": "x"}}, "L holds an array, and this is an object"),
    "L of null": ({"L": None}, "this is null"),
    "L with a plain value": ({"L": [{"S": "x"}, "y"]}, "a[1]: an attribute is an object"),
    "L with null": ({"L": [None]}, "a[0]: an attribute is an object"),
    "M of an array": ({"M": [{"S": "x"}]}, "attributes are an object of names, and this is an array"),
    "M of null": ({"M": None}, "this is null"),
    "M of a string": ({"M": "x"}, "this is a string"),
    "M with a plain value": ({"M": {"b": "x"}}, "a.b: an attribute is an object"),
    "M that is the attribute itself": ({"M": {"S": "x"}}, "a.S: an attribute is an object"),
    "a fault far inside": ({"M": {"b": {"L": [{"S": ""}, {"M": {"c d": {"N": "x"}}}]}}}, 'a.b[1]."c d": N holds'),
    "lists too deep": (nested(101), "nested more than 100 deep"),
    "maps too deep": (nested(101, "M"), "nested more than 100 deep"),
    "lists far too deep": (nested(300), "nested more than 100 deep"),
}

BAD: dict[str, tuple[Any, str]] = {
    **_SHAPES,
    **_SCALARS,
    **{f"N of {json.dumps(text)}": ({"N": text}, "a: N holds a number as text") for text in _NUMBERS.split()},
    **{f"N of {json.dumps(text)}": ({"N": text}, "a: N holds a number as text") for text in _TEXTS},
    **_COLLECTIONS,
}
