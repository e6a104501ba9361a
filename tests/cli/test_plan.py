"""`penstock plan` with a real broker: what it says, how it ends, and that it leaves no trace."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException

from penstock import load
from penstock.cli.plan import ended_tidily
from penstock.sources import kafka
from penstock.testing import land_all
from tests.support.command_line import Call, caller
from tests.support.pipelines import write_pipeline
from tests.support.process import Process, eventually
from tests.support.topics import Topics

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

_STARTING = {KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR}


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


def _order(number: int, **more: object) -> bytes:
    return json.dumps({"type": "order", "n": number, **more}).encode()


@pytest.fixture
def topic(topics: Topics) -> str:
    """A topic with forty orders in two partitions."""
    made = topics.create(partitions=2)
    topics.produce(made, map(_order, range(40)), partitions=2)
    return made


@pytest.fixture
def path(topics: Topics, topic: str, tmp_path: Path) -> Path:
    return write_pipeline(tmp_path, topics.servers, topic)


def _traces(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*"))}


def _committed(topics: Topics, topic: str, group: str) -> list[tuple[int, int]]:
    """What a group has committed of a topic. A broker that has just started needs a moment to know."""
    while True:
        asked = topics.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        try:
            found = asked[group].result(30).topic_partitions
        except KafkaException as why:
            if why.args[0].code() not in _STARTING:
                raise
            continue
        return sorted((place.partition, place.offset) for place in found if place.topic == topic and place.offset >= 0)


# --- what it says --------------------------------------------------------------------------------


def test_first_start_is_told_and_leaves_no_trace(call: Call, topics: Topics, topic: str, path: Path) -> None:
    before = _traces(path.parent)

    told = call("plan", str(path))

    assert told.status == 0, told.err
    assert f"shop: reading kafka:{topic} at its first start" in told.out
    assert "40 messages read of 40 positions that wait = 40 rows + 0 dead letters" in told.out
    assert (
        f"CREATE TABLE delta.`{path.parent}/lake/order` (\n  `n` BIGINT,\n  `type` STRING\n)\nUSING DELTA;" in told.out
    )
    assert told.out.rstrip().endswith("it would run; 1 new tables, 0 with new columns, 0 dead letters in the sample")
    assert _traces(path.parent) == before
    assert _committed(topics, topic, "shop") == _committed(topics, topic, "penstock-reader") == []


def test_running_app_is_not_disturbed(call: Call, topics: Topics, topic: str, path: Path) -> None:
    land_all(load(path))
    eventually(lambda: _committed(topics, topic, "shop") == [(0, 20), (1, 20)])
    topics.produce(topic, [_order(40, fresh=True), b"{"], partition=0)
    before = _traces(path.parent)

    told = call("plan", str(path), "--json")

    found = json.loads(told.out)
    assert told.status == 0, told.err
    assert (found["ok"], found["ledger"]["entry"], found["sample"]["positions"]) == (True, 2, {"0": [20, 22]})
    order, letters = found["tables"]
    assert (order["table"], order["is_new"], order["rows"]) == ("order", False, 1)
    assert order["added"] == [{"path": ["fresh"], "type": "boolean"}]
    assert order["ddl"] == f"ALTER TABLE delta.`{path.parent}/lake/order` ADD COLUMNS (\n  `fresh` BOOLEAN\n)"
    assert (letters["table"], letters["is_new"], letters["rows"]) == ("_dead_letters", True, 1)
    (letter,) = found["dead_letters"]
    assert {name: letter[name] for name in ("code", "count", "topic", "partition", "position", "value")} == {
        "code": "json.malformed",
        "count": 1,
        "topic": topic,
        "partition": "0",
        "position": 21,
        "value": "{",
    }
    assert found["arrival"]["messages_per_second"] > 0
    assert order["commits_per_hour"] > 0
    assert _traces(path.parent) == before
    assert _committed(topics, topic, "shop") == [(0, 20), (1, 20)]


def test_so_many_messages_are_read_at_most(call: Call, path: Path) -> None:
    found = json.loads(call("plan", str(path), "--messages", "10", "--json").out)

    assert found["sample"]["positions"] == {"0": [0, 5], "1": [0, 5]}
    assert (found["sample"]["read"], found["sample"]["waiting"]) == (10, 40)


def test_progress_is_told_beside_the_plan(call: Call, path: Path) -> None:
    told = call("plan", str(path), "--json")

    assert "reading up to 40 messages" in told.err
    assert json.loads(told.out)


# --- how it ends ---------------------------------------------------------------------------------


def test_strictly_nothing_may_die_and_no_table_may_change(call: Call, topics: Topics, topic: str, path: Path) -> None:
    assert call("plan", str(path), "--strict").status == 0  # new tables are no change
    land_all(load(path))
    assert call("plan", str(path), "--strict").status == 0

    topics.produce(topic, [_order(41, fresh=True)])
    assert (call("plan", str(path)).status, call("plan", str(path), "--strict").status) == (0, 1)

    land_all(load(path))
    topics.produce(topic, [b"{"])
    assert (call("plan", str(path)).status, call("plan", str(path), "--strict").status) == (0, 1)


def test_flood_of_dead_letters_is_status_one(call: Call, topics: Topics, topic: str, path: Path) -> None:
    topics.produce(topic, [b"{"] * 200)

    told = call("plan", str(path))

    assert told.status == 1
    assert "[dead-letters.too-many]" in told.out
    assert told.out.rstrip().endswith("shop: it would not go well")


def test_another_topic_under_the_same_app_is_status_one(call: Call, topics: Topics, topic: str, path: Path) -> None:
    land_all(load(path))
    path.write_text(path.read_text().replace(topic, topics.create()))

    told = call("plan", str(path))

    assert told.status == 1
    assert "it would be refused: app 'shop' has so far read" in told.out
    assert "[config.source-changed]" in told.out


def test_unknown_topic_is_status_one(call: Call, topics: Topics, tmp_path: Path) -> None:
    told = call("plan", str(write_pipeline(tmp_path, topics.servers, "topic-that-nobody-made")))

    assert told.status == 1
    assert "topic 'topic-that-nobody-made' does not exist" in told.out


def test_dead_broker_is_a_sentence_and_status_one(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "ANSWER", 0.3)

    told = call("plan", str(write_pipeline(tmp_path, "127.0.0.1:1", "events")))

    assert (told.status, told.out) == (1, "")
    assert "penstock: no answer from the Kafka brokers at 127.0.0.1:1" in told.err
    assert [left.name for left in tmp_path.iterdir()] == ["shop.yaml"]


def test_configuration_that_cannot_be_used_is_status_two(call: Call, path: Path) -> None:
    path.write_text(path.read_text() + "bach: {latency: 1s}\n")

    told = call("plan", str(path))

    assert (told.status, told.out) == (2, "")
    assert "did you mean 'batch'?" in told.err


@pytest.mark.parametrize("messages", ["0", "-1", "many", "1000000000000"])
def test_number_of_messages_must_make_sense(call: Call, path: Path, messages: str) -> None:
    told = call("plan", str(path), f"--messages={messages}")

    assert (told.status, told.out) == (2, "")
    assert "--messages" in told.err


# --- ended by somebody ---------------------------------------------------------------------------


@pytest.fixture
def mute() -> Iterator[str]:
    """A place that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ended_plan_leaves_no_trace(mute: str, tmp_path: Path, number: signal.Signals, status: int) -> None:
    path, scratch = write_pipeline(tmp_path / "shop", mute, "events"), tmp_path / "scratch"
    scratch.mkdir()
    running = Process("plan", path, env={"TMPDIR": str(scratch)})
    eventually(lambda: "looking at the ledger" in running.printed()[1])
    assert [left.name.startswith("penstock-plan-") for left in scratch.iterdir()] == [True]

    running.signal(number)

    ended = running.wait(20)
    assert (ended.status, ended.out, "Traceback" in ended.err) == (status, "", False)
    assert list(scratch.iterdir()) == []
    assert [left.name for left in path.parent.iterdir()] == ["shop.yaml"]


@pytest.mark.parametrize("why", [KeyboardInterrupt(), SystemExit(143)])
def test_signal_in_the_middle_of_a_foreign_client_is_still_that_signal(why: BaseException) -> None:
    """As the interpreter reports it, if C code returns after a signal's handler has raised."""
    before = signal.getsignal(signal.SIGTERM)

    with pytest.raises(type(why)), ended_tidily():
        raise SystemError("returned a result with an exception set") from why

    assert signal.getsignal(signal.SIGTERM) is before


def test_other_trouble_of_the_interpreter_is_not_hidden() -> None:
    with pytest.raises(SystemError, match="null argument"), ended_tidily():
        raise SystemError("null argument to internal routine")
