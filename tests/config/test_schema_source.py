"""How messages are encoded: what each format option means, and how a registry is spoken to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.config.flags import read
from penstock.config.ingest import request
from penstock.config.schema_source import Encoding, SchemaSource, encoding
from penstock.errors import ConfigError
from penstock.pipeline import Pipeline

BASE = ("--topic", "web_requests", "--table_base_uri", "./lake", "-a", "test")
REGISTRY = "http://localhost:8081"
SECRET, QUOTED = "c4n4ry/in", "c4n4ry%2Fin"


def found(*tokens: str, environ: dict[str, str] | None = None) -> Encoding:
    return encoding(read((*BASE, *tokens), environ or {}))


def refusal(*tokens: str, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as refused:
        request((*BASE, *tokens), environ or {})
    assert refused.value.exit_status == 2
    return str(refused.value)


def test_messages_are_json_if_nothing_is_said() -> None:
    assert found() == Encoding("json", SchemaSource())


def test_get_json_argument() -> None:
    assert found("--json", "").schemas == SchemaSource()
    assert found("--json", "test").schemas == SchemaSource()
    assert found("--json", REGISTRY).schemas == SchemaSource(registry=REGISTRY)
    assert found("--json", f"{REGISTRY}/").schemas == SchemaSource(registry=REGISTRY)
    assert "--json: 'http::a//' is an invalid URL" in refusal("--json", "http::a//")


def test_get_avro_argument(tmp_path: Path) -> None:
    schema = tmp_path / "default_schema.avro"
    schema.write_text("{}")

    assert found("--avro", "") == Encoding("avro", SchemaSource(), "--avro")
    assert found("--avro", str(schema)).schemas == SchemaSource(path=schema)
    assert "the file 'this_file_does_not_exist' is not found" in refusal("--avro", "this_file_does_not_exist")
    assert found("--avro", REGISTRY).schemas == SchemaSource(registry=REGISTRY)
    assert "--avro: 'http::a//' is an invalid URL" in refusal("--avro", "http::a//")


def test_single_objects_have_a_file_or_a_folder_of_schemas(tmp_path: Path) -> None:
    assert found("--soe-avro", str(tmp_path)).schemas == SchemaSource(path=tmp_path)
    assert found("--soe_avro", str(tmp_path)).name == "soe-avro"
    assert "is not found" in refusal("--soe-avro", str(tmp_path / "nothing"))


@pytest.mark.parametrize("url", ["http:", "http://", "https://host:port", "http://host:0", "httpx://h", "http//h"])
def test_url_that_leads_nowhere_is_refused(url: str) -> None:
    assert "is an invalid URL" in refusal("--json", url)


def test_formats_may_be_chosen_by_variable() -> None:
    assert found(environ={"AVRO_REGISTRY": ""}) == Encoding("avro", SchemaSource(), "AVRO_REGISTRY")
    assert found(environ={"JSON_REGISTRY": REGISTRY}).schemas.registry == REGISTRY
    assert "--json and AVRO_REGISTRY cannot be given together" in refusal("--json", "", environ={"AVRO_REGISTRY": ""})


@pytest.mark.parametrize(
    ("tokens", "environ", "words"),
    [
        (["--aidl", REGISTRY], {}, "--aidl: this format needs parts that its authors never published"),
        ([], {"AIDL_REGISTRY": ""}, "AIDL_REGISTRY: this format needs parts that its authors never published"),
        (["--protobuf", ""], {}, "--protobuf: it needs the URL of a schema registry"),
        (["--protobuf", "."], {}, "--protobuf: it needs the URL of a schema registry"),
        ([], {"PROTOBUF_REGISTRY": ""}, "PROTOBUF_REGISTRY: it needs the URL of a schema registry"),
        (["--soe-avro", ""], {}, "--soe-avro: it needs a schema file, or a folder of them"),
        (["--soe-avro", REGISTRY], {}, "--soe-avro: it needs a schema file, or a folder of them"),
        (["--avro", "."], {}, "--avro: '.' is a folder, and containers are read with one schema"),
    ],
)
def test_format_that_cannot_be_read_is_refused_with_a_sentence(
    tokens: list[str], environ: dict[str, str], words: str
) -> None:
    assert words in refusal(*tokens, environ=environ)


# --- what becomes of it in a pipeline ------------------------------------------------------------


def declared(*tokens: str, environ: dict[str, str] | None = None, base: tuple[str, ...] = BASE) -> tuple[Any, Any]:
    """The format and the route that a pipeline has."""
    asked = request((*base, *tokens), environ or {})
    asked.pipeline(environ or {})
    return asked.settings["format"], asked.settings.get("route", {}).get("by")


def test_messages_of_a_registry_are_of_the_type_that_their_schema_names() -> None:
    registry = {"registry": {"url": REGISTRY}}

    assert declared("--json", REGISTRY) == ({"json_schema": registry}, "record")
    assert declared("--avro", REGISTRY) == ({"avro": registry}, "record")
    assert declared(environ={"AVRO_REGISTRY": f"{REGISTRY}/"}) == ({"avro": registry}, "record")


def test_protobuf_is_flat_and_knows_all_its_fields_as_in_the_original() -> None:
    expected = {"protobuf": {"registry": {"url": REGISTRY}, "flatten": True, "unknown_fields": "refuse"}}

    assert declared("--protobuf", REGISTRY) == (expected, "record")


def test_messages_without_a_registry_are_of_the_type_that_the_topic_names(tmp_path: Path) -> None:
    path = tmp_path / "schema.avsc"
    path.write_text('{"type": "record", "name": "x", "fields": []}')

    assert declared("--avro", "") == ("avro", None)
    assert declared("--avro", str(path)) == ({"avro": {"schema": str(path)}}, None)
    assert declared("--soe-avro", str(tmp_path)) == ({"avro": {"single_object": str(tmp_path)}}, None)
    assert declared("--json", "anything") == ("json", None)


@pytest.mark.parametrize("table", ["./lake/web_requests", "./lake/other"])
@pytest.mark.parametrize("format", ["--json", "--avro", "--protobuf"])
def test_one_table_takes_messages_of_every_schema(format: str, table: str) -> None:
    _, by = declared(format, REGISTRY, base=("web_requests", table))

    assert by == {"constant": table.rpartition("/")[2]}


def test_dead_letters_may_be_where_the_topic_would_be_if_types_are_called_otherwise() -> None:
    letters = ("--dlq_table_location", "./lake/web_requests")

    assert declared("--avro", REGISTRY, *letters)[1] == "record"
    assert "rows and dead letters would both go to ./lake/web_requests" in refusal("--avro", "", *letters)
    with pytest.raises(ConfigError, match="rows and dead letters would both go"):
        request(("web_requests", "./lake/web_requests", "--avro", REGISTRY, *letters), {})


def test_compression_is_for_plain_json_and_that_is_said() -> None:
    found = request((*BASE, "--avro", "", "--decompress_gzip"), {})

    assert found.settings["format"] == "avro"
    assert [note for note in found.notes if note.startswith("--decompress_gzip: without effect")]
    assert not [note for note in request((*BASE, "--decompress_gzip"), {}).notes if "gzip" in note]


def test_tables_that_the_original_would_name_otherwise_are_told_of() -> None:
    def told(*tokens: str) -> list[str]:
        return [note for note in request(tokens, {}).notes if "dead" not in note]

    assert [note for note in told(*BASE, "--json", REGISTRY) if "named for the $id of their schema" in note]
    assert [note for note in told(*BASE, "--avro", "") if note.endswith("in ./lake/web_requests")]
    assert told(*BASE) == told(*BASE, "--avro", REGISTRY) == told("t", "./lake/x", "--json", REGISTRY) == []


# --- getting in ----------------------------------------------------------------------------------

USER = {"SCHEMA_REGISTRY_USERNAME": "me", "SCHEMA_REGISTRY_PASSWORD": SECRET}
REFERENCES = {"username": "${env:SCHEMA_REGISTRY_USERNAME}", "password": "${env:SCHEMA_REGISTRY_PASSWORD}"}


def user(pipeline: Pipeline) -> tuple[str | None, str | None]:
    registry = pipeline.format.registry
    return registry.username, registry.password.get_secret_value() if registry.password else None


@pytest.mark.parametrize("format", ["--json", "--avro", "--protobuf"])
def test_user_password_and_proxy_are_references_to_their_variables(format: str) -> None:
    environ = {**USER, "SCHEMA_REGISTRY_PROXY": f"http://me:{QUOTED}@proxy:3128"}
    found = request((*BASE, format, REGISTRY), environ)
    (settings,) = found.settings["format"].values()

    assert settings["registry"] == {"url": REGISTRY, **REFERENCES, "proxy": "${env:SCHEMA_REGISTRY_PROXY}"}
    assert user(found.pipeline(environ)) == ("me", SECRET)
    assert found.pipeline(environ).format.registry.proxy.get_secret_value() == environ["SCHEMA_REGISTRY_PROXY"]
    assert found.stand_ins == {}
    assert "c4n4ry" not in "\n".join([found.yaml(), repr(found), *found.notes, repr(found.pipeline(environ))])


@pytest.mark.parametrize("by", ["--avro", "AVRO_REGISTRY"])
def test_user_in_the_url_is_taken_out_of_it(by: str) -> None:
    """As if the variables had been set: what is printed needs them."""
    url = f"http://me:{QUOTED}@localhost:8081/"
    tokens, environ = ((by, url), {}) if by.startswith("--") else ((), {by: url})
    found = request((*BASE, *tokens), environ)

    assert found.settings["format"] == {"avro": {"registry": {"url": REGISTRY, **REFERENCES}}}
    assert user(found.pipeline(environ)) == ("me", SECRET)
    assert found.stand_ins == USER
    assert "# Set the variable SCHEMA_REGISTRY_PASSWORD" in found.yaml()
    assert not [shown for shown in (found.yaml(), repr(found), *found.notes) if "c4n4ry" in shown]
    typed = [note for note in found.notes if "everybody on this machine can read the password" in note]
    assert len(typed) == by.startswith("--")


def test_user_without_a_password_needs_none() -> None:
    assert user(request((*BASE, "--avro", "http://me@localhost:8081"), {}).pipeline({})) == ("me", None)
    environ = {"SCHEMA_REGISTRY_USERNAME": "me", "SCHEMA_REGISTRY_PASSWORD": ""}
    assert user(request((*BASE, "--avro", REGISTRY), environ).pipeline(environ)) == ("me", None)


def test_password_without_a_user_has_no_effect_and_that_is_said() -> None:
    environ = {"SCHEMA_REGISTRY_PASSWORD": SECRET}
    found = request((*BASE, "--avro", REGISTRY), environ)

    assert found.settings["format"] == {"avro": {"registry": {"url": REGISTRY}}}
    assert "SCHEMA_REGISTRY_PASSWORD: without effect, there is no SCHEMA_REGISTRY_USERNAME" in found.notes
    assert not [note for note in request(BASE, environ).notes if "SCHEMA_REGISTRY" in note]


@pytest.mark.parametrize("variable", USER)
def test_user_that_is_given_twice_is_refused(variable: str) -> None:
    told = refusal("--avro", f"http://you:{QUOTED}@localhost:8081", environ={variable: SECRET})

    assert f"--avro holds a user, and {variable} may mean another" in told
    assert "c4n4ry" not in told


def test_proxy_that_leads_nowhere_is_told_of_by_its_variable() -> None:
    environ = {"SCHEMA_REGISTRY_PROXY": f"socks5://me:{QUOTED}@proxy"}
    with pytest.raises(ConfigError, match="SCHEMA_REGISTRY_PROXY must be a URL") as refused:
        request((*BASE, "--avro", REGISTRY), environ).pipeline(environ)

    assert "c4n4ry" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        f"http://me:{QUOTED}@host:port",
        f"http://host?token={SECRET}",
        f"http://host#{SECRET}",
        f"http://me:1/{SECRET}@host",
        f"http://me:{QUOTED}@ho st",
        f"http://a:{QUOTED}@b@[host",
    ],
)
def test_bad_url_is_not_shown_where_it_may_hold_a_secret(url: str) -> None:
    for format in ("--json", "--avro", "--protobuf"):
        told = refusal(format, url)
        assert "'…' is an invalid URL" in told
        assert "c4n4ry" not in told


def test_address_of_a_registry_is_not_shown() -> None:
    """It may hold a password."""
    assert "secret" not in repr(found("--avro", "http://me:secret@host:8081"))
