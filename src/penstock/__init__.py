"""Streaming ingestion into lakehouse tables: many message types, one table each, exactly once, on Spark.

`from penstock import Pipeline, run` does in Python what `penstock run` does with a YAML file, with the
same objects.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.config.load import load
    from penstock.errors import PenstockError
    from penstock.formats.json import JsonFormat
    from penstock.loop import Until
    from penstock.operate.audit import audit
    from penstock.pipeline import Batch, DeadLetters, LedgerSpec, Metrics, Pipeline, Spark, Tables, TableSpec
    from penstock.route import ConstantRoute, FieldRoute, HeaderRoute, Route
    from penstock.running import run
    from penstock.sources.kafka import KafkaSource

__version__ = "0.1.0"
__all__ = [
    "Batch",
    "ConstantRoute",
    "DeadLetters",
    "FieldRoute",
    "HeaderRoute",
    "JsonFormat",
    "KafkaSource",
    "LedgerSpec",
    "Metrics",
    "PenstockError",
    "Pipeline",
    "Route",
    "Spark",
    "TableSpec",
    "Tables",
    "Until",
    "audit",
    "load",
    "run",
]

# Imported when used: the command line answers before any of it is loaded.
_HOMES = {
    "ConstantRoute": "penstock.route",
    "FieldRoute": "penstock.route",
    "HeaderRoute": "penstock.route",
    "JsonFormat": "penstock.formats.json",
    "KafkaSource": "penstock.sources.kafka",
    "PenstockError": "penstock.errors",
    "Route": "penstock.route",
    "Until": "penstock.loop",
    "audit": "penstock.operate.audit",
    "load": "penstock.config.load",
    "run": "penstock.running",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'penstock' has no attribute '{name}'")
    return getattr(import_module(_HOMES.get(name, "penstock.pipeline")), name)
