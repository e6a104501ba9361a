"""How message bytes become rows."""
