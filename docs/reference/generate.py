"""Writes the reference pages from the shipped code: `make reference`. A test fails when a page is stale."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

import penstock as p
from penstock import errors
from penstock.cli.main import app
from penstock.config.flags import help_text
from penstock.metrics.names import METRICS, Metric
from penstock.quantities import seconds, size

NOTE = "<!-- Written by `make reference`. Change the code, not this page. -->\n"
NAME = re.compile(r"(?:\w+\.)*_?([A-Za-z]\w*)(?![\w(.])")  # of what is filled in, not of what is called for it
STATUS = {name: str(kind.exit_status) for name, kind in vars(errors).items() if hasattr(kind, "exit_status")}
Row = tuple[str, ...]
FORMATS = (p.JsonFormat, p.JsonSchemaFormat, p.AvroFormat, p.ProtobufFormat, p.DynamodbFormat, p.MixedFormat)
REGISTRIES = (p.ConfluentRegistry, p.RedisTypes, p.FileTypes)
ROUTES = (p.Route, p.FieldRoute, p.HeaderRoute, p.ConstantRoute)
PARTS = (p.Pipeline, p.KafkaSource, *FORMATS, *REGISTRIES, *ROUTES, p.Envelope)
PLACES = (p.Tables, p.TableSpec, p.DeadLetters, p.Batch, p.LedgerSpec, p.Spark, p.Metrics)
ABOUT = """\
A pipeline is one YAML file. In Python the same names are arguments of the objects named here.
Durations are written `500ms`, `10s`, `2m`, `1h`, `7d`; sizes `64KB`, `512MB`, `8MiB`. `${env:NAME}` in a text stands
for an environment variable. Column types are explained in [evolving schemas](../how-to/evolving-schemas.md).
"""
KINDS = {str: "text", int: "number", float: "number", bool: "true or false", SecretStr: "secret text", Any: "a part"}
COUNTED = """\
How to switch them on is in [watching a run](../how-to/watching.md). A type is named as its table's folder is; the
dead-letter table is `_dead_letters`. There are at most `tables.limit` + 1 types; what came after them is `other`.
Counters start at 0 with the process and count what was decided, so they agree with the ledger.

**Prometheus.** Names, labels and units of the first group are those of kafka-delta-ingest, so its dashboards stay.
Its counters lack `_total`, and two of its gauges have it: they are exposed as `untyped`, which `rate()` does not
mind and `promtool check metrics` accepts. Its timers are summaries in milliseconds, with quantiles over the last 100
values, and here they have the label `message_type` too. Where the type is not known there is no label. penstock's own
timer is a histogram in seconds. Nothing is dropped for being idle.

**StatsD.** Timers are sent in milliseconds; kafka-delta-ingest divides them by 1,000 once more. In a type's name a
dot is sent as `_`, and every byte outside of `[A-Za-z0-9_-]` as `_` and two hexadecimal digits. Without a type, the
last part is left out.

