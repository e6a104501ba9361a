"""Two paths, one meaning: whatever the messages and the rules, the fast path says of a row what the
reference path says, or declines it; and it does not decline what comes every day."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.contracts import Shape
from penstock.transforms import functions
from penstock.transforms.expressions import Declines
from penstock.transforms.program import compiled
from penstock.transforms.reference import apply
from penstock.transforms.rules import rules
from penstock.values.fit import fit
from penstock.values.plain import Refusal
from tests.formats.json.generated import bounded
from tests.transforms.generated import DIGITS, Case, case, together

RANDOMS = st.randoms(use_true_random=True)


@pytest.fixture(autouse=True, scope="module")
def _time_stands_still() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functions, "clock", lambda: 1626823098.5)
        yield


def agree(it: Case, nulls: Literal["remove", "keep"] = "remove") -> tuple[int, int] | None:
    """How many rows there were and how many were not declined; None if the rules were."""
    made = rules(it.transforms, nulls)
    try:
        program = compiled(made, it.schema)
    except Declines:
        return None
    abouts, about = it.about()
    rows, schema, declined = program.apply(it.rows(), about)
    assert rows.num_rows == len(declined) == len(it.messages)
    rows.validate(full=True)
    found = rows.to_pylist() if schema.fields else [{} for _ in it.messages]
    for at, message in enumerate(it.messages):
        if declined[at]:
            continue
        place = f"\n{it.transforms}\n{message}\n{it.schema}"
        try:
            # fitted into the program's own columns: nothing may be left over, nothing may misfit
            wanted = fit(apply(made, message, abouts[at]), Shape(schema, "add"))
        except Refusal as refusal:
            raise AssertionError(f"{refusal}{place}") from refusal
        assert found[at] == wanted, place
    return len(declined), int((~declined).sum())


@bounded(400)
@given(RANDOMS)
def test_fast_path_agrees_with_the_reference_path(random: Random) -> None:
    agree(case(random))


@bounded(150)
@given(RANDOMS)
def test_it_does_so_where_nulls_leave_the_target_as_it_is(random: Random) -> None:
    agree(case(random), "keep")


@bounded(100)
@given(RANDOMS)
def test_it_does_so_for_ordinary_messages(random: Random) -> None:
    agree(case(random, odd=False))


def test_generated_rules_are_not_all_declined() -> None:
    """Otherwise the tests above would say nothing."""
    found = [agree(case(Random(seed))) for seed in range(150)]
    done = [counts for counts in found if counts]

    assert len(done) > 50
    assert sum(kept for _, kept in done) > sum(count for count, _ in done) / 2


@pytest.mark.parametrize("text", DIGITS)
@pytest.mark.parametrize("neighbour", ["7", "1.5", "x"])
def test_text_that_may_be_a_number_is_read_alike(text: str, neighbour: str) -> None:
    messages = [{"t": text}, {"t": neighbour}]
    counts = agree(Case(messages, {"n": "to_number(t)", "s": "to_string(to_number(t))"}, together(messages)))

    assert counts is not None
    assert counts[0] == 2
