"""Which types are wanted, and which may get a table."""

from __future__ import annotations

import pytest

from penstock.contracts import Shapes
from penstock.errors import Transient
from penstock.formats.admission import MAX_TYPE_NAME, UNROUTED, Admission
from penstock.route import Unrouted
from penstock.values.plain import Refusal

KNOWN = frozenset({"order"})


def _refused(shapes: Shapes, name: str) -> Refusal:
    with pytest.raises(Refusal) as refused:
        Admission(shapes).admit(name)
    return refused.value


def test_types_without_a_match_are_not_wanted() -> None:
    admission = Admission(Shapes({}, allow="^(order|page)"))

    assert [admission.wants(name) for name in ("order", "page.v2", "border", "")] == [True, True, False, False]


def test_without_a_pattern_every_type_is_wanted_and_may_get_a_table() -> None:
    admission = Admission(Shapes({}))

    assert admission.wants("anything")
    admission.admit("anything")


@pytest.mark.parametrize(("unrouted", "stage"), [("keep", UNROUTED), ("dead-letter", "identify")])
def test_type_that_nobody_declared_is_refused_where_the_route_says_so(unrouted: Unrouted, stage: str) -> None:
    shapes = Shapes({}, unrouted=unrouted, routed=KNOWN)

    assert Admission(shapes).wants("page")
    refused = _refused(shapes, "page")
    assert (refused.stage, refused.code) == (stage, "type.unrouted")
    Admission(shapes).admit("order")


def test_type_without_a_name_is_not_kept_under_it() -> None:
    assert _refused(Shapes({}, unrouted="keep"), "").stage == "identify"


def test_type_that_nobody_declared_is_not_wanted_where_the_route_filters() -> None:
    admission = Admission(Shapes({}, unrouted="filter", routed=KNOWN))

    assert admission.wants("order")
    assert not admission.wants("page")


def test_type_that_a_registry_may_know_waits_while_it_is_away() -> None:
    admission = Admission(Shapes({}, unrouted="wait", routed=KNOWN))

    admission.admit("order")
    assert admission.wants("page")
    with pytest.raises(Transient, match="'page'") as away:
        admission.admit("page")
    assert away.value.code == "registry.away"


def test_long_name_is_refused_whatever_the_route_says_and_does_not_wait() -> None:
    for unrouted in ("create", "keep", "wait"):
        refused = _refused(Shapes({}, unrouted=unrouted), "x" * (MAX_TYPE_NAME + 1))
        assert refused.code == "type.name"


def test_there_is_room_for_so_many_types_and_those_that_are_in_stay_in() -> None:
    admission = Admission(Shapes({}, room=2))
    for name in ("a", "b", "a", "b"):
        admission.admit(name)

    with pytest.raises(Refusal) as refused:
        admission.admit("c")

    assert refused.value.code == "type.limit"
    admission.admit("a")
