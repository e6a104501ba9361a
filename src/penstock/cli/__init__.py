"""Parse, call, print, exit status: no logic."""
