"""`penstock schemas` with a real registry, a real Valkey server and folders: what it says, and how it ends."""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from tests.support.command_line import Call, caller
from tests.support.redis import LocalRedis
from tests.support.registry import LocalRegistry

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

VARIABLES = ("SCHEMA_REGISTRY_USERNAME", "SCHEMA_REGISTRY_PASSWORD", "SCHEMA_REGISTRY_PROXY", "REDIS_PASSWORD")
SECRET = "s3cr3t-word"
MONEY = '{"type": "record", "name": "Money", "namespace": "shop", "fields": [{"name": "cents", "type": "long"}]}'
PROTO = 'syntax = "proto3"; package shop; message Order { int32 n = 1; } message Page { string url = 1; }'
PAGE = '{"type":"struct","fields":[{"name":"url","type":"string","nullable":true,"metadata":{}}]}'


def avro(*fields: tuple[str, Any], name: str = "Order") -> str:
    listed = [{"name": field, "type": kind} for field, kind in fields]
    return json.dumps({"type": "record", "name": name, "namespace": "shop", "fields": listed})


ORDER = avro(("n", "int"), ("who", ["null", "string"]))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return caller(monkeypatch, capsys)


@pytest.fixture
def subject() -> str:
    """A name that no other test uses: they share a registry."""
    return f"order-{uuid.uuid4().hex[:8]}-value"


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRedis]:
    with LocalRedis(tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture
def keys(valkey: LocalRedis) -> str:
    """The address of types in an otherwise empty database."""
    valkey.flush()
    return f"redis://127.0.0.1:{valkey.port}/0?prefix=types:"


def file(name: str, text: str) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)
    return name


def pipeline(format: str, *more: str, by: str = "record") -> str:
    lines = ["app: trade", "source: {kafka: {servers: 'nobody:1', topic: events}}", f"format: {format}"]
    return file("trade.yaml", "\n".join([*lines, f"route: {{by: {by}}}", "tables: {base: lake}", *more]) + "\n")


def by_id(registry: LocalRegistry, kind: str = "avro") -> str:
    return f"{{{kind}: {{registry: {{url: '{registry.url}'}}}}}}"


def traces() -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(Path().rglob("*"))}


def strict(registry: LocalRegistry, subject: str) -> None:
    """Let the registry refuse what readers of the new schema could not read."""
    asked = urllib.request.Request(
        f"{registry.url}/config/{subject}",
        b'{"compatibility": "BACKWARD"}',
        {"Content-Type": "application/json"},
        method="PUT",
    )
    urllib.request.urlopen(asked).close()


# --- a registry by id ----------------------------------------------------------------------------


def test_what_is_registered_is_listed_and_shown(call: Call, apicurio: LocalRegistry, subject: str) -> None:
    path = pipeline(by_id(apicurio))

    first = call("schemas", "register", subject, file("order.avsc", ORDER), path)
    again = call("schemas", "register", subject, "order.avsc", "--registry", apicurio.url)
    wider = call("schemas", "register", subject, file("wider.avsc", avro(("n", "int"), ("more", "long"))), path)
    listed = json.loads(call("schemas", "list", path, "--json").out)
    lines = call("schemas", "list", path).out

    assert (first.status, again.status, wider.status) == (0, 0, 0), first.err
    assert first.out == again.out != wider.out
    assert first.out.startswith(f"{subject} is registered with id ")
    (own,) = [line for line in listed if line["name"] == subject]
    assert own == {"registry": apicurio.url, "name": subject, "kind": "avro", "versions": [1, 2], "wrong": None}
    assert f"  {subject}  avro  versions 1, 2\n" in lines
    id = first.out.split()[-1]
    for which in (("--version", "1"), ("--id", id)):
        assert json.loads(call("schemas", "show", subject, path, *which).out) == json.loads(ORDER)
    assert "more" in call("schemas", "show", subject, path).out


def test_kinds_are_told_by_files(call: Call, apicurio: LocalRegistry, subject: str) -> None:
    schema = json.dumps({"title": "Order", "type": "object", "properties": {"n": {"type": "integer"}}})
    at = ("--registry", apicurio.url)

    assert call("schemas", "register", f"p-{subject}", file("o.proto", PROTO), *at).status == 0
    assert call("schemas", "register", f"j-{subject}", file("o.json", schema), *at).status == 0
    assert call("schemas", "register", f"a-{subject}", file("a.json", ORDER), *at).status == 0

    kinds = {line["name"]: line["kind"] for line in json.loads(call("schemas", "list", *at, "--json").out)}
    assert [kinds[f"{letter}-{subject}"] for letter in "pja"] == ["protobuf", "json", "avro"]
    columns = call("schemas", "show", f"p-{subject}", *at, "--as", "columns").out
    assert columns.split() == ["shop.Order", "n", "int", "shop.Page", "url", "string"]


