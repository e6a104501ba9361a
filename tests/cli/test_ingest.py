"""`penstock ingest` as it is typed: help, refusals, the file it prints, and rows in a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark import SparkContext

from penstock.config.ingest_options import OPTIONS
from tests.support.command_line import Call, caller
from tests.support.lake import rows
from tests.support.topics import Topics

# The entry point takes what the shell gave, and so must the tests.
pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

CANARY = "c4n4ry-in-the-mine"
DATE = "date: substr(meta.producer.timestamp, `0`, `10`)"
KAFKA = ("meta.kafka.offset: kafka.offset", "meta.kafka.partition: kafka.partition", "meta.kafka.topic: kafka.topic")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """`penstock` with these arguments, by its own entry point, in an empty folder and with no variable set."""
    monkeypatch.chdir(tmp_path)
    for name in {env for option in OPTIONS for env in option.env}:
        monkeypatch.delenv(name, raising=False)
    return caller(monkeypatch, capsys)


def request_of(number: int) -> bytes:
    """A web request as the example of kafka-delta-ingest has them."""
    made = {"timestamp": f"2021-03-2{number % 3}T15:06:17.321710+00:00"}
    return json.dumps({"meta": {"producer": made}, "method": "GET", "status": 200, "uuid": f"u{number}"}).encode()


# --- what it says --------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_is_that_of_the_command(call: Call, flag: str) -> None:
    shown = call("ingest", flag)

    assert (shown.status, shown.err) == (0, "")
    assert shown.out.startswith("usage: penstock ingest [OPTIONS] --topic TOPIC --table_base_uri URI")
    assert [option.flag for option in OPTIONS if option.flag not in shown.out] == []


def test_nothing_at_all_shows_the_help(call: Call) -> None:
    shown = call("ingest")

    assert (shown.status, shown.out) == (2, "")
    assert "usage: penstock ingest" in shown.err


def test_variables_alone_are_a_command_line(call: Call) -> None:
    assert "no place for the tables is given" in call("ingest", KAFKA_TOPIC="orders").err
    shown = call("ingest", "--print-config", KAFKA_TOPIC="orders", TABLE_BASE_URI="./lake", WRITE_CHECKPOINTS="true")
    assert (shown.status, "topic: orders" in shown.out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seek_offsets", "{"], "--seek_offsets: this is not a JSON object"),
        (["-o", "sometimes"], "--auto_offset_reset: 'sometimes' is neither earliest nor latest"),
        (["-l", "-5"], "--allowed_latency: '-5' is not a whole number"),
        (["-t", "x"], "'x' - Each transform argument must be colon delimited"),
        (["-t", "x: ("], "--transform"),
        (["-K", "debug"], "'debug' - Each Kafka setting must be delimited by an '='"),
        (["--json", "", "--avro", ""], "--json and --avro cannot be given together"),
        (["--json", "http::a//"], "'http::a//' is an invalid URL"),
        (["--avro", "./nowhere"], "the file './nowhere' is not found"),
        (["--aidl", ""], "parts that its authors never published"),
        (["--nonsense"], "there is no option '--nonsense'"),
        (["--conf", "spark.x"], "--conf 'spark.x' is not name=value"),
        (["--conf", "nonsense", "--print-config"], "--conf '…' is not name=value"),
        (["--accept-gap", "x", "--print-config"], "--accept-gap 'x' is not understood"),
        (["--accept-gap", "x"], "--accept-gap 'x' is not understood"),
    ],
)
def test_bad_value_is_a_sentence_and_status_two(call: Call, arguments: list[str], words: str) -> None:
    ended = call("ingest", "orders", "./lake/orders", *arguments)

    assert (ended.status, ended.out) == (2, "")
    assert words in ended.err


def test_printed_file_is_all_there_is_on_stdout_and_holds_no_secret(call: Call) -> None:
    secrets = {"KAFKA_DELTA_INGEST_SCRAM_JSON": json.dumps({"username": "me", "password": CANARY})}

    shown = call("ingest", "orders", "./lake/orders", "-K", f"ssl.key.password={CANARY}", "--print-config", **secrets)

    assert (shown.status, shown.err) == (0, "")
    assert 'sasl.password: "${env:KAFKA_SETTING_SASL_PASSWORD}"' in shown.out
    assert CANARY not in shown.out


# --- what it does --------------------------------------------------------------------------------


def test_upstream_command_line_fills_the_table_it_names(call: Call, topics: Topics, spark: SparkContext) -> None:
    topic = topics.create(partitions=2)
    topics.produce(topic, map(request_of, range(10)), partitions=2)

    tokens = ("-k", topics.servers, "-l", "60", "-a", "web", "-K", "auto.offset.reset=earliest", "-e")
    ended = call("ingest", topic, "./tests/web_requests", *tokens, "-t", DATE, *KAFKA)

    assert ended.status == 0, ended.err
    assert "penstock: no --dlq_table_location" in ended.err
    found = rows("tests/web_requests", "uuid, date, meta.kafka.topic as topic, meta.kafka.offset as at")
    assert sorted((row["uuid"], row["date"], row["topic"], row["at"]) for row in found) == [
        (f"u{n}", f"2021-03-2{n % 3}", topic, n // 2) for n in range(10)
    ]


def test_fork_command_line_and_the_file_it_prints_do_the_same(call: Call, topics: Topics, spark: SparkContext) -> None:
    topic = topics.create()
    topics.produce(topic, [request_of(1), b"bad bytes \xff", request_of(2)])
    tokens = ["--topic", topic, "-k", topics.servers, "--partition_columns", "date", "-t", DATE]
    tokens += ["--dlq_transform", "day: substr(epoch_micros_to_iso8601(timestamp),`0`,`10`)"]

    ended = call("ingest", *tokens, "--table_base_uri", "./a", "--dlq_table_location", "./a-dead", "-e")
    printed = call("ingest", *tokens, "--table-base-uri=./b", "--dlq-table-location=./b-dead", "--print-config")
    Path("b.yaml").write_text(printed.out)
    again = call("run", "b.yaml", "--until-caught-up")

    assert (ended.status, printed.status, again.status) == (0, 0, 0), (ended.err, again.err)
    for base in ("a", "b"):
        assert sorted(row["uuid"] for row in rows(f"{base}/{topic}", "uuid")) == ["u1", "u2"]
        assert sorted(path.name for path in Path(base, topic).glob("date=*")) == ["date=2021-03-21", "date=2021-03-22"]
        assert [row["day"] == str(row["date"]) for row in rows(f"{base}-dead", "day, date")] == [True]


def test_first_message_is_the_one_after_the_sought_offset(call: Call, topics: Topics, spark: SparkContext) -> None:
    topic = topics.create()
    topics.produce(topic, map(request_of, range(6)))

    ended = call("ingest", topic, "./one/table", "-k", topics.servers, "-e", "--seek_offsets", '{"0": 3}')

    assert ended.status == 0, ended.err
    assert sorted(row["uuid"] for row in rows("one/table", "uuid")) == ["u4", "u5"]
