"""What Tilewright did not write is neither removed, nor changed, nor followed."""

import os

import pytest

from tilewright.targets import store
from tilewright.targets.store.directory import open_directory
from tilewright.targets.store.eviction import clear

from .support import SECTIONS, K, fill, key, numbers


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "1")


def tree(path):
    """Every file below `path`, with what it holds (of large files, the size)."""
    return {
        str(each.relative_to(path)): each.read_bytes() if size < 1 << 20 else size
        for each in sorted(path.rglob("*"))
        if each.is_file() and (size := each.stat().st_size) is not None
    }


def foreign(base):
    """A directory as users have it: a large file, small ones around it, all of them old."""
    data = base / "data"
    data.mkdir(parents=True)
    with (data / "huge").open("wb") as file:
        file.truncate(3 << 30)
    (data / "neighbour").write_text("text")
    (base / "top").write_text("text")
    for path in (data / "huge", data / "neighbour", base / "top"):
        os.utime(path, (1, 1))
    return data


def sweep_and_clear(own):
    fill(own, 6)
    store._unseen_bytes.clear()
    store.store("artefacts", key(6), SECTIONS)
    with open_directory(own.parent) as directory:
        clear(directory)


def test_a_large_file_below_the_named_directory_is_not_evicted(base, own, small):
    foreign(base)
    before = tree(base)
    fill(own, 6)
    assert numbers(own, 6) == [4, 5]
    sweep_and_clear(own)
    after = tree(base)
    assert after.pop("tilewright-cache-v2/CACHEDIR.TAG")
    assert after == before


def test_eviction_does_not_follow_a_link_to_a_directory(base, own, small, tmp_path):
    foreign(tmp_path / "elsewhere")
    before = tree(tmp_path / "elsewhere")
    base.mkdir()
    (base / "artefacts").symlink_to(tmp_path / "elsewhere" / "data")
    sweep_and_clear(own)
    assert tree(tmp_path / "elsewhere") == before
    assert (base / "artefacts").is_symlink()


def test_a_link_in_place_of_our_directory_is_not_followed(base, own, small, tmp_path):
    """Entries go to a directory of another name; the target of the link stays as it is."""
    foreign(tmp_path / "elsewhere")
    base.mkdir()
    own.symlink_to(tmp_path / "elsewhere" / "data")
    before = tree(tmp_path / "elsewhere")
    for number in range(6):
        assert store.store("artefacts", key(number), {"data": os.urandom(300_000)})
    assert store.load("artefacts", key(5)) is not None
    assert tree(tmp_path / "elsewhere") == before
    assert own.is_symlink()
    assert len(list((base / f"tilewright-cache-v2-{os.geteuid()}").glob("artefacts-*"))) > 0


def test_a_file_in_place_of_our_directory_stays(base, own):
    base.mkdir()
    own.write_text("mine")
    assert store.store("artefacts", K, SECTIONS)
    assert store.load("artefacts", K) == SECTIONS
    assert own.read_text() == "mine"


@pytest.mark.parametrize("target", ["file", "directory", "nothing"])
def test_a_link_under_the_name_of_an_entry_is_neither_read_nor_replaced(
    own, small, tmp_path, target
):
    store.store("artefacts", key(0), SECTIONS)
    outside = tmp_path / "outside"
    if target == "file":  # even one that holds the entry
        outside.write_bytes((own / f"artefacts-{key(0)}.entry").read_bytes())
        os.utime(outside, (1, 1))
    elif target == "directory":
        outside.mkdir()
        (outside / "inside").write_text("text")
    link = own / f"artefacts-{key(0)}.entry"
    link.unlink()
    link.symlink_to(outside)
    before = tree(tmp_path / "outside") if target == "directory" else None
    assert store.load("artefacts", key(0)) is None
    assert not store.refresh("artefacts", key(0))
    with pytest.warns(RuntimeWarning, match="is not a file of this cache"):
        assert not store.store("artefacts", key(0), {"other": b"data"})
    with open_directory(own.parent) as directory:
        clear(directory)
    assert link.is_symlink()
    if target == "file":
        assert outside.stat().st_mtime == 1
        assert b"first" in outside.read_bytes()
    elif target == "directory":
        assert tree(outside) == before
    else:
        assert not outside.exists()


