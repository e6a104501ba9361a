"""A batch that was decided and then left alone: a restart knows of it from the ledger, not from the tables."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from penstock import audit, load
from penstock.testing import land_all
from tests.support.lake import rows
from tests.support.pipelines import write_pipeline
from tests.support.process import penstock
from tests.support.topics import Topics


def _decided(topics: Topics, topic: str, path: Path, *messages: dict[str, object]) -> None:
    """Send messages and let a run die when it has decided them."""
    topics.produce(topic, [json.dumps(message).encode() for message in messages])
    died = penstock("run", path, "--until-caught-up", crash="decide.after")
    assert died.status == -9, died.err


def test_files_that_vanish_before_their_table_was_ever_made_are_landed_again(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    path = write_pipeline(tmp_path, topics.servers, topic)
    _decided(topics, topic, path, *({"type": "event", "n": n, "text": f"message {n}"} for n in range(50)))
    for file in (tmp_path / "lake" / "event").glob("*.parquet"):
        file.unlink()

    land_all(load(path))

    found = Counter((row["n"], row["text"]) for row in rows(tmp_path / "lake" / "event"))
    assert found == Counter((n, f"message {n}") for n in range(50))
    assert audit(load(path)).wrong == []


def test_columns_that_were_decided_hold_although_the_table_does_not_show_them_yet(
    topics: Topics, tmp_path: Path
) -> None:
    topic = topics.create()
    path = write_pipeline(tmp_path, topics.servers, topic)
    topics.produce(topic, [b'{"type": "event", "n": 1}'])
    land_all(load(path))
    _decided(topics, topic, path, {"type": "event", "n": 2, "size": 5})
    topics.produce(topic, [b'{"type": "event", "n": 3, "size": 1.5}', b'{"type": "event", "n": 4, "size": 7}'])

    land_all(load(path))

    lake = tmp_path / "lake"
    assert {row["n"]: row["size"] for row in rows(lake / "event")} == {1: None, 2: 5, 4: 7}
    assert [letter["json_string"] for letter in rows(lake / "dead_letters")] == [
        '{"type": "event", "n": 3, "size": 1.5}'
    ]
    assert audit(load(path)).wrong == []
