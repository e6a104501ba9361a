"""What the command line says and how it ends, whatever is typed: a sentence and a status, never a traceback."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from penstock import __version__
from tests.support.command_line import Call, caller
from tests.support.process import Process, eventually, penstock

# The entry point takes what the shell gave, and so must the tests.
pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

GOOD = """\
app: shop
source: {kafka: {servers: "127.0.0.1:1", topic: events}}
format: json
tables: {base: ./lake}
"""


COMMANDS = "run, check, plan, audit, adopt, demo, repair, table"  # and more: the list is cut


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """`penstock` with these arguments, by its own entry point, in an empty folder with one good pipeline."""
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text(GOOD)
    return caller(monkeypatch, capsys)


# --- what there is -------------------------------------------------------------------------------


def test_without_arguments_it_shows_its_commands() -> None:
    shown = penstock()

    assert (shown.status, shown.err) == (0, "")
    assert "Usage: penstock COMMAND" in shown.out
    assert [command for command in ("run", "check", "audit", "demo") if command not in shown.out] == []


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("run", ["--until-caught-up", "--batches", "--master", "--conf", "--accept-gap", "--adopt"]),
        ("check", []),
        ("audit", ["--json"]),
        ("demo", ["--folder", "--messages"]),
    ],
)
def test_every_command_shows_its_options(call: Call, command: str, options: list[str]) -> None:
    shown = call(command, "--help")

    assert shown.status == 0
    assert f"Usage: penstock {command}" in shown.out
    assert [option for option in options if option not in shown.out] == []


def test_version_is_the_version() -> None:
    told = penstock("--version")

    assert (told.status, told.out.strip(), told.err) == (0, __version__, "")


# --- what is typed wrong -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["rn", "good.yaml"], 'Unknown command "rn". Did you mean "run"?'),
        (["everything"], f'Unknown command "everything". Available commands: {COMMANDS}'),
        (["run"], 'Command "run" parameter --pipeline requires an argument.'),
        (["run", "good.yaml", "more.yaml"], "Unused Tokens: ['more.yaml']."),
        (["audit", "good.yaml", "--jsn"], "Unknown option: --jsn. Did you mean --json?"),
        (["run", "good.yaml", "--batches", "many"], 'Invalid value for --batches: unable to convert "many" into int.'),
        (["run", "good.yaml", "--batches", "0"], 'Invalid value "0" for --batches. Must be >= 1.'),
        (["run", "good.yaml", "--batches", "-3"], 'Invalid value "-3" for --batches. Must be >= 1.'),
        (["demo", "--messages", "0"], 'Invalid value "0" for --messages. Must be >= 1.'),
    ],
)
def test_command_that_makes_no_sense_is_refused(call: Call, arguments: list[str], told: str) -> None:
    refused = call(*arguments)

    assert (refused.status, refused.out) == (2, "")
    assert told in refused.words


@pytest.mark.parametrize("setting", ["spark.ui.enabled", "", "spark"])
def test_spark_setting_without_a_value_is_refused_before_anything_starts(call: Call, setting: str) -> None:
    refused = call("run", "good.yaml", "--conf", "spark.x=1", "--conf", setting)

    assert refused.status == 2
    assert refused.err == (
        f"penstock: --conf '{setting}' is not name=value\n  write --conf spark.executor.memory=2g  [usage.conf]\n"
    )


@pytest.mark.parametrize("gap", ["everything", "0", "0:5", "0:5-", "0:9-5", "-1:0-5", "topic", "topic=", "table=x"])
def test_gap_that_is_not_written_as_shown_is_refused(call: Call, gap: str) -> None:
    refused = call("run", "good.yaml", f"--accept-gap={gap}")

    assert refused.status == 2
    assert f"--accept-gap '{gap}' is not understood" in refused.err
    assert "[usage.accept-gap]" in refused.err


# --- what is wrong with the file -----------------------------------------------------------------


@pytest.mark.parametrize("command", ["run", "check", "audit"])
def test_file_that_is_not_there_is_named(call: Call, command: str) -> None:
    refused = call(command, "nowhere.yaml")

    assert (refused.status, refused.out) == (2, "")
    assert refused.err == "penstock: nowhere.yaml: cannot be read: No such file or directory  [config.unreadable]\n"


def test_folder_is_not_a_file(call: Call) -> None:
    assert "cannot be read: Is a directory" in call("run", ".").err


@pytest.mark.parametrize("command", ["run", "check", "audit"])
def test_file_that_is_not_yaml_is_refused_with_its_line(call: Call, command: str) -> None:
    Path("broken.yaml").write_text("app: shop\nsource: [kafka\n")

    refused = call(command, "broken.yaml")

    assert refused.status == 2
    assert refused.err.startswith("penstock: broken.yaml:3: is not YAML: ")


def test_unknown_settings_are_shown_with_file_line_and_the_nearest_name(call: Call) -> None:
    Path("shop.yaml").write_text(GOOD.replace("{base: ./lake}", "{base: ./lake, limt: 5}") + "bach: {latency: 1s}\n")

    refused = call("run", "shop.yaml")

    assert refused.status == 2
    assert refused.err == (
        "penstock: shop.yaml:4: tables has no field 'limt'\n  did you mean 'limit'?  [config.unknown-field]\n"
        "shop.yaml:5: a pipeline has no field 'bach'\n  did you mean 'batch'?  [config.unknown-field]\n"
    )


def test_file_that_says_nothing_is_told_what_it_needs(call: Call) -> None:
    Path("empty.yaml").write_text("")

    refused = call("check", "empty.yaml")

    assert refused.status == 2
    needed = [f"a pipeline needs '{name}'" for name in ("app", "source", "format", "tables")]
    assert [need for need in needed if need not in refused.err] == []


# --- how it ends ---------------------------------------------------------------------------------


def test_audit_of_an_app_that_never_ran_fails(call: Call) -> None:
    found = call("audit", "good.yaml")

    assert found.status == 1
    assert "there is no ledger at" in found.out


def test_interrupt_from_the_keyboard_is_an_end_and_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD.replace("./lake", f"{tmp_path}/lake"))
    asking = Process("check", tmp_path / "good.yaml")  # nobody answers there: it waits
    eventually(lambda: "Java for Spark" in asking.printed()[0])

    asking.signal(signal.SIGINT)

    ended = asking.wait(60)
    assert (ended.status, ended.err) == (130, "")
