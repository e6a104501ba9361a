"""Schemas that have no versions: in the keys of a Redis database, or in files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from penstock.errors import PenstockError, in_one_line, refused, shown
from penstock.operate.schema_places import NEWEST, Line, Which, unusable, wrong_with
from penstock.operate.schema_records import SPARK, Kept, kind_of
from penstock.registries.answers import Reference
from penstock.registries.files import MAX_FILES, SUFFIXES, load
from penstock.registries.redis import RedisTypes

_ENDS = {"AVRO": ".avsc", "PROTOBUF": ".proto", "JSON": ".json", SPARK: ".json"}


@dataclass(frozen=True)
class Keys:
    """The keys of a Redis database, each a type."""

    registry: RedisTypes

    @property
    def address(self) -> str:
        its, scheme = self.registry, "rediss" if self.registry.tls else "redis"
        host = f"[{its.host}]" if ":" in its.host else its.host
        return f"{scheme}://{host}:{its.port}/{its.db}" + (
            f"?prefix={quote(its.prefix, safe='')}" if its.prefix else ""
        )

    def lines(self) -> Iterator[Line]:
        found = self.registry.types()
        for name in sorted(found.types.keys() | found.complaints.keys()):
            yield Line(name, SPARK, wrong=found.complaints.get(name, ""))

    def find(self, name: str, which: Which = NEWEST) -> Kept | None:
        _check_plain(which, "Redis")
        try:
            text = self.registry.text(name)
        except ValueError as why:
            raise unusable(Kept(name, SPARK, ""), why) from None
        return None if text is None else Kept(name, SPARK, text)

    def needed(self, schema: Kept, references: Sequence[Reference]) -> Kept:
        _check_alone(references)
        return schema

    def register(self, schema: Kept, references: Sequence[Reference]) -> None:
        _check_alone(references)
        try:
            self.registry.register(schema.name, schema.text)
        except ValueError as why:
            raise unusable(schema, why) from None


@dataclass(frozen=True)
class Folder:
    """A folder of schema files, or one such file. `kind` is set where all of them are of one kind."""

    path: Path
    kind: str | None = None

    @property
    def address(self) -> str:
        return str(self.path)

    def lines(self) -> Iterator[Line]:
        for file in self._files():
            try:
                found = self._read(file)
            except ValueError as why:
                yield Line(self._name(file), self.kind or "", wrong=in_one_line(why))
                continue
            yield Line(found.name, found.kind, wrong=wrong_with(found))

    def find(self, name: str, which: Which = NEWEST) -> Kept | None:
        _check_plain(which, "files")
        named = {name, *(name + end for end in SUFFIXES)}
        found = [file for file in self._files() if self._relative(file) in named or self._name(file) == name]
        if len(found) > 1:
            told = ", ".join(map(self._relative, found))
            raise refused("usage.which-file", f"'{shown(name)}' may be {shown(told)}", "write the whole name")
        try:
            return self._read(found[0]) if found else None
        except ValueError as why:
            raise unusable(Kept(name, "", ""), why) from None

    def needed(self, schema: Kept, references: Sequence[Reference]) -> Kept:
        _check_alone(references)
        return schema

    def register(self, schema: Kept, references: Sequence[Reference]) -> None:
        """Write the file aside, then put it in its place: whoever reads it meanwhile reads the old one or the new."""
        _check_alone(references)
        end = _ENDS[schema.kind]
        name = schema.name.removesuffix(end) + end
        if not self.path.is_dir() or Path(name).name != name or name.startswith(".") or "\0" in name:
            raise refused(
                "usage.file-name",
                f"'{shown(schema.name)}' is not the name of a file in a folder {shown(self.address)}",
                "give the folder, and a plain name",
            )
        half = self.path / f".{name}.{os.getpid()}.new"
        try:
            half.write_bytes(schema.text.encode())
            half.rename(self.path / name)
        except OSError as cause:
            half.unlink(missing_ok=True)
            raise PenstockError(
                "registry.not-written",
                f"{shown(str(self.path / name))} cannot be written: {cause.strerror}",
                "look at the folder's permissions, and at the room on its disk",
            ) from None

    def _read(self, file: Path) -> Kept:
        ((_, content),) = load(file).items()
        if file.suffix == ".desc":
            return Kept(self._name(file), "PROTOBUF", "", descriptors=content)
        text = content.decode("utf-8")
        return Kept(self._name(file), self.kind or kind_of(file.suffix, text), text)

    def _name(self, file: Path) -> str:
        """A file of a type is named for it."""
        return self._relative(file).removesuffix(".json") if self.kind == SPARK else self._relative(file)

    def _relative(self, file: Path) -> str:
        return file.name if file == self.path else file.relative_to(self.path).as_posix()

    def _files(self) -> list[Path]:
        if self.path.is_file():
            return [self.path]
        if not self.path.is_dir():
            raise refused("usage.registry", f"there is no folder {shown(self.address)}", "correct the path")
        found: list[Path] = []
        for place, folders, names in os.walk(self.path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            found += [Path(place, name) for name in names if name.endswith(SUFFIXES) and not name.startswith(".")]
            if len(found) > MAX_FILES:
                text = f"there are more than {MAX_FILES:,} schema files in {shown(self.address)}"
                raise refused("usage.registry", text, "name a folder that holds fewer")
        return sorted(found)


def _check_plain(which: Which, where: str) -> None:
    if which != NEWEST:
        raise refused("usage.no-versions", f"schemas in {where} have no versions and no ids", "leave the option out")


def _check_alone(references: Sequence[Reference]) -> None:
    if references:
        raise refused(
            "usage.no-references",
            "only schemas in a schema registry refer to others by version",
            "leave --reference out",
        )