def test_references_are_looked_up_before_anything_is_registered(
    call: Call, apicurio: LocalRegistry, subject: str
) -> None:
    text, at = avro(("price", "shop.Money")), ("--registry", apicurio.url)
    call("schemas", "register", f"m-{subject}", file("money.avsc", MONEY), *at)
    file("order.avsc", text)

    alone = call("schemas", "register", subject, "order.avsc", *at)
    gone = call("schemas", "register", subject, "order.avsc", *at, "--reference", f"shop.Money=m-{subject}:7")
    good = call("schemas", "register", subject, "order.avsc", "--reference", f"shop.Money=m-{subject}:1", *at)

    assert (alone.status, gone.status, good.status) == (1, 1, 0), good.err
    assert "the schema 'order.avsc' cannot be used" in alone.err
    assert "[schema.not-usable]" in alone.err
    assert f"the registry has no version 7 of 'm-{subject}'" in gone.err
    told = call("schemas", "show", subject, *at, "--as", "columns").out
    assert told.split(maxsplit=2) == ["Order", "price", "struct<cents: long>  \n"]
    same = call("schemas", "diff", subject, "order.avsc", *at)
    assert (same.status, "nothing changes" in same.out) == (0, True)


def test_option_that_may_come_often_leaves_the_pipeline_alone(
    call: Call, apicurio: LocalRegistry, subject: str
) -> None:
    path = pipeline(by_id(apicurio))
    call("schemas", "register", f"m-{subject}", file("money.avsc", MONEY), path)
    file("order.avsc", avro(("price", "shop.Money")))

    told = call("schemas", "register", subject, "order.avsc", "--reference", f"shop.Money=m-{subject}:1", path)

    assert told.status == 0, told.err


def test_incompatible_schema_is_refused_in_the_registrys_words(
    call: Call, apicurio: LocalRegistry, subject: str
) -> None:
    at = ("--registry", apicurio.url)
    call("schemas", "register", subject, file("order.avsc", ORDER), *at)
    strict(apicurio, subject)
    file("wrong.avsc", avro(("n", "boolean"), ("who", ["null", "string"])))

    tried = call("schemas", "register", subject, "wrong.avsc", *at, "--dry-run")
    told = call("schemas", "register", subject, "wrong.avsc", *at)

    assert (tried.status, told.status, told.err) == (1, 1, "")
    assert tried.out == told.out
    head, *reasons = told.out.splitlines()
    assert head == f"{apicurio.url} refuses {subject}:"
    assert reasons
    assert [line["versions"] for line in _listed(call, *at) if line["name"] == subject] == [[1]]


def _listed(call: Call, *at: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(call("schemas", "list", *at, "--json").out)
    return found


def test_trying_registers_nothing(call: Call, apicurio: LocalRegistry, subject: str) -> None:
    at = ("--registry", apicurio.url)

    told = call("schemas", "register", subject, file("order.avsc", ORDER), *at, "--dry-run")

    assert (told.status, told.out) == (0, f"{subject} can be registered; nothing was done\n")
    assert subject not in [line["name"] for line in _listed(call, *at)]


def test_schema_that_penstock_cannot_use_is_listed_with_the_reason(
    call: Call, apicurio: LocalRegistry, subject: str
) -> None:
    tree = avro(("inner", ["null", "shop.Order"]))
    body = json.dumps({"schema": tree}).encode()
    asked = urllib.request.Request(
        f"{apicurio.url}/subjects/{subject}/versions", body, {"Content-Type": "application/json"}
    )
    urllib.request.urlopen(asked).close()

    (line,) = [line for line in _listed(call, "--registry", apicurio.url) if line["name"] == subject]

    assert "recursive" in line["wrong"] or "itself" in line["wrong"]
    shown = call("schemas", "show", subject, "--registry", apicurio.url, "--as", "columns")
    assert (shown.status, "[schema.not-usable]" in shown.err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("show", "nobody-made-this"), "there is no 'nobody-made-this' in http"),
        (("show", "nobody-made-this", "--version", "3"), "the registry has no version 3 of 'nobody-made-this'"),
        (("show", "nobody-made-this", "--id", "99999999"), "the registry has no schema with id 99999999"),
    ],
)
def test_what_is_not_there_is_a_sentence(
    call: Call, apicurio: LocalRegistry, arguments: tuple[str, ...], told: str
) -> None:
    ended = call("schemas", *arguments, "--registry", apicurio.url)

    assert (ended.status, ended.out) == (1, "")
    assert told in ended.err
    assert "`penstock schemas list` shows" in ended.err


