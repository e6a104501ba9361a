"""Plan, entries, what to commit next: pure functions and values. No clock, no network, no Spark."""
