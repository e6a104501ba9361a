"""Messages that carry another: what is around it, and where it is."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from penstock.declared import Declared
from penstock.schema import LONG, STRING, Schema, Struct
from penstock.schema import Field as Column
from penstock.transforms.rules import KAFKA, checked

CLOUDEVENTS = {
    "payload": "data",
    "into": "data",
    "text": "keep",
    "optional": True,
    "columns": {
        name: name
        for name in ("id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "data_base64")
    },
}


class Envelope(Declared):
    """How messages are wrapped. `cloudevents` alone means CloudEvents in their structured form."""

    payload: str = Field(min_length=1)
    """Where the inner message is: a field, or a dotted path to it. It may be an object, or a text that holds one."""
    into: str | None = Field(default=None, min_length=1)
    """The column that it becomes. Not set, its fields are columns themselves."""
    columns: Annotated[dict[str, str], AfterValidator(checked)] = {}
    """Columns beside it: a name, and what it holds, as in `transforms`. What is not named here is left out."""
    text: Literal["json", "keep"] = "json"
    """What a text in the payload's place is: JSON that holds the message, or the message itself."""
    optional: bool = False
    """Whether messages without payload are rows without it. Not set, they are dead letters."""

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, given: Any) -> Any:
        return CLOUDEVENTS if given == "cloudevents" else given

    @model_validator(mode="after")
    def _columns_differ(self) -> Envelope:
        if self.into is not None and self.into in self.columns:
            raise ValueError(f"has {self.into} as a column and as the column of the payload: rename one of them")
        if self.into is None and (self.optional or self.text == "keep"):
            raise ValueError("needs 'into' if payloads are optional or texts: only objects have fields")
        return self

    def around(self, payload: Schema) -> Schema:
        """The columns of a table whose payloads have these."""
        beside = tuple(Column(name, _kind(source)) for name, source in self.columns.items())
        inner = (Column(self.into, payload),) if self.into is not None else payload.fields
        return Struct((*beside, *inner))


def _kind(source: str) -> Any:
    """What a column holds of which nobody says so: texts, and numbers where the source knows nothing else."""
    return LONG if source in KAFKA and source != "kafka.topic" else STRING
