"""What a run would do, told before: it is what the run then does, and telling it leaves nothing behind."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from penstock.config.load import fingerprint
from penstock.contracts import Slice
from penstock.errors import ConfigError, PenstockError, SourceLost, Transient
from penstock.messages import Details, Messages
from penstock.operate.looking import Looking
from penstock.operate.plan import Plan, TablePlan, plan
from penstock.places import LETTERS, UNROUTED
from penstock.schema import Schema, columns
from penstock.testing import MemorySource, land_all
from tests.memory_shop import event, shop
from tests.operate.shop import Shop

NOW = int(datetime.now(UTC).timestamp() * 1000)


@pytest.fixture
def source() -> MemorySource:
    return MemorySource()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture(autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary folders are made: nothing may be left there."""
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def table(found: Plan, name: str) -> TablePlan:
    (one,) = [each for each in found.tables if each.name == name]
    return one


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    """All files and folders, with their sizes and times."""
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*"))}


# --- what it tells is what a run does ------------------------------------------------------------


def _mixed(count: int) -> Iterator[bytes | None]:
    """Messages of all fates."""
    for n in range(count):
        match n % 10:
            case 0:
                yield b"{"
            case 1:
                yield None
            case 2:
                yield event("unwanted", n)
            case 3:
                yield event("page", n, url=f"/{n}", at={"x": n, "y": [1.5, n]})
            case 4:
                yield b'{"n": 1}'
            case _:
                yield event("order", n, day=f"2024-01-0{n % 3 + 1}", **({"note": "x"} if n % 7 == 0 else {}))


def test_tables_rows_columns_and_reasons_are_those_of_the_run(source: MemorySource, lake: Path) -> None:
    source.add(*_mixed(500))
    source.add(*_mixed(300), partition="1")
    pipeline = shop(
        source,
        lake,
        route={"by": {"field": "type"}, "allow": "order|page"},
        tables={"types": {"order": {"partition_by": ["day"]}}},
    )

    found = plan(pipeline)
    land_all(pipeline)

    ledger = [json.loads(path.read_text()) for path in sorted((lake / "_penstock/shop/ledger").iterdir())]
    (entry,) = [entry for entry in ledger if entry.get("ranges")]
    assert {t.name: t.rows for t in found.tables} == {name: p["rows"] for name, p in entry["tables"].items()}
    assert {letter.code: letter.count for letter in found.letters} == entry["reasons"]
    total = found.counts
    assert (total.read, total.filtered, total.tombstones, total.dead) == (800, 80, 80, 160)
    assert total.accounted
    for each in found.tables:
        made = deltalake.DeltaTable(each.location)
        assert [field.name for field in made.schema().fields] == [field.name for field in each.columns]
        assert tuple(made.metadata().partition_columns) == each.partition_by
    assert all(each.is_new and not each.refused for each in found.tables)
    assert found.ok


def test_nothing_is_made_before_the_first_start(source: MemorySource, lake: Path) -> None:
    source.add(*_mixed(100))

    found = plan(shop(source, lake))

    assert found.ok
    assert list(lake.parent.iterdir()) == []
    assert source.published == {}


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_nothing_is_changed_while_an_app_has_tables(source: MemorySource, lake: Path, prefix: str) -> None:
    source.add(*_mixed(100))
    pipeline = shop(source, lake, tables={"base": f"{prefix}{lake}"})
    land_all(pipeline)
    source.add(event("order", 1, brand_new=1), event("surprise", 1), b"{")
    source.published = {}
    before = everything(lake)

    found = plan(pipeline)

    assert [(t.name, t.is_new, len(t.added)) for t in found.tables] == [
        ("order", False, 1),
        ("surprise", True, 0),
        (LETTERS, False, 0),
    ]
    assert everything(lake) == before
    assert source.published == {}


