"""What a task does: identify, parse, fit, write. Plain Arrow; knows no Spark."""
