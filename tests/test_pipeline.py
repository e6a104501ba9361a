"""What a user declares: frozen, strict, and with defaults where nothing is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from penstock.contracts import Shapes
from penstock.formats.json import JsonFormat
from penstock.messages import Details, Messages
from penstock.pipeline import Batch, DeadLetters, LedgerSpec, Pipeline, Tables, TableSpec
from penstock.route import MAX_PATTERN, FieldRoute, HeaderRoute, Route
from penstock.schema import columns


def pipeline(**changes: Any) -> Pipeline:
    return Pipeline.model_validate(
        {"app": "shop", "source": object(), "format": object(), "tables": {"base": "./lake"}} | changes
    )


# --- a pipeline ----------------------------------------------------------------------------------


def test_little_needs_to_be_said() -> None:
    plain = pipeline()
    assert plain.route == Route(by="topic", allow=None)
    assert plain.batch == Batch(latency=10.0, messages=1_000_000, bytes=512_000_000)
    assert plain.dead_letters == DeadLetters(table=None, max_share=0.5, min_messages=100)
    assert plain.ledger == LedgerSpec(path=None, keep=604_800.0)
    assert (plain.tables.format, plain.tables.limit, plain.tables.park_after) == ("delta", 500, 120.0)
    assert plain.fsync is False


@pytest.mark.parametrize("name", ["shop", "Shop-2.eu_west", "0", "a" * 100])
def test_app_name_is_a_plain_word(name: str) -> None:
    assert pipeline(app=name).app == name


@pytest.mark.parametrize(
    "name", ["", "-shop", ".shop", "_shop", "a/b", "a b", "shop\n", "a:b", "é", "a" * 101, "a\x00"]
)
def test_app_name_that_could_not_name_a_folder_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="begins with a letter or digit"):
        pipeline(app=name)


@pytest.mark.parametrize(
    "changes",
    [
        {"frobnicate": 1},
        {"tables": {"base": "./lake", "bsae": "x"}},
        {"tables": {"base": "./lake", "types": {"a": {"evolv": "add"}}}},
        {"route": {"by": {"field": "a", "header": "b"}}},
        {"batch": {"seconds": 5}},
        {"ledger": {"where": "x"}},
        {"spark": {"masters": "x"}},
        {"dead_letters": {"path": "x"}},
    ],
)
def test_unknown_field_is_refused_everywhere(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        pipeline(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"fsync": "true"},
        {"fsync": 1},
        {"app": 5},
        {"batch": {"messages": "5"}},
        {"batch": {"messages": 1.0}},
        {"batch": {"messages": 0}},
        {"batch": {"bytes": 0}},
        {"batch": {"latency": -1}},
        {"tables": {"base": ""}},
        {"tables": {"base": "./lake", "limit": 0}},
        {"tables": {"base": "./lake", "defaults": {"evolve": "maybe"}}},
        {"tables": {"base": "./lake", "defaults": {"partition_by": "date"}}},
        {"route": {"by": "value"}},
        {"route": {"by": {"field": ""}}},
    ],
)
def test_value_of_the_wrong_kind_is_refused_and_not_bent(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        pipeline(**changes)


def test_smallest_limits_are_still_limits() -> None:
    least = pipeline(
        batch={"latency": 0, "messages": 1, "bytes": "1B"},
        tables={"base": "x", "limit": 1, "max_columns": 1, "park_after": 0},
        dead_letters={"max_share": 0, "min_messages": 1},
    )
    assert least.batch == Batch(latency=0.0, messages=1, bytes=1)
    assert (least.tables.limit, least.tables.max_columns, least.tables.park_after) == (1, 1, 0.0)
    assert (least.dead_letters.max_share, least.dead_letters.min_messages) == (0.0, 1)


def test_pipeline_is_frozen_all_the_way_down() -> None:
    plain = pipeline()
    for value, name in ((plain, "app"), (plain.tables, "base"), (plain.batch, "latency"), (plain.route, "allow")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(value, name, "other")


# --- tables --------------------------------------------------------------------------------------


def test_type_without_settings_has_the_defaults() -> None:
    tables = Tables(base="x", defaults=TableSpec(evolve="freeze", partition_by=("date",), source_columns=True))
    assert tables.spec("any") == TableSpec(evolve="freeze", partition_by=("date",), source_columns=True, coerce=False)


def test_type_with_settings_falls_to_the_defaults_for_the_rest() -> None:
    tables = Tables(
        base="x",
        defaults=TableSpec(evolve="freeze", partition_by=("date",), source_columns=True),
        types={"a": TableSpec(evolve="rescue"), "b": TableSpec(partition_by=(), source_columns=False, coerce=False)},
    )
    assert tables.spec("a") == TableSpec(evolve="rescue", partition_by=("date",), source_columns=True, coerce=False)
    assert tables.spec("b") == TableSpec(evolve="freeze", partition_by=(), source_columns=False, coerce=False)


def test_partition_columns_may_be_given_as_a_list() -> None:
    assert TableSpec.model_validate({"partition_by": ["date", "hour"]}).partition_by == ("date", "hour")


def test_nothing_said_at_all_means_new_columns_are_added() -> None:
    assert Tables(base="x").spec("a") == TableSpec(evolve="add", partition_by=(), source_columns=False, coerce=False)


def test_declared_columns_belong_to_one_type() -> None:
    own = TableSpec.model_validate({"schema": {"a": "long", "b": "struct<c: string not null>"}})
    tables = Tables(base="x", types={"a": own})
    assert tables.spec("a").declared == columns({"a": "long", "b": "struct<c: string not null>"})
    assert tables.spec("b").declared is None


def test_declared_column_of_no_type_is_refused() -> None:
    with pytest.raises(ValidationError, match="'lnog' is not a type"):
        TableSpec.model_validate({"schema": {"a": "lnog"}})


# --- dead letters --------------------------------------------------------------------------------


def test_path_is_enough_to_declare_dead_letters() -> None:
    assert pipeline(dead_letters="./letters").dead_letters == DeadLetters(table="./letters")


def test_dead_letters_may_say_how_many_are_too_many() -> None:
    found = pipeline(dead_letters={"table": "./letters", "max_share": 1, "min_messages": 7}).dead_letters
    assert found == DeadLetters(table="./letters", max_share=1.0, min_messages=7)


@pytest.mark.parametrize("letters", [5, ["./letters"], {"max_share": 1.1}, {"max_share": -0.1}, {"min_messages": 0}])
def test_dead_letters_of_another_kind_are_refused(letters: object) -> None:
    with pytest.raises(ValidationError):
        pipeline(dead_letters=letters)


# --- routes --------------------------------------------------------------------------------------


def test_type_comes_from_one_place() -> None:
    assert Route.model_validate({"by": "key"}).by == "key"
    assert Route.model_validate({"by": {"field": "meta.type"}}).by == FieldRoute(field="meta.type")
    assert Route.model_validate({"by": {"header": "type"}}).by == HeaderRoute(header="type")
    assert Route(by=FieldRoute(field="meta.type")).field == "meta.type"
    assert Route(by=HeaderRoute(header="type")).field is None


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2000}", "(?=ahead)", r"(a)\1", "(?<!behind)x", "*"])
def test_pattern_that_re2_does_not_know_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError, match="is not an RE2 pattern") as caught:
        Route(allow=pattern)

    assert "b'" not in str(caught.value)


def test_pattern_has_a_limit() -> None:
    assert Route(allow="a" * MAX_PATTERN).allow == "a" * MAX_PATTERN
    with pytest.raises(ValidationError, match=f"is longer than {MAX_PATTERN} characters"):
        Route(allow="a" * (MAX_PATTERN + 1))


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "(.*a){20}$", "^((a*)*)*$", "(a?){30}a{30}$"])
def test_pattern_that_would_choke_a_backtracking_engine_is_harmless(pattern: str) -> None:
    """A backtracking engine would not see the end of these."""
    hostile = b'{"type": "' + b"a" * 900 + b'!"}'
    messages = Messages("events", "0", np.array([0]), pa.array([hostile]), lambda _: Details(None, (), None))
    reader = JsonFormat().reader(Shapes({}, field="type", allow=Route(allow=pattern).allow))
    assert reader.sort(messages, None).filtered.tolist() == [0]


# --- transforms ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transforms", "why"),
    [
        ({"date": "substr(time, `0`"}, 'transform "date": not a JMESPath expression'),
        ({"date": "subst(time, `0`, `10`)"}, "there is no function subst"),
        ({"a b": "time"}, "cannot be a column name"),
        ({"a": ""}, "the source is empty"),
        ({"a": "b" * 5_000}, "the limit is"),
    ],
)
def test_transform_that_cannot_work_is_refused_at_the_start(transforms: dict[str, str], why: str) -> None:
    with pytest.raises(ValidationError, match="cannot be used") as caught:
        pipeline(transforms=transforms)

    assert why in str(caught.value)


def test_every_transform_that_cannot_work_is_told_of() -> None:
    wrong = {"a b": "x", "good": "x", "c": "", "error": "(", "meta.env": "x"}

    with pytest.raises(ValidationError) as caught:
        pipeline(transforms=wrong, dead_letters={"transforms": wrong})

    rows, letters = (str(error["ctx"]["error"]) for error in caught.value.errors())
    assert [name for name in ("a b", "c", "error") if f'transform "{name}":' not in rows] == []
    assert [name for name in ("a b", "c", "error") if f'transform "{name}":' not in letters] == []
    assert "'error': every dead letter has that column" in letters
    assert "'meta.env': a dead letter gets columns" in letters
    assert "good" not in rows + letters


@pytest.mark.parametrize(
    ("name", "why"), [("meta.env", "not fields inside"), ("error", "has that column"), ("position", "has that column")]
)
def test_dead_letters_keep_their_own_columns(name: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        pipeline(dead_letters={"transforms": {name: "'x'"}})


def test_dead_letters_may_be_dated_by_a_transform() -> None:
    assert pipeline(dead_letters={"transforms": {"date": "'2026-01-01'"}}).dead_letters.transforms
