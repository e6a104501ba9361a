"""Bad payloads and why each is a dead letter; odd ones and the row that each must make.

They can go to any topic as they are. The pipeline must have `FORMAT` and `TYPES`, and route by the field `type`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.formats.json.malformed import MALFORMED
from tests.formats.json.misfits import MISFITS
from tests.formats.json.odd import ODD, Odd
from tests.formats.json.payloads import FORMAT, TYPES

__all__ = ["BAD", "FORMAT", "ODD", "TYPES", "Bad", "Odd"]

_STAGES = {"json": "parse", "type": "identify", "partition": "write"}


@dataclass(frozen=True)
class Bad:
    """A payload that must be a dead letter with this code, from this stage."""

    name: str
    value: bytes
    code: str

    @property
    def stage(self) -> str:
        return _STAGES.get(self.code.partition(".")[0], "fit")

    @property
    def is_stub(self) -> bool:
        """Is it over the size limit, so that only its size and hash are kept?"""
        return self.code == "json.too-large"


BAD = [Bad(name, value, code) for code, values in (MALFORMED | MISFITS).items() for name, value in values.items()]
