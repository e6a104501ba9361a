"""Maintenance of a table in an object store that is found by the environment's AWS variables alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import deltalake
import pyarrow as pa
import pytest

from penstock.operate.maintain import Keep, vacuum
from penstock.storage import Storage
from penstock.tables.upkeep import Upkeep, Where
from tests.support.process import penstock
from tests.tables.bucket import bucket

LOCATION = "s3://bucket/lake/order"
OPTIONS = {"AWS_ALLOW_HTTP": "true"}


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    with bucket() as address:
        keys = {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "REGION": "nowhere-1"}
        for name, value in (keys | {"ENDPOINT_URL": address, "ALLOW_HTTP": "true"}).items():
            monkeypatch.setenv(f"AWS_{name}", value)
        yield Storage(LOCATION, OPTIONS)


def test_table_in_a_bucket_is_repaired_optimized_vacuumed_and_checkpointed(lake: Storage) -> None:
    for batch in range(3):
        rows = pa.table({"n": [batch] * 2, "color": ["a/b", "it's 50%"]})
        deltalake.write_deltalake(LOCATION, rows, mode="append", partition_by=["color"])
    lost = Upkeep(LOCATION, OPTIONS).active()[2]
    lake.delete([lost.path])
    table, where = Upkeep(LOCATION, OPTIONS), Where("color", "it's 50%")

    assert table.missing() == [lost]
    assert [commit.operation for commit in table.commits()] == ["WRITE"] * 3
    assert table.drop_missing() == {lost.path}
    assert table.would_rewrite(10**8, where) == table.optimize(10**8, where)
    assert Upkeep(LOCATION, OPTIONS).missing() == []
    assert sum(file.rows or 0 for file in Upkeep(LOCATION, OPTIONS).active()) == 5
    lake.put("left.parquet", b"PAR1")
    assert vacuum(Upkeep(LOCATION, OPTIONS), Keep(), dry_run=False) == ["left.parquet"]
    assert lake.missing(["left.parquet"]) == ["left.parquet"]
    assert Upkeep(LOCATION, OPTIONS).missing() == []
    assert Upkeep(LOCATION, OPTIONS).checkpoint() == 6


def test_commands_find_the_bucket_by_the_environment(lake: Storage) -> None:
    deltalake.write_deltalake(LOCATION, pa.table({"n": [1]}))
    deltalake.write_deltalake(LOCATION, pa.table({"n": [2]}), mode="append")
    lake.delete([Upkeep(LOCATION, OPTIONS).active()[0].path])

    done = penstock("repair", "--table_url", LOCATION, "--json")

    assert (done.status, json.loads(done.out)["lost"]["rows"]) == (0, 1)
    assert penstock("table", "vacuum", LOCATION, "--keep", "7d").out == "vacuum: 0 files were deleted\n"
