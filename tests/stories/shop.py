"""One topic, one pipeline file, one lake: what a user has, landed without Spark and read with another engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock import load
from penstock.observe import Observer
from penstock.pipeline import Pipeline
from penstock.protocol.begin import Accepted
from penstock.testing import land_all
from tests.support.lake import rows
from tests.support.pipelines import write_pipeline
from tests.support.topics import Headers, Topics


class Shop:
    """A pipeline over a topic of its own, routed by the field `type` unless its file is written otherwise."""

    def __init__(self, topics: Topics, folder: Path, app: str = "shop", tables: str = "") -> None:
        self.topics, self.topic, self.lake = topics, topics.create(), folder / "lake"
        self.path = write_pipeline(folder, topics.servers, self.topic, app=app, tables=tables)

    @property
    def pipeline(self) -> Pipeline:
        return load(self.path)

    def rewrite(self, old: str, new: str) -> None:
        """The user changes the pipeline's file."""
        assert old in self.path.read_text()
        self.path.write_text(self.path.read_text().replace(old, new))

    def send(self, *messages: Any, key: bytes | None = None, headers: Headers | None = None) -> None:
        self.topics.produce(self.topic, [json.dumps(m).encode() for m in messages], key=key, headers=headers)

    def land(self, *messages: Any, observer: Observer | None = None, accepted: Accepted | None = None) -> None:
        """Send these, and land everything that waits, as one run of its own."""
        self.send(*messages)
        land_all(self.pipeline, observer, accepted)

    def rows(self, table: str, columns: str = "*") -> list[dict[str, Any]]:
        """The rows of a table, by their number `n`."""
        return sorted(rows(self.lake / table, columns), key=lambda row: (row["n"] is None, row["n"]))

    def letters(self) -> list[tuple[str, dict[str, Any]]]:
        """Code and message of every dead letter."""
        if not (self.lake / "dead_letters").exists():
            return []
        found = rows(self.lake / "dead_letters", "code, json_string, position")
        return [(row["code"], json.loads(row["json_string"])) for row in sorted(found, key=lambda row: row["position"])]
