"""From a file to a pipeline, or to everything that is wrong with it at once."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from penstock.config.load import fingerprint, load
from penstock.errors import ConfigError
from penstock.formats.json import JsonFormat
from penstock.pipeline import Batch, Pipeline, TableSpec
from penstock.route import FieldRoute
from penstock.sources.kafka import KafkaSource

EXAMPLE = """\
# shop.yaml
app: shop
source:
  kafka: {servers: "localhost:9092", topic: events, start: earliest}
format: json
route:
  by: {field: eventType}            # or: topic, {header: name}, key; a dotted path reaches into the value
  allow: '^(order|page)'            # RE2, searched, unanchored; what does not match is filtered and counted
tables:
  base: ./lake                      # a table per type at <base>/<type>
  defaults: {evolve: add, partition_by: []}
  types:
    order.v1: {partition_by: [date]}    # per-type settings
dead_letters: ./lake/dead_letters
batch: {latency: 10s, messages: 1000000, bytes: 512MB}
"""
SMALL = "app: shop\nsource: {kafka: {servers: s, topic: t}}\nformat: json\ntables: {base: ./lake}\n"

Declare = Callable[..., Pipeline]


@pytest.fixture
def declare(tmp_path: Path) -> Declare:
    """The pipeline that a text declares."""

    def declared(text: str, environ: Mapping[str, str] | None = None) -> Pipeline:
        path = tmp_path / "shop.yaml"
        path.write_text(text)
        return load(path, environ or {})

    return declared


def complaints(declare: Declare, text: str, environ: Mapping[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        declare(text, environ)
    return [str(complaint) for complaint in refused.value.complaints]


# --- what is right -------------------------------------------------------------------------------


def test_example_of_the_readme_declares_a_pipeline(declare: Declare) -> None:
    shop = declare(EXAMPLE)
    assert shop.app == "shop"
    assert shop.source == KafkaSource(servers="localhost:9092", topic="events", start="earliest")
    assert shop.format == JsonFormat()
    assert shop.route.by == FieldRoute(field="eventType")
    assert shop.route.allow == "^(order|page)"
    assert shop.tables.base == "./lake"
    own = TableSpec(evolve="add", partition_by=("date",), source_columns=False, coerce=False)
    assert shop.tables.spec("order.v1") == own
    assert shop.tables.spec("page").partition_by == ()
    assert shop.dead_letters.table == "./lake/dead_letters"
    assert shop.batch == Batch(latency=10.0, messages=1_000_000, bytes=512_000_000)


def test_file_and_python_declare_the_same(declare: Declare) -> None:
    by_hand = Pipeline.model_validate(
        {
            "app": "shop",
            "source": KafkaSource(servers="s", topic="t"),
            "format": JsonFormat(),
            "tables": {"base": "./lake"},
        }
    )
    assert declare(SMALL) == by_hand
    assert fingerprint(declare(SMALL)) == fingerprint(by_hand)


def test_part_without_settings_may_be_written_in_any_way(declare: Declare) -> None:
    for written in ("json", "{json: {}}", "{json: }"):
        assert declare(SMALL.replace("format: json", f"format: {written}")).format == JsonFormat()


def test_header_that_is_called_no_is_a_word(declare: Declare) -> None:
    assert declare(SMALL + "route: {by: {header: no}}\n").route.model_dump()["by"] == {"header": "no"}


# --- what is wrong -------------------------------------------------------------------------------


def test_all_complaints_come_at_once_each_with_its_line(declare: Declare) -> None:
    text = """\
app: -shop
source:
  kafka: {servers: s, tpoic: t}
format: jsn
tables:
  base: ./lake
  base: ./other
  types:
    order.v1: {partiton_by: [date]}
