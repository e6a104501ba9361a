"""Which place is meant, what is in a file, and how places of schemas behave alike."""

from __future__ import annotations

import json
import urllib.request
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from penstock import load
from penstock.errors import ConfigError, PenstockError
from penstock.formats.protobuf.protoc import compiled
from penstock.operate.plain_places import Folder, Keys
from penstock.operate.schema_places import SchemaPlace, Subjects, Which
from penstock.operate.schema_records import Kept, Reading, kind_of, records
from penstock.operate.schema_tables import reading
from penstock.operate.schemas import chosen, draft, find, only, place_at, places, reference, register
from penstock.operate.show_schemas import show_lines
from penstock.registries.answers import Reference
from penstock.schema import written
from tests.support.registry import LocalRegistry

SECRET = "s3cr3t-word"
AVRO = '{"type": "record", "name": "Order", "fields": [{"name": "n", "type": "int"}]}'
SPARK = '{"type":"struct","fields":[{"name":"n","type":"integer","nullable":true,"metadata":{}}]}'
PROTO = 'syntax = "proto3"; package shop; message Order { message Line { int32 q = 1; } int32 n = 1; Line line = 2; }'


def _pipeline(folder: Path, format: str, registry: str = "") -> Any:
    path = folder / "p.yaml"
    path.write_text(
        "app: p\nsource: {kafka: {servers: 'nobody:1', topic: t}}\n"
        f"format: {format}\ntables: {{base: '{folder}/lake'}}\n{registry}\n"
    )
    return load(path)


# --- addresses -----------------------------------------------------------------------------------


def test_address_of_a_registry_takes_its_user_from_the_environment() -> None:
    environ = {"SCHEMA_REGISTRY_USERNAME": "me", "SCHEMA_REGISTRY_PASSWORD": SECRET}

    place = place_at("https://registry.example.com:8081/", environ)

    assert isinstance(place, Subjects)
    assert place.address == "https://registry.example.com:8081"
    assert place.registry.username == "me"
    assert place.registry.password is not None
    assert place.registry.password.get_secret_value() == SECRET
    assert SECRET not in repr(place)


def test_user_in_the_address_comes_before_the_environments() -> None:
    environ = {"SCHEMA_REGISTRY_USERNAME": "me", "SCHEMA_REGISTRY_PASSWORD": SECRET, "REDIS_PASSWORD": SECRET}

    web, keys = place_at("http://you@host:8081", environ), place_at("redis://you@host", environ)

    assert isinstance(web, Subjects)
    assert isinstance(keys, Keys)
    assert (web.registry.username, keys.registry.username) == ("you", "you")
    assert "you" not in web.address + keys.address


def test_address_of_redis_is_taken_apart() -> None:
    place = place_at("rediss://cache.example.com:6380/3?prefix=types%3A", {"REDIS_PASSWORD": SECRET})

    assert isinstance(place, Keys)
    its = place.registry
    assert (its.host, its.port, its.db, its.tls, its.prefix) == ("cache.example.com", 6380, 3, True, "types:")
    assert place.address == "rediss://cache.example.com:6380/3?prefix=types%3A"
    assert place_at("redis://localhost", {}) == place_at("redis://localhost:6379/0", {})


@pytest.mark.parametrize(
    "address",
    [
        "http://[::1",
        "http://host:port",
        "http://host:8081?x=1",
        "redis://host:port",
        "redis://ho st",
        "redis://host/1/2",
        "redis://host/-1",
        "redis://host/١",
        f"redis://host?prefix={'x' * 201}",
        "s3://bucket/schemas",
        "\0",
        f"http://u:{SECRET}@host",
    ],
)
def test_address_that_makes_no_sense_is_a_sentence(address: str) -> None:
    with pytest.raises(ConfigError) as told:
        place_at(address, {"REDIS_PASSWORD": SECRET})

    assert (told.value.code, told.value.exit_status, SECRET in str(told.value)) == ("usage.registry", 2, False)


# --- pipelines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "registry", "kinds"),
    [
        ("json", "registry: {redis: {host: cache}}", [Keys]),
        ("json", "registry: {files: types}", [Folder]),
        ("{avro: {registry: {url: 'http://r:1'}}}", "", [Subjects]),
        ("{protobuf: {registry: {url: 'http://r:1'}}}", "registry: {redis: {}}", [Keys, Subjects]),
        ("{json_schema: {registry: {url: 'http://r:1'}}}", "", [Subjects]),
        ("{avro: {single_object: schemas}}", "", [Folder]),
        ("{avro: {schema: order.avsc}}", "", [Folder]),
        ("{protobuf: {descriptors: order.desc}}", "", [Folder]),
        ("avro", "", []),
        ("json", "", []),
    ],
)
def test_pipeline_names_its_places(tmp_path: Path, format: str, registry: str, kinds: list[type]) -> None:
    assert [type(place) for place in places(_pipeline(tmp_path, format, registry))] == kinds


def test_registry_of_several_formats_is_one_place(tmp_path: Path) -> None:
    one = "{registry: {url: 'http://r:1'}}"
    format = f"{{mixed: {{header: f, formats: {{a: {{avro: {one}}}, j: {{json_schema: {one}}}}}}}}}"

    assert [place.address for place in places(_pipeline(tmp_path, format))] == ["http://r:1"]


