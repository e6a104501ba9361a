"""Wishes are there until they are done, one for each type, whoever else wishes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock.storage import Storage
from penstock.wishes import WISHES, Sign, Wishes


@pytest.fixture
def wishes(tmp_path: Path) -> Wishes:
    return Wishes(Storage(str(tmp_path)))


@pytest.mark.parametrize("type", ["order", "a/b", "..", "_x", "é", "a.json", "@2F"])
def test_wish_is_found_by_its_type_until_it_is_dropped(type: str, wishes: Wishes) -> None:
    assert (list(wishes), wishes.get(type)) == ([], None)

    made = wishes.make(type, 7)

    assert (list(wishes), wishes.get(type), made.type, made.after) == ([made], made, type, 7)
    wishes.drop(type)
    wishes.drop(type)
    assert list(wishes) == []


def test_many_who_wish_for_one_type_share_one_wish(wishes: Wishes) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = set(threads.map(lambda after: wishes.make("order", after), range(8)))

    assert len(made) == 1


def test_refused_wish_says_why_until_it_is_made_anew(wishes: Wishes) -> None:
    made = wishes.make("order", 1)

    wishes.refuse(made, "no room")

    assert [wish.refused for wish in wishes] == ["no room"]
    assert wishes.make("order", 2).after == 2
    assert [wish.refused for wish in wishes] == [""]


def test_what_is_no_wish_is_passed_over(wishes: Wishes, tmp_path: Path) -> None:
    made = wishes.make("order", 1)
    for name, text in (("broken.json", "{"), ("other.json", '{"type": "", "after": 1}'), ("order.json~", "x")):
        (tmp_path / WISHES / name).write_text(text)

    assert list(wishes) == [made]


def test_sign_changes_as_long_as_somebody_is_at_work(wishes: Wishes) -> None:
    seen = [wishes.sign()]
    for beat in (1, 2):
        wishes.give_sign(Sign("somebody", beat))
        seen.append(wishes.sign())

    assert (seen[0], len(set(seen))) == (None, 3)
