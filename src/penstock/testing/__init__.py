"""What a user needs to test a pipeline: messages from memory, an engine without Spark, one call to land them."""

from penstock.testing.memory import MemoryEngine, MemorySource, land_all

__all__ = ["MemoryEngine", "MemorySource", "land_all"]
