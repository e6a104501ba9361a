"""Which types have a table, where, and with which columns: real tables on a real disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pytest

from penstock.catalog import Catalog
from penstock.contracts import File
from penstock.errors import ConfigError
from penstock.formats.json import JsonFormat
from penstock.messages import RESCUED, SOURCE_COLUMNS
from penstock.pipeline import Pipeline
from penstock.places import LETTERS, ledger_location, storage_opener, storage_options
from penstock.schema import NOTHING, Array, Field, Schema, Struct, columns, written
from penstock.tables.delta import DeltaTable
from penstock.tables.delta_schema import to_delta
from penstock.testing import MemorySource

Open = Callable[..., Catalog]
ONE = columns({"a": "long"})


def declared(tmp_path: Path, tables: dict[str, Any], **more: Any) -> Pipeline:
    base = {"base": str(tmp_path / "lake")} | tables
    return Pipeline.model_validate(
        {"app": "shop", "source": MemorySource(), "format": JsonFormat(), "tables": base} | more
    )


@pytest.fixture
def open_catalog(tmp_path: Path) -> Open:
    """The catalog of a pipeline whose tables are declared so."""

    def opened(letters: str | None = None, **tables: Any) -> Catalog:
        pipeline = declared(tmp_path, tables, **({"dead_letters": letters} if letters else {}))
        return Catalog(pipeline, DeltaTable, storage_opener(pipeline))

    return opened


def made(tmp_path: Path, name: str, schema: Schema, partition_by: list[str] | None = None) -> deltalake.DeltaTable:
    """A table that somebody else made."""
    return deltalake.DeltaTable.create(tmp_path / "lake" / name, to_delta(schema), partition_by=partition_by)


def shape(catalog: Catalog, type: str, seen: Schema = ONE) -> dict[str, str]:
    return written(catalog.grow({type: seen}).targets[type].shape.schema)


# --- where things are ----------------------------------------------------------------------------


def test_everything_is_beside_the_tables_unless_said_otherwise(open_catalog: Open, tmp_path: Path) -> None:
    catalog = open_catalog()
    assert catalog.location("order") == f"{tmp_path}/lake/order"
    assert catalog.location(LETTERS) == catalog.letters.location == f"{tmp_path}/lake/dead_letters"
    assert catalog.ledger_location == f"{tmp_path}/lake/_penstock/shop"


def test_ledger_and_letters_are_where_they_are_declared(tmp_path: Path) -> None:
    pipeline = declared(tmp_path, {}, ledger={"path": "s3://bucket/ledger/"}, dead_letters=f"{tmp_path}/letters")
    assert ledger_location(pipeline) == "s3://bucket/ledger"
    assert Catalog(pipeline, DeltaTable, storage_opener(pipeline)).location(LETTERS) == f"{tmp_path}/letters"


def test_storage_settings_are_opened_for_storage_only(tmp_path: Path) -> None:
    pipeline = declared(tmp_path, {"storage": {"aws_region": "eu-west-1"}})
    assert storage_options(pipeline) == {"aws_region": "eu-west-1"}


def test_folders_that_could_be_tables_are_told(open_catalog: Open, tmp_path: Path) -> None:
    for name in ("page", "order.v1", "dead_letters", "_penstock", ".tmp"):
        (tmp_path / "lake" / name).mkdir(parents=True)
    (tmp_path / "lake" / "README").write_text("")
    assert open_catalog().folders() == ["order.v1", "page"]
    assert open_catalog(letters=str(tmp_path / "letters")).folders() == ["dead_letters", "order.v1", "page"]


def test_folder_that_only_ends_like_the_letters_could_be_a_table(open_catalog: Open, tmp_path: Path) -> None:
    (tmp_path / "lake" / "errors").mkdir(parents=True)
    for elsewhere in (f"{tmp_path}/lake/other/errors", f"{tmp_path}/lake2/errors"):
        assert open_catalog(letters=elsewhere).folders() == ["errors"]
    assert open_catalog(letters=f"{tmp_path}/lake/Errors").folders() == []


def test_files_that_are_not_there_are_told_by_table(open_catalog: Open, tmp_path: Path) -> None:
    (tmp_path / "lake" / "order").mkdir(parents=True)
    (tmp_path / "lake" / "order" / "1.parquet").write_bytes(b"")
    files = [File("1.parquet", 0, 1), File("2.parquet", 0, 1)]
    assert open_catalog().missing("order", files) == ["2.parquet"]
    assert open_catalog().missing("page", files) == ["1.parquet", "2.parquet"]


# --- new types -----------------------------------------------------------------------------------


def test_new_type_gets_a_table_with_the_columns_it_was_seen_with(open_catalog: Open, tmp_path: Path) -> None:
    catalog = open_catalog()
    seen = Struct((Field("a", columns({"b": "long"})), Field("c", NOTHING), Field("d", Array(NOTHING))))
    growth = catalog.grow({"order.v1": seen})
    target = growth.targets["order.v1"]
    assert (target.name, target.location) == ("order.v1", f"{tmp_path}/lake/order.v1")
    assert written(target.shape.schema) == {"a": "struct<b: long>", "d": "array<json>"}
    assert (target.shape.evolve, target.partition_by, target.source_columns) == ("add", (), False)
    assert (growth.refused, growth.frozen) == ({}, frozenset())


def test_growing_is_forgotten_unless_the_batch_is_decided(open_catalog: Open) -> None:
    catalog = open_catalog()
    growth = catalog.grow({"order": ONE, "page": ONE})
    assert catalog.targets == {}
    catalog.settle(growth, ["order"])
    assert catalog.targets.keys() == catalog.existing == {"order"}


def test_hostile_type_has_a_table_below_the_base(open_catalog: Open, tmp_path: Path) -> None:
    hostile = ["../../etc", "/abs", "a/b", "_delta_log", "*"]
    targets = open_catalog().grow(dict.fromkeys(hostile, ONE)).targets
    assert all(Path(targets[type].location).parent == tmp_path / "lake" for type in hostile)
    assert len({target.name for target in targets.values()}) == len(hostile)


def test_declared_type_has_its_columns_before_any_message(open_catalog: Open) -> None:
    catalog = open_catalog(types={"order": {"schema": {"a": "long not null"}, "evolve": "freeze"}})
    target = catalog.targets["order"]
    assert written(target.shape.schema) == {"a": "long not null"}
    assert target.shape.evolve == "freeze"
    assert catalog.existing == set()


@pytest.mark.parametrize(
    ("types", "code"),
    [
        ({"dead_letters": {"schema": {"a": "long"}}}, "config.reserved-type"),
        ({"Dead_Letters": {"evolve": "freeze"}}, "config.reserved-type"),
        ({"order": {"schema": {"a": "long"}}, "Order": {"schema": {"a": "long"}}}, "config.reserved-type"),
        ({"order": {"schema": {"a": "long", "A": "long"}}}, "config.reserved-column"),
        ({"order": {"schema": {"a": "long", "_Position": "long"}, "source_columns": True}}, "config.reserved-column"),
    ],
)
def test_configured_type_that_could_have_no_table_of_its_own_is_refused_at_once(
    open_catalog: Open, types: dict[str, Any], code: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        open_catalog(types=types)
    assert (caught.value.code, caught.value.exit_status) == (code, 2)
    assert f"tables.types.{list(types)[-1]}" in str(caught.value)


def test_all_types_that_could_have_no_table_are_complained_about_together(open_catalog: Open) -> None:
    with pytest.raises(ConfigError) as caught:
        open_catalog(types={type: {} for type in ("dead_letters", "order", "Order", "x" * 201)})
    assert len(caught.value.complaints) == 3


@pytest.mark.parametrize(
    ("target", "column", "tables"),
    [
        ("_source", "_source", {"defaults": {"source_columns": True}}),
        ("_Position.of", "_position", {"types": {"order": {"source_columns": True}}}),
        (" _timestamp", "_timestamp", {"defaults": {"source_columns": True}, "types": {"order": {"evolve": "add"}}}),
        ("_rescued", "_rescued", {"defaults": {"evolve": "rescue"}}),
        ("_rescued.at", "_rescued", {"types": {"page": {}, "order": {"evolve": "rescue"}}}),
    ],
)
def test_transform_that_sets_a_column_of_penstocks_own_is_refused_at_once(
    tmp_path: Path, target: str, column: str, tables: dict[str, Any]
) -> None:
    pipeline = declared(tmp_path, tables, transforms={"a": "b", target: "kafka.offset"})
    with pytest.raises(ConfigError) as caught:
        Catalog(pipeline, DeltaTable, storage_opener(pipeline))
    (complaint,) = caught.value.complaints
    assert (complaint.code, complaint.where) == ("config.reserved-column", f"transforms.{target.strip()}")
    assert f"begins with {column}," in complaint.what
    assert complaint.remedy == "give the target another name"


@pytest.mark.parametrize("tables", [{}, {"defaults": {"source_columns": True}, "types": {"order": {"evolve": "add"}}}])
def test_transform_may_set_what_is_no_column_of_penstocks_own(tmp_path: Path, tables: dict[str, Any]) -> None:
    targets = ["_rescued", "meta._source", "_sources", *([] if tables else ["_source", "_position"])]
    pipeline = declared(tmp_path, tables, transforms=dict.fromkeys(targets, "a"))
    assert Catalog(pipeline, DeltaTable, storage_opener(pipeline)).targets == {}


@pytest.mark.parametrize("evolve", ["add", "rescue"])
def test_names_of_penstocks_own_are_no_columns_of_a_new_type(open_catalog: Open, evolve: str) -> None:
    catalog = open_catalog(defaults={"evolve": evolve, "source_columns": True})
    seen = columns({"a": "long", "_Position": "string", "_source": "long", "_rescued": "long"})
    found = shape(catalog, "order", seen)
    assert found == {"a": "long"} | ({"_rescued": "long"} if evolve == "add" else {})


def test_of_names_that_differ_only_in_case_one_becomes_a_column(open_catalog: Open) -> None:
    catalog = open_catalog(types={"known": {"schema": {"foo": "long", "s": "struct<b: long>"}}})
    seen = columns({"Foo": "long", "foo": "long", "s": "struct<B: long, C: long, c: long>"})
    assert shape(catalog, "new", seen) == {"Foo": "long", "s": "struct<B: long, C: long>"}
    assert shape(catalog, "known", seen) == {"foo": "long", "s": "struct<b: long, C: long>"}


def test_of_names_that_differ_only_in_case_the_partition_column_stays(open_catalog: Open) -> None:
    catalog = open_catalog(defaults={"partition_by": ["day"]}, types={"own": {"partition_by": ["day"]}})
    seen = columns({"Day": "string", "a": "long", "day": "string"})
    assert shape(catalog, "order", seen) == {"a": "long", "day": "string"}
    assert shape(catalog, "own", columns({"Day": "string", "a": "long"})) == {"a": "long", "day": "string"}


@pytest.mark.parametrize(
    ("type", "seen", "code"),
    [
        ("", ONE, "type.name"),
        ("x" * 201, ONE, "type.name"),
        ("é" * 100, ONE, "type.name"),
        ("dead_letters", ONE, "type.reserved"),
        ("Dead_Letters", ONE, "type.reserved"),
        ("ORDER", ONE, "type.case-clash"),
        ("empty", Struct(), "schema.no-columns"),
        ("null", Struct((Field("a", NOTHING),)), "schema.no-columns"),
        ("wide", columns({"a": "long", "b": "long", "c": "long", "d": "long"}), "schema.too-many-columns"),
        ("deep", columns({"a": "long", "b": "array<struct<c: long, d: long, e: long>>"}), "schema.too-many-columns"),
    ],
)
def test_type_that_may_not_have_a_table_is_refused(open_catalog: Open, type: str, seen: Schema, code: str) -> None:
    catalog = open_catalog(max_columns=3, types={"order": {"schema": {"a": "long"}}})
    growth = catalog.grow({type: seen, "page": ONE})
    assert growth.refused.keys() == {type}
    assert growth.refused[type][0] == code
    assert growth.refused[type][1]
    assert growth.targets.keys() == {"order", "page"}


def test_types_that_differ_only_in_case_are_noticed_within_a_batch(open_catalog: Open) -> None:
    growth = open_catalog().grow({"order": ONE, "Order": ONE})
    assert growth.targets.keys() == {"Order"}
    assert growth.refused["order"][0] == "type.case-clash"


def test_name_of_the_letters_is_free_where_they_are_elsewhere(open_catalog: Open, tmp_path: Path) -> None:
    catalog = open_catalog(letters=f"{tmp_path}/lake/bad")
    growth = catalog.grow({"dead_letters": ONE, "BAD": ONE})
    assert growth.targets.keys() == {"dead_letters"}
    assert growth.refused["BAD"][0] == "type.reserved"


def test_types_beyond_the_limit_are_refused(open_catalog: Open) -> None:
    catalog = open_catalog(limit=3, types={"z": {"schema": {"a": "long"}}})
    growth = catalog.grow(dict.fromkeys(["a", "b", "c", "d"], ONE))
    assert growth.targets.keys() == {"z", "a", "b"}
    assert {type: code for type, (code, _) in growth.refused.items()} == {"c": "type.limit", "d": "type.limit"}
    catalog.settle(growth, ["a", "b"])
    assert catalog.grow({"a": columns({"more": "long"}), "e": ONE}).refused.keys() == {"e"}


# --- known types ---------------------------------------------------------------------------------


def test_known_type_keeps_its_columns_and_gets_more(open_catalog: Open) -> None:
    catalog = open_catalog(types={"order": {"schema": {"a": "long not null", "b": "struct<c: long>"}}})
    found = shape(catalog, "order", columns({"a": "string", "b": "struct<d: long>", "e": "double"}))
    assert found == {"a": "long not null", "b": "struct<c: long, d: long>", "e": "double"}


@pytest.mark.parametrize("evolve", ["freeze", "rescue", "ignore"])
def test_known_type_that_may_not_evolve_keeps_its_columns(open_catalog: Open, evolve: str) -> None:
    catalog = open_catalog(types={"order": {"schema": {"a": "long"}, "evolve": evolve}})
    growth = catalog.grow({"order": columns({"b": "long"})})
    assert written(growth.targets["order"].shape.schema) == {"a": "long"}
    assert (growth.refused, growth.frozen) == ({}, frozenset())


def test_known_type_that_would_grow_too_wide_is_frozen_for_this_batch_only(open_catalog: Open) -> None:
    catalog = open_catalog(max_columns=2)
    catalog.settle(catalog.grow({"order": ONE}), ["order"])
    growth = catalog.grow({"order": columns({"b": "long", "c": "long"})})
    assert growth.frozen == {"order"}
    assert growth.targets["order"].shape.evolve == "freeze"
    assert written(growth.targets["order"].shape.schema) == {"a": "long"}
    catalog.settle(growth, ["order"])
    assert catalog.targets["order"].shape.evolve == "add"
    assert shape(catalog, "order", columns({"b": "long"})) == {"a": "long", "b": "long"}


def test_column_that_somebody_else_added_meanwhile_keeps_its_type(open_catalog: Open, tmp_path: Path) -> None:
    theirs = made(tmp_path, "order", ONE)
    catalog = open_catalog()
    catalog.know("order", catalog.open("order").state())
    theirs.alter.add_columns(to_delta(columns({"price": "double", "note": "string"})).fields)
    found = shape(catalog, "order", columns({"price": "long", "b": "long", "NOTE": "long"}))
    assert found == {"a": "long", "price": "double", "note": "string", "b": "long"}


def test_columns_that_a_table_has_already_are_never_too_many(open_catalog: Open, tmp_path: Path) -> None:
    made(tmp_path, "order", columns({"a": "long", "b": "long", "c": "long"}))
    catalog = open_catalog(max_columns=2)
    assert catalog.grow({"order": ONE}).frozen == frozenset()
    assert catalog.grow({"order": columns({"d": "long"})}).frozen == {"order"}


@pytest.mark.parametrize("evolve", ["add", "freeze"])
def test_column_that_is_declared_later_is_one_of_the_table_from_then_on(
    open_catalog: Open, tmp_path: Path, evolve: str
) -> None:
    made(tmp_path, "order", columns({"a": "long"}))
    schema = {"a": "string", "at": "timestamp not null"}
    catalog = open_catalog(types={"order": {"schema": schema, "evolve": evolve}})
    catalog.know("order", catalog.open("order").state())
    assert written(catalog.targets["order"].shape.schema) == {"a": "long", "at": "timestamp"}


# --- partitions ----------------------------------------------------------------------------------


def test_own_partition_column_is_there_even_if_no_message_has_it(open_catalog: Open) -> None:
    catalog = open_catalog(types={"order": {"partition_by": ["date"]}})
    assert shape(catalog, "order") == {"a": "long", "date": "string"}
    assert catalog.grow({"order": ONE}).targets["order"].partition_by == ("date",)


def test_default_partition_column_is_only_where_a_type_has_it(open_catalog: Open) -> None:
    catalog = open_catalog(defaults={"partition_by": ["date", "a"]}, types={"own": {"partition_by": []}})
    seen = columns({"a": "long", "b": "long"})
    targets = catalog.grow({"order": seen, "own": seen}).targets
    assert targets["order"].partition_by == ("a",)
    assert targets["own"].partition_by == ()
    assert written(targets["order"].shape.schema) == {"a": "long", "b": "long"}


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("string", "string"),
        ("long", "long"),
        ("boolean", "boolean"),
        ("date", "date"),
        ("double", "json"),
        ("timestamp", "json"),
        ("struct<x: long>", "json"),
        ("array<long>", "json"),
    ],
)
def test_column_that_cannot_name_a_folder_is_kept_as_json_text(open_catalog: Open, kind: str, kept: str) -> None:
    catalog = open_catalog(types={"order": {"partition_by": ["p"]}})
    assert shape(catalog, "order", columns({"p": kind, "a": kind})) == {"p": kept, "a": kind}


def test_table_of_nothing_but_partition_columns_is_not_partitioned(open_catalog: Open) -> None:
    catalog = open_catalog(types={"order": {"partition_by": ["a"]}})
    target = catalog.grow({"order": columns({"a": "double"})}).targets["order"]
    assert (written(target.shape.schema), target.partition_by) == ({"a": "double"}, ())


# --- tables that are there already ---------------------------------------------------------------


def test_existing_table_is_taken_over_as_it_is(open_catalog: Open, tmp_path: Path) -> None:
    made(tmp_path, "order", columns({"a": "int", "day": "string", "j": "json"}), ["day"])
    catalog = open_catalog(types={"order": {"partition_by": ["date"]}})
    target = catalog.grow({"order": columns({"a": "long", "b": "long"})}).targets["order"]
    assert written(target.shape.schema) == {"a": "int", "day": "string", "j": "json", "b": "long"}
    assert target.partition_by == ("day",)
    assert "order" in catalog.existing


def test_existing_table_that_cannot_be_written_or_read_stops_nobody_else(open_catalog: Open, tmp_path: Path) -> None:
    """Its batches are decided all the same, and wait in its own line."""
    made(tmp_path, "order", ONE).alter.add_constraint({"positive": "a > 0"})
    made(tmp_path, "cart", ONE)
    (tmp_path / "lake/cart/_delta_log/00000000000000000000.json").write_text("torn")
    grown = open_catalog().grow({"order": ONE, "cart": ONE, "page": ONE})
    assert set(grown.targets) == {"order", "cart", "page"}
    assert not grown.refused


def test_found_table_says_what_its_type_looks_like(open_catalog: Open, tmp_path: Path) -> None:
    made(tmp_path, "order", Struct((*ONE, Field(RESCUED, columns({"x": "json"}).fields[0].type), *SOURCE_COLUMNS)))
    catalog = open_catalog(defaults={"evolve": "rescue", "source_columns": True})
    catalog.know("order", catalog.open("order").state())
    target = catalog.targets["order"]
    assert written(target.shape.schema) == {"a": "long"}
    assert [field.name for field in catalog.schema(target)] == ["a", RESCUED, *(f.name for f in SOURCE_COLUMNS)]
    assert target.shape.reserved == {RESCUED, *(f.name for f in SOURCE_COLUMNS)}


def test_table_that_is_not_there_teaches_nothing(open_catalog: Open) -> None:
    catalog = open_catalog()
    for name in ("order", LETTERS):
        catalog.know(name, catalog.open(name).state())
    assert (catalog.targets, catalog.existing) == ({}, set())


def test_letters_table_that_is_there_is_no_type_of_its_own(open_catalog: Open, tmp_path: Path) -> None:
    made(tmp_path, "dead_letters", ONE)
    catalog = open_catalog()
    catalog.know(LETTERS, catalog.open(LETTERS).state())
    assert (catalog.targets, catalog.existing) == ({}, {LETTERS})
