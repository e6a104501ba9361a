"""Changes of DynamoDB items, from a table's stream and through Kinesis, in one form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formats.dynamodb.changes import change
from penstock.formats.json.reference import parse
from penstock.values.plain import Number, Refusal

ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders.v1/stream/2026-01-02T03:04:05.678"


def stream(**more: Any) -> dict[str, Any]:
    """A record of a table's own stream. Keys with two underscores are inside of `dynamodb`."""
    told = {
        "ApproximateCreationDateTime": 1700000000,
        "Keys": {"id": {"S": "1000"}},
        "NewImage": {"id": {"S": "1000"}, "qty": {"N": "2"}},
        "OldImage": {"id": {"S": "1000"}, "qty": {"N": "1"}},
        "SequenceNumber": "111100000000001234567890",
        "SizeBytes": 26,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    record = {
        "eventID": "c4ca4238",
        "eventName": "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "eu-west-1",
        "eventSourceARN": ARN,
    }
    return _changed(record, told, more)


def kinesis(**more: Any) -> dict[str, Any]:
    """A record as a table sends it to Kinesis."""
    told = {
        "ApproximateCreationDateTime": 1700000000123,
        "Keys": {"id": {"S": "1000"}},
        "NewImage": {"id": {"S": "1000"}},
        "SizeBytes": 8,
    }
    record = {
        "awsRegion": "eu-west-1",
        "eventID": "26cd8f4e",
        "eventName": "INSERT",
        "userIdentity": None,
        "recordFormat": "application/json",
        "tableName": "orders.v1",
        "eventSource": "aws:dynamodb",
    }
    return _changed(record, told, more)


def _changed(record: dict[str, Any], told: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    inside = {name[2:]: value for name, value in more.items() if name.startswith("__")}
    outside = {name: value for name, value in more.items() if not name.startswith("__")}
    return _without_gaps({**record, "dynamodb": _without_gaps({**told, **inside}), **outside})


def _without_gaps(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not ...}


def read(record: Any) -> dict[str, Any]:
    return change(parse(json.dumps(record).encode(), 2**20))


def refusal(record: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read(record)
    assert caught.value.stage == "parse"
    return caught.value


# --- what it means -------------------------------------------------------------------------------


def test_record_of_a_stream_is_a_change() -> None:
    found = read(stream())

    assert found == {
        "operation": "MODIFY",
        "table": "orders.v1",
        "keys": {"id": "1000"},
        "new": {"id": "1000", "qty": "2"},
        "old": {"id": "1000", "qty": "1"},
        "created": "2023-11-14T22:13:20Z",
        "sequence": "111100000000001234567890",
        "id": "c4ca4238",
        "size": "26",
        "region": "eu-west-1",
        "user": None,
    }
    assert isinstance(found["size"], Number)
    assert not isinstance(found["sequence"], Number)


def test_record_through_kinesis_is_the_same_change() -> None:
    assert read(kinesis()) == {
        "operation": "INSERT",
        "table": "orders.v1",
        "keys": {"id": "1000"},
        "new": {"id": "1000"},
        "old": None,
        "created": "2023-11-14T22:13:20.123000Z",
        "sequence": None,
        "id": "26cd8f4e",
        "size": "8",
        "region": "eu-west-1",
        "user": None,
    }


def test_item_that_expired_is_told_by_its_user() -> None:
    expired = {"principal": "dynamodb.amazonaws.com", "type": "Service"}
    for user in (
        {"principalId": "dynamodb.amazonaws.com", "type": "Service"},
        {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"},
    ):
        found = read(stream(eventName="REMOVE", __NewImage=..., userIdentity=user))
        assert (found["operation"], found["new"], found["user"]) == ("REMOVE", None, expired)
        assert found["old"] == {"id": "1000", "qty": "1"}


def test_keys_alone_are_a_change() -> None:
    found = read(stream(__NewImage=..., __OldImage=None, __SequenceNumber=..., __SizeBytes=..., eventSourceARN=...))

    assert found["keys"] == {"id": "1000"}
    assert [found[name] for name in ("new", "old", "sequence", "size", "table")] == [None] * 5


@pytest.mark.parametrize(
    ("record", "created"),
    [
        (stream(__ApproximateCreationDateTime=1.7e9), "2023-11-14T22:13:20Z"),
        (stream(__ApproximateCreationDateTime=1700000000.25), "2023-11-14T22:13:20.250000Z"),
        (stream(__ApproximateCreationDateTime=-0.0000001), "1969-12-31T23:59:59.999999Z"),
        (stream(__ApproximateCreationDateTime=0), "1970-01-01T00:00:00Z"),
        (stream(__ApproximateCreationDateTime=...), None),
        (stream(__ApproximateCreationDateTime=None), None),
        (kinesis(__ApproximateCreationDateTimePrecision="MILLISECOND"), "2023-11-14T22:13:20.123000Z"),
        (
            kinesis(
                __ApproximateCreationDateTime=1700000000123456, __ApproximateCreationDateTimePrecision="MICROSECOND"
            ),
            "2023-11-14T22:13:20.123456Z",
        ),
        (kinesis(__ApproximateCreationDateTime=1700000000123456), "2023-11-14T22:13:20.123456Z"),
        (
            kinesis(__ApproximateCreationDateTime=5, __ApproximateCreationDateTimePrecision="MICROSECOND"),
            "1970-01-01T00:00:00.000005Z",
        ),
        (kinesis(tableName=...), "2023-11-14T22:13:20.123000Z"),
    ],
)
def test_time_is_counted_as_its_way_counts_it(record: Any, created: str | None) -> None:
    assert read(record)["created"] == created


@pytest.mark.parametrize("arn", ["", "x", "arn:aws:kinesis:eu-west-1:1:stream/orders", "arn:aws:dynamodb:e:1:table/"])
def test_table_that_is_not_named_is_null(arn: str) -> None:
    assert read(stream(eventSourceARN=arn))["table"] is None


@given(st.integers(-(10**20), 10**20), st.sampled_from(["SECOND", "MILLISECOND", "MICROSECOND", None]))
def test_any_time_is_a_time_or_a_refusal(count: int, precision: str | None) -> None:
    record = stream(__ApproximateCreationDateTime=count, __ApproximateCreationDateTimePrecision=precision)
    try:
        created = read(record)["created"]
    except Refusal as why:
        code = why.code
    else:
        assert created.endswith("Z")
        return
    assert code == "dynamodb.time"


# --- what is refused -----------------------------------------------------------------------------

IN_DETAIL: dict[str, tuple[Any, str, str]] = {
    "an empty object": ({}, "dynamodb.change", "no object 'dynamodb' in it: it is null"),
    "an item": ({"id": {"S": "1"}}, "dynamodb.change", "no object 'dynamodb'"),
    "a list of records": ({"Records": [stream()]}, "dynamodb.change", "no object 'dynamodb'"),
    "dynamodb as text": (stream(dynamodb="x"), "dynamodb.change", "it is a string"),
    "dynamodb as an array": (stream(dynamodb=[]), "dynamodb.change", "it is an array"),
    "dynamodb that is empty": (stream(dynamodb={}), "dynamodb.change", "no 'Keys'"),
    "no operation": (stream(eventName=...), "dynamodb.change", "no 'eventName'"),
    "an unknown operation": (stream(eventName="TRUNCATE"), "dynamodb.change", '"TRUNCATE"'),
    "an operation in small letters": (stream(eventName="insert"), "dynamodb.change", '"insert"'),
    "an operation that is a number": (stream(eventName=1), "dynamodb.change", "'eventName' is a number"),
    "an operation that is an object": (stream(eventName={}), "dynamodb.change", "'eventName' is an object"),
    "no keys": (stream(__Keys=...), "dynamodb.change", "no 'Keys'"),
    "keys that are null": (stream(__Keys=None), "dynamodb.change", "no 'Keys'"),
    "keys that are text": (stream(__Keys="1000"), "dynamodb.attribute", "dynamodb.Keys: "),
    "keys without types": (stream(__Keys={"id": "1000"}), "dynamodb.attribute", "dynamodb.Keys.id: "),
    "a bad new image": (stream(__NewImage={"a": {"N": "x"}}), "dynamodb.attribute", "dynamodb.NewImage.a: "),
    "a new image that is false": (stream(__NewImage=False), "dynamodb.attribute", "dynamodb.NewImage: "),
    "a new image that is a list": (stream(__NewImage=[]), "dynamodb.attribute", "dynamodb.NewImage: "),
    "a bad old image": (stream(__OldImage={"a": {}}), "dynamodb.attribute", "dynamodb.OldImage.a: "),
    "a sequence that is a number": (stream(__SequenceNumber=1), "dynamodb.change", "'SequenceNumber'"),
    "an id that is a number": (stream(eventID=1), "dynamodb.change", "'eventID'"),
    "a region that is a list": (stream(awsRegion=[]), "dynamodb.change", "'awsRegion'"),
    "a table that is a number": (kinesis(tableName=1), "dynamodb.change", "'tableName'"),
    "an ARN that is an object": (stream(eventSourceARN={}), "dynamodb.change", "'eventSourceARN'"),
    "a user that is text": (stream(userIdentity="me"), "dynamodb.change", "'userIdentity' is a string"),
    "a user that is a number": (stream(userIdentity={"type": 1}), "dynamodb.change", "'type' is a number"),
    "a size that is text": (stream(__SizeBytes="26"), "dynamodb.change", "'SizeBytes'"),
    "a size with a fraction": (stream(__SizeBytes=2.5), "dynamodb.change", "'SizeBytes'"),
    "a size with an exponent": (stream(__SizeBytes=1e30), "dynamodb.change", "'SizeBytes'"),
    "a size below zero": (stream(__SizeBytes=-1), "dynamodb.change", "'SizeBytes'"),
    "a size that is true": (stream(__SizeBytes=True), "dynamodb.change", "'SizeBytes'"),
    "a time that is text": (stream(__ApproximateCreationDateTime="2026-01-01"), "dynamodb.time", "is a string"),
    "a time that is true": (stream(__ApproximateCreationDateTime=True), "dynamodb.time", "is a boolean"),
    "a time after all": (stream(__ApproximateCreationDateTime=1e300), "dynamodb.time", "outside of the years"),
    "a time before all": (stream(__ApproximateCreationDateTime=-(10**12)), "dynamodb.time", "outside of the years"),
    "milliseconds in a stream": (stream(__ApproximateCreationDateTime=1700000000000), "dynamodb.time", "outside"),
    "a time of many digits": (stream(__ApproximateCreationDateTime=10**300), "dynamodb.time", "a number"),
    "an unknown precision": (
        kinesis(__ApproximateCreationDateTimePrecision="DAY"),
        "dynamodb.time",
        'counts "DAY", which is unknown',
    ),
    "a precision that is a number": (kinesis(__ApproximateCreationDateTimePrecision=6), "dynamodb.change", "Precision"),
}


@pytest.mark.parametrize("name", IN_DETAIL)
def test_record_that_is_no_change_is_refused(name: str) -> None:
    record, code, part = IN_DETAIL[name]
    why = refusal(record)

    assert why.code == code
    assert part in why.text


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
PARTS = [*kinesis(), *stream(), *(f"__{name}" for name in {**stream()["dynamodb"], **kinesis()["dynamodb"]})]


@given(st.dictionaries(st.sampled_from([*PARTS, "__ApproximateCreationDateTimePrecision"]), anything, max_size=2))
def test_any_part_may_be_anything(parts: dict[str, Any]) -> None:
    for record in (stream(**parts), kinesis(**parts)):
        try:
            found = read(record)
        except Refusal as why:
            code = why.code
        else:
            assert found["operation"]
            continue
        assert code in ("dynamodb.change", "dynamodb.attribute", "dynamodb.time", "json.surrogate")
