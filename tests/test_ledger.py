"""The numbered log: one winner per number, unknown outcomes settled by reading, numbers never freed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.errors import FENCED, Fenced, PenstockError, Unavailable
from penstock.ledger import Ledger
from penstock.protocol.entry import Entry, Known, encode
from penstock.storage import Storage
from tests.entries import batch, claim, portion


class Flaky(Storage):
    """Real storage behind a bad line: `troubles` says what befalls each `create` in turn."""

    def __init__(self, location: str, *troubles: str, failing_reads: int = 0) -> None:
        super().__init__(location)
        self._troubles, self._failing_reads = list(troubles), failing_reads
        self._delayed: tuple[str, bytes] | None = None

    def create(self, path: str, content: bytes) -> bool:
        if self._delayed is not None:
            super().create(*self._delayed)
            self._delayed = None
        trouble = self._troubles.pop(0) if self._troubles else ""
        if trouble == "reply lost":
            super().create(path, content)
        if trouble == "delayed":
            self._delayed = path, content
        if trouble:
            raise Unavailable("test.trouble", trouble)
        return super().create(path, content)

    def get(self, path: str) -> bytes | None:
        if self._failing_reads:
            self._failing_reads -= 1
            raise Unavailable("test.trouble", "read failed")
        return super().get(path)


class Pauses:
    """Counts how often the ledger had to wait."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def never() -> None:
    raise AssertionError("nothing to wait for")


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(str(tmp_path))


def filled(storage: Storage, *entries: Entry) -> Ledger:
    ledger = Ledger(storage)
    for entry in entries:
        ledger.decide(entry, never)
    return ledger


# --- deciding ------------------------------------------------------------------------------------


def test_decided_entry_is_read_back_whole(storage: Storage) -> None:
    ledger = filled(storage, claim(1), batch(2))
    assert ledger.get(2) == batch(2)
    assert ledger.entry(1) == claim(1)
    assert ledger.get(3) is None
    assert ledger.numbers() == [1, 2]


def test_number_taken_by_another_instance_fences(storage: Storage) -> None:
    filled(storage, claim(1, id="theirs", instance="rival"))
    with pytest.raises(Fenced) as fenced:
        Ledger(storage).decide(claim(1, id="ours", instance="me"), never)
    assert fenced.value.exit_status == FENCED
    assert "rival" in fenced.value.what
    assert "entry 1" in fenced.value.what
    assert Ledger(storage).entry(1).id == "theirs"


def test_other_entry_of_the_same_instance_fences_too(storage: Storage) -> None:
    filled(storage, claim(1, id="one"))
    with pytest.raises(Fenced):
        Ledger(storage).decide(claim(1, id="another"), never)


@pytest.mark.parametrize("trouble", ["request lost", "reply lost", "delayed"])
def test_unknown_outcome_is_settled_by_reading(tmp_path: Path, trouble: str) -> None:
    pauses = Pauses()
    ledger = Ledger(Flaky(str(tmp_path), trouble))
    ledger.decide(batch(1), pauses)
    assert ledger.entry(1) == batch(1)
    assert ledger.numbers() == [1]
    assert pauses.count == 1


def test_storage_that_is_away_for_long_is_waited_for(tmp_path: Path) -> None:
    pauses = Pauses()
    ledger = Ledger(Flaky(str(tmp_path), *["request lost"] * 5, failing_reads=3))
    ledger.decide(batch(1), pauses)
    assert ledger.entry(1) == batch(1)
    assert pauses.count == 8


def test_lost_request_and_a_quicker_rival_fence(tmp_path: Path) -> None:
    def rival_decides() -> None:
        filled(Storage(str(tmp_path)), batch(1, id="theirs", instance="rival"))

    ledger = Ledger(Flaky(str(tmp_path), "request lost"))
    with pytest.raises(Fenced, match="rival"):
        ledger.decide(batch(1, id="ours"), rival_decides)


def test_who_may_not_wait_any_longer_is_heard(tmp_path: Path) -> None:
    def fenced_meanwhile() -> None:
        raise Fenced("app.fenced", "while it waited")

    with pytest.raises(Fenced, match="while it waited"):
        Ledger(Flaky(str(tmp_path), "request lost")).decide(batch(1), fenced_meanwhile)


# --- the head ------------------------------------------------------------------------------------


def test_ledger_that_was_never_written_has_no_head(storage: Storage) -> None:
    assert Ledger(storage).head() is None
    assert Ledger(storage).numbers() == []


@pytest.mark.parametrize("hint", [None, 1, 2, 3])
def test_head_is_the_newest_entry_whatever_the_hint_says(storage: Storage, hint: int | None) -> None:
    ledger = filled(storage, claim(1), batch(2), batch(3))
    if hint is not None:
        ledger.note(hint, Known())
    assert Ledger(storage).head() == batch(3)


def test_head_needs_nothing_older_than_the_hint(storage: Storage, tmp_path: Path) -> None:
    filled(storage, claim(1), batch(2), batch(3)).note(2, Known())
    (tmp_path / "ledger" / f"{1:020d}.json").write_bytes(b"unreadable")
    assert Ledger(storage).head() == batch(3)


def test_hint_tells_the_next_start_what_was_known_of_the_tables(storage: Storage) -> None:
    known = Known(ids={"order": "id-1"}, carried={"order": 2})
    filled(storage, claim(1), batch(2)).note(2, known)
    again = Ledger(storage)
    assert again.hint.known == Known()
    assert again.head() == batch(2)
    assert again.hint.known == known