def test_id_of_another_subject_is_not_shown_as_this_ones(call: Call, apicurio: LocalRegistry, subject: str) -> None:
    text = avro(("n", "int"), name=f"R{uuid.uuid4().hex}")
    id = call("schemas", "register", subject, file("o.avsc", text), "--registry", apicurio.url).out.split()[-1]

    told = call("schemas", "show", "another", "--id", id, "--registry", apicurio.url)

    assert (told.status, f"schema id {id} is not of 'another' but of {subject}" in told.err) == (2, True)


# --- tables --------------------------------------------------------------------------------------


def test_columns_are_those_that_the_pipeline_would_give_a_table(
    call: Call, apicurio: LocalRegistry, subject: str
) -> None:
    call("schemas", "register", subject, file("o.avsc", ORDER), "--registry", apicurio.url)
    path = pipeline(by_id(apicurio), "transforms: {day: 'kafka.topic'}")
    path = file(path, Path(path).read_text().replace("{base: lake}", "{base: lake, defaults: {partition_by: [day]}}"))
    before = traces()

    told = call("schemas", "show", subject, path, "--as", "ddl")

    assert told.status == 0, told.err
    assert told.out == (
        f"CREATE TABLE delta.`{Path.cwd()}/lake/Order` (\n  `n` INT,\n  `who` STRING,\n  `day` STRING\n)\n"
        "USING DELTA\nPARTITIONED BY (`day`);\n"
    )
    assert traces() == before


def test_difference_is_told_for_the_version_and_for_the_table(
    call: Call, apicurio: LocalRegistry, subject: str
) -> None:
    path = pipeline(by_id(apicurio))
    call("schemas", "register", subject, file("o.avsc", ORDER), path)
    rows = pa.table({"n": pa.array([1], pa.int64()), "who": ["x"], "gone": ["y"]})
    deltalake.write_deltalake("lake/Order", rows)
    file("new.avsc", avro(("n", "long"), ("who", "int"), ("more", "double")))
    before = traces()

    told = call("schemas", "diff", subject, "new.avsc", path, "--json")

    assert told.status == 1, told.err
    found = json.loads(told.out)
    version, table = found["effects"]
    assert (version["against"], version["decides"]) == ("version 1", False)
    assert {each["column"]: each["change"] for each in version["changes"]} == {
        "n": "widened",
        "who": "refused",
        "more": "added",
    }
    assert (table["against"], table["table"], table["is_new"], table["decides"]) == (
        "table Order",
        "Order",
        False,
        True,
    )
    assert {each["column"]: each["change"] for each in table["changes"]} == {
        "who": "refused",
        "more": "added",
        "gone": "dropped",
    }
    lines = call("schemas", "diff", subject, "new.avsc", path)
    assert lines.status == 1
    assert "  refused  who: int comes, and the column is string; messages become dead letters\n" in lines.out
    assert lines.out.endswith(f"{subject}: messages would be refused\n")
    assert traces() == before


def test_values_that_may_not_fit_fail_only_strictly(call: Call, apicurio: LocalRegistry, subject: str) -> None:
    call("schemas", "register", subject, file("o.avsc", ORDER), "--registry", apicurio.url)
    arguments = ("schemas", "diff", subject, file("new.avsc", avro(("n", "long"))), "--registry", apicurio.url)

    told = call(*arguments)

    assert (told.status, call(*arguments, "--strict").status) == (0, 1)
    assert "widened  n: long comes, and the column stays int" in told.out
    assert "dropped  who: the column stays, and is null in these messages" in told.out
    assert told.out.endswith("compatible, but for values that do not fit\n")


def test_type_is_given_where_the_schema_does_not_tell(call: Call, apicurio: LocalRegistry, subject: str) -> None:
    path = pipeline(by_id(apicurio), by="{header: type}")
    call("schemas", "register", subject, file("o.avsc", ORDER), path)
    deltalake.write_deltalake("lake/sale", pa.table({"n": pa.array([1], pa.int32()), "WHO": ["x"]}))

    untold, told = call("schemas", "diff", subject, "o.avsc", path), ("--type", "sale")
    given = call("schemas", "diff", subject, "o.avsc", path, *told)

    assert (untold.status, "give --type to compare with its table" in untold.out) == (0, True)
    assert (given.status, "the name differs from column 'WHO' only in case" in given.out) == (1, True)


