"""Identify: the type of each message, where the route can tell it without reading the value."""

from __future__ import annotations

import numpy as np

from penstock.messages import Messages, Reject
from penstock.route import SCHEMA_PARTS, ConstantRoute, FieldRoute, HeaderRoute

Rejects = tuple[Messages, list[Reject]]


def identify(messages: Messages, by: object) -> tuple[Messages, list[str] | None, Rejects]:
    """The messages that have a type, their types (None: the format must look inside), and the rest."""
    nothing: Rejects = (messages, [])
    if isinstance(by, FieldRoute) or by in SCHEMA_PARTS:
        return messages, None, nothing
    if by == "topic":
        return messages, [messages.source] * len(messages), nothing
    if isinstance(by, ConstantRoute):
        return messages, [by.constant] * len(messages), nothing
    found = [_read(messages, at, by) for at in range(len(messages))]
    rejects = [Reject(at, "identify", name[0], name[1]) for at, name in enumerate(found) if isinstance(name, tuple)]
    kept = [at for at, name in enumerate(found) if isinstance(name, str)]
    names = [name for name in found if isinstance(name, str)]
    return messages.only(np.array(kept, np.int64)), names, (messages, rejects)


def _read(messages: Messages, at: int, by: object) -> str | tuple[str, str]:
    """A type, or the code and text of why there is none."""
    details = messages.details(at)
    if isinstance(by, HeaderRoute):
        what, raw = f"header '{by.header}'", dict(details.headers).get(by.header)
    else:
        what, raw = "key", details.key
    if not raw:
        return "type.missing", f"the message has no {what}, which gives it its type"
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "type.not-text", f"the {what}, which gives the message its type, is not UTF-8 text"