def test_hint_of_an_older_release_is_readable(storage: Storage) -> None:
    filled(storage, claim(1), batch(2))
    storage.put("hint.json", b'{"number": 1}')
    assert Ledger(storage).head() == batch(2)


def test_entries_are_listed_in_order_of_their_numbers(storage: Storage) -> None:
    ledger = filled(storage, *(claim(number) for number in (1, 2, 9, 10, 11, 100)))
    assert ledger.numbers() == [1, 2, 9, 10, 11, 100]
    assert ledger.numbers(after=9) == [10, 11, 100]
    assert ledger.head() == claim(100)


def test_entry_is_a_file_that_people_can_read(storage: Storage, tmp_path: Path) -> None:
    filled(storage, claim(42))
    lines = (tmp_path / "ledger" / "00000000000000000042.json").read_text().splitlines()
    assert ' "number": 42,' in lines


# --- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", ["head", "entry"])
def test_entry_that_vanished_stops_everything(storage: Storage, tmp_path: Path, act: str) -> None:
    filled(storage, claim(1), batch(2)).note(2, Known())
    (tmp_path / "ledger" / f"{2:020d}.json").unlink()
    calls: dict[str, Callable[[], object]] = {"head": Ledger(storage).head, "entry": lambda: Ledger(storage).entry(2)}
    with pytest.raises(PenstockError) as damage:
        calls[act]()
    assert damage.value.code == "ledger.damaged"
    assert f"entry 2 of the ledger at {tmp_path}" in damage.value.what
    assert "newest copy" in damage.value.remedy


def test_entry_that_is_cut_off_is_named_and_stops_everything(storage: Storage, tmp_path: Path) -> None:
    filled(storage, claim(1), batch(2))
    path = tmp_path / "ledger" / f"{2:020d}.json"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(PenstockError, match=r"entry 2 .* cannot be read") as damage:
        Ledger(storage).head()
    assert damage.value.code == "ledger.damaged"


def test_damaged_hint_is_as_good_as_none(storage: Storage, tmp_path: Path) -> None:
    filled(storage, claim(1), batch(2)).note(2, Known())
    (tmp_path / "hint.json").write_text('{"num')
    assert Ledger(storage).head() == batch(2)


# --- stripping -----------------------------------------------------------------------------------


def strippable(storage: Storage) -> Ledger:
    """A claim and four batches with their side files."""
    ledger = filled(storage, claim(1), *(batch(number) for number in range(2, 6)))
    for number in range(2, 6):
        storage.put(f"routing/{number}.parquet", b"side file")
    return ledger


def test_stripped_entries_are_emptied_and_keep_their_numbers(storage: Storage) -> None:
    ledger = strippable(storage)
    assert ledger.strip(upto=4, may_go=lambda _: True) == 3
    assert ledger.numbers() == [1, 2, 3, 4, 5]
    assert [ledger.entry(number).stripped for number in ledger.numbers()] == [False, True, True, False, False]
    emptied = ledger.entry(3)
    assert emptied.tables == {"order": portion(previous=2, files=None)}
    assert (emptied.id, emptied.ranges, emptied.counts) == (batch(3).id, batch(3).ranges, batch(3).counts)
    assert ledger.entry(4) == batch(4)
    assert storage.names("routing") == ["4.parquet", "5.parquet"]


def test_stripping_stops_at_the_first_entry_that_must_stay(storage: Storage) -> None:
    ledger = strippable(storage)
    assert ledger.strip(upto=6, may_go=lambda entry: entry.number != 3) == 2
    assert [ledger.entry(number).stripped for number in range(1, 6)] == [False, True, False, False, False]
    assert ledger.entry(3) == batch(3)


def test_stripping_does_so_much_at_a_time_and_goes_on_where_it_stopped(storage: Storage) -> None:
    ledger = strippable(storage)
    asked: list[int] = []

    def may_go(entry: Entry) -> bool:
        asked.append(entry.number)
        return True

    assert ledger.strip(upto=6, may_go=may_go, limit=2) == 2
    ledger.note(5, Known())
    again = Ledger(storage)
    assert again.head() == batch(5)
    assert again.strip(upto=5, may_go=may_go) == 2
    assert asked == [1, 2, 3, 4]


def test_stripping_after_a_lost_hint_does_no_harm(storage: Storage) -> None:
    strippable(storage).strip(upto=4, may_go=lambda _: True)
    before = [storage.get(f"ledger/{number:020d}.json") for number in range(1, 6)]
    assert Ledger(storage).strip(upto=4, may_go=lambda _: True) == 3
    assert [storage.get(f"ledger/{number:020d}.json") for number in range(1, 6)] == before


def test_number_of_a_stripped_entry_stays_taken(storage: Storage) -> None:
    ledger = strippable(storage)
    ledger.strip(upto=4, may_go=lambda _: True)
    with pytest.raises(Fenced):
        ledger.decide(batch(2, id="zombie"), never)
    assert storage.create("ledger/00000000000000000002.json", encode(batch(2))) is False


def test_damage_among_old_entries_stops_stripping(storage: Storage, tmp_path: Path) -> None:
    ledger = strippable(storage)
    (tmp_path / "ledger" / f"{3:020d}.json").unlink()
    with pytest.raises(PenstockError, match="entry 3") as damage:
        ledger.strip(upto=6, may_go=lambda _: True)
    assert damage.value.code == "ledger.damaged"