batch: {latency: soon, messages: many}
route: {allow: '('}
"""
    told = complaints(declare, text)
    assert [int(one.split(":")[1]) for one in told] == [1, 3, 3, 4, 7, 9, 10, 10, 11]
    assert told[3:6] == [
        "shop.yaml:4: there is no format called 'jsn'\n  did you mean 'json'?  [config.unknown-part]",
        "shop.yaml:7: 'base' is set twice  [config.duplicate-key]",
        "shop.yaml:9: tables.types.order.v1 has no field 'partiton_by'\n"
        "  did you mean 'partition_by'?  [config.unknown-field]",
    ]
    assert sorted(told[1:3]) == [
        "shop.yaml:3: source.kafka has no field 'tpoic'\n  did you mean 'topic'?  [config.unknown-field]",
        "shop.yaml:3: source.kafka needs 'topic'  [config.missing-field]",
    ]
    assert any("batch.latency is not a duration" in one for one in told)
    assert any("route.allow is not an RE2 pattern" in one for one in told)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("frobnicate: 1", "a pipeline has no field 'frobnicate'\n  it has: app, batch, dead_letters, envelope, format"),
        ("tabels: {}", "a pipeline has no field 'tabels'\n  did you mean 'tables'?  [config.unknown-field]"),
        ("route: {alow: x}", "route has no field 'alow'\n  did you mean 'allow'?  [config.unknown-field]"),
        ("batch: {byte: 5MB}", "batch has no field 'byte'\n  did you mean 'bytes'?  [config.unknown-field]"),
        ("fsync: yes", "fsync: input should be a valid boolean  [config.invalid]"),
        ("batch: {messages: 0}", "batch.messages: input should be greater than or equal to 1  [config.invalid]"),
        ("dead_letters: {max_share: 2}", "dead_letters.max_share: input should be less than or equal to 1"),
    ],
)
def test_wrong_setting_is_told_with_what_would_be_right(declare: Declare, text: str, complaint: str) -> None:
    (told,) = complaints(declare, f"{SMALL}{text}\n")
    assert told.startswith(f"shop.yaml:5: {complaint}")


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ("source: {kafak: {}}", "there is no source called 'kafak'\n  did you mean 'kafka'?  [config.unknown-part]"),
        ("source: {rabbit: {}}", "there is no source called 'rabbit'\n  there is: kafka  [config.unknown-part]"),
        ("source: {kafka: {}, json: {}}", "source must name exactly one of: kafka"),
        ("source: 5", "source must name exactly one of: kafka"),
        ("source: {kafka: 5}", "source.kafka: input should be a valid dictionary"),
    ],
)
def test_wrong_part_is_told_with_those_there_are(declare: Declare, wrong: str, complaint: str) -> None:
    (told,) = complaints(declare, SMALL.replace("source: {kafka: {servers: s, topic: t}}", wrong))
    assert told.startswith(f"shop.yaml:2: {complaint}")


def test_unknown_table_format_is_told_with_those_there_are(declare: Declare) -> None:
    (told,) = complaints(declare, SMALL.replace("./lake", "./lake, format: dleta"))
    assert (
        told == "shop.yaml:4: there is no table format called 'dleta'\n  did you mean 'delta'?  [config.unknown-part]"
    )


def test_declared_column_of_no_type_is_told_by_its_table(declare: Declare) -> None:
    (told,) = complaints(declare, SMALL.replace("./lake", "./lake, types: {order: {schema: {a: lnog}}}"))
    assert told.startswith("shop.yaml:4: tables.types.order 'lnog' is not a type; there are")


@pytest.mark.parametrize("text", ["", "{}"])
def test_empty_file_is_told_what_it_needs(declare: Declare, text: str) -> None:
    told = "\n".join(complaints(declare, text))
    assert all(f"a pipeline needs '{name}'" in told for name in ("app", "source", "format", "tables"))


@pytest.mark.parametrize("text", ["[]", "5", "shop"])
def test_file_of_something_else_is_refused(declare: Declare, text: str) -> None:
    assert complaints(declare, text) == ["shop.yaml: must hold the settings of a pipeline, by name  [config.invalid]"]


def test_complaints_survive_a_journey_between_processes(declare: Declare) -> None:
    with pytest.raises(ConfigError) as refused:
        declare(SMALL + "frobnicate: 1\nfsync: 5\n")
    again = pickle.loads(pickle.dumps(refused.value))
    assert str(again) == str(refused.value)
    assert again.complaints == refused.value.complaints


# --- references ----------------------------------------------------------------------------------


def test_reference_is_replaced_by_what_the_environment_says(declare: Declare) -> None:
    text = SMALL.replace("servers: s", "servers: '${env:HOST}:${env:PORT}'").replace("./lake", "'${env:BASE}/lake'")
    shop = declare(text, {"HOST": "broker", "PORT": "9092", "BASE": "s3://${env:HOST}"})
    assert shop.source.servers == "broker:9092"
    assert shop.tables.base == "s3://${env:HOST}/lake", "what the environment says is not read again"


def test_environment_of_the_process_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_APP", "from-outside")
    (tmp_path / "shop.yaml").write_text(SMALL.replace("app: shop", "app: '${env:PENSTOCK_TEST_APP}'"))
    assert load(tmp_path / "shop.yaml").app == "from-outside"


def test_variable_that_is_not_set_is_told(declare: Declare) -> None:
    (told,) = complaints(declare, SMALL.replace("servers: s", "servers: 'x${env:NOWHERE}'"))
    assert told.startswith("shop.yaml:2: the environment variable NOWHERE is not set")
    assert told.endswith("[config.not-set]")


@pytest.mark.parametrize("reference", ["${HOST}", "${env:}", "${}", "${file:/etc/passwd}"])
def test_reference_that_is_none_is_refused(declare: Declare, reference: str) -> None:
    told = complaints(declare, SMALL.replace("servers: s", f"servers: 'x{reference}'"), {"HOST": "h", "": "e"})
    assert told == [f"shop.yaml:2: '{reference}' is not a reference\n  write ${{env:NAME}}  [config.reference]"]


def test_all_references_that_lead_nowhere_are_told(declare: Declare) -> None:
    told = complaints(declare, SMALL.replace("servers: s", "servers: 'x${env:A}${env:B}'") + "ledger: {path: '${C}'}\n")
    assert ["A is not set" in told[0], "B is not set" in told[1], "'${C}'" in told[2]] == [True] * 3


# --- fingerprint ---------------------------------------------------------------------------------


def test_fingerprint_does_not_depend_on_how_a_pipeline_is_written(declare: Declare) -> None:
    other = "\n".join(reversed(SMALL.splitlines())).replace("{base: ./lake}", "\n  base: './lake'") + "\n# a comment\n"
    assert fingerprint(declare(other)) == fingerprint(declare(SMALL))
    assert len(fingerprint(declare(SMALL))) == 16


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("app: shop", "app: shop2"),
        ("topic: t", "topic: u"),
        ("format: json", "format: {json: {duplicate_keys: reject}}"),
        ("./lake", "./pond"),
        ("./lake", "./lake, types: {order: {partition_by: [date]}}"),
    ],
)
def test_fingerprint_changes_with_what_is_declared(declare: Declare, old: str, new: str) -> None:
    assert fingerprint(declare(SMALL.replace(old, new))) != fingerprint(declare(SMALL))


def test_fingerprint_is_the_same_wherever_spark_runs(declare: Declare) -> None:
    assert fingerprint(declare(SMALL + "spark: {master: 'local[2]'}\n")) == fingerprint(declare(SMALL))