def test_interrupted_plan_leaves_nothing(source: MemorySource, lake: Path, scratch: Path) -> None:
    class Interrupted(MemorySource):
        def read(self, piece: Slice) -> Iterator[Messages]:
            yield from super().read(piece)
            assert list(scratch.iterdir())  # it is at work
            raise KeyboardInterrupt

    broken = Interrupted({"0": [event("order", n) for n in range(10)]})

    with pytest.raises(KeyboardInterrupt):
        plan(shop(broken, lake))

    assert list(scratch.iterdir()) == []


# --- which messages ------------------------------------------------------------------------------


def test_sample_is_what_a_run_would_read_next(source: MemorySource, lake: Path) -> None:
    source.add(*(event("order", n) for n in range(10)))
    land_all(shop(source, lake))
    source.add(*(event("page", n) for n in range(5)))

    found = plan(shop(source, lake))

    assert found.slices == (Slice("0", 10, 15),)
    assert (found.entry, found.waiting, found.counts.rows, found.is_past) == (2, 5, 5, False)
    assert [each.name for each in found.tables] == ["page"]


def test_sample_is_spread_over_partitions(lake: Path) -> None:
    source = MemorySource({str(p): [event("order", n) for n in range(count)] for p, count in enumerate([500, 10, 500])})

    found = plan(shop(source, lake), 110)

    assert found.slices == (Slice("0", 0, 50), Slice("1", 0, 10), Slice("2", 0, 50))
    assert (found.waiting, found.counts.read) == (1010, 110)


def test_last_messages_are_looked_at_if_nothing_waits(source: MemorySource, lake: Path) -> None:
    source.add(*(event("order", n) for n in range(100)))
    land_all(shop(source, lake))

    found = plan(shop(source, lake), 30)

    assert found.slices == (Slice("0", 70, 100),)
    assert found.is_past
    assert (found.counts.rows, found.waiting, found.ok) == (30, 0, True)


def test_empty_source_is_no_failure(source: MemorySource, lake: Path) -> None:
    found = plan(shop(source, lake))

    assert (found.ok, found.slices, found.tables, found.arrival) == (True, (), (), None)


# --- changes to tables ---------------------------------------------------------------------------


def test_new_columns_are_told_with_their_path(source: MemorySource, lake: Path) -> None:
    source.add(event("order", 1, at={"x": 1}, items=[{"a": 1}]))
    land_all(shop(source, lake))
    source.add(event("order", 2, at={"x": 1, "y": "z"}, items=[{"a": 1, "b": True}], more=None, other=1.5))

    (order,) = plan(shop(source, lake)).tables

    assert {(each.path, str(each.type)) for each in order.added} == {
        (("at", "y"), "string"),
        (("items", "element", "b"), "boolean"),
        (("other",), "double"),
    }


def test_declared_column_is_added_though_no_message_has_it(source: MemorySource, lake: Path) -> None:
    source.add(event("order", 1))
    land_all(shop(source, lake))

    found = plan(shop(source, lake, tables={"types": {"order": {"schema": {"later": "date"}}}}))

    assert [each.path for each in table(found, "order").added] == [("later",)]
    assert found.ok
    assert not found.is_strictly_ok


@pytest.mark.parametrize(
    ("spec", "message", "code"),
    [
        ({}, {"N": 1}, "column.case-clash"),
        ({"source_columns": True}, {"_source": "x"}, "column.reserved"),
        ({"evolve": "freeze"}, {"more": 1}, "schema.unknown-field"),
        ({}, {f"k{n}": n for n in range(20)}, "schema.too-many-columns"),
    ],
)
def test_columns_that_cannot_be_added_are_told(
    source: MemorySource, lake: Path, spec: dict[str, Any], message: dict[str, Any], code: str
) -> None:
    pipeline = shop(source, lake, tables={"defaults": spec, "max_columns": 10})
    source.add(event("order", 1))
    land_all(pipeline)
    source.add(event("order", 2, **message), event("order", 3, **message))

    found = plan(pipeline)

    ((unmade),) = found.unmade
    assert (unmade.type, unmade.code, unmade.messages) == ("order", code, 2)
    assert found.counts.dead == 2
    assert [each.added for each in found.tables] == [()]