def test_address_of_a_pipelines_registry_is_reached_with_its_credentials(tmp_path: Path) -> None:
    pipeline = _pipeline(tmp_path, f"{{avro: {{registry: {{url: 'http://r:1', token: {SECRET}}}}}}}")

    (place,) = chosen(pipeline, "http://r:1/", {})

    assert isinstance(place, Subjects)
    assert place.registry.token is not None


def test_one_of_several_places_must_be_chosen() -> None:
    two: list[SchemaPlace] = [Folder(Path("a")), Folder(Path("b"))]

    assert only(two[:1]) == two[0]
    with pytest.raises(ConfigError, match="several registries: a, b"):
        only(two)


# --- schemas -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "text", "kind"),
    [
        (".avsc", "anything", "AVRO"),
        (".proto", "anything", "PROTOBUF"),
        (".json", AVRO, "AVRO"),
        (".json", SPARK, "SPARK"),
        (".json", '{"type": "object"}', "JSON"),
        (".json", '{"type": ["object", "null"]}', "JSON"),
        (".json", "[]", "JSON"),
        (".json", "[" * 100_000, "JSON"),
    ],
)
def test_kind_of_a_file(suffix: str, text: str, kind: str) -> None:
    assert kind_of(suffix, text) == kind


def test_nested_messages_may_be_flattened() -> None:
    schema = Kept("o", "PROTOBUF", PROTO)

    assert {name: written(found) for name, found in records(schema).items()} == {
        "shop.Order": {"n": "int", "line": "struct<q: int>"}
    }
    assert list(written(records(schema, Reading(flatten=True))["shop.Order"])) == ["n", "line_q"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("descriptors: o.proto", ["A"]),
        ("descriptors: o.proto, message: B", ["B"]),
        ("descriptors: o.proto, message: B.C", ["B.C"]),
        ("registry: {url: 'http://r:1'}", ["A", "B"]),
    ],
)
def test_messages_are_those_that_the_format_reads(tmp_path: Path, settings: str, expected: list[str]) -> None:
    text = 'syntax = "proto3"; message A { int32 x = 1; } message B { message C { int32 y = 1; } C c = 1; }'
    pipeline = _pipeline(tmp_path, f"{{protobuf: {{{settings}}}}}")

    assert list(records(Kept("o", "PROTOBUF", text), reading(pipeline))) == expected


def test_compiled_descriptors_are_read_and_not_registered(tmp_path: Path) -> None:
    (tmp_path / "o.proto").write_text(PROTO)
    (tmp_path / "o.desc").write_bytes(compiled({"o.proto": PROTO}, "o.proto"))
    place = Folder(tmp_path)

    found = find(place, "o.desc")

    assert list(records(found)) == ["shop.Order"]
    with pytest.raises(ConfigError, match=r"register the \.proto file"):
        register(place, draft("x", tmp_path / "o.desc", None, [], place), dry_run=False)
    with pytest.raises(ConfigError, match=r"may be o\.desc, o\.proto"):
        find(place, "o")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"type": "record"}',
        '{"type": "record", "name": "a b", "fields": []}',
        "[" * 100_000,
        '{"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}',
        json.dumps(
            {"type": "record", "name": "R", "fields": [{"name": f"f{i}", "type": "int"} for i in range(20_000)]}
        ),
    ],
)
def test_file_that_nobody_could_use_is_refused_and_nothing_is_written(tmp_path: Path, text: str) -> None:
    (tmp_path / "place").mkdir()
    file, place = tmp_path / "o.avsc", Folder(tmp_path / "place")
    file.write_text(text)

    with pytest.raises(PenstockError) as told:
        register(place, draft("o", file, None, [], place), dry_run=False)

    assert told.value.code in ("schema.not-usable", "usage.schema-file")
    assert len(str(told.value)) < 1_000
    assert list((tmp_path / "place").iterdir()) == []


def test_names_of_files_are_harmless_on_a_screen(tmp_path: Path) -> None:
    (tmp_path / "\x1b[31mred.avsc").write_text(AVRO)
    told, place = StringIO(), Folder(tmp_path)

    show_lines(place, list(place.lines()), Console(file=told))

    assert "\\x1b[31mred.avsc  avro" in told.getvalue()
    assert "\x1b" not in told.getvalue()


@pytest.mark.parametrize("text", ["shop.Money=money-value:1", "a=b=c:d:12"])
def test_reference_is_taken_apart(text: str) -> None:
    expected = {"s": Reference("shop.Money", "money-value", 1), "a": Reference("a", "b=c:d", 12)}

    assert reference(text) == expected[text[0]]


@pytest.mark.parametrize(
    "text", ["", "a", "a=b", "a=b:", "a=:1", "=b:1", "a=b:one", "a=b:-1", "a=b:²", "a=b:1" + "0" * 20]
)
def test_reference_that_makes_no_sense_is_a_sentence(text: str) -> None:
    with pytest.raises(ConfigError, match="name=subject:version"):
        reference(text)


def test_deleted_subject_is_neither_listed_nor_found(apicurio: LocalRegistry) -> None:
    place = place_at(apicurio.url, {})
    assert isinstance(place, Subjects)
    place.registry.register("deleted-value", "AVRO", AVRO)
    asked = urllib.request.Request(f"{apicurio.url}/subjects/deleted-value", method="DELETE")
    urllib.request.urlopen(asked).close()

    assert "deleted-value" not in [line.name for line in place.lines()]
    with pytest.raises(PenstockError, match="there is no 'deleted-value'"):
        find(place, "deleted-value")


def test_whatever_has_no_versions_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no versions"):
        find(Folder(tmp_path), "o", Which(version=1))
