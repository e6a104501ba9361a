"""Parts are found by entry point: ours and anybody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config.load import load
from penstock.config.parts import known, part
from penstock.formats.json import JsonFormat
from penstock.sources.kafka import KafkaSource
from penstock.tables.delta import DeltaTable

PLUGIN = """
from penstock.declared import Declared

class PondSource(Declared):
    depth: int = 1
"""


@pytest.fixture
def pond(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody's source, installed as packages are."""
    about = tmp_path / "pond-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pond\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[penstock.sources]\npond = pond_source:PondSource\n")
    (tmp_path / "pond_source.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)


def test_built_in_parts_are_found_like_any_others() -> None:
    assert part("sources", "kafka") is KafkaSource
    assert part("formats", "json") is JsonFormat
    assert part("tables", "delta") is DeltaTable


def test_part_that_is_not_installed_is_unknown() -> None:
    assert "pond" not in known("sources")
    with pytest.raises(KeyError):
        part("sources", "pond")
    assert known("kinds-that-do-not-exist") == {}


@pytest.mark.usefixtures("pond")
def test_plugin_is_found_beside_the_built_in_parts() -> None:
    assert {"kafka", "pond"} <= known("sources").keys()
    assert part("sources", "pond").__name__ == "PondSource"


@pytest.mark.usefixtures("pond")
def test_plugin_is_declared_in_yaml_like_a_built_in_part(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text("app: shop\nsource: {pond: {depth: 3}}\nformat: json\ntables: {base: ./lake}\n")
    assert load(path).source.depth == 3
