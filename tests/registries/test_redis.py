"""Redis as a registry of types, against a real server: what it holds, and everything that can happen to it."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from penstock.demo.broker import free_port
from penstock.errors import ConfigError, PenstockError, Transient
from penstock.registries import redis as registry
from penstock.registries.listing import Found, kept, missing
from penstock.registries.redis import RedisTypes
from penstock.registries.redis_answers import MAX_VALUE
from penstock.registries.spark_json import to_spark
from penstock.schema import columns
from tests.support.process import eventually
from tests.support.redis import LocalRedis, answering, certificate, speaking_tls

ORDER, REFUND = columns({"id": "long", "note": "string"}), columns({"id": "long", "amount": "decimal(10, 2)"})
SECRET = "correct-horse-battery"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRedis]:
    with LocalRedis(tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture
def server(shared: LocalRedis) -> LocalRedis:
    """An empty one, that a test leaves as it found it."""
    shared.flush()
    return shared


@pytest.fixture
def own(tmp_path: Path) -> Iterator[LocalRedis]:
    """One that a test may kill and start in other ways."""
    with LocalRedis(tmp_path / "redis") as running:
        yield running


def types(server: LocalRedis | int, **more: Any) -> RedisTypes:
    port = server if isinstance(server, int) else server.port
    return RedisTypes(**{"host": "127.0.0.1", "port": port, "timeout": 5.0, **more})


def refusal(redis: RedisTypes) -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        redis.types()
    return caught.value


# --- what it holds -------------------------------------------------------------------------------


def test_string_keys_are_types(server: LocalRedis) -> None:
    redis = types(server)
    assert redis.types() == Found({}, {})

    redis.register("order.v1", to_spark(ORDER))
    server.client.set("refund.v1", to_spark(REFUND))
    server.client.set("größe ☃", to_spark(ORDER))

    assert redis.types() == Found({"order.v1": ORDER, "refund.v1": REFUND, "größe ☃": ORDER}, {})
    assert redis.names() == ["größe ☃", "order.v1", "refund.v1"]
    assert redis.text("refund.v1") == to_spark(REFUND)
    assert redis.text("other") is None


def test_changed_and_removed_types_are_seen_at_once(server: LocalRedis) -> None:
    redis = types(server)
    redis.register("order", to_spark(ORDER))
    redis.register("order", to_spark(REFUND))
    assert redis.types().types == {"order": REFUND}

    assert redis.remove("order") is True
    assert redis.remove("order") is False
    assert redis.types() == Found({}, {})


def test_only_keys_with_the_prefix_are_types(server: LocalRedis) -> None:
    for key in ("t*[1]?\\:order", "t*[1]?\\:", "txx1y\\:order", "order", "t"):
        server.client.set(key, to_spark(ORDER))
    found = types(server, prefix="t*[1]?\\:").types()

    assert list(found.types) == ["order"]
    assert list(found.complaints) == [""]
    assert "nothing follows the prefix" in found.complaints[""]


def test_other_database_has_other_types(server: LocalRedis) -> None:
    types(server, db=3).register("order", to_spark(ORDER))

    assert types(server).types().types == {}
    assert types(server, db=3).types().types == {"order": ORDER}


def test_keys_of_other_use_are_complained_of_and_do_no_harm(server: LocalRedis) -> None:
    client = server.client
    client.set("good", to_spark(ORDER))
    client.rpush("list", "a")
    client.hset("hash", "a", "b")
    client.sadd("set", "a")
    client.zadd("sorted", {"a": 1})
    client.xadd("stream", {"a": "b"})
    client.set("number", 12)
    client.set("empty", "")
    client.set("garbage", b"\x80\x04\x95pickle")
    client.set("half", to_spark(ORDER)[:-1])
    client.set("large", b" " * (MAX_VALUE + 1))
    client.set("as large as may be", to_spark(ORDER).ljust(MAX_VALUE))
    client.set(b"\xff\xfe", to_spark(ORDER))
    client.set("\x1b[31m" + "k" * 5_000, to_spark(ORDER))
    found = types(server).types()

    assert found.types == {"good": ORDER, "as large as may be": ORDER}
    told = {name[:10]: why.split("is not a type: ")[1] for name, why in found.complaints.items()}
    not_a_string = "its value is not a string"
    assert told == {
        **dict.fromkeys(["list", "hash", "set", "sorted", "stream"], not_a_string),
        "number": 'the schema is not a struct: Spark\'s JSON for one begins with {"type":"struct","fields":[',
        "empty": "the schema is not JSON: Expecting value: line 1 column 1 (char 0)",
        "garbage": "its value is not UTF-8 at byte 0",
        "half": told["half"],
        "large": "its value is longer than 1000000 bytes",
        "\\xff\\xfe": "it is not UTF-8",
        "\x1b[31mkkkkk": "it is longer than 1000 bytes",
    }
    assert "not JSON" in told["half"]
    assert all(why.isprintable() and len(why) < 700 for why in found.complaints.values())


def test_all_schemas_together_are_limited(server: LocalRedis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "MAX_ALTOGETHER", 2 * len(to_spark(ORDER)))
    for name in "abc":
        types(server).register(name, to_spark(ORDER))
    found = types(server).types()

    assert list(found.types) == ["a", "b"]
    assert "bytes of schemas" in found.complaints["c"]


def test_thousands_of_types_are_read_in_pages(server: LocalRedis) -> None:
    server.client.mset({f"type-{n}": to_spark(ORDER) for n in range(5_000)})

    assert len(types(server).types().types) == 5_000
    assert len(types(server).names()) == 5_000


def test_more_keys_than_any_registry_has_are_refused(server: LocalRedis) -> None:
    server.client.mset({f"session:{n}": "x" for n in range(registry.MAX_KEYS)})
    types(server).register("order", to_spark(ORDER))

    why = refusal(types(server))
    assert (type(why), why.code) == (Transient, "registry.too-many-keys")
    assert len(types(server, prefix="session").types().complaints) == registry.MAX_KEYS
    assert types(server, prefix="ord").types().types == {"er": ORDER}


def test_key_deleted_since_it_was_listed_is_skipped(server: LocalRedis) -> None:
    """The listing is stopped half way, by a type that ends before its value is asked for."""
    types(server).register("order", to_spark(ORDER))
    types(server).register("refund", to_spark(REFUND))

    class Deleting(RedisTypes):
        def _keys(self, client: Any, kind: str | None = None) -> set[bytes]:
            keys = super()._keys(client, kind)
            server.client.delete("order")
            return keys

    assert Deleting(host="127.0.0.1", port=server.port).types() == Found({"refund": REFUND}, {})


def test_what_is_no_schema_is_not_registered(server: LocalRedis) -> None:
    for name, schema in {"a": "{}", "b": "", "": to_spark(ORDER), "c\ud800": to_spark(ORDER)}.items():
        with pytest.raises(ValueError, match=r"schema|name"):
            types(server).register(name, schema)
    with pytest.raises(ValueError, match="longer than 1000 bytes"):
        types(server).register("k" * 2_000, to_spark(ORDER))

    assert server.client.dbsize() == 0


def test_key_of_other_use_is_neither_overwritten_nor_removed(server: LocalRedis) -> None:
    server.client.rpush("jobs", "a")
    for act in (lambda: types(server).register("jobs", to_spark(ORDER)), lambda: types(server).remove("jobs")):
        with pytest.raises(ValueError, match="left alone"):
            act()
    with pytest.raises(ValueError, match="not a string"):
        types(server).text("jobs")

    assert server.client.llen("jobs") == 1


# --- what can happen to it -----------------------------------------------------------------------


def test_killed_server_is_waited_for(own: LocalRedis) -> None:
    redis = types(own)
    redis.register("order", to_spark(ORDER))
    own.client.save()
    own.kill()

    why = refusal(redis)
    assert (type(why), why.code) == (Transient, "registry.unavailable")
    assert f"Redis at 127.0.0.1:{own.port}/0 does not answer" in str(why)
    for act in (redis.names, lambda: redis.text("a"), lambda: redis.remove("a")):
        with pytest.raises(Transient):
            act()

    own.start()
    assert redis.types().types == {"order": ORDER}


def test_frozen_server_is_given_up_in_time(server: LocalRedis) -> None:
    redis = types(server, timeout=0.2)
    with server.frozen():
        began = time.monotonic()
        assert refusal(redis).code == "registry.unavailable"
        assert time.monotonic() - began < 2

    assert redis.types() == Found({}, {})


def test_server_that_is_still_loading_is_waited_for(own: LocalRedis) -> None:
    redis = types(own)
    own.client.mset({f"type-{n}": to_spark(ORDER) for n in range(50)})
    own.client.save()
    own.kill()
    own.start(key_load_delay="10000", loading_process_events_interval_bytes="1024")

    assert refusal(redis).code == "registry.loading"
    eventually(lambda: not is_loading(redis), 30)
    assert len(redis.types().types) == 50


def is_loading(redis: RedisTypes) -> bool:
    try:
        redis.types()
    except Transient as why:
        return why.code == "registry.loading"
    return False


def test_replica_is_read_and_not_written(own: LocalRedis) -> None:
    own.client.set("order", to_spark(ORDER))
    own.client.save()
    own.kill()
    own.start(replicaof="127.0.0.1 1")
    redis = types(own)

    assert redis.types().types == {"order": ORDER}
    with pytest.raises(Transient) as why:
        redis.register("order", to_spark(REFUND))
    assert why.value.code == "registry.read-only"

    own.kill()
    own.start(replicaof="127.0.0.1 1", replica_serve_stale_data="no")
    assert "MASTER is down" in str(refusal(redis))


def test_node_of_a_cluster_is_refused(tmp_path: Path) -> None:
    with LocalRedis(tmp_path, cluster_enabled="yes", cluster_port=str(free_port())) as node:
        why = refusal(types(node))

    assert (type(why), why.code) == (ConfigError, "registry.cluster")


def test_flushed_server_keeps_its_types_known(server: LocalRedis) -> None:
    redis = types(server)
    redis.register("order", to_spark(ORDER))
    redis.register("refund", to_spark(REFUND))
    known = kept({}, redis.types().types)
    server.flush()
    found = redis.types()

    assert found == Found({}, {})
    assert kept(known, found.types) == known == {"order": ORDER, "refund": REFUND}
    assert missing(known, found) == ["order", "refund"]


def test_what_is_found_replaces_and_adds_and_what_is_missing_stays() -> None:
    known = {"a": ORDER, "b": ORDER, "c": ORDER}
    found = Found({"a": REFUND, "d": REFUND}, {"b": "its value is not a string"})

    assert kept(known, found.types) == {"a": REFUND, "b": ORDER, "c": ORDER, "d": REFUND}
    assert missing(known, found) == ["c"]
    assert known == {"a": ORDER, "b": ORDER, "c": ORDER}


# --- who may, and what is said -------------------------------------------------------------------


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRedis]:
    with LocalRedis(tmp_path_factory.mktemp("redis"), requirepass=SECRET) as running:
        client = running.client
        client.acl_setuser("reader", enabled=True, passwords=[f"+{SECRET}"], keys=["*"], categories=["+@read"])
        client.acl_setuser("nobody", enabled=True, passwords=[f"+{SECRET}"])
        yield running


def test_right_password_opens(locked: LocalRedis) -> None:
    types(locked, password=SecretStr(SECRET)).register("order", to_spark(ORDER))

    assert types(locked, username="reader", password=SecretStr(SECRET)).types().types == {"order": ORDER}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"password": SecretStr("wrong-secret")},
        {"username": "who", "password": SecretStr("wrong-secret")},
        {"username": "nobody", "password": SecretStr(SECRET)},
    ],
)
def test_who_may_not_is_told_so_without_the_password(locked: LocalRedis, given: dict[str, Any]) -> None:
    redis = types(locked, **given)
    why = refusal(redis)

    assert (type(why), why.code) == (Transient, "registry.not-allowed")
    for told in (str(why), repr(why), repr(why.__cause__), str(why.__cause__), str(redis), repr(redis)):
        assert SECRET not in told
        assert "wrong-secret" not in told


def test_reader_cannot_register(locked: LocalRedis) -> None:
    with pytest.raises(Transient) as why:
        types(locked, username="reader", password=SecretStr(SECRET)).register("order", to_spark(REFUND))
    assert why.value.code == "registry.not-allowed"


def test_database_that_does_not_exist_is_told(server: LocalRedis) -> None:
    assert "DB index is out of range" in str(refusal(types(server, db=9_999)))


def test_tls_is_checked(server: LocalRedis, tmp_path: Path) -> None:
    types(server).register("order", to_spark(ORDER))
    made, key = certificate(tmp_path)
    with speaking_tls(server, made, key) as port:
        known = types(port, host="localhost", tls=True, ca=str(made))
        assert known.types().types == {"order": ORDER}
        for stranger in (
            types(port, host="localhost", tls=True),
            types(port, tls=True, ca=str(made)),
            types(port, host="localhost", tls=True, ca=str(tmp_path / "none.pem")),
            types(port, timeout=0.5),
        ):
            assert isinstance(refusal(stranger), Transient)
        assert "certificate verify failed" in str(refusal(types(port, host="localhost", tls=True)))
    assert isinstance(refusal(types(server, host="localhost", tls=True, ca=str(made), timeout=0.5)), Transient)


NOT_FOR_YOU = b"-NOPERM no INFO\r\n"
GARBAGE = {
    "nothing": [],
    "HTTP": [b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"],
    "an unknown sign": [b"?what\r\n"],
    "an empty line": [b"\r\n" * 50],
    "NULs": [bytes(1_000)],
    "a number that is none": [b":12x\r\n" * 9],
    "a length that is none": [b"$abc\r\n" * 9],
    "a negative length": [b"$-7\r\n" * 9],
    "less than was said": [b"$100\r\nabc\r\n"],
    "nested without end": [NOT_FOR_YOU, b"*1\r\n" * 100_000],
    "an array of nothing": [NOT_FOR_YOU, b"*0\r\n" * 9],
    "a number for everything": [b":5\r\n"] * 9,
    "nothing for everything": [b"$-1\r\n"] * 9,
    "arrays for everything": [b"*1\r\n*1\r\n:1\r\n"] * 9,
    "a number": [NOT_FOR_YOU, b":5\r\n" * 9],
    "a cursor that is none": [NOT_FOR_YOU, b"*2\r\n$1\r\nx\r\n*0\r\n" * 9],
    "keys that are numbers": [NOT_FOR_YOU, b"*2\r\n$1\r\n0\r\n*1\r\n:1\r\n" * 9],
    "an error with the password": [b"-ERR no " + SECRET.encode() + b"\x1b[31m here\r\n"] * 9,
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_is_no_redis_is_waited_for_like_one_that_is_away(name: str) -> None:
    with answering(*GARBAGE[name]) as port:
        why = refusal(types(port, timeout=0.5, password=SecretStr(SECRET) if "password" in name else None))

    assert isinstance(why, Transient)
    assert SECRET not in str(why)
    assert "\x1b" not in str(why)


def test_listing_without_end_is_given_up() -> None:
    with answering(NOT_FOR_YOU, *[b"*2\r\n$1\r\n7\r\n*0\r\n"] * 100_000) as port:
        began = time.monotonic()
        assert "took more than 0.5 s" in str(refusal(types(port, timeout=0.05)))
        assert time.monotonic() - began < 5


# --- what is declared ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"host": "redis://user:hunter2@here:1"}, "a name or an address alone"),
        ({"host": ""}, "a name or an address alone"),
        ({"host": "a b"}, "a name or an address alone"),
        ({"port": 0}, "greater than or equal to 1"),
        ({"port": "6379"}, "valid integer"),
        ({"db": -1}, "greater than or equal to 0"),
        ({"timeout": 0}, "greater than 0"),
        ({"timeout": "soon"}, "not a duration"),
        ({"timeout": float("inf")}, "less than or equal to 3600"),
        ({"username": "me"}, "needs a password"),
        ({"ca": "ca.pem"}, "tls: true"),
        ({"prefix": "\ud800"}, "unicode"),
        ({"passwort": "hunter2"}, "not permitted"),
    ],
)
def test_declaration_that_makes_no_sense_is_refused(given: dict[str, Any], part: str) -> None:
    with pytest.raises(ValidationError, match=part) as why:
        RedisTypes(**given)
    assert "hunter2" not in str(why.value)


def test_declaration_travels() -> None:
    redis = RedisTypes(password=SecretStr(SECRET), prefix="a:", timeout=2)

    assert pickle.loads(pickle.dumps(redis)) == redis
    assert (redis.host, redis.port, redis.db) == ("localhost", 6379, 0)


def test_name_that_cannot_be_looked_up_is_waited_for() -> None:
    for host in ("a..b", "no-such-host.invalid", "x" * 200):
        assert refusal(RedisTypes(host=host, timeout=1)).code.startswith("registry.")
