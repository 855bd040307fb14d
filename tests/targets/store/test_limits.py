"""How large and how old the cache may get, and where it is."""

import errno
import os
import time
from typing import get_args

import pytest

from tilewright.targets import store
from tilewright.targets.store import eviction, limits
from tilewright.targets.store.directory import Directory, open_directory
from tilewright.targets.store.listing import list_files

from .support import SECTIONS, K, fill, key, numbers

DAY = 24 * 60 * 60


def test_the_size_is_limited(own, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "1")
    fill(own, 6)
    assert numbers(own, 6) == [4, 5]  # the oldest went, down to three quarters of the limit
    assert sum(path.stat().st_size for path in own.glob("*.entry")) <= 1 << 20


def test_reading_counts_as_use(own, monkeypatch):
    fill(own, 3)
    store.load("artefacts", key(0))
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "1")
    store._unseen_bytes.clear()
    store.store("artefacts", key(3), {"data": os.urandom(300_000)})
    assert numbers(own, 4) == [0, 3]


def test_touching_counts_as_use(own):
    fill(own, 1)
    assert store.refresh("artefacts", key(0))
    assert time.time() - (own / f"artefacts-{key(0)}.entry").stat().st_mtime < 60
    assert not store.refresh("artefacts", key(1))


def test_entries_that_are_not_used_for_long_are_removed(own, monkeypatch):
    fill(own, 2, size=10, used=time.time() - 8 * DAY)
    store.load("artefacts", key(1))
    monkeypatch.setenv("TILEWRIGHT_CACHE_DAYS", "9")
    store._unseen_bytes.clear()
    store.store("artefacts", key(2), SECTIONS)
    assert numbers(own, 3) == [0, 1, 2]
    monkeypatch.setenv("TILEWRIGHT_CACHE_DAYS", "7")
    store._unseen_bytes.clear()
    store.store("artefacts", key(3), SECTIONS)
    assert numbers(own, 4) == [1, 2, 3]


def test_the_default_age_is_ninety_days(own):
    fill(own, 1, size=10, used=time.time() - 91 * DAY)
    store._unseen_bytes.clear()
    store.store("artefacts", key(1), SECTIONS)
    assert numbers(own, 2) == [1]


def test_a_draft_that_a_process_left_behind_is_removed_after_an_hour(own):
    store.store("artefacts", K, SECTIONS)
    for name, age in (("0" * 32, 2 * 60 * 60), ("1" * 32, 60)):
        (own / f"draft-{name}.part").write_bytes(b"half of an en")
        os.utime(own / f"draft-{name}.part", (time.time() - age,) * 2)
    store._unseen_bytes.clear()
    store.store("artefacts", key(1), SECTIONS)
    assert [path.name for path in own.glob("draft-*")] == [f"draft-{'1' * 32}.part"]


def test_the_directory_is_not_listed_for_every_write(own, monkeypatch):
    looks = []
    monkeypatch.setattr(
        eviction, "list_files", lambda directory: looks.append(directory) or list_files(directory)
    )
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "32")
    for number in range(9):
        store.store("artefacts", key(number), {"data": os.urandom(300_000)})
    assert len(looks) == 3  # the first, and each time another megabyte has come


def test_zero_megabytes_cache_nothing(base, monkeypatch, recwarn):
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "0")
    assert not store.store("artefacts", K, SECTIONS)
    with store.text_file(K, "module {}") as path:
        assert path.read_text() == "module {}"
    assert not path.exists()
    assert not base.exists()
    assert not recwarn


def test_an_entry_beyond_the_limit_evicts_nothing(own, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "1")
    fill(own, 2)
    assert not store.store("artefacts", key(2), {"data": bytes(2 << 20)})
    assert numbers(own, 3) == [0, 1]


@pytest.mark.parametrize(
    ("variable", "value", "default"),
    [
        ("TILEWRIGHT_CACHE_MB", "2GB", "2048"),
        ("TILEWRIGHT_CACHE_MB", "-1", "2048"),
        ("TILEWRIGHT_CACHE_MB", "1e3", "2048"),
        ("TILEWRIGHT_CACHE_MB", "9" * 5000, "2048"),
        ("TILEWRIGHT_CACHE_DAYS", "0", "90"),
        ("TILEWRIGHT_CACHE_DAYS", "²", "90"),
    ],
)
def test_a_limit_that_is_no_number_is_reported_once(variable, value, default, monkeypatch):
    monkeypatch.setenv(variable, value)
    with pytest.warns(RuntimeWarning) as caught:
        for number in range(3):
            assert store.store("artefacts", key(number), SECTIONS)
            store._unseen_bytes.clear()
    (message,) = [str(each.message) for each in caught]
    minimum = 0 if variable.endswith("MB") else 1
    assert message == (
        f"warning[TW6212]: {variable}={value!r} is invalid: expected an integer of at least "
        f"{minimum}; using {default}"
    )


def test_where_the_directory_is(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "/somewhere")
    assert str(store.cache_dir()) == "/somewhere"
    monkeypatch.delenv("TILEWRIGHT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert str(store.cache_dir()) == "/xdg/tilewright"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store.cache_dir() == tmp_path / ".cache" / "tilewright"

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(limits.Path, "home", homeless)
    assert store.cache_dir().parts[-1] == "cache"


def test_what_was_used_since_it_was_listed_stays(own, monkeypatch):
    """Another process reads an entry while this one sweeps."""
    fill(own, 3)

    def list_and_use(directory):
        found = list_files(directory)
        store.load("artefacts", key(1))
        return found

    monkeypatch.setattr(eviction, "list_files", list_and_use)
    with open_directory(own.parent) as directory:
        eviction.make_space(directory, 1, 1, 10 * 365 * DAY)
    assert numbers(own, 3) == [1]


@pytest.mark.parametrize("kind", get_args(store.Kind))
def test_entries_of_every_kind_can_be_evicted(own, kind):
    """A kind with a dash was taken for a file of somebody else: nothing was removed any more."""
    assert store.store(kind, K, SECTIONS)
    with open_directory(own.parent) as directory:
        found = list_files(directory)
        assert [each.kind for each in found.stored] == [kind]
        assert found.foreign == ()
        assert eviction.clear(directory).files == 1


def test_what_an_nfs_client_still_has_open_keeps_nothing_from_being_swept(own, monkeypatch):
    """A file that is removed while it is open has such a name until it is closed."""
    fill(own, 1)
    (own / ".nfs000000000134522d00000003").write_bytes(b"an entry")
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "1")
    fill(own, 6)
    assert numbers(own, 6) == [4, 5]


def test_a_directory_that_another_computer_removed_is_made_again(own, monkeypatch):
    """Over NFS, a handle of a directory that is gone is stale."""
    store.store("artefacts", key(0), SECTIONS)
    write = Directory.write
    errors = [OSError(errno.ESTALE, "Stale file handle")]

    def stale(self, name, data):
        if errors:
            raise errors.pop()
        write(self, name, data)

    monkeypatch.setattr(Directory, "write", stale)
    assert store.store("artefacts", K, SECTIONS)
    assert store.load("artefacts", K) == SECTIONS
