"""Values that are not one JSON object: by code, by name."""

from __future__ import annotations

from tests.formats.json.payloads import FORMAT, each, order, words

GOOD = order('"text":"good"')
LIMIT = FORMAT.max_bytes

_UNFINISHED: dict[str, bytes] = {
    "only whitespace": b" \n\t\r ",
    "one space": b" ",
    "opening brace": b"{",
    "closing brace": b"}",
    "no end": GOOD[:-1],
    "end inside a string": GOOD[:-3],
    "end inside a key": b'{"type":"order","te',
    "end after a key": b'{"type":"order","text"',
    "end after a colon": b'{"type":"order","text":',
    "end after a comma": b'{"type":"order",',
    "end after a backslash": b'{"type":"order","text":"a\\',
    "end inside an escape": b'{"type":"order","text":"\\u00',
    "end inside an array": b'{"type":"order","tags":["a"',
    "end inside an object": b'{"type":"order","place":{"city":"a"',
    "end inside a literal": b'{"type":"order","flag":tru',
    "end inside a number": b'{"type":"order","double":1.',
    "a string of quotes without end": b'{"type":"order","text":"' + b'\\"' * 50_000,
}

_AROUND: dict[str, bytes] = {
    "two documents": GOOD + GOOD,
    "two lines": GOOD + b"\n" + GOOD,
    "a number after it": GOOD + b" 1",
    "a comma after it": GOOD + b",",
    "a brace after it": GOOD + b"}",
    "a NUL after it": GOOD + b"\x00",
    "text after it": GOOD + b" and more",
    "text before it": b"data: " + GOOD,
    "a NUL before it": b"\x00" + GOOD,
    "a BOM before it": b"\xef\xbb\xbf" + GOOD,
    "a BOM after it": GOOD + b"\xef\xbb\xbf",
    "a registry header before it": b"\x00\x00\x00\x00\x07" + GOOD,
    "the XSSI guard before it": b")]}'\n" + GOOD,
    "UTF-16 without a BOM": GOOD.decode().encode("utf-16-le"),
    "text": b"order 1 was sent",
    "XML": b"<order><id>1</id></order>",
    "YAML": b"type: order\nid: 1\n",
    "CSV": b"order,1,good",
    "a form": b"type=order&id=1",
    "base64 of a good one": b"eyJ0eXBlIjoib3JkZXIiLCJpZCI6MX0=",
    "zeros": bytes(64),
}

_NUMBERS = [
    *words("NaN -NaN nan Infinity -Infinity inf +1 .5 -.5 1. 1.e5 1e 1e+ 1.5e - --1 01 -01 00 0x1F 0b1 0o7 1_000"),
    *words("1L 1.5f 1..5 1e5.5 1,5 ½ １２ ∞ $1 1%"),
]
_LITERALS = words("""True False None undefined NULL nul tru yes word 'a' `a` “a” "a 'a" u"a" b'a' "a""b" "a"+"b" """)
_ESCAPES = [*words(r"\q \x41 \u12 \u12G4 \u{41} \U0001F600 \' \0 \101 \u+041"), "\\\n", "\\ "]
_ARRAYS = ['["a",]', '[,"a"]', '["a",,"b"]', '["a" "b"]', "[", "]", "[}", '["a"', '["a"]]', '("a")', '["a";"b"]']
_OBJECTS = [
    '{"type":"order","id":1,}',
    '{,"type":"order","id":1}',
    '{"type":"order",,"id":1}',
    '{"type":"order" "id":1}',
    '{"type":"order";"id":1}',
    '{"type"="order","id"=1}',
    '{"type"::"order","id":1}',
    '{"type":"order","id"}',
    '{"type":"order",:1}',
    '{"type":"order","id":}',
    '{"type":"order",1:1}',
    '{"type":"order",null:1}',
    '{type:"order",id:1}',
    "{'type':'order','id':1}",
    '{"type":"order","id":1]',
    '["type":"order","id":1]',
    '("type":"order","id":1)',
    "{,}",
    "{{}}",
    '{"type":"order","id":1,/* a comment */"int":1}',
    '{"type":"order","id":1} // a comment',
    '{"type":"order","id":1} # a comment',
]
_CONTROLS: dict[str, bytes] = {
    **{
        f"the control character {code:#04x}": order(b'"text":"a%cb"' % code)
        for code in (0, 1, 8, 9, 10, 12, 13, 27, 31)
    },
    **{
        f"the space {ord(space):#06x}": order().replace(b",", b"," + space.encode())
        for space in "\x0b\x0c\x85\xa0\u1680\u2003\u2028\u200b\u3000\ufeff"
    },
    "a NUL in a key": order(b'"a\x00b":1'),
    "a line break in a key": order(b'"a\nb":1'),
}

