"""JSON, strictly: what is not exactly one well-formed object is a dead letter, never an altered row."""

from penstock.formats.json.format import JsonFormat

__all__ = ["JsonFormat"]
