"""How every command ends: an error is a sentence and a status."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from penstock.errors import PenstockError

P = ParamSpec("P")


def reporting(command: Callable[P, int]) -> Callable[P, int]:
    """An error becomes its text on stderr and its exit status; never a traceback."""

    @wraps(command)
    def reported(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            return command(*args, **kwargs)
        except PenstockError as why:
            print(f"penstock: {why}", file=sys.stderr)
            return why.exit_status
        except KeyboardInterrupt:
            return 130

    return reported
