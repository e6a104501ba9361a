"""Messages as plain values, and how those become the columns of a table."""
