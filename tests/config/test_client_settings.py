"""Settings of the Kafka client: where they come from, which come first, and which are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import SecretStr

from penstock.config.ingest import IngestRequest, request
from penstock.errors import ConfigError

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nabc\n"


def asked(*tokens: str, environ: Mapping[str, str] | None = None) -> IngestRequest:
    return request(("--topic", "orders", "--table_base_uri", "./lake", *tokens), environ or {})


def told(*tokens: str, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the client gets to know."""
    settings: dict[str, SecretStr] = asked(*tokens, environ=environ).pipeline(environ or {}).source.settings
    return {name: value.get_secret_value() for name, value in settings.items()}


def start(*tokens: str, environ: Mapping[str, str] | None = None) -> Any:
    return asked(*tokens, environ=environ).settings["source"]["kafka"]["start"]


def test_certificate_key_and_authority_come_from_variables() -> None:
    environ = {
        "KAFKA_DELTA_INGEST_CERT": CERTIFICATE,
        "KAFKA_DELTA_INGEST_KEY": "the key",
        "KAFKA_DELTA_INGEST_CA": "the authority",
    }

    assert told("-K", "security.protocol=SSL", environ=environ) == {
        "ssl.certificate.pem": CERTIFICATE,
        "ssl.key.pem": "the key",
        "ssl.ca.pem": "the authority",
        "security.protocol": "SSL",
    }


def test_user_and_password_come_from_one_variable() -> None:
    environ = {"KAFKA_DELTA_INGEST_SCRAM_JSON": '{"username": "me", "password": "s=\\"${x}"}'}

    assert told(environ=environ) == {"sasl.username": "me", "sasl.password": 's="${x}'}


@pytest.mark.parametrize("content", ["no json", "[]", "{}", '{"username": "me"}', '{"username": 1, "password": "x"}'])
def test_user_and_password_that_cannot_be_had_are_refused_without_showing_them(content: str) -> None:
    with pytest.raises(ConfigError, match="KAFKA_DELTA_INGEST_SCRAM_JSON is not a JSON object") as refused:
        asked(environ={"KAFKA_DELTA_INGEST_SCRAM_JSON": content})

    assert content not in str(refused.value) or content in ("{}", "[]")
    assert refused.value.exit_status == 2


def test_variables_name_any_setting() -> None:
    environ = {"KAFKA_SETTING_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SETTING_SOCKET_KEEPALIVE_ENABLE": "true"}

    assert told(environ=environ) == {"security.protocol": "SASL_SSL", "socket.keepalive.enable": "true"}


def test_several_settings_may_follow_one_flag_and_are_trimmed() -> None:
    tokens = ("-K", " sasl.username = me ", "sasl.password=a=b", "--kafka_setting=debug=all", "-Ksasl.mechanism=PLAIN")

    assert told(*tokens) == {
        "sasl.username": "me",
        "sasl.password": "a=b",
        "debug": "all",
        "sasl.mechanism": "PLAIN",
    }


def test_order_of_precedence() -> None:
    """Certificates and SCRAM, then flags in their order, then variables."""
    name, environ = "sasl.password", {"KAFKA_DELTA_INGEST_SCRAM_JSON": '{"username": "me", "password": "by scram"}'}

    assert told(environ=environ)[name] == "by scram"
    assert told("-K", "sasl.password=first", "sasl.password=flag", environ=environ)[name] == "flag"
    environ["KAFKA_SETTING_SASL_PASSWORD"] = "variable"
    assert told("-K", "sasl.password=flag", environ=environ)[name] == "variable"
    pem = {"KAFKA_DELTA_INGEST_KEY": "by key"}
    assert told("-K", "ssl.key.pem=flag", environ=pem)["ssl.key.pem"] == "flag"


@pytest.mark.parametrize("setting", ["bootstrap.servers=elsewhere:1", "group.id=other", "enable.auto.commit=true"])
def test_what_the_original_forces_is_left_out_and_said(setting: str) -> None:
    name = setting.partition("=")[0]
    variable = {f"KAFKA_SETTING_{name.upper().replace('.', '_')}": "x"}

    assert told("-K", setting) == told(environ=variable) == {}
    assert [note for note in asked("-K", setting).notes if f"{name} is left out: penstock sets it" in note]


@pytest.mark.parametrize("setting", ["session.timeout.ms=9000", "client.id=me", "auto.commit.interval.ms=5000"])
def test_what_only_a_group_member_needs_is_left_out_and_said(setting: str) -> None:
    name = setting.partition("=")[0]

    assert told("-K", setting) == {}
    assert [note for note in asked("-K", setting).notes if f"{name} is left out: it has no meaning here" in note]


def test_what_holds_anyway_is_left_out_in_silence() -> None:
    found = asked("-K", "isolation.level=read_committed", "enable.auto.offset.store=false", "--dlq_table_location", "d")

    assert (found.settings["source"]["kafka"].get("settings"), found.notes) == (None, ())


@pytest.mark.parametrize("setting", ["isolation.level=read_uncommitted", "plugin.library.paths=/x", "nonsense=1"])
def test_what_penstock_does_not_pass_on_is_refused_by_name(setting: str) -> None:
    with pytest.raises(ConfigError, match=f"--kafka_setting sets '{setting.partition('=')[0]}'"):
        told("-K", setting)


def test_option_decides_where_to_start_and_the_setting_only_without_it() -> None:
    assert start() == "earliest"
    assert start("-K", "auto.offset.reset=latest") == start("-K", "auto.offset.reset=end") == "latest"
    assert start("-K", "auto.offset.reset=smallest") == "earliest"
    assert start(environ={"KAFKA_SETTING_AUTO_OFFSET_RESET": "latest"}) == "latest"
    assert start("-o", "earliest", "-K", "auto.offset.reset=latest") == "earliest"
    assert start("-K", "auto.offset.reset=latest", environ={"KAFKA_AUTO_OFFSET_RESET": "earliest"}) == "earliest"
    assert told("-K", "auto.offset.reset=latest") == {}

    both = asked("-o", "earliest", "-K", "auto.offset.reset=latest")
    assert [note for note in both.notes if note.startswith("--auto_offset_reset decides where to start")]


def test_secret_on_the_command_line_is_warned_of_and_one_in_a_variable_is_not() -> None:
    typed, held = asked("-K", "sasl.password=x"), asked(environ={"KAFKA_SETTING_SASL_PASSWORD": "x"})

    assert [note for note in typed.notes if "sasl.password: everybody on this machine can read it" in note]
    assert not [note for note in held.notes if "everybody" in note]
