"""A file that a command writes is whole, or as it was before."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from tilewright.cli.outputs import write_whole


def test_a_new_file(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.txt", "new\n")
    assert (tmp_path / "a.txt").read_text() == "new\n"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


def test_what_was_there_stays_if_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(target, "half of it \udcff")
    assert target.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "a.txt", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "through")
    reader.join(10)
    assert found == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
