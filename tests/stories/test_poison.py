"""Every bad payload there is, and every odd one, in the middle of good traffic: a real broker, a real Spark."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock import Pipeline, audit, load
from penstock.schema import columns
from tests.formats.json.corpus import BAD, FORMAT, ODD, TYPES, Bad, Odd
from tests.formats.json.oracle import filled
from tests.support.lake import count, rows
from tests.support.pipelines import write_pipeline
from tests.support.process import penstock
from tests.support.topics import Topics

PARTITIONS = 3
NEIGHBOURS = 3_000

Place = tuple[str, int]


def neighbour(number: int) -> dict[str, Any]:
    """A good message: mostly an order, as the fast path takes it."""
    plain = {"id": number + 10}
    match number % 7:
        case 3 | 4 | 5:
            return plain | {"type": ("asset", "strict", "wide")[number % 7 - 3]}
        case 6:
            return plain | {"type": "visit", "site": "ab"[number % 2]}
    return plain | {"type": "order", "text": f"é {number}", "tags": ["a"], "place": {"zip": number}}


@dataclass(frozen=True)
class Landed:
    """The traffic, and where it went."""

    pipeline: Pipeline
    lake: Path
    topic: str
    sent: dict[Place, Bad | Odd | dict[str, Any]]

    def of(self, kind: type) -> dict[Place, Any]:
        return {place: it for place, it in self.sent.items() if isinstance(it, kind)}


@pytest.fixture(scope="module")
def landed(topics: Topics, tmp_path_factory: pytest.TempPathFactory) -> Landed:
    folder = tmp_path_factory.mktemp("poison")
    traffic: list[Bad | Odd | dict[str, Any]] = [*BAD, *ODD, *map(neighbour, range(NEIGHBOURS))]
    random.Random(29).shuffle(traffic)
    sent = {(str(number % PARTITIONS), number // PARTITIONS): it for number, it in enumerate(traffic)}
    topic = topics.create(partitions=PARTITIONS)
    values = [json.dumps(it).encode() if isinstance(it, dict) else it.value for it in traffic]
    topics.produce(topic, values, partitions=PARTITIONS)
    path = write_pipeline(folder, topics.servers, topic, messages=1_000, tables=_declared())
    path.write_text(path.read_text().replace("format: json", f"format: {{json: {{max_bytes: {FORMAT.max_bytes}}}}}"))

    done = penstock("run", path, "--until-caught-up", "--master", "local[2,1]")  # a worker that dies ends the run

    assert done.status == 0, done.err
    return Landed(load(path), folder / "lake", topic, sent)


def _declared() -> str:
    types = {name: spec.model_dump(mode="json", by_alias=True, exclude_none=True) for name, spec in TYPES.items()}
    return f"  types: {json.dumps(types)}"


@pytest.fixture(scope="module")
def letters(landed: Landed) -> dict[Place, dict[str, Any]]:
    found = rows(landed.lake / "dead_letters")
    assert max(Counter((letter["partition"], letter["position"]) for letter in found).values()) == 1
    return {(letter["partition"], letter["position"]): letter for letter in found}


def test_every_bad_payload_is_exactly_one_dead_letter_and_nothing_else_is(
    landed: Landed, letters: dict[Place, dict[str, Any]]
) -> None:
    assert letters.keys() == landed.of(Bad).keys()


def test_dead_letter_says_where_and_why(landed: Landed, letters: dict[Place, dict[str, Any]]) -> None:
    found = {place: (letter["stage"], letter["code"]) for place, letter in letters.items()}
    assert found == {place: (bad.stage, bad.code) for place, bad in landed.of(Bad).items()}
    assert {(letter["source"], letter["topic"]) for letter in letters.values()} == {
        (f"kafka:{landed.topic}", landed.topic)
    }
    assert all(letter["error"] for letter in letters.values())


def test_dead_letter_keeps_the_exact_bytes(landed: Landed, letters: dict[Place, dict[str, Any]]) -> None:
    for place, bad in landed.of(Bad).items():
        text, raw = letters[place]["json_string"], letters[place]["base64_bytes"]
        if bad.is_stub:
            assert (text, raw) == (None, None)
        elif bad.code == "json.not-utf8":
            assert (text, base64.b64decode(raw)) == (None, bad.value), bad.name
        else:
            assert (text.encode(), raw) == (bad.value, None), bad.name


def test_dead_letter_of_a_payload_over_the_limit_is_a_stub(
    landed: Landed, letters: dict[Place, dict[str, Any]]
) -> None:
    for place, bad in landed.of(Bad).items():
        if bad.is_stub:
            assert str(len(bad.value)) in letters[place]["error"]
            assert hashlib.sha256(bad.value).hexdigest() in letters[place]["error"]


@pytest.mark.parametrize("kind", ["order", "asset"])
def test_every_odd_payload_is_its_row(landed: Landed, kind: str) -> None:
    schema = columns(TYPES[kind].columns or {})
    names = ", ".join(f'"{field.name}"' for field in schema)
    found = rows(landed.lake / kind, f"{names}, _partition, _position", "id = 1")
    by_place = {(str(row.pop("_partition")), row.pop("_position")): row for row in found}
    wanted = {place: filled(odd.row, schema) for place, odd in landed.of(Odd).items() if odd.type == kind}
    assert len(by_place) == len(found) == len(wanted)
    for place, row in wanted.items():
        assert by_place[place] == row, landed.sent[place]


def test_every_neighbour_is_a_row_unaltered(landed: Landed) -> None:
    wanted = list(landed.of(dict).values())
    for kind in TYPES:
        schema = columns(TYPES[kind].columns or {})
        names = ", ".join(f'"{field.name}"' for field in schema)
        found = {row["id"]: row for row in rows(landed.lake / kind, names, "id >= 10")}
        assert found == {row["id"]: filled(row, schema) for row in wanted if row["type"] == kind}
        odd = sum(odd.type == kind for odd in landed.of(Odd).values())
        assert count(landed.lake / kind) == len(found) + odd


def test_neighbours_are_in_order_in_every_file(landed: Landed) -> None:
    files = list((landed.lake / "order").glob("*.parquet"))
    assert len(files) > 3
    for file in files:
        found = pq.read_table(file, columns=["id", "_partition", "_position"]).to_pylist()
        for partition in range(PARTITIONS):
            places = [r["_position"] for r in found if r["_partition"] == partition and r["id"] >= 10]
            assert places == sorted(places)


def test_audit_finds_nothing_wrong(landed: Landed) -> None:
    found = audit(landed.pipeline)
    assert found.ok, found.wrong
    total = sum(line.counts.read for line in found.partitions.values())
    assert total == len(BAD) + len(ODD) + NEIGHBOURS
    assert found.tables["_dead_letters"].recounted == len(BAD)
