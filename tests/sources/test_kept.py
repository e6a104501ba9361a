"""Kept messages are read back as they were: bytes, keys, headers, times and places."""

from __future__ import annotations

import base64
import json
import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.contracts import Bound, File, Identity, ShortRead, Slice
from penstock.messages import NEVER, Details, Messages
from penstock.sources.kept import KEPT, KeptSource

ORIGIN = Identity("kafka:shop", "home", "1")


def _row(position: int, **changes: Any) -> dict[str, Any]:
    given = {
        "base64_bytes": None,
        "json_string": f'{{"n": {position}}}',
        "source": "kafka:shop",
        "topic": "shop",
        "partition": "0",
        "position": position,
        "message_timestamp": None,
        "key": None,
        "headers": None,
    }
    return given | changes


def _source(folder: Path, *files: list[dict[str, Any]], row_group: int = 3) -> KeptSource:
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("base64_bytes", "json_string", "source", "topic", "partition")),
            ("position", pa.int64()),
            ("message_timestamp", pa.timestamp("us", "UTC")),
            ("key", pa.string()),
            ("headers", pa.string()),
        ]
    )
    made = []
    for number, rows in enumerate(files):
        path = f"type=order/{number}.parquet"
        (folder / path).parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / path, row_group_size=row_group)
        made.append(File(path, 1, len(rows)))
    return KeptSource(str(folder), tuple(made), ORIGIN)


def _all(source: KeptSource, start: int, end: int) -> list[Messages]:
    return list(source.read(Slice(KEPT, start, end)))


def _seen(runs: list[Messages]) -> list[tuple[int, int, bytes]]:
    """Number, place and value of each message."""
    return sorted(
        (int(run.positions[at]), int(run.origins[at]), run.value(at)) for run in runs for at in range(len(run))
    )


def test_any_slices_together_are_all_messages_once(tmp_path: Path) -> None:
    places = [[10, 11, 900, 901, 5, 6, 7], [3], [40, 41, 42, 43]]
    source = _source(tmp_path, *([_row(place) for place in each] for each in places))
    flat = [place for each in places for place in each]
    wanted = [(at, place, f'{{"n": {place}}}'.encode()) for at, place in enumerate(flat)]

    assert source.bounds() == {KEPT: Bound(0, 12, 0)}
    for cut in range(13):
        assert _seen(_all(source, 0, cut)) + _seen(_all(source, cut, 12)) == wanted
    assert _seen(_all(source, 4, 9)) == wanted[4:9]


def test_two_messages_with_the_same_place_are_two(tmp_path: Path) -> None:
    source = _source(tmp_path, [_row(0)], [_row(0, json_string="other")])

    assert _seen(_all(source, 0, 2)) == [(0, 0, b'{"n": 0}'), (1, 0, b"other")]


def test_partitions_are_told_apart(tmp_path: Path) -> None:
    source = _source(tmp_path, [_row(0), _row(1, partition="1"), _row(2), _row(3, partition="1")], row_group=9)

    found = {(run.source, run.partition): run.origins.tolist() for run in _all(source, 1, 4)}

    assert found == {("shop", "0"): [2], ("shop", "1"): [1, 3]}


def test_message_is_what_it_was(tmp_path: Path) -> None:
    headers = [["text", "é"], ["none", None], ["raw", {"base64": base64.b64encode(b"\xff\x00").decode()}]]
    when = datetime(2026, 1, 31, 12, 0, 0, 123_000, UTC)
    full = _row(
        7,
        json_string=None,
        base64_bytes=base64.b64encode(b"\x00\xff").decode(),
        key=base64.b64encode(b"k\xff").decode(),
        headers=json.dumps(headers),
        message_timestamp=when,
    )
    (run,) = _all(_source(tmp_path, [full, _row(8)]), 0, 2)

    assert run.values.to_pylist() == [b"\x00\xff", b'{"n": 8}']
    told = [("text", "é".encode()), ("none", None), ("raw", b"\xff\x00")]
    stamp = int(when.timestamp() * 1000)
    assert run.details(0) == Details(b"k\xff", told, stamp, 0)
    assert run.details(1) == Details(None, [], None, -1)
    assert run.times().tolist() == [[0, stamp], [-1, NEVER]]


def test_places_go_along_when_runs_are_cut_taken_and_joined(tmp_path: Path) -> None:
    source = _source(tmp_path, [_row(place) for place in (90, 80, 70)], [_row(60)])
    runs = _all(source, 0, 4)

    whole = Messages.joined(runs)

    assert whole.origins.tolist() == [90, 80, 70, 60]
    assert whole.cut(1, 3).origins.tolist() == [80, 70]
    assert whole.only(pa.array([3, 0]).to_numpy()).origins.tolist() == [60, 90]
    assert whole.positions.tolist() == [0, 1, 2, 3]


def test_it_travels_to_workers_and_shows_no_secret(tmp_path: Path) -> None:
    source = KeptSource(str(tmp_path), (), ORIGIN, {"aws_secret_access_key": "c4n4ry"})

    assert pickle.loads(pickle.dumps(source)) == source
    assert "c4n4ry" not in repr(source)
    assert source.identity() == ORIGIN


@pytest.mark.parametrize("change", ["gone", "shorter", "broken", "beyond", "another source"])
def test_what_cannot_be_read_whole_is_a_short_read(change: str, tmp_path: Path) -> None:
    other = "kafka:other" if change == "another source" else "kafka:shop"
    source = _source(tmp_path, [_row(0), _row(1)], [_row(2), _row(3, source=other)])
    path = tmp_path / source.files[1].path
    match change:
        case "gone":
            path.unlink()
        case "shorter":
            _source(tmp_path, [_row(0), _row(1)], [_row(2)])
        case "broken":
            path.write_bytes(b"PAR1 nothing PAR1")

    with pytest.raises(ShortRead):
        _all(source, 0, 5 if change == "beyond" else 4)
    assert len(_seen(_all(source, 0, 2))) == 2
