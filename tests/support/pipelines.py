"""Pipelines as files, the way users have them."""

from __future__ import annotations

from pathlib import Path

_TEMPLATE = """\
app: {app}
source:
  kafka: {{servers: "{servers}", topic: {topic}, start: earliest}}
format: json
route:
  by: {{field: type}}
tables:
  base: {base}
{tables}
batch: {{latency: {latency}, messages: {messages}}}
{more}
"""


def write_pipeline(
    folder: Path,
    servers: str,
    topic: str,
    *,
    app: str = "shop",
    latency: str = "500ms",
    messages: int = 1_000_000,
    tables: str = "",
    more: str = "",
) -> Path:
    """A pipeline file in a folder, with its lake beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{app}.yaml"
    text = _TEMPLATE.format(
        app=app,
        servers=servers,
        topic=topic,
        base=folder / "lake",
        latency=latency,
        messages=messages,
        tables=tables,
        more=more,
    )
    path.write_text(text)
    return path