# --- types in Redis ------------------------------------------------------------------------------


def test_types_in_redis_are_registered_listed_and_shown(call: Call, keys: str, valkey: LocalRedis) -> None:
    done = call("schemas", "register", "page", file("page.json", PAGE), "--registry", keys)
    valkey.client.set("types:odd", "no schema")
    valkey.client.set("other", "of no concern")

    assert (done.status, done.out) == (0, "page is registered\n"), done.err
    assert call("schemas", "show", "page", "--registry", keys).out == PAGE + "\n"
    odd, page = _listed(call, "--registry", keys)
    assert page == {
        "registry": f"redis://127.0.0.1:{valkey.port}/0?prefix=types%3A",
        "name": "page",
        "kind": "spark",
        "versions": [],
        "wrong": None,
    }
    assert (odd["name"], "is not a type" in odd["wrong"]) == ("odd", True)
    assert call("schemas", "show", "page", "--as", "ddl", "--registry", keys).out.startswith(
        "CREATE TABLE delta.`page`"
    )


def test_pipeline_leads_to_its_types_and_their_tables(call: Call, valkey: LocalRedis, keys: str) -> None:
    valkey.client.set("types:page", PAGE)
    registry = f"registry: {{redis: {{host: 127.0.0.1, port: {valkey.port}, prefix: 'types:'}}}}"
    path = pipeline("json", registry, "envelope: {payload: body, into: body}", by="{field: kind}")
    deltalake.write_deltalake("lake/page", pa.table({"body": [{"url": "x", "old": 1}]}))
    wider = PAGE.replace('"string"', '"long"').replace("}]}", '},{"name":"more","type":"date"}]}')

    told = call("schemas", "diff", "page", file("wider.json", wider), path, "--json")

    assert told.status == 1, told.err
    _, table = json.loads(told.out)["effects"]
    assert {each["column"]: each["change"] for each in table["changes"]} == {
        "body.url": "refused",
        "body.more": "added",
    }
    assert [line["name"] for line in _listed(call, path)] == ["page"]


def test_what_is_no_schema_of_spark_does_not_reach_redis(call: Call, keys: str, valkey: LocalRedis) -> None:
    told = call("schemas", "register", "order", file("order.avsc", ORDER), "--registry", keys)

    assert (told.status, "[schema.not-usable]" in told.err) == (1, True)
    assert valkey.client.dbsize() == 0


def test_password_of_redis_comes_from_the_environment_and_is_never_shown(call: Call, tmp_path: Path) -> None:
    with LocalRedis(tmp_path / "locked", requirepass=SECRET) as locked:
        at = ("schemas", "list", "--registry", f"redis://127.0.0.1:{locked.port}")

        assert call(*at, REDIS_PASSWORD=SECRET).status == 0
        wrong = call(*at, REDIS_PASSWORD=SECRET + "x")

    assert (wrong.status, wrong.out) == (1, "")
    assert "does not let us in" in wrong.err
    assert SECRET not in wrong.err


# --- folders -------------------------------------------------------------------------------------


def test_files_are_listed_with_what_is_wrong_with_them(call: Call) -> None:
    file("schemas/order.avsc", ORDER)
    file("schemas/deep/shop.proto", PROTO)
    file("schemas/page.json", PAGE)
    file("schemas/half.json", '{"type":')
    file("schemas/.hidden.json", "{")

    told = call("schemas", "list", "--registry", "schemas")

    assert told.status == 0
    head, *lines = told.out.splitlines()
    assert head == "schemas: 4 schemas, 1 that cannot be used"
    assert [line.split()[:2] for line in lines if "half" not in line] == [
        ["deep/shop.proto", "protobuf"],
        ["order.avsc", "avro"],
        ["page.json", "spark"],
    ]
    assert any("half.json" in line and "is not JSON" in line for line in lines)
    assert call("schemas", "show", "order", "--registry", "schemas").out == ORDER + "\n"


def test_registered_file_replaces_the_old_one_whole(call: Call) -> None:
    file("schemas/page.json", "{}")

    told = call("schemas", "register", "page", file("new.json", PAGE), "--registry", "schemas")

    assert (told.status, told.out) == (0, "page is registered\n"), told.err
    assert Path("schemas/page.json").read_text() == PAGE
    assert [path.name for path in Path("schemas").iterdir()] == ["page.json"]