def test_type_that_gets_no_table_is_told(source: MemorySource, lake: Path) -> None:
    source.add(event("order", 1), event("page", 2))

    found = plan(shop(source, lake, tables={"limit": 1}))

    assert [(each.type, each.code) for each in found.unmade] == [("page", "type.limit")]


def test_columns_that_were_decided_and_not_committed_are_not_new(tmp_path: Path) -> None:
    made = Shop(tmp_path)
    made.land("order")
    deltalake.DeltaTable(made.lake / "order").alter.add_constraint({"closed": "1 = 1"})
    made.source.add(event("order", 1, fresh=1))
    with pytest.raises(PenstockError, match=r"tables\.parked"):
        made.land()
    made.source.add(event("order", 2, fresh=2))

    found = plan(made.pipeline)

    assert table(found, "order").added == ()
    assert "[table.unwritable]" in table(found, "order").refused
    assert not found.ok


def test_types_that_nobody_declared_are_kept_in_a_table_of_their_own(source: MemorySource, lake: Path) -> None:
    source.add(event("order", 1), event("page", 2), event("page", 3))
    route = {"by": {"field": "type"}, "unrouted": "keep"}

    found = plan(shop(source, lake, route=route, tables={"types": {"order": {"schema": {"n": "long"}}}}))

    assert {each.name: each.rows for each in found.tables} == {"order": 1, UNROUTED: 2}
    assert not lake.exists()


@dataclass(frozen=True)
class _Registry:
    """A registry of types in memory."""

    types_: dict[str, Schema]
    complaints: dict[str, str] = field(default_factory=dict)

    def types(self) -> Any:
        return SimpleNamespace(types=self.types_, complaints=self.complaints)


def test_types_of_a_registry_are_asked_for_and_not_remembered(source: MemorySource, lake: Path) -> None:
    source.add(event("order", 1))
    registry = _Registry({"order": columns({"type": "string", "n": "int"})}, {"page": "it has no columns"})

    found = plan(shop(source, lake, registry=registry))

    assert str(table(found, "order").columns) == "struct<type: string, n: int>"
    assert ["[registry.bad-type]" in note for note in found.notes] == [True]
    assert not lake.exists()


# --- dead letters --------------------------------------------------------------------------------


def test_each_code_has_an_example_with_its_coordinates(source: MemorySource, lake: Path) -> None:
    source.add(event("order", 1), b'{"type": "order", "bad\x1b[31m', b"\xff\xfe" * 500, b'{"n": ' + b"1" * 5_000 + b"}")

    found = plan(shop(source, lake))

    told = {letter.code: letter for letter in found.letters}
    assert {code: (letter.partition, letter.position) for code, letter in told.items()} == {
        "json.malformed": ("0", 1),
        "json.not-utf8": ("0", 2),
        "type.missing": ("0", 3),
    }
    assert told["json.malformed"].value == '{"type": "order", "bad\\x1b[31m'
    assert told["json.not-utf8"].value.startswith("\\xff\\xfe")
    assert len(told["type.missing"].value) == 200
    assert all(letter.reason and letter.topic == "memory" for letter in told.values())
    assert found.unmade == ()  # none of them asks for a column
    assert found.ok
    assert not found.is_strictly_ok


@pytest.mark.parametrize(("bad", "ok"), [(49, True), (60, False)])
def test_more_dead_letters_than_allowed_are_refused(source: MemorySource, lake: Path, bad: int, ok: bool) -> None:
    source.add(*[b"{"] * bad, *(event("order", n) for n in range(100 - bad)))

    found = plan(shop(source, lake))

    assert found.ok is ok
    assert ["[dead-letters.too-many]" in why for why in found.refused] == [] if ok else [True]


def test_few_bad_messages_stop_nobody_unless_more_like_them_wait(source: MemorySource, lake: Path) -> None:
    source.add(*[b"{"] * 90)

    assert plan(shop(source, lake)).ok  # a batch of so few never stops
    assert not plan(shop(source, lake), 50).ok  # but these are a part of something larger


