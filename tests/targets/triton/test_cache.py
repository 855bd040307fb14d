"""Files of the disk cache: whole or absent, checked when read, bounded."""

import os
import threading

import pytest

from tilewright.targets.triton import cache

SECTIONS = {"a": b"first", "empty": b"", "b": b"\x00\xff" * 50}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_stored_is_loaded(folder):
    assert cache.load("artefacts", "k") is None
    assert cache.store("artefacts", "k", SECTIONS)
    assert cache.load("artefacts", "k") == SECTIONS
    assert [path.name for path in (folder / "artefacts").iterdir()] == ["k"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data.replace(b"first", b"other"),
        lambda data: b"",
        lambda data: b"no json\n",
        lambda data: data.replace(b"tilewright-1", b"tilewright-0"),
        lambda data: b"[1]\n" + data,
    ],
)
def test_damaged_files_are_thrown_away(folder, damage):
    cache.store("artefacts", "k", SECTIONS)
    path = folder / "artefacts" / "k"
    path.write_bytes(damage(path.read_bytes()))
    assert cache.load("artefacts", "k") is None
    assert not path.exists()
    assert cache.store("artefacts", "k", SECTIONS)
    assert cache.load("artefacts", "k") == SECTIONS


def test_readers_see_all_or_nothing(folder):
    """Writers and readers at the same time: no reader meets half a file."""
    contents = [{"data": bytes([number]) * 200_000} for number in range(4)]
    seen: list[bytes] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            path = folder / "artefacts" / "k"
            if path.exists():
                found = cache.load("artefacts", "k")
                assert found in contents
                seen.append(found["data"][:1])

    reader = threading.Thread(target=read)
    reader.start()
    for each in contents * 10:
        cache.store("artefacts", "k", each)
    done.set()
    reader.join()
    assert seen


def test_the_folder_is_bounded(folder, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "1")
    for number in range(6):
        cache.store("artefacts", f"k{number}", {"data": os.urandom(300_000)})
        os.utime(folder / "artefacts" / f"k{number}", (number, number))
    kept = sorted(path.name for path in (folder / "artefacts").iterdir())
    assert kept == ["k4", "k5"]  # the oldest went, down to three quarters of the bound


def test_reading_counts_as_use(folder, monkeypatch):
    for number in range(3):
        cache.store("artefacts", f"k{number}", {"data": os.urandom(300_000)})
        os.utime(folder / "artefacts" / f"k{number}", (number, number))
    cache.load("artefacts", "k0")
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "1")
    cache.store("artefacts", "k3", {"data": os.urandom(300_000)})
    assert {path.name for path in (folder / "artefacts").iterdir()} == {"k0", "k3"}


def test_a_folder_that_cannot_be_made_costs_no_result(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert not cache.store("artefacts", "k", SECTIONS)
    assert cache.load("artefacts", "k") is None
    assert cache.text_path("k").parent.name.startswith("tilewright-")


def test_where_the_folder_is(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "/somewhere")
    assert str(cache.cache_dir()) == "/somewhere"
    monkeypatch.delenv("TILEWRIGHT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert str(cache.cache_dir()) == "/xdg/tilewright"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_dir() == tmp_path / ".cache" / "tilewright"

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(cache.Path, "home", homeless)
    assert cache.cache_dir().parts[-1] == "cache"


def test_boundaries_count_in_a_digest():
    assert cache.digest("ab", "c") != cache.digest("a", "bc")
    assert cache.digest("ab") == cache.digest(b"ab")
    assert cache.our_version() == cache.our_version()


def test_the_folder_is_not_looked_at_for_every_write(folder, monkeypatch):
    looks = []
    clear = cache._clear
    monkeypatch.setattr(cache, "_clear", lambda root: looks.append(root) or clear(root))
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "32")
    for number in range(10):
        cache.store("artefacts", f"k{number}", {"data": os.urandom(300_000)})
    assert len(looks) == 3  # the first, and each time another megabyte has come