@pytest.mark.parametrize("name", ["../out", "a/b", ".hidden", "..", "nul\0"])
def test_file_stays_in_its_folder(call: Call, name: str) -> None:
    file("schemas/page.json", PAGE)

    told = call("schemas", "register", name, "schemas/page.json", "--registry", "schemas")

    assert (told.status, "[usage.file-name]" in told.err) == (2, True)
    assert sorted(str(path) for path in Path().rglob("*")) == ["schemas", "schemas/page.json"]


def test_pipeline_leads_to_schema_files_of_its_format(call: Call) -> None:
    file("schemas/order.avsc", ORDER)
    path = pipeline("{avro: {single_object: schemas}}")

    assert [line["name"] for line in _listed(call, path)] == ["order.avsc"]
    assert call("schemas", "diff", "order", file("new.avsc", avro(("n", "string"))), path).status == 1


# --- wrongly asked -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("list",), "no registry is given"),
        (("list", "--registry", "ftp://host"), "--registry is neither http://"),
        (("list", "--registry", "http://"), "--registry must be a URL"),
        (("list", "--registry", "redis://host/zero"), "--registry is not an address such as redis://"),
        (("list", "--registry", "redis://host/0?user=x"), "--registry is not an address such as redis://"),
        (("list", "--registry", "redis://host:99999"), "--registry"),
        (("list", "--registry", ""), "--registry is neither http://"),
        (("list", "--registry", "not-there"), "there is no folder not-there"),
        (("list", "--registry", f"http://me:{SECRET}@host:8081"), "must not hold a password"),
        (("list", "--registry", f"redis://:{SECRET}@host"), "must not hold a password"),
        (("list", "plain.yaml"), "the pipeline has no registry"),
        (("show", "x", "--registry", ".", "--version", "1"), "schemas in files have no versions"),
        (("show", "x", "--registry", ".", "--version", "1", "--id", "1"), "--version and --id"),
        (("register", "x", "not-there.avsc", "--registry", "."), "there is no file not-there.avsc"),
        (("register", "x", "o.avsc", "--registry", ".", "--reference", "a=b"), "is not name=subject:version"),
        (("register", "x", "o.avsc", "--registry", ".", "--reference", "a=b:1"), "only schemas in a schema registry"),
        (("register", "", "o.avsc", "--registry", "."), "cannot be the name of a schema"),
        (("diff", "o.avsc", "p.json", "--registry", "."), "is a schema of SPARK, and 'o.avsc' is one of AVRO"),
    ],
)
def test_wrong_question_is_status_two(call: Call, arguments: tuple[str, ...], told: str) -> None:
    file("o.avsc", ORDER)
    file("p.json", PAGE)
    text = "app: a\nsource: {kafka: {servers: 'b:1', topic: t}}\nformat: json\ntables: {base: lake}\n"
    file("plain.yaml", text)

    ended = call("schemas", *arguments)

    assert (ended.status, ended.out) == (2, "")
    assert told in ended.err
    assert SECRET not in ended.err


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "redis://127.0.0.1:1/0"])
@pytest.mark.parametrize("command", [("list",), ("show", "x"), ("register", "x", "o"), ("diff", "x", "o")])
def test_registry_that_is_away_is_status_one(call: Call, address: str, command: tuple[str, ...]) -> None:
    text, end = (PAGE, ".json") if address.startswith("redis") else (ORDER, ".avsc")
    file(f"o{end}", text)
    words = [f"o{end}" if word == "o" else word for word in command]

    ended = call("schemas", *words, "--registry", address, REDIS_PASSWORD=SECRET)

    assert (ended.status, ended.out) == (1, "")
    assert "[registry.unavailable]\n  " in ended.err
    assert SECRET not in ended.err


def test_pipeline_with_several_registries_needs_a_choice(call: Call, apicurio: LocalRegistry) -> None:
    file("types/page.json", PAGE)
    path = pipeline(by_id(apicurio), "registry: {files: types}")

    several = call("schemas", "show", "page", path)
    chosen = call("schemas", "show", "page", path, "--registry", "types")

    assert (several.status, "[usage.which-registry]" in several.err) == (2, True)
    assert (chosen.status, chosen.out) == (0, PAGE + "\n")
    assert {line["registry"] for line in _listed(call, path)} >= {"types"}
