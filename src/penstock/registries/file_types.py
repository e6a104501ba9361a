"""Files as a registry of types: one for each, named for it, with its columns as Spark writes a schema in JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from penstock.declared import Declared
from penstock.errors import refused, shown
from penstock.registries.files import SchemaFiles, files_at
from penstock.registries.listing import Found
from penstock.registries.spark_json import from_spark


class FileTypes(Declared):
    """A folder of `<type>.json` files, or one such file."""

    path: str = Field(min_length=1)
    """The folder, or the file."""

    @model_validator(mode="before")
    @classmethod
    def _a_path_is_enough(cls, given: Any) -> Any:
        return {"path": given} if isinstance(given, str) else given

    def types(self) -> Found:
        """Every type with its schema, and a complaint for every file that holds none. While a file is half-written
        or damaged, all are as they were last good, and that is a complaint too."""
        found, files = Found({}, {}), self._files()
        for name, content in files.newest().items():
            type = name.removesuffix(".json")
            try:
                found.types[type] = from_spark(content.decode("utf-8"))
            except ValueError as why:
                found.complaints[type] = f"the file '{shown(name)}' in {shown(self.path)} is not a type: {why}"
        if files.trouble is not None:
            found.complaints[self.path] = f"{files.trouble}; types are as the files said last"
        return found

    def names(self) -> list[str]:
        return sorted(name.removesuffix(".json") for name in self._files().newest())

    def text(self, type: str) -> str | None:
        """The schema of a type as it is written; None if there is none."""
        content = self._files().newest().get(f"{type}.json")
        return None if content is None else content.decode("utf-8")

    def register(self, type: str, text: str) -> None:
        """Make a type known, or change its schema. A ValueError if it is not a schema."""
        from_spark(text)
        folder = Path(self.path)
        if not folder.is_dir() or not type or Path(type).name != type or type.startswith("."):
            raise ValueError(f"{self.path} must be a folder, and the type's name the name of a file in it")
        half = folder / f".{type}.json.new"
        half.write_text(text)
        half.rename(folder / f"{type}.json")

    def _files(self) -> SchemaFiles[dict[str, bytes]]:
        try:
            return files_at(self.path)
        except ValueError as why:
            raise refused("config.schema-file", str(why), "correct the path or the file") from None
