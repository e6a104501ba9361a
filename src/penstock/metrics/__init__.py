"""Numbers about a run, for StatsD and Prometheus. Neither of them can stop or slow it."""

from penstock.metrics.measured import measured

__all__ = ["measured"]