def test_the_text_for_triton_is_not_written_through_a_link(own, tmp_path):
    store.store("artefacts", K, SECTIONS)
    (tmp_path / "notes").write_text("mine")
    (own / f"texts-{K}.mlir").symlink_to(tmp_path / "notes")
    with (
        pytest.warns(RuntimeWarning, match="is not a file of this cache"),
        store.text_file(K, "module {}") as path,
    ):
        assert path.read_text() == "module {}"
        assert path.parent != own
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_hard_link_is_another_name_of_a_file_that_stays(own, small, tmp_path):
    """Evicting an entry that the user linked elsewhere leaves the user's name."""
    store.store("artefacts", key(0), SECTIONS)
    os.link(own / f"artefacts-{key(0)}.entry", tmp_path / "copy")
    before = (tmp_path / "copy").read_bytes()
    store.store("artefacts", key(0), {"other": b"data"})
    sweep_and_clear(own)
    assert (tmp_path / "copy").read_bytes() == before


def test_a_directory_that_holds_foreign_files_is_used_but_never_swept(own, small):
    store.store("artefacts", key(0), SECTIONS)
    (own / "thesis.txt").write_text("years of work")
    os.utime(own / "thesis.txt", (1, 1))
    stored = 0
    with pytest.warns(RuntimeWarning) as caught:
        for number in range(1, 8):
            stored += store.store("artefacts", key(number), {"data": os.urandom(300_000)})
    assert stored == 3
    assert numbers(own, 8) == [0, 1, 2, 3]  # nothing went, and nothing came beyond the limit
    (message,) = [str(each.message) for each in caught]
    assert "because 'thesis.txt' was not written by Tilewright" in message
    assert store.load("artefacts", key(3)) is not None
    with open_directory(own.parent) as directory:
        assert clear(directory).files == 4
    assert (own / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("kind", ["link", "directory", "pipe", "tag"])
def test_other_foreign_things_keep_the_directory_from_being_swept(own, small, tmp_path, kind):
    fill(own, 1, size=10, used=1)
    name = f"programs-{key(9)}.entry"
    if kind == "link":
        (own / name).symlink_to(tmp_path)
    elif kind == "directory":
        (own / name).mkdir()
    elif kind == "pipe":
        os.mkfifo(own / name)
    else:
        (own / "CACHEDIR.TAG").write_text("Signature: of another program")
    store._unseen_bytes.clear()
    assert store.store("artefacts", key(1), SECTIONS)
    assert numbers(own, 2) == [0, 1]
    assert store.load("programs", key(9)) is None
    with open_directory(own.parent) as directory:
        clear(directory)
    assert numbers(own, 2) == []
    left = own / ("CACHEDIR.TAG" if kind == "tag" else name)
    assert left.exists()


def test_a_file_that_only_has_the_name_of_an_entry_is_not_removed(own, small):
    fill(own, 1)
    mine = own / f"programs-{key(9)}.entry"
    mine.write_text("not from Tilewright")
    os.utime(mine, (0, 0))
    sweep_and_clear(own)
    assert mine.read_text() == "not from Tilewright"


def test_entries_of_the_layout_before_are_neither_used_nor_removed(base, own, small):
    """``artefacts/<key>`` and the like, straight below the named directory."""
    for kind in ("artefacts", "stages", "kernels", "texts", "programs", "tuning", "autotune"):
        (base / kind).mkdir(parents=True)
        (base / kind / key(0)).write_bytes(b'["tilewright-1", "", []]\n')
        os.utime(base / kind / key(0), (1, 1))
    before = tree(base)
    assert store.load("artefacts", key(0)) is None
    sweep_and_clear(own)
    after = tree(base)
    assert after.pop("tilewright-cache-v2/CACHEDIR.TAG")
    assert after == before
