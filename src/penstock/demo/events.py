"""Something to read: a shop's events, three kinds of them, some broken, from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

POISON = (
    b"{not json",
    b'{"eventType": "order.v1", "amount": NaN}',
    b'{"eventType": "order.v1", "id": "a"} {"eventType": "order.v1", "id": "b"}',
    b"\xff\xfe not text",
    b'["an", "array"]',
    b'{"id": "who-am-i"}',
    b'{"eventType": "order.v1", "amount": "a lot"}',
    b"",
)
"""One in a hundred messages is one of these."""


def events(count: int, seed: int = 7) -> Iterator[bytes]:
    """Orders, page views and page clicks; one poisoned in a hundred, and one of a kind nobody wants."""
    rng = random.Random(seed)
    for number in range(count):
        chance = rng.random()
        if chance < 0.01:
            yield rng.choice(POISON)
        elif chance < 0.02:
            yield _json({"eventType": "debug.trace", "id": number, "text": "nobody wants to keep this"})
        elif chance < 0.30:
            yield _json(_order(number, rng))
        elif chance < 0.80:
            yield _json(_page(number, rng) | {"eventType": "page.viewed", "seconds": rng.randrange(600)})
        else:
            yield _json(_page(number, rng) | {"eventType": "page.clicked", "target": f"button-{rng.randrange(20)}"})


def _json(value: dict[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _order(number: int, rng: random.Random) -> dict[str, object]:
    items = [{"sku": f"sku-{rng.randrange(500)}", "qty": rng.randrange(1, 5)} for _ in range(rng.randrange(1, 4))]
    return {
        "eventType": "order.v1",
        "id": f"{number:08x}",
        "date": f"2026-11-{rng.randrange(1, 4):02d}",
        "customer": rng.randrange(10_000),
        "amount": round(rng.random() * 200, 2),
        "items": items,
    }


def _page(number: int, rng: random.Random) -> dict[str, object]:
    return {
        "id": f"{number:08x}",
        "url": f"/p/{rng.randrange(2000)}",
        "session": f"{rng.getrandbits(64):016x}",
        "country": rng.choice(["DE", "FR", "CZ", "US"]),
    }
