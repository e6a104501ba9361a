"""A folder on disk, spoken to like an object store: one winner, whole files, and errors that name the place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from penstock.errors import PenstockError, Transient, Unavailable
from penstock.storage import Storage, absolute, child


@pytest.fixture(params=["path", "url"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """The same folder by its path and by its URL."""
    return Storage(f"{'file://' if request.param == 'url' else ''}{tmp_path}/folder")


# --- locations -----------------------------------------------------------------------------------


def test_relative_location_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("./lake") == f"{tmp_path}/lake"
    assert absolute("lake/") == f"{tmp_path}/lake"


def test_home_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert absolute("~/lake") == "/home/somebody/lake"


def test_url_stays_as_it_is() -> None:
    assert absolute("s3://bucket/lake/") == "s3://bucket/lake"


def test_child_is_below_its_parent() -> None:
    assert child("s3://bucket/lake/", "a", "b") == "s3://bucket/lake/a/b"


# --- files ---------------------------------------------------------------------------------------


def test_file_is_read_as_it_was_written(storage: Storage) -> None:
    storage.put("deep/down/file", b"one")
    storage.put("deep/down/file", memoryview(b"two"))
    assert storage.get("deep/down/file") == b"two"
    assert storage.get("deep/down/other") is None


def test_name_with_odd_signs_is_one_name(storage: Storage) -> None:
    storage.put("date=2026-01-31/a%2Fb é.parquet", b"here")
    assert storage.get("date=2026-01-31/a%2Fb é.parquet") == b"here"
    assert storage.names("date=2026-01-31") == ["a%2Fb é.parquet"]


def test_file_is_created_only_where_there_is_none(storage: Storage) -> None:
    assert storage.create("ledger/1", b"first") is True
    assert storage.create("ledger/1", b"second") is False
    assert storage.get("ledger/1") == b"first"


def test_exactly_one_of_many_creators_wins(storage: Storage) -> None:
    crowd = 16
    start = Barrier(crowd)

    def rush(number: int) -> bool:
        start.wait()
        return storage.create("ledger/1", str(number).encode() * 1_000)

    with ThreadPoolExecutor(crowd) as pool:
        won = list(pool.map(rush, range(crowd)))
    assert won.count(True) == 1
    assert storage.get("ledger/1") == str(won.index(True)).encode() * 1_000


def test_end_of_a_file_is_read_without_the_rest(storage: Storage) -> None:
    storage.put("file", b"0123456789")
    assert storage.tail("file", 4) == b"6789"
    assert storage.tail("file", 10) == b"0123456789"
    assert storage.tail("file", 100) == b"0123456789"


def test_missing_files_are_told_in_order(storage: Storage) -> None:
    storage.put("a", b"")
    storage.put("folder/b", b"")
    assert storage.missing(["x", "a", "folder/b", "folder", "b"]) == ["x", "folder", "b"]
    assert storage.missing([]) == []


def test_deleted_files_are_gone_and_those_that_were_not_there_are_no_trouble(storage: Storage) -> None:
    for name in ("a", "b", "c"):
        storage.put(name, b"")
    storage.delete(["a", "never", "c"])
    assert storage.missing(["a", "b", "c"]) == ["a", "c"]
    storage.delete([])


# --- listing -------------------------------------------------------------------------------------


def test_names_are_in_order_and_begin_after_a_given_one(storage: Storage) -> None:
    for name in ("10", "02", "01", "03"):
        storage.put(f"ledger/{name}", b"")
    storage.put("ledgers/04", b"")
    storage.put("05", b"")
    assert storage.names("ledger") == ["01", "02", "03", "10"]
    assert storage.names("ledger", after="02") == ["03", "10"]
    assert storage.names("ledger", after="025") == ["03", "10"]
    assert storage.names("ledger", after="10") == []


def test_folder_that_is_not_there_has_no_names(storage: Storage) -> None:
    assert storage.names("nowhere") == []


def test_folders_are_those_directly_below(storage: Storage) -> None:
    for path in ("b/1", "a/deep/2", "_penstock/3", "file"):
        storage.put(path, b"")
    assert storage.folders() == ["_penstock", "a", "b"]


def test_half_written_file_is_not_listed(storage: Storage, tmp_path: Path) -> None:
    """A process that died while it wrote leaves a file of the store's own naming."""
    storage.put("ledger/1", b"")
    (tmp_path / "folder" / "ledger" / "2#1").write_bytes(b"half")
    assert storage.names("ledger") == ["1"]


# --- trouble -------------------------------------------------------------------------------------


def test_every_failed_call_is_unavailable_and_names_the_place(storage: Storage) -> None:
    storage.put("file", b"")
    calls: dict[str, Callable[[], object]] = {
        "write": lambda: storage.put("file/inner", b""),
        "read": lambda: storage.get("file/inner"),
        "look for": lambda: storage.missing(["file/inner"]),
        "delete": lambda: storage.delete(["file/inner"]),
    }
    for verb, call in calls.items():
        with pytest.raises(Unavailable) as trouble:
            call()
        assert trouble.value.what.startswith(f"cannot {verb} {storage.location}/file/inner: ")
        assert trouble.value.code == "storage.unavailable"
        assert trouble.value.__cause__ is not None
        assert "\n" not in trouble.value.what


def test_failed_create_is_unavailable_and_not_a_lost_race(storage: Storage) -> None:
    storage.put("file", b"")
    with pytest.raises(Unavailable, match="cannot write"):
        storage.create("file/inner", b"")


def test_end_of_a_missing_file_is_unavailable(storage: Storage) -> None:
    with pytest.raises(Unavailable, match="cannot read"):
        storage.tail("nowhere", 8)


def test_place_that_can_never_be_used_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for location in (f"{tmp_path}/file/folder", "gopher://lake/base"):
        with pytest.raises(PenstockError) as trouble:
            Storage(location)
        assert trouble.value.code == "storage.unusable"
        assert location in trouble.value.what
        assert not isinstance(trouble.value, Transient)


def test_option_that_the_store_does_not_know_is_told_at_once() -> None:
    with pytest.raises(PenstockError, match="'frobnicate'") as trouble:
        Storage("s3://bucket/lake", {"frobnicate": "yes"})
    assert trouble.value.code == "storage.unusable"


def test_folder_that_vanished_is_made_again(tmp_path: Path) -> None:
    storage = Storage(f"{tmp_path}/folder")
    shutil.rmtree(tmp_path / "folder")
    storage.put("a/b", b"back")
    assert storage.get("a/b") == b"back"


# --- fsync ---------------------------------------------------------------------------------------


def test_fsync_reaches_the_file_and_every_folder_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[str] = []
    really = os.fsync

    def watched(handle: int) -> None:
        reached.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        really(handle)

    monkeypatch.setattr(os, "fsync", watched)
    storage = Storage(f"{tmp_path}/folder", fsync=True)
    storage.put("a/b/c", b"1")
    assert reached == [f"{tmp_path}/folder/{path}".rstrip("/") for path in ("a/b/c", "a/b", "a", "")]
    reached.clear()
    assert storage.create("d", b"2") is True
    assert reached == [f"{tmp_path}/folder/d", f"{tmp_path}/folder"]
    reached.clear()
    assert storage.create("d", b"3") is False
    assert reached == []


def test_fsync_is_off_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[int] = []
    monkeypatch.setattr(os, "fsync", reached.append)
    Storage(f"{tmp_path}/folder").put("a", b"1")
    assert reached == []
