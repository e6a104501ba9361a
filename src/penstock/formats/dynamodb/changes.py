"""What a DynamoDB table tells of its changes, in one form: whether it came through the table's own stream or
through Kinesis, which tells the same things in other places."""

from __future__ import annotations

import decimal
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.formats.dynamodb.attributes import item
from penstock.values.plain import Number, Refusal, integer, kind_of, shown

OPERATIONS = ("INSERT", "MODIFY", "REMOVE")

_TABLE = re.compile(r"arn:[\w-]+:dynamodb:[\w-]*:[\w-]*:table/([\w.-]{1,255})(?:/.*)?", re.ASCII)
_MICROSECONDS = {"SECOND": 1_000_000, "MILLISECOND": 1_000, "MICROSECOND": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MILLISECOND = 253_402_300_799_999  # of the year 9999


def change(document: dict[str, Any]) -> dict[str, Any]:
    """A change of one item as a plain value, or a `Refusal`:

    `operation` (INSERT, MODIFY or REMOVE), `table`, `keys`, the item as it is (`new`) and was (`old`), when it was
    `created`, its `sequence` number, the `id` and `size` of the record, the `region`, and the `user` if it was not an
    ordinary one (what expired is removed by `dynamodb.amazonaws.com`). What was not told is null."""
    told = document.get("dynamodb")
    if not isinstance(told, dict):
        raise _refused(f"there is no object 'dynamodb' in it: it is {kind_of(told)}")
    operation = _text(document, "eventName")
    if operation not in OPERATIONS:
        given = "no 'eventName'" if operation is None else f"{shown(operation)} as its 'eventName'"
        raise _refused(f"it has {given}: it must be one of {', '.join(OPERATIONS)}")
    if told.get("Keys") is None:
        raise _refused("it has no 'Keys' of the item that was changed")
    return {
        "operation": operation,
        "table": _table(document),
        "keys": item(told["Keys"], "dynamodb.Keys"),
        "new": _image(told, "NewImage"),
        "old": _image(told, "OldImage"),
        "created": _created(document, told),
        "sequence": _text(told, "SequenceNumber"),
        "id": _text(document, "eventID"),
        "size": _size(told),
        "region": _text(document, "awsRegion"),
        "user": _user(document),
    }


def _refused(why: str) -> Refusal:
    return Refusal("parse", "dynamodb.change", f"this is no change of a DynamoDB item: {why}")


def _text(within: dict[str, Any], name: str) -> str | None:
    value = within.get(name)
    if value is not None and (not isinstance(value, str) or isinstance(value, Number)):
        raise _refused(f"'{name}' is {kind_of(value)}, not a string")
    return value


def _table(document: dict[str, Any]) -> str | None:
    named, resource = _text(document, "tableName"), _text(document, "eventSourceARN")
    if named is not None or resource is None:
        return named
    found = _TABLE.fullmatch(resource)
    return found[1] if found else None


def _image(told: dict[str, Any], name: str) -> dict[str, Any] | None:
    return None if told.get(name) is None else item(told[name], f"dynamodb.{name}")


def _size(told: dict[str, Any]) -> Number | None:
    size = told.get("SizeBytes")
    if size is None:
        return None
    whole = integer(size) if isinstance(size, Number) else None
    if whole is None or not 0 <= whole < 2**63:
        raise _refused("'SizeBytes' is not a number of bytes")
    return Number(size)


def _user(document: dict[str, Any]) -> dict[str, Any] | None:
    """Its words begin with a small letter in Lambda's events and in Kinesis, and with a capital in the stream."""
    user = document.get("userIdentity")
    if user is None:
        return None
    if not isinstance(user, dict):
        raise _refused(f"'userIdentity' is {kind_of(user)}, not an object")
    return {
        "principal": _text(user, "principalId") or _text(user, "PrincipalId"),
        "type": _text(user, "type") or _text(user, "Type"),
    }


# --- when ----------------------------------------------------------------------------------------


def _created(document: dict[str, Any], told: dict[str, Any]) -> str | None:
    given = told.get("ApproximateCreationDateTime")
    if given is None:
        return None
    if not isinstance(given, Number) or len(given) > 40:
        raise _bad_time(f"is {kind_of(given)}, not a number of its kind")
    count = decimal.Decimal(given)
    if abs(count.adjusted()) > 30 and count:
        raise _bad_time("lies outside of the years 1 to 9999")
    with decimal.localcontext(prec=120):
        micros = (count * _MICROSECONDS[_precision(document, told, count)]).to_integral_value(decimal.ROUND_FLOOR)
    try:
        moment = _EPOCH + timedelta(microseconds=int(micros))
    except OverflowError:
        raise _bad_time("lies outside of the years 1 to 9999") from None
    return moment.isoformat().replace("+00:00", "Z")


def _precision(document: dict[str, Any], told: dict[str, Any], count: decimal.Decimal) -> str:
    """Streams count seconds. Kinesis counts milliseconds or microseconds; where it does not say which, the number
    itself does: as milliseconds, those microseconds would be after the year 9999."""
    said = _text(told, "ApproximateCreationDateTimePrecision")
    if said is None and not {"tableName", "recordFormat"} & document.keys():
        return "SECOND"
    if said is None:
        return "MILLISECOND" if count <= _LAST_MILLISECOND else "MICROSECOND"
    if said not in _MICROSECONDS:
        raise _bad_time(f"counts {shown(said)}, which is unknown")
    return said


def _bad_time(why: str) -> Refusal:
    return Refusal("parse", "dynamodb.time", f"'ApproximateCreationDateTime' {why}")
