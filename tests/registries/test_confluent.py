"""A registry as a user declares it, and what becomes of its answers."""

from __future__ import annotations

import pickle
from base64 import b64encode
from typing import Any

import pytest
from pydantic import ValidationError

from penstock.errors import PenstockError, Transient
from penstock.registries import Registered, UnknownSchema
from penstock.registries.answers import MAX_DEPTH, MAX_REFERENCES, Reference
from penstock.registries.confluent import ConfluentRegistry
from penstock.values.plain import Refusal
from tests.registries.hostile import Small


def declared(**given: Any) -> ConfluentRegistry:
    """As from YAML: lists are lists, and secrets are texts."""
    return ConfluentRegistry(**given)


def referring(*names: str, version: int = 1) -> list[dict[str, Any]]:
    return [{"name": name, "subject": f"subject-{name}", "version": version} for name in names]


def authorization(server: Small) -> set[str | None]:
    return {headers.get("Authorization") for headers in server.headers}


# --- what is declared


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"url": "http::a//"}, "http:// or https://"),
        ({"url": ()}, "must be one URL"),
        ({"url": ["http://a", "ftp://b"]}, "http:// or https://"),
        ({"url": "http://u:hush@h", "username": "v", "password": "hush"}, "more than one user"),
        ({"url": ["http://u:hush@h", "http://v:hush@i"]}, "more than one user"),
        ({"url": "http://h", "password": "hush"}, "a password without a username"),
        ({"url": "http://h", "username": "u", "token": "hush"}, "only one of them"),
        ({"url": "http://h", "token": "hush\r\nX: y"}, "without blanks and line breaks"),
        ({"url": "http://h", "token": ""}, "must be a token"),
        ({"url": "http://h", "key": "k.pem"}, "a key without a certificate"),
        ({"url": "http://h", "proxy": "socks5://u:hush@p"}, "http://"),
        ({"url": "http://h", "proxy": "https://u:hush@p"}, "begins with http://"),
        ({"url": "http://h", "timeout": "0s"}, "greater than 0"),
        ({"url": "http://h", "tiemout": "1s"}, "tiemout"),
        ({"url": 7}, "url"),
        ({}, "url"),
    ],
)
def test_a_wrong_declaration_is_told_without_its_secrets(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as told:
        ConfluentRegistry(**given)

    assert complaint in str(told.value)
    assert "hush" not in str(told.value)


@pytest.mark.parametrize(
    "given",
    [
        {"url": "http://u:hush@127.0.0.1:1"},
        {"url": ["http://u:hush@127.0.0.1:1", "http://127.0.0.1:2"]},
        {"url": "http://127.0.0.1:1", "username": "u", "password": "hush"},
        {"url": "http://127.0.0.1:1", "token": "hush"},
        {"url": "http://127.0.0.1:1", "proxy": "http://u:hush@127.0.0.1:2"},
    ],
)
def test_secrets_are_never_shown(given: dict[str, Any]) -> None:
    registry = ConfluentRegistry(**given)
    with pytest.raises(Transient) as told:
        registry.look_up(1)

    shown = [repr(registry), str(registry), registry.model_dump_json(), str(registry.model_dump()), registry.folder]
    assert "hush" not in " ".join([*shown, str(told.value), repr(told.value), repr(registry._access())])


def test_a_declaration_travels() -> None:
    registry = declared(url=["https://u:p@a", "https://b"], timeout="3s", ca="ca.pem")

    assert pickle.loads(pickle.dumps(registry)) == registry
    assert registry.url == ("https://a", "https://b")
    assert registry.timeout == 3


def test_a_registry_is_the_same_whoever_asks_and_by_whichever_url_first() -> None:
    one = declared(url=["https://u:p@a/", "https://b:443"])
    same = declared(url=["https://b", "https://a"], token="t")

    assert one.folder == same.folder
    assert one.folder != ConfluentRegistry(url="https://a").folder


# --- who asks


def test_a_user_is_sent(server: Small) -> None:
    server.holds(7, '"string"')
    declared(url=server.url, username="mé", password="p:w").look_up(7)

    assert authorization(server) == {"Basic " + b64encode("mé:p:w".encode()).decode()}


def test_the_user_of_the_url_is_sent(server: Small) -> None:
    server.holds(7, '"string"')
    ConfluentRegistry(url=server.url.replace("//", "//me:p%20w@")).look_up(7)

    assert authorization(server) == {"Basic " + b64encode(b"me:p w").decode()}


def test_a_token_is_sent(server: Small) -> None:
    server.holds(7, '"string"')
    declared(url=server.url, token="abc.def").look_up(7)

    assert authorization(server) == {"Bearer abc.def"}


def test_nothing_is_sent_if_nothing_was_given(server: Small) -> None:
    server.holds(7, '"string"')
    ConfluentRegistry(url=server.url).look_up(7)

    assert authorization(server) == {None}


# --- schemas and what they refer to


def test_a_schema_is_found_with_its_subjects(server: Small) -> None:
    server.holds(7, '"string"')
    server.answers["/schemas/ids/7/versions"] = [{"subject": s, "version": 1} for s in ("orders", "billing", "orders")]

    assert ConfluentRegistry(url=server.url).look_up(7) == Registered(7, "AVRO", '"string"', (), ("billing", "orders"))


def test_a_registry_below_a_path_is_asked_there(server: Small) -> None:
    server.answers["/apis/v7/schemas/ids/7"] = {"schema": '"string"'}

    assert ConfluentRegistry(url=f"{server.url}/apis/v7/").look_up(7) == Registered(7, "AVRO", '"string"')


def test_an_unknown_id_is_told_apart_from_a_registry_that_is_ill(server: Small) -> None:
    with pytest.raises(UnknownSchema, match="no schema with id 7"):
        ConfluentRegistry(url=server.url).look_up(7)


def test_references_come_after_what_they_need_themselves(server: Small) -> None:
    server.holds(7, "order", "PROTOBUF", referring("item", "money"))
    server.holds_version("subject-item", 1, "item's text", referring("unit", "money"))
    server.holds_version("subject-money", 1, "money's text", referring("unit"))
    server.holds_version("subject-unit", 1, "unit's text")
    found = ConfluentRegistry(url=server.url).look_up(7)

    assert found.references == (("unit", "unit's text"), ("money", "money's text"), ("item", "item's text"))
    assert len(server.asked) == len(set(server.asked)), "nothing is asked twice"


def test_names_of_subjects_lead_nowhere_else(server: Small) -> None:
    hostile = {"name": "x", "subject": "../../admin?x=/#é", "version": 1}
    server.holds(7, "order", references=[hostile])
    with pytest.raises(UnknownSchema, match="refers to"):
        ConfluentRegistry(url=server.url).look_up(7)

    assert server.asked[1] == "/subjects/..%2F..%2Fadmin%3Fx%3D%2F%23%C3%A9/versions/1?deleted=true"


def test_references_that_lead_back_are_refused(server: Small) -> None:
    server.holds(7, "order", references=referring("a"))
    server.holds_version("subject-a", 1, "a", referring("b"))
    server.holds_version("subject-b", 1, "b", referring("a"))

    with pytest.raises(Refusal, match="to itself") as told:
        ConfluentRegistry(url=server.url).look_up(7)
    assert told.value.code == "schema.unusable"


def test_references_are_followed_only_so_deep(server: Small) -> None:
    server.holds(7, "order", references=referring("0"))
    for depth in range(MAX_DEPTH):
        server.holds_version(f"subject-{depth}", 1, f"text {depth}", referring(f"{depth + 1}"))
    server.holds_version(f"subject-{MAX_DEPTH}", 1, "the last")
    with pytest.raises(Refusal, match="10 deep"):
        ConfluentRegistry(url=server.url).look_up(7)

    server.holds_version(f"subject-{MAX_DEPTH - 1}", 1, "the last")
    assert len(ConfluentRegistry(url=server.url).look_up(7).references) == MAX_DEPTH


def test_only_so_many_references_are_followed(server: Small) -> None:
    for number in range(8):
        names = [f"{number}-{n}" for n in range(16)]
        server.holds_version(f"subject-{number}", 1, "text", referring(*names))
        for name in names:
            server.holds_version(f"subject-{name}", 1, "text")
    server.holds(7, "order", references=referring(*(str(number) for number in range(8))))
    with pytest.raises(Refusal, match="more than 100"):
        ConfluentRegistry(url=server.url).look_up(7)

    assert len(server.asked) <= MAX_REFERENCES + 1


def test_a_long_list_of_references_is_refused_at_once(server: Small) -> None:
    server.holds(7, "order", references=referring(*map(str, range(101))))
    with pytest.raises(Refusal, match="more than 100"):
        ConfluentRegistry(url=server.url).look_up(7)

    assert len(server.asked) == 1


def test_texts_together_are_limited(server: Small) -> None:
    server.holds(7, "order", references=referring("a", "b"))
    for name in "ab":
        server.holds_version(f"subject-{name}", 1, name * 2_100_000)

    with pytest.raises(Refusal, match="4,000,000 characters"):
        ConfluentRegistry(url=server.url).look_up(7)


def test_a_name_means_one_schema(server: Small) -> None:
    server.holds(7, "order", references=[*referring("a"), *referring("a", version=2)])
    server.holds_version("subject-a", 1, "first")
    server.holds_version("subject-a", 2, "second")

    with pytest.raises(Refusal, match="two different schemas by the name 'a'"):
        ConfluentRegistry(url=server.url).look_up(7)


@pytest.mark.parametrize("changed", [{"subject": "another"}, {"version": 2}])
def test_another_version_than_the_one_asked_for_is_not_taken(server: Small, changed: dict[str, Any]) -> None:
    server.holds(7, "order", references=referring("a"))
    server.holds_version("subject-a", 1, "a")
    server.answers["/subjects/subject-a/versions/1"] |= changed

    with pytest.raises(Transient, match=f"another {next(iter(changed))} than the one"):
        ConfluentRegistry(url=server.url).look_up(7)


def test_a_kind_that_nobody_knows_is_refused(server: Small) -> None:
    server.holds(7, "x", "THRIFT")

    with pytest.raises(Refusal, match="THRIFT"):
        ConfluentRegistry(url=server.url).look_up(7)


# --- what people ask


def test_what_is_registered_is_sent_as_registries_want_it(server: Small) -> None:
    server.answers["/subjects/orders-value/versions"] = {"id": 5}
    registry = ConfluentRegistry(url=server.url)

    assert registry.register("orders-value", "AVRO", '"string"') == 5
    assert registry.register("orders-value", "PROTOBUF", "text", [Reference("money.proto", "money", 2)]) == 5
    assert server.sent == [
        {"schema": '"string"'},
        {
            "schema": "text",
            "schemaType": "PROTOBUF",
            "references": [{"name": "money.proto", "subject": "money", "version": 2}],
        },
    ]


def test_a_subject_that_is_not_there_is_told_of(server: Small) -> None:
    with pytest.raises(PenstockError, match="no subject 'orders'") as told:
        ConfluentRegistry(url=server.url).versions("orders")

    assert not isinstance(told.value, Transient)
