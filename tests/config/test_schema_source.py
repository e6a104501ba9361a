"""How messages are encoded: what each format option means, and which of them can be served."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config.flags import read
from penstock.config.ingest import request
from penstock.config.schema_source import Encoding, SchemaSource, encoding
from penstock.errors import ConfigError

BASE = ("--topic", "web_requests", "--table_base_uri", "./lake", "-a", "test")
REGISTRY = "http://localhost:8081"


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
        (["--json", REGISTRY], {}, "--json: penstock cannot read JSON with a schema registry yet"),
        (["--avro", ""], {}, "--avro: penstock cannot read Avro yet"),
        (["--protobuf", REGISTRY], {}, "--protobuf: penstock cannot read Protobuf yet"),
        ([], {"PROTOBUF_REGISTRY": REGISTRY}, "PROTOBUF_REGISTRY: penstock cannot read Protobuf yet"),
        (["--soe-avro", "."], {}, "--soe-avro: penstock cannot read Avro in single-object encoding yet"),
        (["--aidl", REGISTRY], {}, "--aidl: this format needs parts that its authors never published"),
    ],
)
def test_format_that_cannot_be_read_is_refused_with_a_sentence(
    tokens: list[str], environ: dict[str, str], words: str
) -> None:
    assert words in refusal(*tokens, environ=environ)


def test_address_of_a_registry_is_not_shown() -> None:
    """It may hold a password."""
    assert "secret" not in repr(found("--avro", "http://me:secret@host:8081"))
    assert "secret" not in refusal("--avro", "http://me:secret@host:port")
