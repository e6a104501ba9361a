"""How a run and an audit look: lines for machines, a picture for people, nothing cut off that matters."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from penstock.contracts import File
from penstock.errors import Transient, broker_away, fenced, partitions_away
from penstock.observe import BatchReport
from penstock.operate import show
from penstock.operate.audit import Audit, PartitionAccount, TableLine
from penstock.operate.check import Finding
from penstock.operate.show import LogLines, Screen, show_audit, show_finding
from penstock.pipeline import Pipeline
from penstock.places import LETTERS
from penstock.protocol.entry import Counts
from tests.entries import batch, claim, portion
from tests.operate.shop import Shop
from tests.support.process import eventually

AWAY = broker_away("localhost:9092", "timed out")
DROPPED = "it is gone, although it carried batch 12 [table.dropped]"


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Shop(tmp_path).pipeline


def _report(number: int, parked: Mapping[str, str] | None = None) -> BatchReport:
    """A batch with rows for one table, dead letters, and a lag."""
    entry = batch(
        number,
        counts={"0": Counts(read=1_300_000, rows=1_200_000, dead=34_567, filtered=65_433, bytes=99)},
        reasons={"json.malformed": 30_000, "value.misfit": 4_567},
        tables={
            "order.v1.created": portion(rows=1_200_000, files=[File("a", 2_345_678_901, 1_200_000)]),
            LETTERS: portion(rows=34_567, files=[File("b", 12_300_000, 34_567)]),
        },
    )
    return BatchReport(entry, 9_876_543, {"land": 1.5, "decide": 0.25004}, 2_357_978_901, parked or {})


# --- lines ---------------------------------------------------------------------------------------


def _lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    told = capsys.readouterr()
    assert told.out == ""
    return [json.loads(line) for line in told.err.splitlines()]


def test_every_event_is_one_object_on_one_line(pipeline: Pipeline, capsys: pytest.CaptureFixture[str]) -> None:
    with LogLines(pipeline) as log:
        log.claimed(claim(1))
        log.batch(_report(2))
        log.waiting(AWAY)
        log.warned(AWAY)
        log.parked("page", "two\nlines")
        log.healed("page")

    lines = _lines(capsys)
    assert [line["event"] for line in lines] == [
        "started",
        "batch",
        "waiting",
        "warning",
        "parked",
        "healed",
        "stopped",
    ]
    assert all(list(line)[:3] == ["time", "event", "app"] and line["app"] == "shop" for line in lines)
    assert all(datetime.fromisoformat(line["time"]).tzinfo is not None for line in lines)


def test_start_says_who_reads_what_from_where(pipeline: Pipeline, capsys: pytest.CaptureFixture[str]) -> None:
    LogLines(pipeline).claimed(claim(3, ends={"0": 5, "1": 7}))

    (line,) = _lines(capsys)
    assert (line["entry"], line["instance"], line["source"]) == (3, "me", "kafka:events")
    assert line["positions"] == {"0": 5, "1": 7}


def test_batch_says_what_became_of_its_messages(pipeline: Pipeline, capsys: pytest.CaptureFixture[str]) -> None:
    LogLines(pipeline).batch(_report(2, parked={"page": DROPPED}))

    (line,) = _lines(capsys)
    del line["time"]
    assert line == {
        "event": "batch",
        "app": "shop",
        "batch": 2,
        "read": 1_300_000,
        "rows": 1_200_000,
        "dead_letters": 34_567,
        "filtered": 65_433,
        "tombstones": 0,
        "skipped": 0,
        "bytes_read": 99,
        "bytes_written": 2_357_978_901,
        "lag": 9_876_543,
        "tables": {"order.v1.created": 1_200_000, LETTERS: 34_567},
        "reasons": {"json.malformed": 30_000, "value.misfit": 4_567},
        "seconds": {"land": 1.5, "decide": 0.25},
        "parked": ["page"],
    }


def test_the_same_trouble_is_told_once_in_a_while_and_another_at_once(
    pipeline: Pipeline, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogLines(pipeline)
    for why in (AWAY, AWAY, partitions_away(["3"]), AWAY):
        log.waiting(why)
    told = _lines(capsys)
    assert [line["code"] for line in told] == ["source.unavailable", "source.partitions-away"]
    assert "no answer from the Kafka brokers at localhost:9092" in told[0]["what"]
    assert told[0]["remedy"]

    monkeypatch.setattr(show, "QUIET", 0.0)  # a while has passed
    log.waiting(AWAY)

    assert [line["code"] for line in _lines(capsys)] == ["source.unavailable"]


def test_the_end_says_why(pipeline: Pipeline, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(type(fenced("", "", 0))), LogLines(pipeline):
        raise fenced("shop", "another", 7)

    assert [(line["event"], line["code"]) for line in _lines(capsys)] == [("stopped", "app.fenced")]


# --- the picture ---------------------------------------------------------------------------------


def _words(text: str) -> str:
    """A text without the breaks that a narrow terminal puts into it."""
    return "".join(text.split())


@pytest.mark.parametrize("width", [60, 80, 140])
def test_picture_shows_rows_lag_dead_letters_and_parked_tables(pipeline: Pipeline, width: int) -> None:
    out = io.StringIO()

    with Screen(pipeline, Console(file=out, width=width)) as screen:
        screen.claimed(claim(1))
        screen.batch(_report(2))
        screen.batch(_report(3))
        screen.parked("page", DROPPED)

    told = out.getvalue()
    assert max(map(len, told.splitlines())) <= width
    assert "…" not in told
    assert "lag 9,876,543" in told
    wanted = "penstock shop batch 3 dead letters 69,134 json.malformed 60,000 value.misfit 9,134 24.6 MB"
    wanted += f" order.v1.created 2,400,000 4,691.4 page parked: {DROPPED}"
    assert {word.strip(",") for word in wanted.split()} - {word.strip(",") for word in told.split()} == set()


def test_table_that_is_parked_before_anything_landed_is_shown(pipeline: Pipeline) -> None:
    out = io.StringIO()

    with Screen(pipeline, Console(file=out, width=80)) as screen:
        screen.claimed(claim(1))
        screen.parked("page", DROPPED)

    assert "page" in out.getvalue()
    assert _words(DROPPED) in _words(out.getvalue())


def test_table_that_healed_is_no_longer_told_as_parked(pipeline: Pipeline) -> None:
    out = io.StringIO()

    with Screen(pipeline, Console(file=out, width=80)) as screen:
        screen.batch(_report(2))
        screen.parked("order.v1.created", DROPPED)
        screen.healed("order.v1.created")

    assert "order.v1.created" in out.getvalue()
    assert "parked" not in out.getvalue()


@pytest.mark.parametrize("width", [60, 140])
def test_picture_says_what_it_waits_for(pipeline: Pipeline, width: int) -> None:
    out = io.StringIO()

    with Screen(pipeline, Console(file=out, width=width, force_terminal=True, color_system=None)) as screen:
        eventually(lambda: "starting Spark" in out.getvalue())
        screen.claimed(claim(1))
        eventually(lambda: "reading kafka:events as ledger entry 1" in out.getvalue())
        screen.waiting(AWAY)
        eventually(lambda: "waiting: no answer" in out.getvalue())
        screen.warned(Transient("metrics.not-served", "metrics cannot be served"))
        eventually(lambda: "metrics cannot be served" in out.getvalue())


# --- findings and audits -------------------------------------------------------------------------


def test_finding_is_shown_as_it_was_told(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(width=80)

    show_finding(Finding("tables", True, "order (batch 2)"), console)
    show_finding(Finding("tables", False, "it has [bold] columns [table.unwritable]"), console)

    assert capsys.readouterr().out.splitlines() == [
        "✓ tables: order (batch 2)",
        "✗ tables: it has [bold] columns [table.unwritable]",
    ]


def _audit(scale: int, table: str = "order.v1") -> Audit:
    counts = Counts(read=12 * scale, rows=11 * scale, dead=scale // 2, filtered=scale // 4, tombstones=scale // 4)
    return Audit(
        "shop",
        entries=123,
        partitions={partition: PartitionAccount(0, 12 * scale, counts) for partition in ("0", "2", "10")},
        tables={table: TableLine(1_234, 33 * scale, 56, 78, 33 * scale), LETTERS: TableLine(1, 2, 3, 4, None)},
        notes=["entry 3: positions 5 to 9 of partition 0 were given up"],
    )


def _shown(found: Audit, width: int = 80) -> list[str]:
    out = io.StringIO()
    show_audit(found, Console(file=out, width=width))
    assert max(map(len, out.getvalue().splitlines())) <= width
    return out.getvalue().splitlines()


@pytest.mark.parametrize("scale", [4, 4_000, 1_000_000])
def test_audit_fits_into_eighty_columns_a_partition_a_line(scale: int) -> None:
    lines = _shown(_audit(scale))

    headers = "partition positions read rows letters filtered tombstones"
    told = [line.split() for line in lines]
    assert headers.split() in told
    numbers = [f"{n:,}" for n in (12 * scale, 12 * scale, 11 * scale, scale // 2, scale // 4, scale // 4)]
    assert [line for line in told if line[1:3] == ["0", "…"]] == [[p, "0", "…", *numbers] for p in ("0", "2", "10")]
    assert ["order.v1", "1,234", f"{33 * scale:,}", f"{33 * scale:,}", "56", "78"] in told
    assert ["dead", "letters", "1", "2", "?", "3", "4"] in told
    assert lines[-2:] == [
        "note: entry 3: positions 5 to 9 of partition 0 were given up",
        "shop: 123 ledger entries, nothing lost, nothing doubled",
    ]


def test_audit_leaves_out_what_nobody_had() -> None:
    found = Audit("shop", entries=2, partitions={"0": PartitionAccount(0, 5, Counts(read=5, rows=5))})

    told = [line.split() for line in _shown(found)]

    assert ["partition", "positions", "read", "rows", "letters"] in told


@pytest.mark.parametrize("scale", [123_456_789, 98_765_432_109])
def test_no_digit_of_an_audit_is_ever_cut_off(scale: int) -> None:
    shown = "".join(_shown(_audit(scale, table="order." + "long-name." * 15), width=80))

    assert shown.count("…") == 3  # only those between positions
    assert sorted(c for c in shown if c.isdigit()) == sorted(
        c for line in _shown(_audit(scale, table="order." + "long-name." * 15), width=400) for c in line if c.isdigit()
    )


def test_everything_that_is_wrong_is_listed_and_counted() -> None:
    found = _audit(4)
    found.wrong += ["table [a] never got batch 2", "table b is not there; batches 2 to 4 belong in it"]

    lines = _shown(found)

    assert lines[-3:] == [
        "wrong: table [a] never got batch 2",
        "wrong: table b is not there; batches 2 to 4 belong in it",
        "shop: 123 ledger entries, 2 thing(s) wrong",
    ]