Lag is as of the last look at the source, which comes before every batch and at least every second unless something is
waited for.
"""
STATUSES = """\
| exit status | meaning |
| --- | --- |
| 0 | done, or stopped by a signal with the batch in hand finished |
| 1 | failed; also: tables are parked at the end of `--until-caught-up`, `audit` or `check` found something wrong |
| 2 | the command line or the configuration makes no sense |
| 3 | another instance of the app has taken over |
| 4 | the source no longer holds what comes next, or is another one |
| 5 | too many dead letters in one batch |
| 130, 143 | ended at once by a second signal |
"""
HEADS: dict[str, Row] = {
    "Errors that end the command": ("code", "exit status", "what happened", "what to do"),
    "What `run` waits for": ("code", "what happened", "what to do"),
    "Why a table is parked": ("code", "why"),
    "Dead letters": ("code", "stage", "why"),
}
ENDS, WAITS, PARKS, LETTERS = HEADS


def pages() -> dict[str, str]:
    """Every page of the reference, by file name."""
    return {"cli.md": commands(), "pipeline.md": settings(), "errors.md": codes(), "metrics.md": metrics()}


def _table(*rows: Row) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]) + "\n"


def commands() -> str:
    shown = ("run", "check", "audit", "plan", "schemas", "adopt", "repair", "table", "demo")
    told = "\n".join(app[name].generate_docs(heading_level=2) for name in shown)
    told = re.sub(r" \*\[default: (?:False|\(\))\]\*", "", told.replace("```console\n", "```text\npenstock "))
    ingest = f"## penstock ingest\n\n```text\n{help_text().strip()}\n```"
    return f"# Command line\n\n{NOTE}\nExit statuses are listed in [errors](errors.md).\n\n{told.strip()}\n\n{ingest}\n"


def settings() -> str:
    text = f"# Pipeline\n\n{NOTE}\n{ABOUT}"
    for model in (*PARTS, *PLACES):
        rows = [_field(name, field) for name, field in model.model_fields.items()]
        text += f"\n## {model.__name__}\n\n{model.__doc__}\n\n{_table(('field', 'type', 'default', 'meaning'), *rows)}"
    return text


def _field(name: str, field: FieldInfo) -> Row:
    readers = [getattr(rule, "func", None) for rule in field.metadata]
    kind = "duration" if seconds in readers else "size" if size in readers else _kind(field.annotation)
    given = field.get_default(call_default_factory=True)
    default = f"`{given:g}s`" if kind == "duration" else f"`{given}`".replace("False", "false")
    if given is None or given == {} or isinstance(given, BaseModel) or field.is_required():
        default = "required" if field.is_required() else ""
    return f"`{field.alias or name}`", kind, default, field.description or ""


def _kind(kind: Any) -> str:
    origin, inner = get_origin(kind), [arg for arg in get_args(kind) if arg not in (type(None), ...)]
    if origin in (Literal, Union, types.UnionType):
        return " or ".join(f"`{arg}`" if origin is Literal else _kind(arg) for arg in inner)
    if origin in (dict, tuple):
        return f"{_kind(inner[-1])} by name" if origin is dict else f"list of {_kind(inner[0])}"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    return KINDS[kind] if kind in KINDS else _kind(inner[0])


def codes() -> str:
    found: dict[str, dict[str, Row]] = {title: {} for title in HEADS}
    for path in sorted(Path(p.__file__).parent.rglob("*.py")):
        for function in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)):
            for title, code, row in _refusals(function, path.parent.name):
                found[title][code] = max(found[title].get(code, ()), (f"`{code}`", *row), key=len)  # what says most
    text = f"# Errors\n\n{NOTE}\n{STATUSES}\n`{{name}}` stands for what is filled in.\n"
    for title, heads in HEADS.items():
        rows = [(*row, "", "")[: len(heads)] for _, row in sorted(found[title].items())]
        text += f"\n## {title}\n\n{_table(heads, *rows)}"
    return text


def metrics() -> str:
    text = f"# Metrics\n\n{NOTE}\n{COUNTED}"
    for title, own in (("Names of kafka-delta-ingest", False), ("penstock's own", True)):
        found = [metric for metric in METRICS if metric.is_own == own]
        rows = [_metric(metric) for metric in found]
        text += f"\n## {title}\n\n{_table(('Prometheus', 'StatsD', 'kind', 'labels', 'meaning'), *rows)}"
    return text


def _metric(metric: Metric) -> Row:
    labels = [label for label in metric.labels if label != "app"]
    whole = ["penstock.<app>" if metric.is_own else "<prefix>", metric.name.removeprefix("penstock.")]
    statsd = ".".join([*whole, *(f"<{label}>" for label in labels)])
    kind = metric.kind if metric.prometheus_type in (metric.kind, "unknown") else metric.prometheus_type
    return (
        f"`{metric.in_prometheus}`",
        f"`{statsd}`",
        f"{kind}, untyped" if metric.prometheus_type == "unknown" else kind,
        ", ".join(f"`{label}`" for label in metric.labels),
        metric.meaning,
    )


def _refusals(function: ast.FunctionDef, room: str) -> Iterator[tuple[str, str, Row]]:
    """The places in a function where something is refused: section, code, and the rest of its row."""
    nodes = list(ast.walk(function))
    known = {ast.unparse(node.targets[0]): _text(node.value) for node in nodes if isinstance(node, ast.Assign)}
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        given = [*call.args, *(named.value for named in call.keywords)]
        name = ast.unparse(call.func).rpartition(".")[2]
        match name, list(filter(None, (_text(arg) or known.get(ast.unparse(arg)) for arg in given))):
            case "Reject" | "Refusal" | "_refuse" | "_Refused", [*stage, code, why] if "." in code and "{" not in code:
                yield LETTERS, code, (*(stage or ["parse" if name == "_refuse" else "identify"]), why)
            case "refuse", [code, why]:  # a format's own
                yield LETTERS, f"{room}.{code}", ("parse", why)
            case "Park" | "TableRefused", [code, *rest]:
                yield PARKS, code, tuple(rest) or (_text(ast.FormattedValue(given[1], -1)),)
            case "Transient" | "Unavailable", [code, *rest]:
                yield WAITS, code, tuple(rest)
            case "Complaint" | "_complain" | "_hopeless", [*rest, code] if code.startswith("config."):
                yield ENDS, code, ("2", *rest[-1 if name == "_hopeless" else -2 :])
            case "Complaint" | "_complain", [what, *rest]:
                yield ENDS, "config.invalid", ("2", what, *rest)
            case _, [code, *rest] if status := STATUS.get(name.replace("refused", "ConfigError")):
                for why, reason in errors._REASONS.items() if "{why}" in code else [("", "")]:
                    filled = [t.replace("{why}", why).replace("{REASONS}", reason) for t in (code, *rest)]
                    yield ENDS, filled[0], (status, *filled[1:])


def _text(node: ast.expr) -> str:
    """A text as it stands in the code, with names for what is filled in; empty for anything else."""
    if isinstance(node, ast.FormattedValue) and (found := NAME.search(ast.unparse(node.value))):
        return f"{{{found[1]}}}"
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


if __name__ == "__main__":
    for name, text in pages().items():
        Path(__file__).with_name(name).write_text(text)
