"""Which of the files of kept messages are one source's."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.contracts import File, TableState
from penstock.errors import TableRefused
from penstock.kept import waiting
from penstock.schema import Struct
from penstock.storage import Storage

LONG = "kafka:" + "a-name-that-some-writers-cut-off-in-their-statistics-" * 5


def _table(folder: Path, *sources: list[str], statistics: bool = True) -> TableState:
    held = []
    for number, each in enumerate(sources):
        rows = pa.table({"json_string": ["x"] * len(each), "source": pa.array(each, pa.string())})
        pq.write_table(rows, folder / f"{number}.parquet", write_statistics=statistics)
        held.append(File(f"{number}.parquet", 1, 0, {"type": "order"}))  # the log does not say how many rows
    return TableState("id", 1, 1, Struct(), ("type",), holds=lambda _: held)


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("ours", ["kafka:shop", LONG])
def test_files_of_other_sources_stay(ours: str, statistics: bool, tmp_path: Path) -> None:
    state = _table(tmp_path, [ours, ours], [ours + "2"], [ours], ["kafka:a", "kafka:z"], statistics=statistics)

    found = waiting(state, Storage(str(tmp_path)), "order", ours)

    assert [(file.path, file.rows) for file in found.files] == [("0.parquet", 2), ("2.parquet", 1)]
    assert (found.rows, found.others) == (3, 3)


def test_file_with_rows_of_several_sources_is_refused(tmp_path: Path) -> None:
    state = _table(tmp_path, ["kafka:shop"], ["kafka:shop", "kafka:other"])

    with pytest.raises(TableRefused, match=r"several sources into one file, 1\.parquet"):
        waiting(state, Storage(str(tmp_path)), "order", "kafka:shop")


def test_file_that_is_gone_is_told(tmp_path: Path) -> None:
    state = _table(tmp_path, ["kafka:shop"])
    (tmp_path / "0.parquet").unlink()

    with pytest.raises(TableRefused, match=r"0\.parquet is gone"):
        waiting(state, Storage(str(tmp_path)), "order", "kafka:shop")
