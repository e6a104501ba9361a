"""Ids that the registry does not know: not yet, or never."""

from __future__ import annotations

import json
import time

import pytest

from penstock.errors import Transient
from penstock.registries import Registered, shelf
from penstock.registries.confluent import ConfluentRegistry
from penstock.registries.shelf import Shelf, forget
from penstock.values.plain import Refusal
from tests.registries.hostile import Small
from tests.registries.shelves import copy_of, marker_of

DOWN = "status 503"


def let_grace_pass(kept: Shelf, registry: ConfluentRegistry, id: int) -> None:
    marker_of(kept, registry, id).write_text(json.dumps({"since": time.time() - kept.grace - 1}))
    forget()


def test_an_unknown_id_is_waited_for_and_then_refused(kept: Shelf, registry: ConfluentRegistry) -> None:
    for _ in range(2):
        with pytest.raises(Transient, match="id 9") as told:
            kept.find(registry, 9)
        assert told.value.code == "schema.unconfirmed"
        forget()
    let_grace_pass(kept, registry, 9)

    with pytest.raises(Refusal) as refused:
        kept.find(registry, 9)
    assert (refused.value.stage, refused.value.code) == ("parse", "schema.unknown-id")
    assert "9" in refused.value.text


def test_grace_counts_from_the_first_time_for_every_worker(kept: Shelf, registry: ConfluentRegistry) -> None:
    with pytest.raises(Transient):
        kept.find(registry, 9)
    first = marker_of(kept, registry, 9).read_bytes()
    forget()
    with pytest.raises(Transient):
        kept.find(registry, 9)

    assert marker_of(kept, registry, 9).read_bytes() == first


def test_an_id_is_not_asked_for_again_at_once(kept: Shelf, registry: ConfluentRegistry, server: Small) -> None:
    for _ in range(3):
        with pytest.raises(Transient):
            kept.find(registry, 9)

    assert len(server.asked) == 1


def test_a_schema_that_appears_later_is_found(kept: Shelf, registry: ConfluentRegistry, server: Small) -> None:
    with pytest.raises(Transient):
        kept.find(registry, 9)
    let_grace_pass(kept, registry, 9)
    with pytest.raises(Refusal):
        kept.find(registry, 9)
    server.holds(9, '"late"')
    forget()

    assert kept.find(registry, 9).text == '"late"'
    assert not marker_of(kept, registry, 9).exists()


def test_what_was_unknown_is_forgotten_after_some_seconds(
    kept: Shelf, registry: ConfluentRegistry, server: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "FORGET_AFTER", 0.0)
    with pytest.raises(Transient):
        kept.find(registry, 9)
    server.holds(9, '"late"')

    assert kept.find(registry, 9).text == '"late"'


def test_an_outage_is_no_confirmation(kept: Shelf, registry: ConfluentRegistry, server: Small) -> None:
    with pytest.raises(Transient):
        kept.find(registry, 9)
    let_grace_pass(kept, registry, 9)
    server.fault = DOWN

    with pytest.raises(Transient, match="503"):
        kept.find(registry, 9)


@pytest.mark.parametrize("damaged", [b"", b"{", b'{"since": "x"}', b'{"since": 1e300}', b'{"since": null}', b"[]"])
def test_a_damaged_marker_begins_anew(kept: Shelf, registry: ConfluentRegistry, damaged: bytes) -> None:
    with pytest.raises(Transient):
        kept.find(registry, 9)
    marker_of(kept, registry, 9).write_bytes(damaged)
    forget()

    with pytest.raises(Transient):
        kept.find(registry, 9)
    assert json.loads(marker_of(kept, registry, 9).read_bytes())["since"] <= time.time()


def test_many_unknown_ids_wait_together(kept: Shelf, registry: ConfluentRegistry) -> None:
    with pytest.raises(Transient):
        kept.find_all(registry, [7, 9, 10])
    for id in (9, 10):
        assert marker_of(kept, registry, id).exists()
        let_grace_pass(kept, registry, id)
    found = kept.find_all(registry, [7, 9, 10])

    assert isinstance(found[7], Registered)
    assert [getattr(found[id], "code", None) for id in (9, 10)] == ["schema.unknown-id"] * 2


def test_nothing_more_is_asked_of_a_registry_that_is_away(
    kept: Shelf, registry: ConfluentRegistry, server: Small
) -> None:
    server.fault = DOWN
    with pytest.raises(Transient, match="503"):
        kept.find_all(registry, range(100))

    assert len(server.asked) == 1


def test_made_up_ids_do_not_fill_the_place(
    kept: Shelf, registry: ConfluentRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "MAX_MARKERS", 3)
    for id in range(100, 103):
        with pytest.raises(Transient):
            kept.find(registry, id)
    with pytest.raises(Refusal, match="id 103"):
        kept.find(registry, 103)

    assert len(list(marker_of(kept, registry, 1).parent.iterdir())) == 3


def test_a_schema_that_cannot_be_used_is_refused_and_not_kept(
    kept: Shelf, registry: ConfluentRegistry, server: Small
) -> None:
    server.holds(8, "x", "THRIFT")
    for _ in range(2):
        with pytest.raises(Refusal, match="THRIFT"):
            kept.find(registry, 8)

    assert not copy_of(kept, registry, 8).exists()
    assert len(server.asked) == 1
