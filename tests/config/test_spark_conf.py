"""Spark settings from a command line: all of them are meant, and none that may be a secret is shown."""

from __future__ import annotations

import pytest

from penstock.config.spark_conf import SparkConf, spark_conf

CANARY = "c4n4ry-in-the-mine"


@pytest.mark.parametrize(
    "setting",
    ["spark.executor.memory=2g", "spark.sql.session.timeZone=UTC", "spark.driver.host=h", "spark.jars=a.jar,b=c.jar"],
)
def test_setting_that_is_no_secret_is_shown(setting: str) -> None:
    name, _, value = setting.partition("=")

    assert spark_conf([setting]) == SparkConf({name: value}, {})


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net",
        "spark.ssl.keyStorePassword",
        "spark.authenticate.secret",
        "spark.executorEnv.ANYTHING",
        "spark.driver.extraJavaOptions",
        "spark.sql.catalog.lake.token",
    ],
)
def test_setting_that_may_be_a_secret_is_a_reference(name: str) -> None:
    found = spark_conf([f"{name}={CANARY}"])

    (variable,) = found.stand_ins
    assert found.settings == {name: f"${{env:{variable}}}"}
    assert found.stand_ins == {variable: CANARY}
    assert variable.replace("_", "").isalnum()
    assert CANARY not in repr(found)


@pytest.mark.parametrize("value", [f"https://me:{CANARY}@host/x.jar", f"https://host/x.jar?token={CANARY}"])
def test_value_that_gives_itself_away_is_a_reference(value: str) -> None:
    found = spark_conf([f"spark.jars={value}"])

    assert found.settings == {"spark.jars": "${env:SPARK_SETTING_SPARK_JARS}"}
    assert SparkConf().shown("spark.master", f"k8s://me:{CANARY}@host") == "${env:SPARK_SETTING_SPARK_MASTER}"


def test_settings_with_similar_names_have_variables_of_their_own() -> None:
    found = spark_conf(["spark.x.y=1", "spark.X.y=2", "spark.x-y=3"])

    assert sorted(found.stand_ins.values()) == ["1", "2", "3"]
