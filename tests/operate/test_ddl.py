"""Statements that say what penstock would do to a table: Spark reads them as they are meant, whatever the names are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql.types import StructType

from penstock.operate.ddl import Added, add_columns, create_table, lacking, quoted, type_name
from penstock.schema import SCALARS, Field, Schema, Struct, columns, parse

HOSTILE = ["a b", "we`ird", "`", "``; drop table x; --", "select", "ü.é", "a.b", "it's", 'say "hi"', "new\nline", "--x"]


def test_create_statement_names_place_columns_and_partitions() -> None:
    schema = columns({"id": "long not null", "day": "date", "tags": "array<string>", "raw": "json"})

    assert create_table("/lake/order.v1", "delta", schema, ["day"]) == (
        "CREATE TABLE delta.`/lake/order.v1` (\n"
        "  `id` BIGINT NOT NULL,\n"
        "  `day` DATE,\n"
        "  `tags` ARRAY<STRING>,\n"
        "  `raw` STRING\n"
        ")\n"
        "USING DELTA\n"
        "PARTITIONED BY (`day`)"
    )
    assert "PARTITIONED" not in create_table("/lake/order.v1", "delta", schema)


def test_alter_statement_names_columns_by_their_path() -> None:
    added = [Added(("a",), parse("long")), Added(("list", "element", "x`y"), parse("decimal(10, 2)"))]

    assert add_columns("s3://lake/o", "delta", added) == (
        "ALTER TABLE delta.`s3://lake/o` ADD COLUMNS (\n  `a` BIGINT,\n  `list`.`element`.`x``y` DECIMAL(10, 2)\n)"
    )


@pytest.mark.parametrize("name", sorted(SCALARS))
def test_every_scalar_has_a_name(name: str) -> None:
    assert type_name(Struct((Field("x", parse(name) if name != "nothing" else parse("json")),)))


# --- what a table lacks --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "paths"),
    [
        ({"a": "long"}, []),
        ({"a": "long", "b": "string"}, ["b"]),
        ({"a": "string"}, []),  # another type is no new column
        ({"s": "struct<x: long, y: long>"}, ["s.y"]),
        ({"l": "array<struct<x: long, y: struct<z: long>>>"}, ["l.element.y"]),
        ({"s": "long"}, []),
        ({"m": "map<string, struct<y: long>>"}, []),
    ],
)
def test_lacking_columns_are_found_also_inside_of_others(wanted: dict[str, str], paths: list[str]) -> None:
    table = columns(
        {
            "a": "long",
            "s": "struct<x: long>",
            "l": "array<struct<x: long>>",
            "m": "map<string, struct<x: long>>",
        }
    )

    assert [".".join(added.path) for added in lacking(table, columns(wanted))] == paths


# --- as Spark reads it ---------------------------------------------------------------------------


def _nested() -> Schema:
    inner = Struct(tuple(Field(name, parse("long"), required=at == 0) for at, name in enumerate(HOSTILE)))
    flat = [Field(name, parse("string")) for name in HOSTILE]
    kinds = [*(SCALARS - {"nothing"}), "decimal(38, 10)", "map<string, array<struct<x: long>>>"]
    typed = [Field(f"column {kind}", parse(kind)) for kind in sorted(kinds)]
    return Struct((*flat, *typed, Field("in", inner)))


def _parser(spark: SparkContext) -> Any:
    return spark._jvm.org.apache.spark.sql.catalyst.parser.CatalystSqlParser()  # type: ignore[union-attr]


def test_spark_reads_columns_as_they_are_meant(spark: SparkContext) -> None:
    statement = create_table("/lake/x", "delta", _nested())

    listed = statement[statement.index("(") + 1 : statement.rindex(")")]
    found = StructType.fromJson(json.loads(_parser(spark).parseTableSchema(listed).json()))

    assert found.names == [field.name for field in _nested()]
    inner = found["in"].dataType
    assert isinstance(inner, StructType)
    assert [(field.name, field.nullable) for field in inner] == [(name, at > 0) for at, name in enumerate(HOSTILE)]
    read = {field.name: field.dataType.simpleString() for field in found}
    assert read["column decimal(38, 10)"] == "decimal(38,10)"
    assert read["column map<string, array<struct<x: long>>>"] == "map<string,array<struct<x:bigint>>>"
    wanted = {"long": "bigint", "short": "smallint", "byte": "tinyint", "json": "string"}
    assert all(read[f"column {name}"] == wanted.get(name, name) for name in SCALARS - {"nothing"})


@pytest.mark.parametrize("place", ["/lake/order.v1", "s3://b/o'r", "/a`b"])
def test_spark_accepts_the_whole_statements(spark: SparkContext, place: str) -> None:
    parser = _parser(spark)
    added = [Added(("in", name), parse("long")) for name in HOSTILE]

    made = parser.parsePlan(create_table(place, "delta", _nested(), HOSTILE[:2]))
    grown = parser.parsePlan(add_columns(place, "delta", added))

    assert (made.nodeName(), grown.nodeName()) == ("CreateTable", "AddColumns")
    assert place in made.toString()
    assert place in grown.toString()


def test_quoted_name_means_itself() -> None:
    assert [quoted(name) for name in ("a", "a`b", "`")] == ["`a`", "`a``b`", "````"]
