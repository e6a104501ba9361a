"""A pipeline's settings as the YAML text that declares them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

_WORD = re.compile(r"[A-Za-z_./][A-Za-z0-9_./:@-]*[A-Za-z0-9_/]|[A-Za-z_]")  # nothing that is read as a number


class _Dumper(yaml.SafeDumper):
    """Block style, and quotes around every text that is not plainly a word."""

    def ignore_aliases(self, _: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if _WORD.fullmatch(text) else '"')


_Dumper.add_representer(str, _text)


def written(settings: Mapping[str, Any], comments: Iterable[str] = ()) -> str:
    """The text of a file that says the same as these settings, with comments above."""
    head = "".join(f"# {' '.join(comment.split())}\n" for comment in comments)
    body = yaml.dump(dict(settings), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100_000)
    return head + body
