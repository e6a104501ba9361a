"""JSON with schemas of a registry. Start at `format.py`."""

from penstock.formats.json_schema.format import JsonSchemaFormat as JsonSchemaFormat
