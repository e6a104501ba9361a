"""YAML and environment to a Pipeline; every complaint at once, with file and line."""
