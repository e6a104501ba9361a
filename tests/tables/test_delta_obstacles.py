"""Tables that others made: which of them an append would harm, and what is said of those."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import TableRefused
from penstock.tables.delta import DeltaTable
from tests.support.lake import rows
from tests.tables.shares import PLAIN, files, left_by_others, look, share


def _writer(*features: str) -> dict[str, Any]:
    return {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": list(features)}


def _both(*features: str) -> dict[str, Any]:
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": list(features)} | {
        "writerFeatures": list(features)
    }


def _version(reader: int, writer: int) -> dict[str, Any]:
    return {"minReaderVersion": reader, "minWriterVersion": writer}


MAPPED = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
BY_NAME = {"delta.columnMapping.mode": "name"}
REFUSED: Mapping[str, tuple[dict[str, Any], dict[str, str], dict[str, Any], Any, str]] = {
    "row tracking": (_writer("rowTracking", "domainMetadata"), {}, {}, "long", "features domainMetadata, rowTracking"),
    "clustering": (_writer("clustering", "domainMetadata"), {}, {}, "long", "features clustering, domainMetadata"),
    "column defaults": (_writer("allowColumnDefaults"), {}, {"CURRENT_DEFAULT": "1"}, "long", "allowColumnDefaults"),
    "commit timestamps": (_writer("inCommitTimestamp"), {}, {}, "long", "features inCommitTimestamp"),
    "wider types": (_both("typeWidening"), {}, {}, "long", "features typeWidening"),
    "a feature of the future": (_writer("quantumRows"), {}, {}, "long", "features quantumRows"),
    "column mapping": (_version(2, 5), BY_NAME, MAPPED, "long", "delta.columnMapping.mode = name"),
    "column mapping as a feature": (_both("columnMapping"), BY_NAME, MAPPED, "long", "features columnMapping"),
    "a constraint": (_version(1, 3), {"delta.constraints.c": "x > 0"}, {}, "long", "delta.constraints.c = x > 0"),
    "a generated column": (_version(1, 4), {}, {"delta.generationExpression": "1"}, "long", "column 'x' has delta.gen"),
    "an identity column": (_version(1, 6), {}, {"delta.identity.start": 1}, "long", "column 'x' has delta.identity"),
    "an invariant": (PLAIN, {}, {"delta.invariants": "{}"}, "long", "column 'x' has delta.invariants"),
    "numbers that expire": (
        *(PLAIN, {"delta.setTransactionRetentionDuration": "interval 1 day"}, {}, "long"),
        "delta.setTransactionRetentionDuration = interval 1 day",
    ),
    "a foreign type": (_both("variantType"), {}, {}, "variant", "columns of type variant"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_table_that_an_append_would_harm_is_refused_with_its_reason(tmp_path: Path, what: str) -> None:
    protocol, settings, metadata, kind, reason = REFUSED[what]
    table = DeltaTable(str(left_by_others(tmp_path / "t", protocol, settings, metadata, kind)), "shop")

    assert reason in look(table).unwritable


def test_table_that_the_engine_cannot_even_read_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    table = DeltaTable(str(left_by_others(tmp_path / "t", _both("quantumRows"), {}, {}, "long")), "shop")

    with pytest.raises(TableRefused, match="quantumRows") as refused:
        table.state()

    assert (refused.value.code, str(tmp_path / "t") in refused.value.what) == ("table.unwritable", True)


@pytest.mark.parametrize(
    ("protocol", "settings", "metadata"),
    [
        (PLAIN, {}, {"comment": "what x is"}),
        (_version(2, 5), {"delta.columnMapping.mode": "none"}, {}),
        (_writer("appendOnly"), {"delta.appendOnly": "true"}, {}),
        (_writer("changeDataFeed"), {"delta.enableChangeDataFeed": "true"}, {}),
        (_both("deletionVectors"), {"delta.enableDeletionVectors": "true"}, {}),
        (_both("v2Checkpoint"), {"delta.checkpointPolicy": "classic"}, {}),
    ],
)
def test_table_that_others_made_in_an_ordinary_way_is_written(
    tmp_path: Path, protocol: dict[str, Any], settings: dict[str, str], metadata: dict[str, Any]
) -> None:
    folder = left_by_others(tmp_path / "t", protocol, settings, metadata, "long")
    table = DeltaTable(str(folder), "shop")
    assert look(table).unwritable == ""

    table.commit(look(table), share(1, files(folder, [{"x": 5}])))

    assert rows(folder) == [{"x": 5}]
    assert look(table).carried == 1
