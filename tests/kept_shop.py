"""A pipeline in memory that keeps the messages of types which nobody declared, and what a test asks about them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.loop import Loop, Until
from penstock.observe import Observer
from penstock.operate.adopt import Outcome, adopt
from penstock.operate.audit import audit
from penstock.pipeline import Pipeline
from penstock.storage import Storage
from penstock.testing import MemorySource, land_all
from penstock.wishes import Wishes
from tests.memory_shop import event, instance, shop
from tests.support.lake import rows


def numbers(table: Path, where: str = "true") -> Counter[int]:
    """The numbers of the messages in a table, each as often as it is there."""
    if not (table / "_delta_log").exists():
        return Counter()
    if table.name in ("_unrouted", "dead_letters"):
        found = rows(table, "json_string", where)
        return Counter(json.loads(row["json_string"])["n"] for row in found)
    return Counter(row["n"] for row in rows(table, "n", where))


class KeptShop:
    """`login` has a table by declaration; every other type is kept."""

    def __init__(self, folder: Path, app: str = "shop", **settings: Any) -> None:
        self.lake, self.source = folder / "lake", MemorySource()
        declared = {"types": {"login": {"schema": {"n": "long"}}}} | settings.pop("tables", {})
        route = {"by": {"field": "type"}, "unrouted": "keep"} | settings.pop("route", {})
        self.pipeline: Pipeline = shop(self.source, self.lake, app=app, route=route, tables=declared, **settings)

    def keep(self, type: str, *ns: int, **more: Any) -> None:
        """Send messages and land everything."""
        self.source.add(*(event(type, n, **more) for n in ns))
        land_all(self.pipeline)

    @property
    def wishes(self) -> Wishes:
        return Wishes(Storage(str(self.lake / "_penstock" / self.pipeline.app)))

    def run(self, pipeline: Pipeline | None = None, observer: Observer | None = None) -> None:
        """An instance that does what is wished and nothing else."""
        with instance(pipeline or self.pipeline, observer) as one:
            one.claim()
            Loop(one, Until(batches=0)).run()

    def adopt(self, type: str) -> Outcome:
        return adopt(self.pipeline, type, run=self.run, patience=0.0)

    def held(self, *tables: str) -> list[Counter[int]]:
        return [numbers(self.lake / table) for table in tables]

    def assert_audited(self) -> None:
        found = audit(self.pipeline)
        assert found.wrong == []
        for name, line in found.tables.items():
            assert line.rows == line.recounted, name

    def accounts(self) -> Mapping[str, tuple[int, int | None]]:
        return {name: (line.rows, line.recounted) for name, line in audit(self.pipeline).tables.items()}
