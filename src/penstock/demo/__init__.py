"""A whole installation on one machine: a real broker, something to read, and the tables it ends in."""
