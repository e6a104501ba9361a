"""Spark settings that were typed, in a form that can be printed: what may be a secret becomes a reference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.errors import refused

PREFIX = "SPARK_SETTING_"

# Settings that can be shown; every other one may be a secret.
_OPEN = (
    *("spark.executor.", "spark.driver.", "spark.cores.", "spark.task.", "spark.default.", "spark.memory."),
    *("spark.sql.", "spark.python.", "spark.pyspark.", "spark.dynamicAllocation.", "spark.scheduler."),
    *("spark.shuffle.", "spark.jars", "spark.local.", "spark.network.", "spark.rpc.", "spark.ui.", "spark.app."),
    "spark.master",
)
# Words that give a secret away wherever they stand: Spark hides such values too. Java options can hold anything.
_SECRET = re.compile(r"secret|passw|token|credential|key|auth|signature|sas\b|options|@", re.IGNORECASE)


@dataclass(frozen=True)
class SparkConf:
    """Settings by name, and the variables that stand in for those that may be secrets."""

    settings: dict[str, str] = field(default_factory=dict)
    stand_ins: dict[str, str] = field(default_factory=dict, repr=False)

    def shown(self, name: str, value: str) -> str:
        """A value as it may be printed: itself, or a reference to the variable that stands in for it."""
        if name.startswith(_OPEN) and not _SECRET.search(f"{name} {value}"):
            return value
        variable = _variable(name, self.stand_ins)
        self.stand_ins[variable] = value
        return f"${{env:{variable}}}"


def spark_conf(typed: Sequence[str]) -> SparkConf:
    """Settings from `name=value`, the last of one name. Raises ConfigError that shows none of the values."""
    given: dict[str, str] = {}
    for setting in typed:
        name, equals, value = setting.partition("=")
        if not equals or not re.fullmatch(r"[\w.-]{1,200}", name, re.ASCII):
            # What stands alone may be a value that lost its name.
            told = name if name.startswith("spark.") and not _SECRET.search(name) and name.isprintable() else "…"
            raise refused("usage.conf", f"--conf '{told}' is not name=value", "write --conf spark.executor.memory=2g")
        given[name] = value
    conf = SparkConf()
    for name, value in given.items():
        conf.settings[name] = conf.shown(name, value)
    return conf


def _variable(name: str, taken: dict[str, str]) -> str:
    """A variable for a setting. Names that differ only in case or punctuation get different ones."""
    found = PREFIX + re.sub(r"\W", "_", name.upper(), flags=re.ASCII)
    while found in taken:
        found += "_"
    return found
