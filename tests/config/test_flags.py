"""Reading a command line: what argparse makes of it, and what it must never make of it."""

from __future__ import annotations

import pytest

from penstock.config.flags import help_text, read
from penstock.config.ingest_options import OPTIONS
from penstock.errors import ConfigError


def refusal(*tokens: str) -> str:
    try:
        return str(ConfigError(read(tokens, {}).complaints))
    except ConfigError as refused:
        return str(refused)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_help_tells_of_every_option_its_variables_and_its_default(option: object) -> None:
    from_table = next(known for known in OPTIONS if known is option)
    told = " ".join(help_text().split())
    parts = [from_table.flag, *from_table.env]
    parts += [f"-{from_table.short}, --"] if from_table.short else []
    parts += [f"[default: {from_table.default}]"] if from_table.default else []

    assert [part for part in parts if part not in told] == []


def test_help_fits_a_terminal() -> None:
    assert [line for line in help_text().splitlines() if len(line) > 100] == []


def test_flags_without_values_may_be_put_together() -> None:
    given = read(["-ce", "-kh:1"], {})

    assert ("checkpoints" in given, "ends_at_latest_offsets" in given, given.text("kafka")) == (True, True, "h:1")


def test_empty_value_is_a_value() -> None:
    assert "json" in read(["--json", ""], {})
    assert "json" in read(["--json="], {})


def test_after_two_dashes_everything_is_an_argument() -> None:
    given = read(["-t", "a: b", "--", "--odd", "-e"], {})

    assert (given.text("topic"), given.text("table_location")) == ("--odd", "-e")
    assert "ends_at_latest_offsets" not in given


def test_dashes_inside_of_values_stay() -> None:
    assert read(["--app-id=my-app-id", "--topic", "a-b"], {}).text("app_id") == "my-app-id"


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["--alowed_latency", "5"], "there is no option '--alowed_latency'\n  did you mean '--allowed_latency'?"),
        (["--allowed-latencies=5"], "there is no option '--allowed-latencies'\n  did you mean '--allowed_latency'?"),
        (["--allowed", "5"], "there is no option '--allowed'"),
        (["-x"], "there is no option '-x'"),
        (["-k"], "expected one argument"),
        (["-K"], "expected at least one argument"),
        (["--checkpoints=yes"], "--checkpoints"),
        (["-k", "a", "--kafka", "b"], "--kafka is given more than once"),
        (["a", "--topic", "b"], "--topic is given more than once"),
        (["a", "b", "c"], "there are 3 arguments without an option"),
    ],
)
def test_command_line_that_is_not_clear_is_refused(tokens: list[str], words: str) -> None:
    assert words in refusal(*tokens)
