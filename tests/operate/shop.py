"""A small shop that lands orders and pages without broker and Spark, so that something can be done to what it left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.testing import MemorySource, land_all
from tests.memory_shop import event, shop

_FILE = """\
app: {app}
source: {{kafka: {{servers: nobody:1, topic: events}}}}
format: json
route: {{by: {{field: type}}}}
tables: {{base: {base}}}
"""


class Shop:
    """One app on one base, with its messages in memory and its pipeline also as a file."""

    def __init__(self, folder: Path, app: str = "shop") -> None:
        self.app, self.lake, self.source = app, folder / "lake", MemorySource()
        self.path = folder / f"{app}.yaml"
        self.path.write_text(_FILE.format(app=app, base=self.lake))
        self.pipeline = shop(self.source, self.lake, app=app)

    def land(self, *kinds: str) -> None:
        """One message of each of these types as one batch; one that is `bad` is a dead letter."""
        for kind in kinds:
            number = len(self.source.partitions["0"])
            self.source.add(b"{" if kind == "bad" else event(kind, number))
        land_all(self.pipeline)

    def entry(self, number: int) -> Path:
        return self.lake / "_penstock" / self.app / "ledger" / f"{number:020d}.json"

    def edit(self, number: int, **changes: Any) -> None:
        """Somebody changes a ledger entry by hand."""
        self.entry(number).write_text(json.dumps(json.loads(self.entry(number).read_text()) | changes))

    def files(self, table: str) -> list[Path]:
        return sorted((self.lake / table).glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
