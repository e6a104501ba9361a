"""A producer that remembers what it sent, and a check that every message is in exactly one place, once."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path

from tests.support.lake import rows
from tests.support.topics import Topics

KINDS = ("alpha", "beta", "gamma")


class Journal:
    """Every message of a topic, with a number of its own: three types, and some poison."""

    def __init__(self, topics: Topics, topic: str, partitions: int) -> None:
        self.topics, self.topic, self.partitions = topics, topic, partitions
        self.rows: Counter[tuple[str, int, str]] = Counter()
        self.letters: Counter[bytes] = Counter()
        self._sent = 0

    def send(self, count: int, new_field: str = "") -> None:
        """So many messages, one in ten of them poison; with a field that nobody has seen before if wanted."""
        values = []
        for number in range(self._sent, self._sent + count):
            if number % 10 == 9:
                values.append(b'{"type": "alpha", "n": "poison-%d"' % number)
                self.letters[values[-1]] += 1
                continue
            kind = KINDS[number % 3]
            body = {"type": kind, "n": number, "text": f"message {number}"} | ({new_field: number} if new_field else {})
            values.append(json.dumps(body).encode())
            self.rows[kind, number, f"message {number}"] += 1
        self._sent += count
        self.topics.produce(self.topic, values, partitions=self.partitions)

    def assert_all_landed_once(self, lake: Path) -> None:
        landed = Counter((kind, row["n"], row["text"]) for kind in KINDS for row in rows(lake / kind, "n, text"))
        assert landed == self.rows, _difference(landed, self.rows)
        letters = rows(lake / "dead_letters", "json_string, base64_bytes")
        kept = Counter((r["json_string"] or "").encode() or base64.b64decode(r["base64_bytes"]) for r in letters)
        assert kept == self.letters, _difference(kept, self.letters)

    def assert_none_landed_twice(self, lake: Path) -> None:
        for kind in KINDS:
            if any((lake / kind / "_delta_log").glob("*.json")):  # not one whose maker died before its first commit
                landed = Counter(row["n"] for row in rows(lake / kind, "n"))
                assert not [n for n, times in landed.items() if times > 1]


def _difference(found: Counter, wanted: Counter) -> str:  # type: ignore[type-arg]
    return f"too many: {list((found - wanted).items())[:5]}, missing: {list((wanted - found).items())[:5]}"
