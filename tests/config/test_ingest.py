"""The command line of kafka-delta-ingest, option by option: what it becomes in a pipeline's settings."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.config.ingest import IngestRequest, parse_seek_offsets, request
from penstock.config.load import load
from penstock.errors import ConfigError

BASE = ("--topic", "orders", "--table_base_uri", "./lake")
UPSTREAM = ("orders", "./lake/orders")
CANARY = "c4n4ry-in-the-mine"


def asked(*tokens: str, environ: Mapping[str, str] | None = None) -> IngestRequest:
    return request((*BASE, *tokens), environ or {})


def setting(found: IngestRequest, path: str) -> Any:
    """A value by its dotted path; None if it is not set."""
    value: Any = found.settings
    for step in path.split("/"):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def refusals(*tokens: str, environ: Mapping[str, str] | None = None, base: tuple[str, ...] = BASE) -> str:
    """Everything that is said when a command line is refused, by itself or by the pipeline it means."""
    with pytest.raises(ConfigError) as refused:
        request((*base, *tokens), environ or {}).pipeline(environ or {})
    assert refused.value.exit_status == 2
    return str(refused.value)


# --- every option, by flag, by variable and by default -------------------------------------------

# option, short form, variable, default → value to give, path of the setting, what is there by default and when given
TABLE = [
    ("kafka", "k", "KAFKA_BROKERS", "a:1,b:2", "source/kafka/servers", "localhost:9092", "a:1,b:2"),
    ("consumer_group", "g", "KAFKA_CONSUMER_GROUP", "g", "source/kafka/group", "kafka_delta_ingest", "g"),
    ("app_id", "a", "APP_ID", "shop", "app", "kafka_delta_ingest", "shop"),
    ("seek_offsets", "", "KAFKA_SEEK_OFFSETS", '{"0": 10}', "source/kafka/start", "earliest", {"0": 11}),
    ("auto_offset_reset", "o", "KAFKA_AUTO_OFFSET_RESET", "latest", "source/kafka/start", "earliest", "latest"),
    ("message_type_whitelist", "", "MESSAGE_TYPE_WHITELIST", "^or", "route/allow", None, "^or"),
    ("allowed_latency", "l", "ALLOWED_LATENCY", "5", "batch/latency", "300s", "5s"),
    ("max_messages_per_batch", "m", "MAX_MESSAGES_PER_BATCH", "10", "batch/messages", 1_000_000, 10),
    ("min_bytes_per_file", "b", "MIN_BYTES_PER_FILE", "20", "batch/min_file_bytes", 134_217_728, 20),
    ("partition_columns", "", "PARTITION_COLUMNS", "a, b", "tables/defaults/partition_by", None, ["a", "b"]),
    ("transform", "t", "TRANSFORMS", "a.b: c", "transforms", None, {"a.b": "c"}),
    ("dlq_table_location", "", "DLQ_TABLE_LOCATION", "./dead", "dead_letters/table", None, "./dead"),
    ("dlq_transform", "", "DLQ_TRANSFORMS", "d: e", "dead_letters/transforms", None, {"d": "e"}),
    ("statsd_endpoint", "s", "STATSD_ENDPOINT", "h:8125", "metrics/statsd", None, "h:8125"),
    ("prometheus_port", "", "PROMETHEUS_PORT", "9000", "metrics/prometheus", None, "127.0.0.1:9000"),
    ("json", "", "JSON_REGISTRY", "anything", "format", "json", "json"),
]
REGISTRY = "http://localhost:8081"
# Formats for which an empty variable has a meaning of its own.
FORMATS = [
    ("json", "JSON_REGISTRY", REGISTRY, "format/json_schema/registry/url", REGISTRY),
    ("avro", "AVRO_REGISTRY", REGISTRY, "format/avro/registry/url", REGISTRY),
    ("avro", "AVRO_REGISTRY", "", "format", "avro"),
    ("protobuf", "PROTOBUF_REGISTRY", REGISTRY, "format/protobuf/registry/url", REGISTRY),
]
NAMES = [row[0] for row in TABLE]


@pytest.mark.parametrize(("option", "short", "env", "value", "path", "default", "expected"), TABLE, ids=NAMES)
def test_option_may_be_given_in_every_form(
    option: str, short: str, env: str, value: str, path: str, default: Any, expected: Any
) -> None:
    dashed = option.replace("_", "-")
    forms = [(f"--{option}", value), (f"--{option}={value}",), (f"--{dashed}", value), (f"--{dashed}={value}",)]
    forms += [(f"-{short}", value), (f"-{short}{value}",)] if short else []

    assert setting(asked(), path) == default
    assert [setting(asked(*form), path) for form in forms] == [expected] * len(forms)
    assert setting(asked(environ={env: value}), path) == expected
    assert setting(asked(environ={env: ""}), path) == default


@pytest.mark.parametrize(("option", "env", "value", "path", "expected"), FORMATS)
def test_format_may_be_given_in_every_form(option: str, env: str, value: str, path: str, expected: str) -> None:
    assert setting(asked(f"--{option}", value), path) == expected
    assert setting(asked(f"--{option}={value}"), path) == expected
    assert setting(asked(environ={env: value}), path) == expected


@pytest.mark.parametrize(("option", "env", "path"), [(row[0], row[2], row[4]) for row in TABLE[:13]], ids=NAMES[:13])
def test_flag_comes_before_variable(option: str, env: str, path: str) -> None:
    value, expected = next((row[3], row[6]) for row in TABLE if row[0] == option)

    found = asked(f"--{option}", value, environ={env: "7" if value.isdecimal() else value.replace("e", "x") + "9"})

    assert setting(found, path) == expected


def test_topic_and_base_may_come_from_variables() -> None:
    found = request([], {"KAFKA_TOPIC": "orders", "TABLE_BASE_URI": "s3://lake/bronze"})

    assert (setting(found, "source/kafka/topic"), setting(found, "tables/base")) == ("orders", "s3://lake/bronze")


@pytest.mark.parametrize(
    ("flags", "variables", "attribute"),
    [
        (["-e", "--ends_at_latest_offsets", "--ends-at-latest-offsets"], "TURN_OFF_AT_KAFKA_TOPIC_END", "caught_up"),
        (["-e"], "ENDS_AT_LATEST_OFFSETS", "caught_up"),
    ],
)
def test_get_end_at_last_offset(flags: list[str], variables: str, attribute: str) -> None:
    assert asked().own.caught_up is False
    assert [getattr(asked(flag).own, attribute) for flag in flags] == [True] * len(flags)
    for text in ("true", "TRUE", "1", "yes", "on"):
        assert asked(environ={variables: text}).own.caught_up is True
    for text in ("false", "0", "no", "off", ""):
        assert asked(environ={variables: text}).own.caught_up is False


def test_gzip_is_a_setting_of_the_format() -> None:
    expected = {"json": {"gzip": True}}

    assert setting(asked("--decompress_gzip"), "format") == expected
    assert setting(asked("--decompress-gzip", "--json", ""), "format") == expected
    assert setting(asked(environ={"DECOMPRESS_GZIP": "true"}), "format") == expected


def test_checkpoints_are_accepted_and_told_of() -> None:
    for found in (asked("-c"), asked("--checkpoints"), asked(environ={"WRITE_CHECKPOINTS": "1"})):
        assert found.settings == asked().settings
        assert any("checkpoints are written" in note for note in found.notes)
    assert not any("checkpoint" in note for note in asked().notes)


IDLE = {
    "housekeeping_loop_iteration": "HOUSEKEEPING_LOOP_ITERATION",
    "deserialization_workers": "DESERIALIZATION_WORKERS",
    "num_arrow_writer_threads": "NUM_ARROW_WRITER_THREADS",
    "seconds_idle_kafka_read_before_flush": "SECONDS_IDLE_KAFKA_READ_BEFORE_FLUSH",
    "worker_to_messages_multiplier": "WORKER_TO_MESSAGES_MULTIPLIER",
    "num_converting_workers": "NUM_CONVERTING_WORKERS",
    "max_version_lookback": "MAX_VERSION_LOOKBACK",
}


@pytest.mark.parametrize("option", IDLE)
def test_worker_counts_are_accepted_and_told_of_once(option: str) -> None:
    found, by_variable = asked(f"--{option}", "3"), asked(environ={IDLE[option]: "3"})

    assert found.settings == by_variable.settings == asked().settings
    assert [note for note in found.notes if "without effect" in note and f"--{option}" in note]
    assert [note for note in by_variable.notes if "without effect" in note and IDLE[option] in note]
    assert f"--{option}: 'many' is not a whole number" in refusals(f"--{option}", "many")


def test_all_worker_counts_are_one_note() -> None:
    assert not any("without effect" in note for note in asked().notes)
    found = asked(*(token for option in IDLE for token in (f"--{option}", "3")))
    assert len([note for note in found.notes if "without effect" in note]) == 1


# --- several values ------------------------------------------------------------------------------


def test_several_transforms_may_follow_one_flag_or_several_and_keep_their_order() -> None:
    found = asked("-t", "z: a", "y.y: substr(b,`0`,`10`)", "-k", "h:1", "-t", "x: kafka.offset^w: c || 'a:b'^")

    assert setting(found, "transforms") == {
        "z": "a",
        "y.y": "substr(b,`0`,`10`)",
        "x": "kafka.offset",
        "w": "c || 'a:b'",
    }
    assert list(setting(found, "transforms")) == ["z", "y.y", "x", "w"]


def test_one_variable_carries_many_transforms() -> None:
    environ = {"TRANSFORMS": "date: substr(d,`0`,`10`)^ offset : kafka.offset", "DLQ_TRANSFORMS": "a: b^c: d"}

    assert setting(asked(environ=environ), "transforms") == {"date": "substr(d,`0`,`10`)", "offset": "kafka.offset"}
    assert setting(asked(environ=environ), "dead_letters/transforms") == {"a": "b", "c": "d"}


def test_of_two_transforms_for_one_path_the_last_counts_at_its_own_place() -> None:
    found = setting(asked("-t", "a: x", "a.b: y", "-t", " a : z"), "transforms")

    assert list(found.items()) == [("a.b", "y"), ("a", "z")]


def test_parse_seek_offsets_test() -> None:
    assert parse_seek_offsets('{"0":10,"2":12,"1":13}') == [(0, 10), (1, 13), (2, 12)]


def test_first_message_is_the_one_after_the_sought_offset() -> None:
    found = asked("--seek_offsets", '{"0":10,"2":12,"1":13}', "-o", "latest")

    assert setting(found, "source/kafka/start") == {"0": 11, "1": 14, "2": 13}
    assert any("does not name begin with their first message" in note for note in found.notes)
    assert setting(asked("--seek_offsets", "{}"), "source/kafka/start") == "earliest"


# --- what the original does without being asked --------------------------------------------------


def test_settings_are_those_of_the_original() -> None:
    found = asked()

    assert setting(found, "tables/defaults") == {"evolve": "ignore", "coerce": True}
    assert setting(found, "batch/jitter") == 0.1
    assert setting(found, "dead_letters") == {"max_share": 1.0}
    assert setting(found, "metrics") is None
    assert setting(asked("-b", "0"), "batch/min_file_bytes") is None


def test_dead_letters_are_kept_even_if_nobody_asks() -> None:
    assert [note for note in asked().notes if note.endswith("are kept in ./lake/dead_letters")]
    assert asked("--dlq_table_location", "./dead").notes == ()


def test_metrics_have_the_prefix_of_the_original() -> None:
    assert setting(asked("-s", "h:1"), "metrics") == {"statsd": "h:1", "prefix": "kafka_delta_ingest"}
    environ = {"KDI_METRICS_PREFIX": "shop", "PROMETHEUS_PORT": "0.0.0.0:9000"}
    assert setting(asked(environ=environ), "metrics") == {"prometheus": "0.0.0.0:9000", "prefix": "shop"}


def test_prometheus_listens_on_loopback_and_says_so() -> None:
    assert [note for note in asked("--prometheus_port", "9000").notes if "0.0.0.0:9000 opens it" in note]
    assert not [note for note in asked("--prometheus_port", "0.0.0.0:9000").notes if "127.0.0.1" in note]


def test_lock_table_is_not_used_and_that_is_said_once() -> None:
    environ = {"AWS_S3_LOCKING_PROVIDER": "dynamodb", "DYNAMO_LOCK_TABLE_NAME": "t", "DELTA_DYNAMO_TABLE_NAME": "t"}

    assert len([note for note in asked(environ=environ).notes if "no lock table is used" in note]) == 1


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"AWS_ENDPOINT_URL": "http://localhost:4566"}, {"allow_http": "true"}),
        ({"AWS_ALLOW_HTTP": "true"}, {"allow_http": "true"}),
        ({"AWS_ENDPOINT_URL": "https://s3.example"}, None),
    ],
)
def test_store_without_tls_is_spoken_to_if_the_variables_say_so(environ: dict[str, str], expected: Any) -> None:
    assert setting(request(["t", "s3://lake/t"], environ), "tables/storage") == expected
    assert setting(request(["t", "./lake/t"], environ), "tables/storage") is None


# --- one table at a place of its own -------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "base", "name"),
    [
        ("./tests/data/web_requests", "./tests/data", "web_requests"),
        ("s3://bucket/lake/orders.v1/", "s3://bucket/lake", "orders.v1"),
        ("s3://bucket/orders", "s3://bucket", "orders"),
        ("orders-1", ".", "orders-1"),
        ("/orders", "/", "orders"),
        ("file:///orders", "file:///", "orders"),
        ("file:///lake/orders", "file:///lake", "orders"),
    ],
)
def test_one_table_lies_in_the_folder_around_it(location: str, base: str, name: str) -> None:
    found = request(["topic", location], {})

    assert setting(found, "source/kafka/topic") == "topic"
    assert setting(found, "tables/base") == base
    assert setting(found, "route/by") == {"constant": name}


def test_table_that_is_called_like_its_topic_needs_no_route() -> None:
    assert setting(request(UPSTREAM, {}), "route") is None


def test_arguments_may_stand_between_options_and_come_from_variables() -> None:
    forms = [
        request(["-k", "h:1", "orders", "-e", "./lake/x"], {}),
        request(["-k", "h:1", "-e", "--", "orders", "./lake/x"], {}),
        request(["-k", "h:1", "-e", "orders"], {"TABLE_LOCATION": "./lake/x"}),
        request(["-k", "h:1", "-e"], {"TABLE_LOCATION": "./lake/x", "KAFKA_TOPIC": "orders"}),
        request(["orders", "./lake/x", "-k", "h:1", "-e"], {"TABLE_BASE_URI": "./other", "KAFKA_TOPIC": "other"}),
    ]

    assert [form.settings for form in forms[1:]] == [forms[0].settings] * 4
    assert setting(forms[0], "tables/base") == "./lake"


def test_one_table_sends_metrics_where_upstream_does() -> None:
    assert setting(request(UPSTREAM, {}), "metrics/statsd") == "localhost:8125"
    assert setting(request([*UPSTREAM, "--prometheus_port", "1"], {}), "metrics/statsd") is None


@pytest.mark.parametrize("location", ["s3://bucket", "s3://bucket/", "/", ".", "..", "./a/..", "./a b", "./_x", "./ä"])
def test_place_that_can_be_no_table_is_refused(location: str) -> None:
    assert f"'{location}' does not end with a name for a table" in refusals(base=("orders", location))


# --- what is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["-o", "sometimes"], "--auto_offset_reset: 'sometimes' is neither earliest nor latest"),
        (["--seek_offsets", "{"], "--seek_offsets: this is not a JSON object of partitions and their offsets"),
        (["--seek_offsets", "[1]"], "--seek_offsets: this is not"),
        (["--seek_offsets", '{"zero": 1}'], "--seek_offsets: this is not"),
        (["--seek_offsets", '{"0": 1.5}'], "--seek_offsets: this is not"),
        (["--seek_offsets", '{"0": -1}'], "--seek_offsets: this is not"),
        (["--seek_offsets", '{"0": true}'], "--seek_offsets: this is not"),
        (["--seek_offsets", "[" * 100_000], "--seek_offsets: this is not"),
        (["-l", "soon"], "--allowed_latency: 'soon' is not a whole number\n  write seconds, such as 300"),
        (["-l", "1.5"], "--allowed_latency: '1.5' is not a whole number"),
        (["-l", "-5"], "--allowed_latency: '-5' is not a whole number"),
        (["-l", "9" * 5_000], "--allowed_latency: '9999"),
        (["-l", "٣"], "--allowed_latency: '٣' is not a whole number"),
        (["-b", "-1"], "--min_bytes_per_file: '-1' is not a whole number\n  write bytes, such as 134217728"),
        (["-m", "many"], "--max_messages_per_batch: 'many' is not a whole number"),
        (["-m", "0"], "--max_messages_per_batch: '0' is too small\n  write 1 or more, such as 1000000"),
        (["--batches", "-1"], "--batches: '-1' is not a whole number\n  write a number, such as 10"),
        (["--batches", "0"], "--batches: '0' is too small\n  write 1 or more, such as 10"),
        (
            ["--message_type_whitelist", "("],
            "--message_type_whitelist is not an RE2 pattern, such as ^(orders|returns)$: missing ): (",
        ),
        (["-a", "no spaces"], "--app_id may hold letters"),
        (
            ["-t", "nothing"],
            "--transform: 'nothing' - Each transform argument must be colon delimited and match the pattern "
            "'PROPERTY: SOURCE'",
        ),
        (["--dlq_transform", "a: b", "c"], "--dlq_transform: 'c' - Each transform argument must be colon delimited"),
        (["--dlq_transform", "c"], "write it as 'day: substr(created, `0`, `10`)'"),
        (["--dlq_transform", "error: x"], "every dead letter has that column already; choose another name"),
        (["-k", "h:1,me@h:2"], "--kafka: the addresses of brokers must not hold a user or a password"),
        (["-k", "me@h:2"], "sasl.username and sasl.password: set KAFKA_SETTING_SASL_USERNAME"),
        (["--conf", "spark.executor.memory"], "--conf 'spark.executor.memory' is not name=value"),
        (["--conf", "=2g"], "--conf '…' is not name=value"),
        (["-K", "security.protocol"], "'security.protocol' - Each Kafka setting must be delimited by an '='"),
        (["-s", "h:1", "--prometheus_port", "1"], "--statsd_endpoint and --prometheus_port cannot be given together"),
        (["--prometheus_port", "65536"], "--prometheus_port: '65536' is neither a port nor host:port"),
        (["--prometheus_port", "0"], "--prometheus_port: '0' is neither a port nor host:port"),
        (["--prometheus_port", "http"], "--prometheus_port: 'http' is neither a port nor host:port"),
        (["--json", "", "--avro", ""], "--json and --avro cannot be given together"),
        (["--table_location", "./x/y"], "--table_base_uri and --table_location both say where rows go"),
        (["--dlq_table_location", "./lake/orders/"], "rows and dead letters would both go to ./lake/orders"),
        (["-k", "${KAFKA_BROKERS}"], "--kafka: it holds '${', which looks like a variable that nobody has replaced"),
        (["-k", "a\udcff"], "--kafka: this is not UTF-8 text"),
    ],
)
def test_bad_value_is_a_sentence_that_names_its_option(tokens: list[str], words: str) -> None:
    assert words in refusals(*tokens)


def test_bad_value_of_a_variable_is_a_sentence_that_names_the_variable() -> None:
    environ = {"ALLOWED_LATENCY": "soon", "WRITE_CHECKPOINTS": "perhaps", "MESSAGE_TYPE_WHITELIST": "ok"}

    told = refusals(environ=environ)

    assert "ALLOWED_LATENCY: 'soon' is not a whole number" in told
    assert "WRITE_CHECKPOINTS: 'perhaps' is neither true nor false" in told
    assert "APP_ID may hold letters" in refusals(environ={"APP_ID": "-"})


def test_everything_that_is_wrong_is_told_at_once() -> None:
    told = refusals("-l", "soon", "-o", "sometimes", "-t", "x", "--avro", "./nowhere", "-K", "debug", base=("orders",))

    words = ("--allowed_latency", "--auto_offset_reset", "--transform", "--avro", "--kafka_setting", "no place for")
    assert [word for word in words if word not in told] == []


def test_every_transform_that_is_wrong_is_told_of() -> None:
    unwritten = refusals("-t", "first", "good: x", "second", "--dlq_transform", "third")
    unusable = refusals("-t", "first: (", "good: x", "sec ond: x", "third: nope(x)")

    assert [name for name in ("'first'", "'second'", "'third'") if name not in unwritten] == []
    assert [name for name in ('"first"', '"sec ond"', '"third"') if f"transform {name}:" not in unusable] == []
    assert "good" not in unwritten + unusable


def test_what_is_missing_is_told_with_its_variable() -> None:
    assert "set KAFKA_TOPIC" in refusals(base=("--table_base_uri", "./lake"))
    assert "set TABLE_BASE_URI" in refusals(base=("orders",))


# --- the same as a file --------------------------------------------------------------------------

WHOLE = (
    *("-k", "h:1,h:2", "-g", "readers", "-a", "shop", "-l", "5", "-m", "10", "-b", "20", "-c", "-e"),
    *("--message_type_whitelist", r"^(or|\d)'\"", "--partition_columns", "date,no"),
    *("-t", "date: substr(meta.producer.timestamp,`0`,`10`)", "n: `1e5`", "x#: ' # '", "1: '\\n \"x\" ä\u2028'"),
    *("--dlq_table_location", "./dead: letters", "--dlq_transform", "true: 'null'"),
    *("-K", "security.protocol=SASL_SSL", f"sasl.password={CANARY}", "fetch.min.bytes=1e5", "socket.timeout.ms=010"),
)
SPARK = ("--master", "local[2]", "--conf", "spark.executor.memory=2g", f"spark.hadoop.fs.s3a.secret.key={CANARY}")
SECRETS = {
    "KAFKA_DELTA_INGEST_KEY": f"-----BEGIN\n{CANARY}\n",
    "KAFKA_DELTA_INGEST_SCRAM_JSON": '{"username": "me", "password": "' + CANARY + '"}',
    "KAFKA_SETTING_SSL_KEY_PASSWORD": f"${{{CANARY}}}",
}
ACCESS = {
    "SCHEMA_REGISTRY_USERNAME": "me",
    "SCHEMA_REGISTRY_PASSWORD": f"${{{CANARY}}}",
    "SCHEMA_REGISTRY_PROXY": f"http://me:{CANARY}@proxy:3128",
}


@pytest.mark.parametrize(
    "tokens", [(), WHOLE, SPARK, ("--seek_offsets", '{"0": 1}')], ids=["little", "everything", "spark", "seeking"]
)
def test_printed_file_means_the_same(tokens: tuple[str, ...], tmp_path: Path) -> None:
    found = asked(*tokens, environ=SECRETS)
    (tmp_path / "printed.yaml").write_text(found.yaml(), encoding="utf-8")

    again = load(tmp_path / "printed.yaml", {**SECRETS, **found.stand_ins})

    assert again == found.pipeline(SECRETS)
    assert again.source.settings["sasl.password"].get_secret_value() == CANARY


@pytest.mark.parametrize("environ", [{}, ACCESS], ids=["open", "closed"])
@pytest.mark.parametrize("format", ["--json", "--avro", "--protobuf"])
def test_printed_file_for_a_registry_means_the_same(format: str, environ: dict[str, str], tmp_path: Path) -> None:
    url = REGISTRY if environ else f"http://me:{CANARY}@localhost:8081"
    found = asked(format, url, environ=environ)
    (tmp_path / "printed.yaml").write_text(found.yaml())

    again = load(tmp_path / "printed.yaml", {**environ, **found.stand_ins})

    assert again == found.pipeline(environ)
    assert CANARY in again.format.registry.password.get_secret_value()
    assert CANARY not in "\n".join([found.yaml(), repr(found), str(found), *found.notes, repr(again)])


def test_printed_file_for_schemas_in_files_means_the_same(tmp_path: Path) -> None:
    (tmp_path / "a: b.avsc").write_text("{}")
    for tokens in (["--avro", str(tmp_path / "a: b.avsc")], ["--soe-avro", str(tmp_path)], ["--avro", ""]):
        found = asked(*tokens)
        (tmp_path / "printed.yaml").write_text(found.yaml())

        assert load(tmp_path / "printed.yaml", {}) == found.pipeline({})


def test_printed_file_for_one_table_means_the_same(tmp_path: Path) -> None:
    found = request(["orders", str(tmp_path / "all")], {})
    (tmp_path / "printed.yaml").write_text(found.yaml())

    assert load(tmp_path / "printed.yaml", {}) == found.pipeline({})


def test_secrets_are_printed_as_references_and_nowhere_else() -> None:
    found = asked(*WHOLE, environ=SECRETS)
    pipeline = found.pipeline(SECRETS)

    shown = "\n".join([found.yaml(), repr(found), str(found), *found.notes, repr(pipeline)])
    assert CANARY not in shown
    assert base64.b64encode(CANARY.encode()).decode() not in shown
    assert 'sasl.password: "${env:KAFKA_SETTING_SASL_PASSWORD}"' in found.yaml()
    assert "# Set the variable KAFKA_SETTING_SASL_PASSWORD" in found.yaml()
    assert 'ssl.key.pem: "${env:KAFKA_DELTA_INGEST_KEY}"' in found.yaml()


def test_spark_is_part_of_the_printed_file() -> None:
    found = asked("--master", "local[2]", "--conf", "spark.ui.port=1", "spark.ui.port=4041", "spark.x.y=z")

    assert setting(found, "spark/master") == "local[2]"
    assert setting(found, "spark/conf") == {"spark.ui.port": "4041", "spark.x.y": "${env:SPARK_SETTING_SPARK_X_Y}"}
    assert found.pipeline({}).spark.conf == {"spark.ui.port": "4041", "spark.x.y": "z"}
    assert setting(asked(), "spark") is None


def test_secrets_of_spark_are_printed_as_references() -> None:
    found = asked(*SPARK)

    assert CANARY not in "\n".join([found.yaml(), repr(found), *found.notes])
    assert "# Set the variable SPARK_SETTING_SPARK_HADOOP_FS_S3A_SECRET_KEY" in found.yaml()


def test_what_belongs_to_one_run_stands_above_the_printed_file() -> None:
    run = ("-e", "--batches", "3", "--accept-gap", "0:1-2", "topic=a\nb", "--adopt")
    options = "--until-caught-up --batches 3 --accept-gap 0:1-2 --accept-gap 'topic=a\\nb' --adopt"

    assert asked(*run).yaml().splitlines()[0].endswith(f"for `penstock run FILE {options}`.")
    assert asked().yaml().splitlines()[0].endswith("for `penstock run FILE`.")


@pytest.mark.parametrize(
    ("tokens", "environ"),
    [
        (["-k", f"SASL_SSL://bob:{CANARY}@h:9092"], {}),
        ([], {"KAFKA_BROKERS": f"bob:{CANARY}@h:9092"}),
        (["--conf", CANARY], {}),
        (["--conf", f"spark.secret.{CANARY}"], {}),
        (["--conf", f"spark x={CANARY}"], {}),
        (["-K", "sasl.password", CANARY], {}),
        (["-K", CANARY], {}),
        (["-K", f"plugin.library.paths={CANARY}"], {}),
        (["-K", f"sasl.password={CANARY}", "isolation.level=read_uncommitted"], {}),
        ([f"--kafka_settings=sasl.password={CANARY}"], {}),
        (["--kafka_settings", f"sasl.password={CANARY}"], {}),
        ([f"-Z{CANARY}"], {}),
        (["--json", f"http://me:{CANARY}@host:port"], {}),
        (["--avro", f"http://host:8081/?key={CANARY}"], {}),
        (["--avro", f"http://me:{CANARY}@host"], {"SCHEMA_REGISTRY_USERNAME": CANARY}),
        (["--avro", REGISTRY], {"SCHEMA_REGISTRY_PROXY": f"ftp://{CANARY}@host"}),
        (["--protobuf", REGISTRY], {"SCHEMA_REGISTRY_PROXY": CANARY}),
        (["a", "b", f"sasl.password={CANARY}"], {}),
        (["--dlq_table_location", f"s3://key:{CANARY}@bucket/dead"], {}),
        (["--dlq_table_location", f"az://bucket/dead?sig={CANARY}"], {}),
        (["--dlq_table_location", f"s3://[{CANARY}/dead"], {}),
        ([], {"KAFKA_DELTA_INGEST_SCRAM_JSON": CANARY}),
        ([], {"KAFKA_DELTA_INGEST_SCRAM_JSON": f'{{"username": "{CANARY}"}}'}),
        ([], {"KAFKA_SETTING_NONSENSE": CANARY}),
    ],
)
def test_no_refusal_shows_a_secret(tokens: list[str], environ: dict[str, str]) -> None:
    assert CANARY not in refusals(*tokens, environ=environ)
