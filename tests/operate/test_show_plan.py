"""How a plan looks: everything that would happen, nothing that could harm a terminal."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from penstock.contracts import Slice
from penstock.operate.arrival import Arrival
from penstock.operate.ddl import Added
from penstock.operate.plan import Plan, TablePlan
from penstock.operate.plan_letters import Letter, Unmade
from penstock.operate.show_plan import plan_values, show_plan
from penstock.places import LETTERS
from penstock.protocol.entry import Counts
from penstock.schema import STRING, Field, Struct, columns

ORDER = TablePlan("order", "/lake/order", True, columns({"n": "long"}), (), rows=90, slow=3)
PAGE = TablePlan("page", "/lake/page", False, columns({"n": "long"}), (), (Added(("x", "y"), STRING),), rows=5)
DEAD = TablePlan(LETTERS, "/lake/dead", False, columns({"error": "string"}), ("date",), rows=4)
PLAN = Plan(
    app="shop",
    source="kafka:events",
    format="delta",
    entry=12,
    ran_with="aaaa",
    config="bbbb",
    refused=(),
    slices=(Slice("0", 5, 105),),
    waiting=1_000,
    counts=Counts(read=100, rows=95, dead=4, filtered=1),
    tables=(ORDER, PAGE, DEAD),
    letters=(Letter("json.malformed", 4, "order", "events", "0", 7, "it is no JSON", "{"),),
    unmade=(Unmade("order", "column.case-clash", "the key 'N' differs from column 'n' only in case", 2),),
    transforms=(("year", "fast"), ("all", "a projection")),
    arrival=Arrival(rate=100.0, seconds=10.0, tasks=1, cores=4),
)


def _shown(found: Plan, width: int = 100) -> str:
    out = io.StringIO()
    show_plan(found, Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 140])
def test_plan_says_everything_that_would_happen(width: int) -> None:
    told = _shown(PLAN, width)

    for words in (
        "shop: reading kafka:events after ledger entry 12; configuration bbbb, where aaaa ran before",
        "100 messages read of 1,000 positions that wait = 95 rows + 4 dead letters + 1 filtered",
        "CREATE TABLE delta.`/lake/order` (\n  `n` BIGINT\n)\nUSING DELTA;",
        "ALTER TABLE delta.`/lake/page` ADD COLUMNS (\n  `x`.`y` STRING\n);",
        "json.malformed: 4 (4.0%), such as events partition 0 position 7 of type order\n    it is no JSON\n    {\n",
        "order: the key 'N' differs from column 'n' only in case [column.case-clash], 2 messages",
        "transform year: fast",
        "transform all: one message at a time, for a projection",
        "order: 3 of 90 rows were made one by one",
        "at about 100 messages a second: 360 batches an hour, each of 1 task on 4 cores",
        "shop: it would run; 1 new tables, 1 with new columns, 4 dead letters in the sample",
    ):
        assert words in told
    lines = [" ".join(line.split()) for line in told.splitlines()]
    assert {"order 90 360 360 new", "page 5 360 360 1 new column", "dead letters 4 360 360"} <= set(lines)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"entry": 0, "ran_with": None}, "at its first start; configuration bbbb"),
        ({"ran_with": "bbbb"}, "after ledger entry 12; same configuration"),
        ({"ran_with": ""}, "the one that ran before is not known"),
        ({"waiting": 0}, "100 messages read from the end: nothing waits = "),
        ({"slices": (), "waiting": 0}, "the source holds no message to look at"),
        ({"refused": ("so it is [x.y]\n  do that",)}, "it would be refused: so it is [x.y]\n  do that"),
        ({"notes": ("the registry is away",)}, "note: the registry is away"),
        (
            {"tables": (replace(PAGE, refused="it is gone [table.dropped]"),)},
            "page would not take its rows: it is gone",
        ),
        ({"arrival": None}, "?"),
    ],
)
def test_plan_says_how_it_stands(change: dict[str, object], words: str) -> None:
    assert words in _shown(replace(PLAN, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"refused": ("x",)}, {"tables": (replace(PAGE, refused="x"),)}])
def test_what_would_not_go_well_is_the_last_word(change: dict[str, object]) -> None:
    found = replace(PLAN, **change)  # type: ignore[arg-type]

    assert _shown(found).rstrip().endswith("shop: it would not go well")
    assert plan_values(found)["ok"] is False


def test_nothing_from_messages_reaches_a_terminal_as_it_is() -> None:
    evil = "\x1b[2J\x07\u202e[red]"
    schema = Struct((Field(evil, STRING),))
    found = replace(
        PLAN,
        tables=(replace(ORDER, columns=schema), replace(PAGE, added=(Added((evil,), STRING),), refused=evil)),
        letters=(replace(PLAN.letters[0], type=evil, topic=evil),),
        unmade=(replace(PLAN.unmade[0], type=evil),),
        transforms=((evil, "fast"),),
    )

    told = _shown(found)

    assert {c for c in told if not c.isprintable()} == {"\n"}
    assert told.count("[red]") == 7
    assert json.loads(json.dumps(plan_values(found)))["tables"][0]["columns"] == {evil: "string"}


def test_values_are_json_and_hold_what_programs_ask_for() -> None:
    found = json.loads(json.dumps(plan_values(PLAN)))

    assert (found["ok"], found["config_changed"], found["ledger"]) == (True, True, {"entry": 12, "config": "aaaa"})
    assert found["sample"]["positions"] == {"0": [5, 105]}
    assert found["sample"]["filtered"] == 1
    assert [table["table"] for table in found["tables"]] == ["order", "page", "_dead_letters"]
    assert found["tables"][1]["added"] == [{"path": ["x", "y"], "type": "string"}]
    assert found["tables"][0]["files_per_hour"] == 360
    assert found["dead_letters"][0]["position"] == 7
    assert found["arrival"] == {"messages_per_second": 100, "batches_per_hour": 360, "tasks": 1, "cores": 4}
