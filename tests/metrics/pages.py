"""The page as Prometheus sees it, and the rules that `promtool check metrics` has for names and types."""

from __future__ import annotations

import re
import socket
import urllib.request
from collections.abc import Iterator

from prometheus_client import Metric as Family
from prometheus_client.openmetrics import parser
from prometheus_client.parser import text_string_to_metric_families

# What promtool finds wrong in a name: units that are not base units, abbreviations of units, kinds as words.
UNITS = {"milliseconds", "microseconds", "minutes", "hours", "kilobytes", "megabytes", "bits", "percent", "grams"}
ABBREVIATIONS = {"s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "m", "h", "d"}
KINDS = {"counter", "gauge", "histogram", "summary", "untyped", "info"}

Labels = tuple[tuple[str, str], ...]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def scrape(port: int, accept: str = "", path: str = "/metrics") -> str:
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Accept": accept})
    with urllib.request.urlopen(asked, timeout=20) as answer:
        text: bytes = answer.read()
        return text.decode()


def values(text: str) -> dict[tuple[str, Labels], float]:
    """Every sample by name and labels; one that is there twice is an error."""
    found: dict[tuple[str, Labels], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found, key
            found[key] = sample.value
    return found


def value(text: str, name: str, **labels: str) -> float | None:
    return values(text).get((name, tuple(sorted(labels.items()))))


def declared(text: str) -> dict[str, str]:
    """The type of every metric, by its name."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))


def problems(text: str) -> Iterator[str]:
    helped = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.M))
    for name, kind in declared(text).items():
        if not helped.get(name):
            yield f"{name}: no help text"
        if kind != "untyped" and name.endswith("_total") != (kind == "counter"):
            yield f"{name}: a {kind} with this ending"
        if kind not in ("histogram", "summary") and re.search(r"_(count|sum|bucket)$", name):
            yield f"{name}: an ending of histograms"
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or set(name.split("_")) & (UNITS | ABBREVIATIONS | KINDS):
            yield f"{name}: a word that does not belong there"


def families(text: str) -> list[Family]:
    return list(text_string_to_metric_families(text))


def open_families(text: str) -> list[Family]:
    return list(parser.text_string_to_metric_families(text))  # type: ignore[no-untyped-call]
