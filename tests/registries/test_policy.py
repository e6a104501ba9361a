"""Which addresses are spoken to."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from pydantic import SecretStr

from penstock.errors import Transient
from penstock.registries import UnknownSchema
from penstock.registries.confluent import ConfluentRegistry
from penstock.registries.policy import addresses, credentials, endpoint, may_connect, without_credentials
from tests.registries.hostile import Small


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.0.1",
        "fe80::1",
        "fe80::1%eth0",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
    ],
)
def test_addresses_that_give_out_credentials_are_never_spoken_to(address: str) -> None:
    assert not may_connect(address)
    assert not may_connect(address, private=False)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.1.2.3", "192.168.0.1", "fd12::1", "0.0.0.0"])
def test_private_addresses_are_spoken_to_unless_told_not_to(address: str) -> None:
    assert may_connect(address)
    assert not may_connect(address, private=False)


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07::1"])
def test_public_addresses_are_spoken_to(address: str) -> None:
    assert may_connect(address, private=False)


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:a9fe:a9fe]", "2852039166", "0xa9fea9fe"])
def test_a_registry_is_never_at_a_metadata_service_however_it_is_written(host: str) -> None:
    with pytest.raises(Transient, match="does not speak to") as told:
        ConfluentRegistry(url=f"http://{host}/").look_up(1)

    assert told.value.code == "registry.forbidden-address"


def test_nor_through_a_proxy(server: Small) -> None:
    with pytest.raises(Transient, match="does not speak to"):
        ConfluentRegistry(url="http://169.254.169.254/", proxy=SecretStr(server.url)).look_up(1)

    assert server.asked == []


def test_a_local_registry_can_be_forbidden(server: Small) -> None:
    with pytest.raises(Transient, match="private: true"):
        ConfluentRegistry(url=server.url, private=False).look_up(1)

    assert server.asked == []


def test_a_name_without_an_address_is_waited_for() -> None:
    with pytest.raises(Transient, match="has no address"):
        addresses(endpoint("http://registry.invalid/"))


def test_the_connection_goes_to_the_address_that_was_checked(server: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that means something else when it is looked up again would get around the check."""
    names: list[str] = []
    real = socket.getaddrinfo

    def recorded(host: str, *arguments: Any, **named: Any) -> Any:
        names.append(host)
        return real("127.0.0.1" if host == "registry.test" else host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", recorded)
    with pytest.raises(UnknownSchema):
        ConfluentRegistry(url=f"http://registry.test:{server.port}").look_up(7)

    assert names == ["registry.test", "127.0.0.1"]
    assert server.headers[0]["Host"] == f"registry.test:{server.port}"


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("http://host", "http://host"),
        ("https://host:443/", "https://host"),
        ("http://host:8081/apis/ccompat/v7/", "http://host:8081/apis/ccompat/v7"),
        ("https://user:secret@[::1]:8081/x", "https://[::1]:8081/x"),
        ("HTTP://HOST", "http://host"),
    ],
)
def test_a_url_is_shown_without_its_user(url: str, meant: str) -> None:
    assert str(endpoint(url)) == meant


def test_the_user_of_a_url_is_what_was_meant() -> None:
    assert credentials("http://us%40er:p%3Aw@host") == ("us@er", "p:w")
    assert credentials("http://host") is None
    assert without_credentials("https://user:p@host:1/x") == "https://host:1/x"


@pytest.mark.parametrize(
    "url",
    [
        "http::a//",
        "file:///etc/passwd",
        "ftp://host/",
        "//host",
        "host:8081",
        "",
        "http://",
        "http://host:port",
        "http://host:99999",
        "http://[::1",
        "http://host/?a=b",
        "http://host/#x",
        "http://host/a b",
        "http://host/\r\nX: y",
        "http://hö.st/",
        "http://a,http://b",
        "http://a,b",
        "http://[fe80::1%25eth0]/",
    ],
)
def test_what_is_no_url_is_told_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|path") as told:
        endpoint(url.replace("://", "://secret:secret@"))

    assert "secret" not in str(told.value)
