"""What was typed and what the environment holds, as one answer per option. A flag comes before a variable."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn, TypeVar

from penstock.config.ingest_options import OPTIONS, Option
from penstock.errors import Complaint, ConfigError, refused, shown

T = TypeVar("T")

USAGE = "penstock ingest [OPTIONS] --topic TOPIC --table_base_uri URI\n       penstock ingest [OPTIONS] TOPIC TABLE"
ABOUT = """\
Read a Kafka topic into Delta tables with the options of kafka-delta-ingest. It is the same as `penstock run` with
the file that --print-config prints. Options may be written with dashes; a variable in [env] stands in for an option."""
_TRUE, _FALSE = {"true", "t", "yes", "y", "on", "1"}, {"false", "f", "no", "n", "off", "0"}
_OPTIONS = {option.name: option for option in OPTIONS}


@dataclass(frozen=True)
class Said:
    """What was given for an option, and the flag or variable that gave it."""

    by: str
    texts: tuple[str, ...] = field(repr=False, default=())


@dataclass(frozen=True)
class Given:
    """Every option that was given, and what is wrong with them."""

    said: Mapping[str, Said]
    complaints: list[Complaint] = field(default_factory=list)

    def __contains__(self, name: str) -> bool:
        return name in self.said

    def by(self, name: str) -> str:
        """The flag or variable that decides about an option: its flag if nobody said anything."""
        return self.said[name].by if name in self.said else _OPTIONS[name].flag

    def typed(self, name: str) -> bool:
        """Was it on the command line?"""
        return self.by(name).startswith("--") and name in self.said

    def text(self, name: str) -> str:
        """What was given, or the default; nothing if there is none."""
        return self.said[name].texts[-1] if name in self.said else _OPTIONS[name].default or ""

    def texts(self, name: str) -> tuple[str, ...]:
        return self.said[name].texts if name in self.said else ()

    def attempt(self, work: Callable[[], T], otherwise: T) -> T:
        """A value, or a complaint that is kept until all of them are known."""
        try:
            return work()
        except ConfigError as why:
            self.complaints.extend(why.complaints)
            return otherwise

    def number(self, name: str, least: int = 0) -> int:
        """A whole number that is not too small."""
        written, option = self.text(name), _OPTIONS[name]

        def read() -> int:
            told = f"{self.by(name)}: '{shown(written, 40)}'"
            example = f"such as {option.default or 10}"
            if not re.fullmatch(r"\+?[0-9]{1,18}", written, re.ASCII):
                raise refused("usage.number", f"{told} is not a whole number", f"write {_of(option)}, {example}")
            if int(written) < least:
                raise refused("usage.too-small", f"{told} is too small", f"write {least} or more, {example}")
            return int(written)

        return self.attempt(read, 1)


def read(tokens: Sequence[str], environ: Mapping[str, str]) -> Given:
    """What a command line and an environment say. Raises ConfigError where it is not clear what was meant."""
    end = list(tokens).index("--") if "--" in tokens else len(tokens)
    typed, rest = _parser().parse_known_args(list(map(_canonical, tokens[:end])))
    unknown = [token for token in rest if token.startswith("-") and len(token) > 1]
    if unknown:
        raise ConfigError([complaint for token in unknown for complaint in _unknown(token).complaints])
    arguments = [*rest, *tokens[end + 1 :]]
    if len(arguments) > 2:
        raise refused(
            "usage.arguments",
            f"there are {len(arguments)} arguments without an option: a topic and the place of its table are expected",
            "see `penstock ingest --help`",
        )
    for name, argument in zip(("topic", "table_location"), arguments, strict=False):
        getattr(typed, name).append(argument)
    said: dict[str, Said] = {}
    given = Given(said)
    for option in OPTIONS:
        found = given.attempt(partial(_said, option, getattr(typed, option.name), environ), None)
        if found is not None:
            said[option.name] = found
    return given


def _of(option: Option) -> str:
    """What an option counts."""
    return {"SECONDS": "seconds", "BYTES": "bytes"}.get(option.metavar, "a number")


def help_text() -> str:
    return _parser().format_help()


def _said(option: Option, typed: Sequence[str], environ: Mapping[str, str]) -> Said | None:
    said = Said(option.flag, tuple(typed)) if typed else _variable(option, environ)
    if said is None:
        return None
    if option.takes == "one" and len(said.texts) > 1:
        raise refused("usage.repeated", f"{said.by} is given more than once", "give it once")
    for text in said.texts:
        _check(text, said.by, references=option.name == "kafka_setting")
    return said


def _variable(option: Option, environ: Mapping[str, str]) -> Said | None:
    """What the environment says. A variable without content says nothing, but where that has a meaning."""
    for name in option.env:
        text = environ.get(name)
        if text is None or (text == "" and not option.empty_counts):
            continue
        if option.takes != "nothing":
            return Said(name, (text,))
        if text.lower() not in _TRUE | _FALSE:
            raise refused(
                "usage.truth", f"{name}: '{shown(text, 40)}' is neither true nor false", "write true or false"
            )
        return Said(name, ("true",)) if text.lower() in _TRUE else None
    return None


def _check(text: str, by: str, *, references: bool) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise refused("usage.not-text", f"{by}: this is not UTF-8 text", "write it in UTF-8") from None
    if "${" in text and not references:
        raise refused(
            "usage.reference",
            f"{by}: it holds '${{', which looks like a variable that nobody has replaced",
            "check how the command is started",
        )


def _unknown(token: str) -> ConfigError:
    """Without what was given for it: that may be a secret."""
    name = token.partition("=")[0] if token.startswith("--") else token[:2]
    near = difflib.get_close_matches(_underscored(name), [option.flag for option in OPTIONS], n=1, cutoff=0.6)
    remedy = f"did you mean '{near[0]}'?" if near else "see `penstock ingest --help`"
    return refused("usage.unknown-option", f"there is no option '{shown(name, 60)}'", remedy)


# --- the parser ----------------------------------------------------------------------------------


def _underscored(name: str) -> str:
    return "--" + name[2:].replace("-", "_")


_FLAGS = {_underscored(option.flag): option.flag for option in OPTIONS}


def _canonical(token: str) -> str:
    """A long option as the table spells it, whether it was written with dashes or underscores."""
    if not token.startswith("--"):
        return token
    name, equals, text = token.partition("=")
    return _FLAGS.get(_underscored(name), name) + equals + text


class _Help(argparse.HelpFormatter):
    """Options as `-k, --kafka HOSTS`, with room beside them."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        told = ", ".join(action.option_strings)
        return told if action.nargs == 0 else f"{told} {action.metavar}{' ...' if action.nargs else ''}"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise refused("usage.options", f"{message}", "see `penstock ingest --help`")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="penstock ingest",
        usage=USAGE,
        description=ABOUT,
        add_help=False,
        allow_abbrev=False,
        formatter_class=_Help,
    )
    groups = {group: parser.add_argument_group(group) for group in dict.fromkeys(o.group for o in OPTIONS)}
    for option in OPTIONS:
        names = [f"-{option.short}", option.flag] if option.short else [option.flag]
        told = f"{option.meaning}{_source(option)}".replace("%", "%%")
        if option.takes == "nothing":
            groups[option.group].add_argument(
                *names, dest=option.name, action="append_const", const="true", default=[], help=told
            )
        elif option.takes == "many":
            groups[option.group].add_argument(
                *names, dest=option.name, action="extend", nargs="+", default=[], metavar=option.metavar, help=told
            )
        else:
            groups[option.group].add_argument(
                *names, dest=option.name, action="append", default=[], metavar=option.metavar, help=told
            )
    return parser


def _source(option: Option) -> str:
    env = f" [env: {', '.join(option.env)}]" if option.env else ""
    return env + (f" [default: {option.default}]" if option.default is not None else "")
