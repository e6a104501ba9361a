"""Messages that begin with the id of a registry's schema: which schema, which decoder, which type."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.contracts import Home
from penstock.errors import Transient
from penstock.formats import registered
from penstock.formats.avro.decoder import AvroDecoder
from penstock.formats.registered import RegisteredSchemas, RegistryFraming, kept, subject
from penstock.registries import Registered
from penstock.registries.confluent import ConfluentRegistry
from penstock.registries.shelf import forget
from penstock.values.plain import Refusal
from tests.formats.runs import run
from tests.registries.hostile import Small, small

ORDER = '{"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "n", "type": "long"}]}'


@pytest.fixture
def server() -> Iterator[Small]:
    forget()
    with small() as running:
        running.holds(1, ORDER, subject="orders-value")
        running.holds(2, '{"type": "object"}', "JSON")
        running.holds(3, '{"type": "nonsense"}')
        yield running


def _framing(registry: ConfluentRegistry, folder: Path) -> RegistryFraming:
    return RegistryFraming(RegisteredSchemas("AVRO", registry, Home(str(folder))), _decoder)


@pytest.fixture
def registry(server: Small) -> ConfluentRegistry:
    return ConfluentRegistry(url=server.url, timeout=5.0, grace=0.0)


@pytest.fixture
def framing(registry: ConfluentRegistry, tmp_path: Path) -> RegistryFraming:
    return _framing(registry, tmp_path)


def _decoder(schema: Registered) -> AvroDecoder:
    return AvroDecoder(schema.text)


def _value(id: int, body: bytes = b"\x02") -> bytes:
    return struct.pack(">bI", 0, id) + body


def _refused(framing: RegistryFraming, id: int) -> Refusal:
    framing.framed(run([_value(id)]))
    with pytest.raises(Refusal) as refused:
        framing.decoder(id)
    return refused.value


def test_message_is_decoded_with_the_schema_that_its_id_means(framing: RegistryFraming) -> None:
    framed = framing.framed(run([_value(1), _value(1, b"\x04")]))

    decoder = framing.decoder(framed.keys[0])

    assert [decoder.plain(body.as_py()) for body in framed.bodies] == [{"n": "1"}, {"n": "2"}]


def test_parts_of_a_schema_are_its_record_its_subject_and_its_id(framing: RegistryFraming) -> None:
    framing.framed(run([_value(1)]))

    assert [framing.part(1, name) for name in ("record", "subject", "schema")] == ["Order", "orders-value", "1"]


def test_schema_of_another_kind_is_refused(framing: RegistryFraming) -> None:
    assert _refused(framing, 2).code == "schema.kind"


def test_schema_that_cannot_be_used_is_refused(framing: RegistryFraming) -> None:
    why = _refused(framing, 3)

    assert (why.stage, why.code) == ("parse", "schema.unusable")


def test_unknown_id_waits_for_its_grace(framing: RegistryFraming, server: Small, tmp_path: Path) -> None:
    patient = ConfluentRegistry(url=server.url, timeout=5.0, grace=3_600.0)

    with pytest.raises(Transient, match="id 9"):
        _framing(patient, tmp_path).framed(run([_value(9)]))


def test_unknown_id_is_refused_after_its_grace_with_the_id(framing: RegistryFraming) -> None:
    why = _refused(framing, 9)

    assert (why.stage, why.code, "9" in why.text) == ("parse", "schema.unknown-id", True)


def test_registry_is_asked_once_for_each_id(framing: RegistryFraming, server: Small) -> None:
    for _ in range(3):
        framing.framed(run([_value(1), _value(2)] * 100))

    assert len(server.asked) == len(set(server.asked))


def test_decoder_is_made_once(framing: RegistryFraming, registry: ConfluentRegistry, tmp_path: Path) -> None:
    framing.framed(run([_value(1)]))
    first = framing.decoder(1)
    again = _framing(registry, tmp_path)
    again.framed(run([_value(1)]))

    assert again.decoder(1) is first


def test_number_of_decoders_that_are_kept_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "_decoders", type(registered._decoders)())
    monkeypatch.setattr(registered, "MAX_DECODERS", 2)
    first = kept("a", lambda: AvroDecoder(ORDER))
    kept("b", lambda: AvroDecoder(ORDER))
    assert kept("a", lambda: AvroDecoder(ORDER)) is first

    kept("c", lambda: AvroDecoder(ORDER))  # the one that was not used for longest goes: b

    assert list(registered._decoders) == ["a", "c"]


def test_message_without_an_id_asks_nobody(framing: RegistryFraming, server: Small) -> None:
    framed = framing.framed(run([json.dumps({"n": 1}).encode()]))

    assert [why.code for why in framed.refused.values()] == ["schema.no-id"]
    assert server.asked == []


@pytest.mark.parametrize(
    ("subjects", "expected"),
    [
        (("a-value", "t-value"), "t-value"),
        (("a", "t", "t-value"), "t"),
        (("b", "c"), "b"),
        (("tt-value", "u"), "tt-value"),
    ],
)
def test_of_several_subjects_the_one_named_for_the_topic_counts(subjects: tuple[str, ...], expected: str) -> None:
    assert subject(Registered(1, "AVRO", ORDER, subjects=subjects), "t") == expected


def test_schema_without_a_subject_has_no_type() -> None:
    with pytest.raises(Refusal) as refused:
        subject(Registered(1, "AVRO", ORDER), "t")

    assert (refused.value.stage, refused.value.code) == ("identify", "type.missing")
