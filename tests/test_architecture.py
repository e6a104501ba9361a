"""What keeps the code readable, kept by a machine: rooms, layers, budgets, names, and commands that work."""

from __future__ import annotations

import ast
import graphlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import grimp
import pytest

from penstock import contracts

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "penstock"
MODULES = sorted(SOURCE.rglob("*.py"))
NEWCOMERS_READ = ("loop.py", "landing/land.py", "sources/kafka.py", "tables/delta.py")

# Who may import what comes from outside. The demonstration plays the other side: it produces, and it reads tables.
ROOMS = {
    "pyspark": ("penstock.engine",),
    "py4j": ("penstock.engine",),
    "deltalake": ("penstock.tables", "penstock.demo"),
    "jmespath": ("penstock.transforms",),
    "confluent_kafka": ("penstock.sources.kafka", "penstock.sources.kafka_group", "penstock.demo"),
    "msgspec": ("penstock",),
    "arro3": ("penstock.formats",),
    "obstore": ("penstock.storage",),
    "yaml": ("penstock.config",),
    "cyclopts": ("penstock.cli",),
    "google": ("penstock.formats.protobuf",),
    "redis": ("penstock.registries.redis", "penstock.registries.redis_answers"),
    "prometheus_client": ("penstock.metrics.prometheus",),
    "rich": ("penstock.cli", "penstock.operate", "penstock.demo"),
}
BANNED_MODULES = {"utils", "util", "common", "helpers", "misc", "base", "core", "manager", "types", "constants"}
BANNED_NAMES = {"df", "data", "res", "tmp", "foo", "obj", "mgr", "helper"}


@cache
def graph(*, types_too: bool = False) -> Any:
    return grimp.build_graph("penstock", include_external_packages=True, exclude_type_checking_imports=not types_too)


def _inside(module: str, rooms: tuple[str, ...]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("package", ROOMS)
def test_foreign_packages_stay_in_their_rooms(package: str) -> None:
    importers = graph(types_too=True).find_modules_that_directly_import(package)

    assert importers, "nobody imports it: the rule is stale"
    assert [module for module in importers if not _inside(module, ROOMS[package])] == []


def test_imports_have_no_cycles() -> None:
    own = [module for module in graph().modules if module.startswith("penstock")]
    imports = {module: {m for m in graph().find_modules_directly_imported_by(module) if m in own} for module in own}

    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError, which names the cycle


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_and_functions_stay_small(path: Path) -> None:
    long = [f.name for f in _functions(path) if f.end_lineno and f.end_lineno - f.lineno >= 40]
    wide = [f.name for f in _functions(path) if len(f.args.args) + len(f.args.kwonlyargs) > 7]  # six and `self`

    assert len(path.read_text().splitlines()) <= 300
    assert long == []
    assert wide == []


def test_a_newcomer_reads_four_files() -> None:
    assert sum(len((SOURCE / name).read_text().splitlines()) for name in NEWCOMERS_READ) <= 800


@pytest.mark.parametrize("contract", ["Source", "Format", "Reader", "Table", "Tidy"])
def test_contracts_have_at_most_four_methods(contract: str) -> None:
    methods = [name for name in vars(getattr(contracts, contract)) if not name.startswith("_")]

    assert 1 <= len(methods) <= 4


def test_modules_have_names_that_say_something() -> None:
    assert [path for path in MODULES if path.stem in BANNED_MODULES] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_values_have_names_that_say_something(path: Path) -> None:
    names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
    names |= {argument.arg for function in _functions(path) for argument in function.args.args}

    assert names & BANNED_NAMES == set()


def test_help_loads_nothing_heavy() -> None:
    """It answers in less than half a second because of what it does not import."""
    heavy = ["pyspark", "pyarrow", "deltalake", "confluent_kafka", "numpy", "pydantic", "obstore", "duckdb"]
    script = (
        "import json, sys, time; began = time.process_time()\n"
        "from penstock.cli.main import main\n"
        "sys.argv = ['penstock', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"found = [name for name in {heavy!r} if name in sys.modules]\n"
        "print(json.dumps([found, time.process_time() - began]), file=sys.stderr)"
    )
    told = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(3)
    ]
    answers = [json.loads(run.stderr.splitlines()[-1]) for run in told]

    assert "Usage: penstock" in told[0].stdout
    assert answers[0][0] == []
    assert min(seconds for _, seconds in answers) < 0.5


# --- documents


def _commands(document: Path) -> Iterator[str]:
    """The command lines in a document's shell blocks."""
    for block in re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", document.read_text(), re.S | re.M):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            if line.strip() and not line.startswith("#"):
                yield line.removeprefix("$ ").split("  #")[0].strip()


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_documents_exist(document: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for command in _commands(document):
        words = command.split()
        if words[0] == "make":
            assert {word for word in words[1:] if "=" not in word} <= targets, command
        elif words[0].endswith("penstock") and len(words) > 1 and not words[1].startswith("-"):
            told = subprocess.run(
                [sys.executable, "-m", "penstock", words[1], "--help"], capture_output=True, text=True
            )
            assert told.returncode == 0, command
            options = {word.split("=")[0] for word in words[2:] if word.startswith("--")}
            assert {option for option in options if option not in told.stdout} == set(), command


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text()):
        assert link.startswith("http") or (document.parent / link).exists(), link
