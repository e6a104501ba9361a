"""Streaming ingestion into lakehouse tables."""

__version__ = "0.1.0"
