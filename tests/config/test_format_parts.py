"""Formats and registries as a pipeline's file has them: parts of parts, and what does not go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import load
from penstock.errors import ConfigError
from penstock.formats.avro import AvroFormat
from penstock.formats.json import JsonFormat
from penstock.formats.mixed import MixedFormat
from penstock.registries.redis import RedisTypes

SHOP = """
app: shop
source: {kafka: {servers: "localhost:9092", topic: events}}
tables: {base: ./lake}
"""
URL = "{url: 'http://localhost:8081'}"


def _complaints(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        load(_write(folder, text))
    return [str(complaint) for complaint in refused.value.complaints]


def test_formats_of_a_mixed_topic_are_parts_of_their_own(tmp_path: Path) -> None:
    text = f"format: {{mixed: {{header: kind, formats: {{j: json, a: {{avro: {{registry: {URL}}}}}}}, default: j}}}}"

    found = load(_write(tmp_path, text)).format

    assert isinstance(found, MixedFormat)
    assert isinstance(found.formats["j"], JsonFormat)
    assert isinstance(found.formats["a"], AvroFormat)


def _write(folder: Path, text: str) -> Path:
    path = folder / "shop.yaml"
    path.write_text(SHOP + text)
    return path


def test_what_is_wrong_with_an_inner_format_is_told_at_its_line(tmp_path: Path) -> None:
    text = "format:\n  mixed:\n    header: kind\n    formats:\n      j: {json: {gzp: true}}\n      x: jsn\n"

    first, second = _complaints(tmp_path, text)

    assert first.startswith("shop.yaml:9: format.mixed.formats.j.json has no field 'gzp'")
    assert second.startswith("shop.yaml:10: there is no format called 'jsn'\n  did you mean 'json'?")


def test_registry_of_types_is_a_part(tmp_path: Path) -> None:
    found = load(_write(tmp_path, "format: json\nregistry: {redis: {port: 5555}}")).registry

    assert found == RedisTypes(port=5555)


def test_route_by_subject_goes_with_a_registry(tmp_path: Path) -> None:
    assert (
        load(_write(tmp_path, f"format: {{avro: {{registry: {URL}}}}}\nroute: {{by: subject}}")).route.by == "subject"
    )


@pytest.mark.parametrize(("format", "by"), [("json", "record"), ("avro", "subject"), ("dynamodb", "schema")])
def test_route_by_a_part_of_the_schema_needs_schemas_with_that_part(tmp_path: Path, format: str, by: str) -> None:
    (told,) = _complaints(tmp_path, f"format: {format}\nroute:\n  by: {by}")

    assert told.startswith(f"shop.yaml:7: route.by is {by}, and messages in this format have no such thing")


@pytest.mark.parametrize(
    ("format", "why"),
    [
        (f"{{avro: {{registry: {URL}, schema: x.avsc}}}}", "has registry and schema: messages are encoded in one way"),
        ("protobuf", "needs either a registry or descriptors"),
        (f"{{protobuf: {{registry: {URL}, message: a.B}}}}", "has a message without descriptors"),
        ("{mixed: {header: h, formats: {j: json}, default: k}}", "has the default k, and no such format"),
        ("{avro: {registry: {url: 'ftp://x'}}}", "must be a URL that begins with http:// or https://"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(tmp_path: Path, format: str, why: str) -> None:
    assert why in "\n".join(_complaints(tmp_path, f"format: {format}"))
