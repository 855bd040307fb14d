"""Lines of supplied text and of files; everything that is not text has no lines."""

import linecache
import os
from pathlib import Path

import pytest

from tilewright.ir.diagnostics import SourceManager
from tilewright.ir.diagnostics import sources as sources_module


def test_supplied_text():
    sources = SourceManager(read_files=False)
    sources.add("<stdin>", "first\r\nsecond\n")
    assert [sources.line("<stdin>", n) for n in (-1, 0, 1, 2, 3, 4)] == [
        None,
        None,
        "first",
        "second",
        "",
        None,
    ]
    assert sources.line("other", 1) is None


def test_only_a_line_feed_ends_a_line():
    sources = SourceManager()
    sources.add("f", "a\x0cb\u2028c\x85d\ne")
    assert sources.line("f", 1) == "a\x0cb\u2028c\x85d"
    assert sources.line("f", 2) == "e"


def test_chunks_keep_the_lines_of_the_original_file():
    sources = SourceManager(read_files=False)
    sources.add("f.mlir", "one\ntwo", first_line=1)
    sources.add("f.mlir", "eleven\ntwelve", first_line=11)
    assert sources.line("f.mlir", 2) == "two"
    assert sources.line("f.mlir", 11) == "eleven"
    assert sources.line("f.mlir", 12) == "twelve"
    assert sources.line("f.mlir", 5) is None


def test_newer_text_wins():
    sources = SourceManager(read_files=False)
    sources.add("f", "old")
    assert sources.line("f", 1) == "old"
    sources.add("f", "new")
    assert sources.line("f", 1) == "new"


def test_files_are_read_once(tmp_path: Path):
    file = tmp_path / "k.py"
    file.write_text("α = 1\nb = 2\n", encoding="utf-8")
    sources = SourceManager()
    assert sources.line(str(file), 1) == "α = 1"
    file.unlink()
    assert sources.line(str(file), 2) == "b = 2"


def test_reading_can_be_switched_off(tmp_path: Path):
    file = tmp_path / "k.py"
    file.write_text("a\n")
    assert SourceManager().line(str(file), 1) == "a"
    assert SourceManager(read_files=False).line(str(file), 1) is None


@pytest.mark.parametrize(
    "content", [b"\x7fELF\0\0abc\n", b"caf\xe9\n"], ids=["NUL byte", "not UTF-8"]
)
def test_binary_files_have_no_lines(tmp_path: Path, content: bytes):
    file = tmp_path / "junk"
    file.write_bytes(content)
    assert SourceManager().line(str(file), 1) is None


def test_missing_and_special_files_have_no_lines(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    sources = SourceManager()
    assert sources.line(str(tmp_path / "missing"), 1) is None
    assert sources.line(str(tmp_path), 1) is None
    assert sources.line(str(pipe), 1) is None
    assert sources.line("nul\0in name", 1) is None
    assert sources.line("", 1) is None
    assert sources.line("x" * 10_000, 1) is None


def test_huge_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "big"
    file.write_text("12345\n")
    monkeypatch.setattr(sources_module, "MAX_FILE_BYTES", 5)
    assert SourceManager().line(str(file), 1) is None
    monkeypatch.setattr(sources_module, "MAX_FILE_BYTES", 6)
    assert SourceManager().line(str(file), 1) == "12345"


def test_text_registered_with_linecache(monkeypatch):
    entry = (6, None, ["one\n", "two\n"], "<cell 3>")
    monkeypatch.setitem(linecache.cache, "<cell 3>", entry)
    assert SourceManager().line("<cell 3>", 2) == "two"
    assert SourceManager(read_files=False).line("<cell 3>", 2) is None


def test_text_that_linecache_has_not_fetched_has_no_lines(monkeypatch):
    monkeypatch.setitem(linecache.cache, "<cell 4>", (lambda: "late",))
    assert SourceManager().line("<cell 4>", 1) is None
