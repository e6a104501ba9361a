"""Streaming ingestion into lakehouse tables: many message types, one table each, exactly once, on Spark.

`from penstock import Pipeline, run` does in Python what `penstock run` does with a YAML file, with the
same objects.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.config.load import load
    from penstock.envelope import Envelope
    from penstock.errors import PenstockError
    from penstock.formats.avro import AvroFormat
    from penstock.formats.dynamodb import DynamodbFormat
    from penstock.formats.json import JsonFormat
    from penstock.formats.json_schema import JsonSchemaFormat
    from penstock.formats.mixed import MixedFormat
    from penstock.formats.protobuf import ProtobufFormat
    from penstock.loop import Until
    from penstock.operate.audit import audit
    from penstock.pipeline import Batch, DeadLetters, LedgerSpec, Metrics, Pipeline, Spark, Tables, TableSpec
    from penstock.registries.confluent import ConfluentRegistry
    from penstock.registries.file_types import FileTypes
    from penstock.registries.redis import RedisTypes
    from penstock.route import ConstantRoute, FieldRoute, HeaderRoute, Route
    from penstock.running import run
    from penstock.sources.kafka import KafkaSource

__version__ = "0.1.0"
__all__ = [
    "AvroFormat",
    "Batch",
    "ConfluentRegistry",
    "ConstantRoute",
    "DeadLetters",
    "DynamodbFormat",
    "Envelope",
    "FieldRoute",
    "FileTypes",
    "HeaderRoute",
    "JsonFormat",
    "JsonSchemaFormat",
    "KafkaSource",
    "LedgerSpec",
    "Metrics",
    "MixedFormat",
    "PenstockError",
    "Pipeline",
    "ProtobufFormat",
    "RedisTypes",
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
    "AvroFormat": "penstock.formats.avro",
    "ConfluentRegistry": "penstock.registries.confluent",
    "ConstantRoute": "penstock.route",
    "DynamodbFormat": "penstock.formats.dynamodb",
    "Envelope": "penstock.envelope",
    "FieldRoute": "penstock.route",
    "FileTypes": "penstock.registries.file_types",
    "HeaderRoute": "penstock.route",
    "JsonFormat": "penstock.formats.json",
    "JsonSchemaFormat": "penstock.formats.json_schema",
    "KafkaSource": "penstock.sources.kafka",
    "MixedFormat": "penstock.formats.mixed",
    "PenstockError": "penstock.errors",
    "ProtobufFormat": "penstock.formats.protobuf",
    "RedisTypes": "penstock.registries.redis",
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
