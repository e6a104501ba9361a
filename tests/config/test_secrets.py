"""A canary in every place where a secret may stand: no output of penstock may show it."""

from __future__ import annotations

import logging
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from penstock.catalog import Catalog
from penstock.config.load import fingerprint, load
from penstock.errors import ConfigError
from penstock.landing.recipe import Recipe
from penstock.pipeline import Pipeline, Tables
from penstock.places import storage_opener
from penstock.sources.kafka import KafkaSource
from penstock.tables.delta import DeltaTable

CANARY = "c4n4ry-in-the-mine"
TEXT = """\
app: shop
source:
  kafka:
    servers: localhost:9092
    topic: events
    settings:
      sasl.username: "${env:SECRET}"
      sasl.password: "${env:SECRET}"
      sasl.oauthbearer.client.secret: c4n4ry-in-the-mine
      ssl.key.password: "before ${env:SECRET} after"
      ssl.key.pem: |
        -----BEGIN PRIVATE KEY-----
        c4n4ry-in-the-mine
format: json
tables:
  base: ./lake
  storage:
    aws_access_key_id: "${env:SECRET}"
    aws_secret_access_key: c4n4ry-in-the-mine
"""
WRONG = {
    "a list": ("sasl.password: ", "sasl.password: [c4n4ry-in-the-mine]\n      ssl.ca.pem: "),
    "a mapping": ("aws_access_key_id: ", "aws_token: {c4n4ry-in-the-mine: x}\n    aws_access_key_id: "),
    "a setting we keep": ("sasl.username", "enable.auto.commit"),
    "a setting nobody may set": ("sasl.username", "plugin.library.paths"),
    "a setting written twice": ("sasl.username", "sasl.password"),
    "settings that are a word": ("settings:", "settings: c4n4ry-in-the-mine\n    sasl:"),
    "storage that is a word": ("storage:", "storage: c4n4ry-in-the-mine\n  stowage:"),
    "a variable that is not set": ("after", "${env:NOWHERE}"),
    "something wrong elsewhere": ("app: shop", "app: -shop"),
    "something missing elsewhere": ("topic: events", "topik: events"),
    "a document that breaks off": ("tables:", "tables: ["),
}


@pytest.fixture
def declare(tmp_path: Path) -> Callable[[str], Pipeline]:
    def declared(text: str) -> Pipeline:
        path = tmp_path / "shop.yaml"
        path.write_text(text)
        return load(path, {"SECRET": CANARY})

    return declared


def everything_told(error: BaseException) -> str:
    """What a person, a log or another process can get to see of an error."""
    return "\n".join([str(error), repr(error), repr(error.args), *traceback.format_exception(error)])


def test_secrets_reach_those_who_need_them(declare: Callable[[str], Pipeline]) -> None:
    shop = declare(TEXT)
    held = [value.get_secret_value() for value in (*shop.source.settings.values(), *shop.tables.storage.values())]
    assert len(held) == 7
    assert all(CANARY in value for value in held)


def test_no_written_form_of_a_pipeline_shows_a_secret(declare: Callable[[str], Pipeline]) -> None:
    shop = declare(TEXT)
    forms = [str(shop), repr(shop), f"{shop}", repr(shop.source), repr(shop.tables), str(shop.model_dump())]
    forms += [str(shop.model_dump(mode="json")), shop.model_dump_json(), shop.source.model_dump_json()]
    assert not any(CANARY in form for form in forms)


def test_no_log_line_shows_a_secret(declare: Callable[[str], Pipeline], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("penstock").info("running %s with %r", declare(TEXT), declare(TEXT).source)
    assert "sasl.password" in caplog.text
    assert CANARY not in caplog.text


def test_fingerprint_knows_no_secret(declare: Callable[[str], Pipeline]) -> None:
    assert fingerprint(declare(TEXT)) == fingerprint(declare(TEXT.replace(CANARY, "another")))


def test_recipe_carries_secrets_to_workers_and_shows_none(declare: Callable[[str], Pipeline]) -> None:
    shop = declare(TEXT)
    catalog = Catalog(shop, DeltaTable, storage_opener(shop))
    recipe = Recipe(shop.source, shop.format, "topic", None, {}, catalog.letters, storage=catalog.options)
    assert CANARY not in repr(recipe)
    assert CANARY not in repr(catalog)
    again = pickle.loads(pickle.dumps(recipe))
    assert again.storage["aws_secret_access_key"] == CANARY
    assert again.source.settings["sasl.password"].get_secret_value() == CANARY


@pytest.mark.parametrize("wrong", WRONG)
def test_no_complaint_shows_a_secret(declare: Callable[[str], Pipeline], wrong: str) -> None:
    old, new = WRONG[wrong]
    assert old in TEXT
    with pytest.raises(ConfigError) as refused:
        declare(TEXT.replace(old, new, 1))
    assert CANARY not in everything_told(refused.value)
    assert CANARY not in str([vars(complaint) for complaint in refused.value.complaints])


@pytest.mark.parametrize("value", [[CANARY], {"x": CANARY}, CANARY.encode()])
def test_no_error_of_a_part_made_in_python_shows_a_secret(value: object) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: KafkaSource(servers="s", topic="t", settings={"sasl.password": value}),  # type: ignore[dict-item]
        lambda: KafkaSource(servers="s", topic="t", settings=value),  # type: ignore[arg-type]
        lambda: Tables(base="./lake", storage={"key": value}),  # type: ignore[dict-item]
    ]
    for attempt in attempts:
        with pytest.raises(ValidationError) as refused:
            attempt()
        assert CANARY not in everything_told(refused.value)