# --- fast and slow -------------------------------------------------------------------------------


def test_rows_that_were_made_one_by_one_are_counted(source: MemorySource, lake: Path) -> None:
    source.add(*(event("order", n, day="2024-01-01") for n in range(1_000)))
    source.add(*(event("page", n, day="2024-01-01") for n in range(100)))

    plain = plan(shop(source, lake))
    slow = plan(shop(source, lake, transforms={"year": "substr(day, `0`, `4`)", "all": "to_array(n)[*]"}))
    fast = plan(shop(source, lake, transforms={"year": "substr(day, `0`, `4`)"}))

    assert [each.slow < 100 for each in (*plain.tables, *fast.tables)] == [True] * 4
    assert {each.name: each.slow for each in slow.tables} == {"order": 1_000, "page": 100}
    assert dict(fast.transforms) == {"year": "fast"}
    assert [(target, way == "fast") for target, way in slow.transforms] == [("year", True), ("all", False)]


# --- arrival ---------------------------------------------------------------------------------------


def test_files_and_commits_follow_from_the_rate_of_arrival(source: MemorySource, lake: Path) -> None:
    """A hundred messages a second for a minute, then the source is read no further."""
    source.add(*(event("order" if n % 4 else "page", n) for n in range(6_100)))
    source.details = {("0", n): Details(None, (), NOW - 3_600_000 + n * 10) for n in range(6_100)}

    found = plan(shop(source, lake, batch={"latency": "10s"}, spark={"master": "local[4]"}), 6_000)

    assert found.arrival is not None
    assert found.arrival.rate == pytest.approx(100)
    assert found.arrival.batches == pytest.approx(360, rel=0.01)
    assert found.arrival.commits(0.75) == pytest.approx(360, rel=0.01)
    assert found.arrival.files(0.75, 3) == pytest.approx(3 * 360, rel=0.01)
    assert found.arrival.commits(1 / 5_000) == pytest.approx(100 * 3_600 / 5_000, rel=0.15)


def test_messages_without_time_tell_no_pace(source: MemorySource, lake: Path) -> None:
    source.add(event("order", 1), event("order", 2))

    assert plan(shop(source, lake)).arrival is None


# --- what would be refused -----------------------------------------------------------------------


def test_changed_configuration_is_told_and_is_no_failure(tmp_path: Path) -> None:
    made = Shop(tmp_path)
    made.land("order")
    assert plan(made.pipeline).is_config_new is None  # it ran without one

    made.edit(2, config=fingerprint(made.pipeline))
    same = plan(made.pipeline)
    other = plan(shop(made.source, made.lake, batch={"latency": "1s"}))

    assert (same.is_config_new, same.ok) == (False, True)
    assert (other.is_config_new, other.ok, other.ran_with) == (True, True, same.config)


def test_another_place_is_refused_and_the_rest_is_told(source: MemorySource, lake: Path, tmp_path: Path) -> None:
    source.add(event("order", 1))
    ledger = {"path": str(tmp_path / "ledger")}
    land_all(shop(source, lake, ledger=ledger))

    found = plan(shop(source, tmp_path / "elsewhere", ledger=ledger))

    assert ["[config.place-changed]" in why for why in found.refused] == [True]
    assert not found.ok
    assert [(each.name, each.is_new) for each in found.tables] == [("order", True)]
    assert not (tmp_path / "elsewhere").exists()


def test_another_source_is_refused(source: MemorySource, lake: Path) -> None:
    source.add(event("order", 1))
    land_all(shop(source, lake))

    found = plan(shop(MemorySource(topic="other", partitions={"0": [event("order", 2)]}), lake))

    assert ["[config.source-changed]" in why for why in found.refused] == [True]
    assert found.counts.rows == 1


