"""What is known of types: as the registry says it, and as it said last."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import Transient
from penstock.known_types import MAX_COMPLAINTS, KnownTypes
from penstock.registries.file_types import FileTypes
from penstock.registries.listing import Found
from penstock.registries.spark_json import to_spark
from penstock.schema import columns
from penstock.storage import Storage

ORDER, WIDER, PAGE = columns({"n": "long"}), columns({"n": "long", "note": "string"}), columns({"url": "json"})


class Told:
    """A registry that says what it is told to say."""

    def __init__(self) -> None:
        self.found = Found({}, {})
        self.is_away = False

    def types(self) -> Found:
        if self.is_away:
            raise Transient("registry.away", "the registry is away", "penstock waits")
        return self.found


@pytest.fixture
def registry() -> Told:
    return Told()


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(str(tmp_path))


@pytest.fixture
def known(registry: Told, storage: Storage) -> KnownTypes:
    return KnownTypes(registry, storage)


def _codes(known: KnownTypes) -> list[str]:
    return [why.code for why in known.news()]


def test_without_a_registry_nothing_is_known_and_that_is_current(storage: Storage) -> None:
    known = KnownTypes(None, storage)

    assert known.refresh() == {}
    assert known.is_current


def test_types_are_as_the_registry_says_now(known: KnownTypes, registry: Told) -> None:
    registry.found = Found({"order": ORDER}, {})
    assert known.refresh() == {"order": ORDER}
    registry.found = Found({"order": WIDER, "page": PAGE}, {})

    assert known.refresh() == {"order": WIDER, "page": PAGE}
    assert known.is_current
    assert _codes(known) == []


def test_what_is_gone_stays_known_and_is_told_once(known: KnownTypes, registry: Told) -> None:
    registry.found = Found({"order": ORDER, "page": PAGE}, {})
    known.refresh()
    registry.found = Found({}, {})

    assert [known.refresh() for _ in range(3)] == [{"order": ORDER, "page": PAGE}] * 3
    (told,) = known.news()
    assert (told.code, "order, page" in told.what) == ("registry.types-gone", True)


def test_what_is_gone_a_second_time_is_told_a_second_time(known: KnownTypes, registry: Told) -> None:
    for _ in range(2):
        registry.found = Found({"order": ORDER}, {})
        known.refresh()
        registry.found = Found({}, {})
        known.refresh()

    assert _codes(known) == ["registry.types-gone"] * 2


def test_type_whose_schema_became_bad_stays_as_it_was(known: KnownTypes, registry: Told) -> None:
    registry.found = Found({"order": ORDER}, {})
    known.refresh()
    registry.found = Found({}, {"order": "the key 'order' is not a type: it is no JSON"})

    assert known.refresh() == {"order": ORDER}
    assert [(why.code, why.what) for why in known.news()] == [
        ("registry.bad-type", "the key 'order' is not a type: it is no JSON")
    ]


def test_complaints_are_told_once_and_not_all_of_many(known: KnownTypes, registry: Told) -> None:
    registry.found = Found({}, {f"session {n}": f"session {n} is no type" for n in range(1_000)})

    known.refresh()
    told = known.news()

    assert len(told) == MAX_COMPLAINTS + 1
    assert "995 more" in told[-1].what
    known.refresh()
    assert known.news() == []


def test_registry_that_is_away_leaves_what_was_known(known: KnownTypes, registry: Told) -> None:
    registry.found = Found({"order": ORDER}, {})
    known.refresh()
    registry.is_away = True

    assert [known.refresh() for _ in range(2)] == [{"order": ORDER}] * 2
    assert not known.is_current
    assert _codes(known) == ["registry.away"]
    registry.is_away = False
    known.refresh()
    assert known.is_current


def test_registry_that_was_never_there_is_waited_for(known: KnownTypes, registry: Told) -> None:
    registry.is_away = True

    with pytest.raises(Transient, match="away"):
        known.refresh()


def test_next_process_knows_what_this_one_knew(known: KnownTypes, registry: Told, storage: Storage) -> None:
    registry.found = Found({"order": WIDER, "page": PAGE}, {})
    known.refresh()
    registry.is_away = True

    later = KnownTypes(registry, storage)

    assert later.refresh() == {"order": WIDER, "page": PAGE}
    assert not later.is_current


def test_registry_that_was_emptied_between_two_processes_does_not_look_like_no_types(
    known: KnownTypes, registry: Told, storage: Storage
) -> None:
    registry.found = Found({"order": ORDER}, {})
    known.refresh()
    registry.found = Found({}, {})

    assert KnownTypes(registry, storage).refresh() == {"order": ORDER}


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b'{"order": 7}', b'{"order": "{}"}', b"\xff", b"null"])
def test_damaged_memory_is_none(known: KnownTypes, registry: Told, storage: Storage, damaged: bytes) -> None:
    storage.put("schemas/types.json", damaged)
    registry.found = Found({"order": ORDER}, {})

    assert known.refresh() == {"order": ORDER}


# --- files ---------------------------------------------------------------------------------------


def test_files_are_types_and_one_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "order.v1.json").write_text(to_spark(ORDER))
    (tmp_path / "notes.json").write_text('["buy milk"]')

    found = FileTypes.model_validate(str(tmp_path)).types()

    assert found.types == {"order.v1": ORDER}
    assert "'notes.json'" in found.complaints["notes"]


def test_half_written_file_leaves_all_as_they_were_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text(to_spark(ORDER))
    registry = FileTypes(path=str(tmp_path))
    assert registry.types() == Found({"order": ORDER}, {})
    (tmp_path / "page.json").write_text(to_spark(PAGE)[:20])

    found = registry.types()

    assert found.types == {"order": ORDER}
    assert "page.json" in " ".join(found.complaints.values())
    (tmp_path / "page.json").write_text(to_spark(PAGE))
    assert registry.types() == Found({"order": ORDER, "page": PAGE}, {})


def test_registered_type_is_a_file(tmp_path: Path) -> None:
    registry = FileTypes(path=str(tmp_path))

    registry.register("order.v1", to_spark(ORDER))

    assert registry.names() == ["order.v1"]
    assert registry.text("order.v1") == to_spark(ORDER)
    assert registry.text("page") is None
    assert [file.name for file in tmp_path.iterdir()] == ["order.v1.json"]


@pytest.mark.parametrize("name", ["../order", "a/b", "", ".hidden", ".."])
def test_type_whose_name_is_no_file_of_the_folder_is_not_registered(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="name of a file"):
        FileTypes(path=str(tmp_path)).register(name, to_spark(ORDER))

    assert list(tmp_path.iterdir()) == []


def test_what_is_no_schema_is_not_registered(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        FileTypes(path=str(tmp_path)).register("order", "{")

    assert list(tmp_path.iterdir()) == []
