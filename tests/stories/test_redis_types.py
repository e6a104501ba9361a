"""Events in envelopes whose types are registered in Redis: what the clickstream job did, without what it lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.clicks import FORM, LINK, PAGE, SCHEMAS, Clicks, made_event, made_events, spark_field, spark_schema
from tests.support.lake import rows
from tests.support.process import Process, eventually, penstock
from tests.support.redis import LocalRedis
from tests.support.steady import steady
from tests.support.topics import Topics


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[LocalRedis]:
    with LocalRedis(tmp_path / "redis") as running:
        yield running


@pytest.fixture
def clicks(topics: Topics, redis: LocalRedis, tmp_path: Path) -> Clicks:
    return Clicks(topics, redis, tmp_path)


# --- what the job did ----------------------------------------------------------------------------


def test_fifty_events_of_each_type_are_fifty_rows_in_each_table(clicks: Clicks) -> None:
    pages, links = made_events(50, PAGE), made_events(50, LINK)
    clicks.send([*pages, *links])

    clicks.land()

    assert clicks.rows(PAGE) == clicks.expected(pages)
    assert clicks.rows(LINK) == clicks.expected(links)
    assert list(rows(clicks.lake / LINK)[0]) == ["topic", "timestamp", "eventId", "event"]
    assert clicks.held("dead_letters", "_unrouted") == [0, 0]


def test_payload_that_is_a_json_text_gives_the_same_row(clicks: Clicks) -> None:
    links = made_events(5, LINK)
    clicks.send([event | {"event": json.dumps(event["event"])} for event in links])

    clicks.land()

    assert clicks.rows(LINK) == clicks.expected(links)


def test_field_that_the_schema_does_not_name_gets_a_column_and_a_missing_one_is_null(clicks: Clicks) -> None:
    more, less = made_event(LINK, link_url="a", target="_blank"), made_event(LINK)
    clicks.send([more, less])

    clicks.land()

    found = clicks.rows(LINK)
    assert found[more["eventId"]]["event"]["target"] == "_blank"
    assert found[less["eventId"]]["event"] == {**less["event"], "link_url": None, "target": None}


def test_field_that_the_schema_does_not_name_is_dropped_where_the_table_ignores_it(clicks: Clicks) -> None:
    clicks.path.write_text(clicks.path.read_text().replace("/lake}", "/lake, defaults: {evolve: ignore}}"))
    links = made_events(80, LINK)
    clicks.send([event | {"event": {**event["event"], "target": "_blank"}, "more": 1} for event in links])

    clicks.land()

    assert clicks.rows(LINK) == clicks.expected(links)


def test_declared_columns_count_instead_of_registered_ones(clicks: Clicks) -> None:
    declared = "{schema: {timestamp: timestamp, eventId: string, event: 'struct<link_url: string>'}}"
    text = clicks.path.read_text().replace("/lake}", f"/lake, types: {{{LINK}: {declared}}}}}")
    clicks.path.write_text(text)
    zoned, local = made_event(LINK, link_url="a") | {"eventTimestamp": "2026-03-01T12:30:15.5Z"}, made_event(LINK)
    clicks.send([zoned, local])

    clicks.land()

    (row,) = clicks.rows(LINK).values()
    assert (row["eventId"], row["timestamp"].timestamp()) == (zoned["eventId"], 1_772_368_215.5)
    assert [letter["code"] for letter in rows(clicks.lake / "dead_letters")] == ["value.misfit"]


def test_what_the_job_lost_without_a_word_is_a_dead_letter(clicks: Clicks) -> None:
    good, wrong = made_events(1, PAGE), made_event(PAGE)
    wrong["event"]["common"] = "not an object"
    clicks.send([*good, wrong, {"eventId": "1"}, made_event(PAGE) | {"event": "{not JSON"}, "not an object"])

    clicks.land()

    assert clicks.rows(PAGE) == clicks.expected(good)
    codes = Counter(row["code"] for row in rows(clicks.lake / "dead_letters"))
    assert codes == {"value.misfit": 1, "type.missing": 1, "envelope.payload": 1, "json.not-an-object": 1}


# --- types that come later -----------------------------------------------------------------------


@pytest.mark.parametrize(("unrouted", "kept", "dead"), [("keep", 3, 0), ("dead-letter", 0, 3), ("filter", 0, 0)])
def test_type_registered_while_running_gets_its_table_with_the_next_batch(
    clicks: Clicks, unrouted: str, kept: int, dead: int
) -> None:
    clicks.write(unrouted)
    early, late = made_events(3, FORM), made_events(4, FORM)
    with steady(clicks.pipeline) as running:
        clicks.send([*early, *made_events(2, PAGE)])
        running.until(lambda: clicks.held(PAGE) == [2])
        assert clicks.held(FORM) == [0]

        clicks.register(**{FORM: spark_schema(spark_field("fields", {"type": "array", "elementType": "string"}))})
        clicks.send(late)
        running.until(lambda: clicks.held(FORM) == [4])

    assert clicks.held("_unrouted", "dead_letters") == [kept, dead]
    expected = clicks.expected(late)
    assert clicks.rows(FORM) == {id: row | {"event": {**row["event"], "fields": None}} for id, row in expected.items()}
    if kept:
        assert sorted(clicks.kept(), key=str) == sorted([(FORM, event) for event in early], key=str)


def test_changed_schema_gives_the_table_its_column(clicks: Clicks) -> None:
    first, second = made_events(2, PAGE), [made_event(PAGE, seconds=2) for _ in range(2)]
    with steady(clicks.pipeline) as running:
        clicks.send(first)
        running.until(lambda: clicks.held(PAGE) == [2])
        clicks.register(**{PAGE: spark_schema(spark_field("seconds", "double"), spark_field("referrer", "string"))})
        clicks.send(second)
        running.until(lambda: clicks.held(PAGE) == [4])

    for id, row in clicks.rows(PAGE).items():
        event = clicks.expected([*first, *second])[id]["event"]
        assert row["event"] == {"seconds": None, "referrer": None, **event}
        assert isinstance(row["event"]["seconds"], float | None)


def test_schema_that_contradicts_the_table_costs_only_what_does_not_fit(clicks: Clicks) -> None:
    clicks.send(first := [made_event(PAGE, seconds=1)])
    clicks.register(**{PAGE: spark_schema(spark_field("seconds", "long"))})
    clicks.land()

    clicks.register(**{PAGE: spark_schema(spark_field("seconds", "string"))})
    clicks.send(
        [made_event(PAGE, seconds="two"), *(second := [made_event(PAGE, seconds=3)]), *(links := made_events(2, LINK))]
    )
    clicks.land()

    assert clicks.rows(PAGE) == clicks.expected([*first, *second])
    assert clicks.rows(LINK) == clicks.expected(links)
    assert [row["code"] for row in rows(clicks.lake / "dead_letters")] == ["value.misfit"]


def test_key_that_is_no_schema_is_told_and_does_no_harm(clicks: Clicks) -> None:
    clicks.redis.client.set("notes", "buy milk")
    clicks.redis.client.rpush("queue", "job")
    with steady(clicks.pipeline) as running:
        clicks.send(made_events(2, PAGE))
        running.until(lambda: clicks.held(PAGE) == [2])
        told = [str(why) for why in running.notes.warnings]

    assert [text for text in told if "'notes'" in text]
    assert [text for text in told if "'queue'" in text]


# --- what can happen to Redis --------------------------------------------------------------------


def test_emptied_redis_changes_nothing_for_known_types(clicks: Clicks) -> None:
    links = made_events(4, LINK)
    with steady(clicks.pipeline) as running:
        clicks.send(made_events(1, PAGE))
        running.until(lambda: clicks.held(PAGE) == [1])
        clicks.redis.flush()
        clicks.send(links)  # the first of their type, which is known from before
        running.until(lambda: clicks.held(LINK) == [4])
        assert any(PAGE in str(why) for why in running.notes.warnings)

    clicks.send(more := made_events(2, LINK))
    clicks.land()  # nor does a start with the empty one
    assert clicks.rows(LINK) == clicks.expected([*links, *more])
    assert clicks.held("dead_letters", "_unrouted") == [0, 0]


def test_while_redis_is_away_known_types_go_on_and_unknown_ones_wait(clicks: Clicks) -> None:
    pages, forms = made_events(5, PAGE), made_events(3, FORM)
    with steady(clicks.pipeline) as running:
        clicks.send(first := made_events(1, PAGE))
        running.until(lambda: clicks.held(PAGE) == [1])
        clicks.redis.kill()

        clicks.send(pages)
        running.until(lambda: clicks.held(PAGE) == [6])
        assert any("redis" in str(why).lower() for why in running.notes.warnings)

        clicks.send(forms)
        running.until_it_waits(FORM)
        assert clicks.held("dead_letters", "_unrouted") == [0, 0]

        clicks.redis.start()
        clicks.register(**SCHEMAS, **{FORM: spark_schema()})
        running.until(lambda: clicks.held(FORM) == [3])

    assert clicks.rows(PAGE) == clicks.expected([*first, *pages])
    assert clicks.rows(FORM) == clicks.expected(forms)
    assert clicks.held("dead_letters", "_unrouted") == [0, 0]


def test_redis_that_does_not_answer_is_as_good_as_away(clicks: Clicks) -> None:
    with steady(clicks.pipeline) as running:
        clicks.send(made_events(1, PAGE))
        running.until(lambda: clicks.held(PAGE) == [1])
        with clicks.redis.frozen():
            clicks.send([*made_events(2, PAGE)])
            running.until(lambda: clicks.held(PAGE) == [3])
            clicks.send(made_events(1, FORM))
            running.until_it_waits(FORM)
        running.until(lambda: clicks.held("_unrouted") == [1])

    assert clicks.held("dead_letters") == [0]


def test_start_without_redis_uses_what_was_known(clicks: Clicks) -> None:
    clicks.send(made_events(1, PAGE))
    clicks.land()
    clicks.redis.kill()
    clicks.send(links := made_events(2, LINK))

    clicks.land()

    assert clicks.rows(LINK) == clicks.expected(links)


def test_first_start_without_redis_waits_for_it(clicks: Clicks) -> None:
    clicks.redis.kill()
    clicks.send(pages := made_events(2, PAGE))
    with steady(clicks.pipeline) as running:
        running.until_it_waits("Redis")
        clicks.redis.start()
        clicks.register(**SCHEMAS)
        running.until(lambda: clicks.held(PAGE) == [2])

    assert clicks.rows(PAGE) == clicks.expected(pages)
    assert clicks.held("dead_letters", "_unrouted") == [0, 0]


# --- as a user runs it ---------------------------------------------------------------------------


def test_process_lands_a_type_that_is_registered_with_a_command_while_it_runs(clicks: Clicks, tmp_path: Path) -> None:
    running = Process("run", clicks.path)
    try:
        clicks.send(pages := made_events(50, PAGE))
        eventually(lambda: clicks.held(PAGE) == [50], 120, lambda: running.printed()[1][-2000:])
        file = tmp_path / "form.json"
        file.write_text(spark_schema())
        told = penstock("schemas", "register", FORM, file, clicks.path)
        assert told.status == 0, told.err
        clicks.send([*(links := made_events(50, LINK)), *(forms := made_events(2, FORM))])
        eventually(lambda: clicks.held(LINK, FORM) == [50, 2], 120, lambda: running.printed()[1][-2000:])
    finally:
        running.kill()

    assert penstock("audit", clicks.path).status == 0
    for type, events in ((PAGE, pages), (LINK, links), (FORM, forms)):
        assert clicks.rows(type) == clicks.expected(events)
