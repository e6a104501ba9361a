"""Encrypted answers, and answers that come through somebody else."""

from __future__ import annotations

import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from penstock.errors import Transient
from penstock.registries.confluent import ConfluentRegistry
from tests.registries.hostile import Small, small
from tests.support.redis import certificate

Pair = tuple[Path, Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def ours(folder: Path) -> Pair:
    """The server's certificate and its key."""
    return certificate(folder / "ours")


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Pair:
    """Somebody else's, for the same name."""
    return certificate(folder / "theirs")


def context(pair: Pair) -> ssl.SSLContext:
    found = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    found.load_cert_chain(*pair)
    return found


@pytest.fixture
def encrypted(ours: Pair) -> Iterator[Small]:
    with small(context(ours)) as running:
        running.holds(7, '"string"')
        yield running


def url(server: Small) -> str:
    return f"https://localhost:{server.port}"


def test_a_server_that_proves_its_name_is_believed(encrypted: Small, ours: Pair) -> None:
    assert ConfluentRegistry(url=url(encrypted), ca=str(ours[0])).look_up(7).text == '"string"'


@pytest.mark.parametrize("how", ["the system's authorities", "another authority", "another name", "no encryption"])
def test_a_server_that_does_not_is_waited_for(encrypted: Small, ours: Pair, theirs: Pair, how: str) -> None:
    authority = {"the system's authorities": None, "another authority": str(theirs[0])}.get(how, str(ours[0]))
    names = {"another name": encrypted.url, "no encryption": f"http://localhost:{encrypted.port}"}
    registry = ConfluentRegistry(url=names.get(how, url(encrypted)), ca=authority, timeout=5.0)

    with pytest.raises(Transient) as told:
        registry.look_up(7)
    assert told.value.code == "registry.unavailable"
    assert encrypted.asked == []


def test_a_server_that_does_not_speak_tls_is_waited_for(server: Small) -> None:
    with pytest.raises(Transient, match="no answer"):
        ConfluentRegistry(url=url(server), timeout=5.0).look_up(7)


def test_a_handshake_that_never_ends_is_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:  # takes connections, and never answers
        registry = ConfluentRegistry(url=f"https://127.0.0.1:{mute.getsockname()[1]}", timeout=0.3)
        with pytest.raises(Transient, match=r"longer than 0\.3 seconds"):
            registry.look_up(7)


def test_a_certificate_is_shown_to_a_server_that_wants_one(ours: Pair, theirs: Pair) -> None:
    strict = context(ours)
    strict.verify_mode = ssl.CERT_REQUIRED
    strict.load_verify_locations(theirs[0])
    with small(strict) as server:
        server.holds(7, '"string"')
        plain = ConfluentRegistry(url=url(server), ca=str(ours[0]))
        shown = ConfluentRegistry(url=url(server), ca=str(ours[0]), certificate=str(theirs[0]), key=str(theirs[1]))

        assert shown.look_up(7).text == '"string"'
        with pytest.raises(Transient):
            plain.look_up(7)


@pytest.mark.parametrize("setting", ["ca", "certificate"])
def test_a_certificate_that_is_not_there_is_named(encrypted: Small, folder: Path, setting: str) -> None:
    registry = ConfluentRegistry.model_validate({"url": url(encrypted), setting: str(folder / "missing.pem")})

    with pytest.raises(Transient, match=r"missing\.pem") as told:
        registry.look_up(7)
    assert told.value.code == "registry.certificates"


def test_a_key_with_a_password_does_not_ask_at_the_terminal(encrypted: Small, ours: Pair, tmp_path: Path) -> None:
    locked = tmp_path / "locked.pem"
    locked.write_text(
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
        + b64encode(b"x" * 90).decode()
        + "\n-----END ENCRYPTED PRIVATE KEY-----\n"
    )
    registry = ConfluentRegistry(url=url(encrypted), certificate=str(ours[0]), key=str(locked))

    with pytest.raises(Transient, match=r"locked\.pem"):
        registry.look_up(7)


# --- proxies


def through(proxy: Small) -> SecretStr:
    return SecretStr(proxy.url.replace("//", "//me:hush@"))


def test_a_proxy_is_asked_for_the_whole_url(server: Small) -> None:
    server.answers["/schemas/ids/7"] = {"schema": '"string"'}
    registry = ConfluentRegistry(url="http://registry.invalid:8081", proxy=through(server))

    assert registry.look_up(7).text == '"string"'
    assert server.asked[0] == "http://registry.invalid:8081/schemas/ids/7"
    assert server.headers[0]["Host"] == "registry.invalid:8081"
    assert server.headers[0]["Proxy-Authorization"] == "Basic " + b64encode(b"me:hush").decode()


def test_a_proxy_sees_nothing_of_what_is_encrypted(encrypted: Small, server: Small, ours: Pair) -> None:
    registry = ConfluentRegistry(url=url(encrypted), ca=str(ours[0]), proxy=through(server), token=SecretStr("abc"))

    assert registry.look_up(7).text == '"string"'
    assert set(server.asked) == {f"CONNECT localhost:{encrypted.port}"}
    assert [headers.get("Authorization") for headers in server.headers] == [None, None]
    assert [headers.get("Proxy-Authorization") for headers in encrypted.headers] == [None, None]
    assert server.headers[0]["Proxy-Authorization"] == "Basic " + b64encode(b"me:hush").decode()


def test_a_proxy_that_is_away_is_waited_for(encrypted: Small) -> None:
    with pytest.raises(Transient) as told:
        ConfluentRegistry(url=url(encrypted), proxy=SecretStr("http://me:hush@127.0.0.1:1")).look_up(7)

    assert "hush" not in str(told.value)


def test_proxies_of_the_environment_are_not_asked(server: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server.holds(7, '"string"')

    assert ConfluentRegistry(url=server.url).look_up(7).text == '"string"'
