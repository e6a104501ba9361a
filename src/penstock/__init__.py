"""Streaming ingestion into lakehouse tables: many message types, one table each, exactly once, on Spark.

`from penstock import Pipeline, run` does in Python what `penstock run` does with a YAML file, with the
same objects.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Named here, imported when used: the command line answers before any of this is loaded.
_EXPORTS = {
    "Pipeline": "penstock.pipeline",
    "Route": "penstock.pipeline",
    "FieldRoute": "penstock.pipeline",
    "HeaderRoute": "penstock.pipeline",
    "Tables": "penstock.pipeline",
    "TableSpec": "penstock.pipeline",
    "DeadLetters": "penstock.pipeline",
    "Batch": "penstock.pipeline",
    "LedgerSpec": "penstock.pipeline",
    "KafkaSource": "penstock.sources.kafka",
    "JsonFormat": "penstock.formats.json",
    "PenstockError": "penstock.errors",
    "Until": "penstock.loop",
    "audit": "penstock.operate.audit",
    "load": "penstock.config.load",
    "run": "penstock.running",
}
__all__ = ["__version__", *_EXPORTS]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'penstock' has no attribute '{name}'")
    return getattr(import_module(_EXPORTS[name]), name)