_NOT_UTF8: dict[str, bytes] = {
    "0xff": b"\xff",
    "0xfe": b"\xfe",
    "a continuation without a beginning": b"\x80",
    "Latin-1": "é".encode("latin-1"),
    "Windows-1252": "“a”".encode("cp1252"),
    "an overlong slash of two bytes": b"\xc0\xaf",
    "an overlong slash of three bytes": b"\xe0\x80\xaf",
    "an overlong slash of four bytes": b"\xf0\x80\x80\xaf",
    "an overlong quote": b"\xc0\xa2",
    "a NUL as Java has it": b"\xc0\x80",
    "half a surrogate pair, the high one": b"\xed\xa0\x80",
    "half a surrogate pair, the low one": b"\xed\xb0\x80",
    "a surrogate pair as CESU-8 has it": b"\xed\xa0\xbd\xed\xb8\x80",
    "beyond the last character": b"\xf4\x90\x80\x80",
    "0xf5": b"\xf5\x80\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "six bytes": b"\xfc\x84\x80\x80\x80\x80",
    "one byte of two": b"\xc3",
    "two bytes of three": b"\xe2\x98",
    "three bytes of four": b"\xf0\x9f\x98",
}

_SURROGATES: dict[str, bytes] = {
    **each("surrogate", '"text":"?"', words(r"\ud800 \udbff \udc00 \udfff \uD83D \ud83d\u0041 \ud83dx \ude00\ud83d")),
    "the surrogate before a pair": order(r'"text":"\ud83d\ud83d\ude00"'),
    "the surrogate in a key": order(r'"\ud800":1'),
    "the surrogate in a nested key": order(r'"doc":{"a":{"\udc00":1}}'),
    "the surrogate in a nested value": order(r'"lines":[{"sku":"\ud800"}]'),
    "the surrogate in an unknown field": order(r'"unheard":["\ud800"]'),
    "the surrogate in a type": order(type=r"\ud800"),
    "the surrogate in JSON text": order(r'"doc":["\ud800 and more, so that nothing is cut off"]'),
}


def _nested(opening: str, closing: str, depth: int) -> bytes:
    return order(f'"doc":{opening * depth}1{closing * depth}')


MALFORMED: dict[str, dict[str, bytes]] = {
    "json.empty": {"nothing": b""},
    "json.malformed": {
        **_UNFINISHED,
        **_AROUND,
        **_CONTROLS,
        **each("number", '"double":?', _NUMBERS),
        **each("literal", '"text":?', _LITERALS),
        **each("escape", '"text":"?"', _ESCAPES),
        **each("array", '"tags":?', _ARRAYS),
        **{f"the object {text}": text.encode() for text in _OBJECTS},
    },
    "json.not-utf8": {
        **{f"{name} in a string": order(b'"text":"a%sb"' % raw) for name, raw in _NOT_UTF8.items()},
        "0xff in a key": order(b'"a\xff":1'),
        "0xff in the type": order().replace(b"order", b"ord\xffer"),
        "0xff after it": GOOD + b"\xff",
        "three bytes of four at the end": GOOD[:-2] + b"\xf0\x9f\x98",
        "UTF-16 with a BOM": GOOD.decode().encode("utf-16"),
        "UTF-32": GOOD.decode().encode("utf-32"),
        "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xab\x56\x2a\xa9",
        "every byte there is": bytes(range(256)),
    },
    "json.surrogate": _SURROGATES,
    "json.not-an-object": {
        f"only {text}": text.encode()
        for text in [*words('[] [1] [{"type":"order"}] "order" "{}" 12 -1.5 1e5 true false null'), " null "]
    },
    "json.too-deep": {
        "100 arrays in an object": _nested("[", "]", 100),
        "1,000 arrays": _nested("[", "]", 1_000),
        "100,000 arrays": _nested("[", "]", 100_000),
        "100 objects in an object": _nested('{"a":', "}", 100),
        "1,000 objects": _nested('{"a":', "}", 1_000),
        "100,000 objects": _nested('{"a":', "}", 100_000),
        "arrays and objects by turns": _nested('[{"a":', "}]", 500),
        "100,000 arrays without end": order()[:-1] + b',"doc":' + b"[" * 100_000,
        "101 arrays without an object": b"[" * 101 + b"]" * 101,
        "1,000 arrays in an unknown field": order('"unheard":' + "[" * 1_000 + "]" * 1_000),
    },
    "json.too-large": {
        "one byte too many": GOOD + b" " * (LIMIT + 1 - len(GOOD)),
        "a long text": order('"text":"' + "x" * LIMIT + '"'),
        "a huge key": order('"' + "k" * LIMIT + '":1'),
        "a huge number": order('"long":' + "9" * LIMIT),
        "much that is not JSON": b"\xff" * (LIMIT + 1),
    },
}