@pytest.mark.parametrize("what", ["recreated", "expired"])
def test_lost_records_are_refused(source: MemorySource, lake: Path, what: str) -> None:
    source.add(event("order", 1))
    land_all(shop(source, lake))
    source.add(*(event("order", n) for n in range(9)))
    source.incarnation = "2" if what == "recreated" else "1"
    source.dropped = {"0": 5} if what == "expired" else {}

    found = plan(shop(source, lake))

    assert [f"[source.{what}]" in why for why in found.refused] == [True]
    assert found.counts.read > 0


def test_source_that_is_gone_is_refused(lake: Path) -> None:
    class Gone(MemorySource):
        def bounds(self) -> Any:
            raise SourceLost("source.topic-missing", "it does not exist")

    found = plan(shop(Gone(), lake))

    assert (found.ok, found.slices, len(found.refused)) == (False, (), 1)


def test_source_that_is_away_is_an_error(lake: Path) -> None:
    class Away(MemorySource):
        def identity(self) -> Any:
            raise Transient("source.unavailable", "no answer")

    with pytest.raises(Transient, match="no answer"):
        plan(shop(Away(), lake))


def test_sample_that_expires_while_it_is_read_is_an_error(lake: Path) -> None:
    class Short(MemorySource):
        def read(self, piece: Slice) -> Iterator[Messages]:
            self.dropped["0"] = 5
            return super().read(piece)

    with pytest.raises(Transient, match=r"source\.sample-gone"):
        plan(shop(Short({"0": [event("order", n) for n in range(9)]}), lake))


def test_table_that_cannot_be_written_is_refused_before_the_first_start(source: MemorySource, lake: Path) -> None:
    made = deltalake.DeltaTable.create(lake / "order", pa.schema({"n": pa.int64()}))
    made.alter.add_constraint({"positive": "n > 0"})
    source.add(event("order", 1))

    found = plan(shop(source, lake))

    assert ["[table.unwritable]" in why for why in found.refused] == [True]


@pytest.mark.parametrize("kinds", [("order",), ("page",)])
def test_table_that_was_dropped_is_refused_whether_it_gets_something_or_not(tmp_path: Path, kinds: tuple[str]) -> None:
    made = Shop(tmp_path)
    made.land("order", "page")
    (made.lake / "order").rename(tmp_path / "away")
    made.source.add(*(event(kind, 1) for kind in kinds))

    found = plan(made.pipeline)

    assert "[table.dropped]" in table(found, "order").refused
    assert not found.ok
    assert not (made.lake / "order").exists()


def test_lost_ledger_is_refused(tmp_path: Path) -> None:
    made = Shop(tmp_path)
    made.land("order")
    (made.lake / "_penstock").rename(tmp_path / "away")

    found = plan(made.pipeline)

    assert ["[ledger.missing]" in why for why in found.refused] == [True]
    assert not (made.lake / "_penstock").exists()


def test_configuration_that_cannot_be_used_is_an_error(source: MemorySource, lake: Path) -> None:
    with pytest.raises(ConfigError):
        plan(shop(source, lake, tables={"types": {"dead_letters": {}}}))


# --- looking -------------------------------------------------------------------------------------


def test_place_that_is_looked_at_cannot_be_changed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "x").write_bytes(b"1")
    place = Looking(str(tmp_path / "there"), {}, tmp_path / "empty")
    nowhere = Looking(str(tmp_path / "nowhere"), {}, tmp_path / "empty")

    for change in (lambda: place.create("y", b"2"), lambda: place.delete(["x"])):
        with pytest.raises(PenstockError, match=r"storage\.only-looked-at"):
            change()
    place.put("x", b"2")
    nowhere.put("y", b"3")

    assert (place.get("x"), nowhere.get("x"), nowhere.get("y"), nowhere.folders()) == (b"2", None, b"3", [])
    assert (tmp_path / "there" / "x").read_bytes() == b"1"
    assert nowhere.location == str(tmp_path / "nowhere")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "there"]
    assert list((tmp_path / "empty").iterdir()) == []
