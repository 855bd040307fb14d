"""The mark stands under its character, and long lines are cut around it."""

import time

import pytest

from tilewright.ir.diagnostics import SourceManager, SourcePosition
from tilewright.ir.diagnostics.excerpt import MAX_WIDTH, Excerpt, excerpt, printable


def show(
    line: str, column: int, end_column: int | None = None, end_line: int | None = 1
) -> tuple[str, str] | None:
    sources = SourceManager(read_files=False)
    sources.add("f", line)
    end = (None, None) if end_column is None else (end_line, end_column)
    found = excerpt(SourcePosition("f", 1, column, *end), sources)
    return None if found is None else (found.text, found.mark)


@pytest.mark.parametrize(
    ("line", "column", "mark"),
    [
        ("abc", 1, "^"),
        ("abc", 3, "  ^"),
        ("abc", 4, "   ^"),
        ("", 1, "^"),
        ("\tab", 2, "\t^"),
        ("\t a\tb", 5, "\t  \t^"),
        ("a\tb", 3, " \t^"),
        ("αβγ", 3, "  ^"),
        ("日本x", 3, "    ^"),
        ("日本x", 2, "  ^"),
        ("e\u0301x", 3, " ^"),
        ("a\u200bx", 3, " ^"),
        ("\x1bx", 2, " ^"),
        ("\u202ex", 2, " ^"),
    ],
)
def test_caret_column(line: str, column: int, mark: str):
    assert show(line, column) == (printable(line), mark)


@pytest.mark.parametrize("column", [-1, 0, 5, 10_000])
def test_a_column_outside_the_line_gets_no_mark(column: int):
    assert show("abc", column) == ("abc", "")


@pytest.mark.parametrize(
    ("end_column", "end_line", "mark"),
    [
        (5, 1, "  ^~"),
        (4, 1, "  ^"),
        (3, 1, "  ^"),
        (1, 1, "  ^"),
        (9, 1, "  ^~~~"),
        (100, 1, "  ^~~~"),
        (1, 2, "  ^~~~"),
        (9, 0, "  ^"),
        (9, None, "  ^"),
    ],
)
def test_ranges(end_column: int, end_line: int | None, mark: str):
    assert show("abcdef", 3, end_column, end_line) == ("abcdef", mark)


def test_range_over_wide_characters_covers_their_cells():
    assert show("x 日本 y", 3, 5) == ("x 日本 y", "  ^~~~")
    assert show("x 日本 y", 3, 4) == ("x 日本 y", "  ^~")


def test_range_after_a_tab():
    assert show("\tfoo bar", 2, 5) == ("\tfoo bar", "\t^~~")


def test_a_multi_line_range_at_the_end_of_its_line_is_a_caret():
    assert show("ab", 3, 1, 2) == ("ab", "  ^")


def test_the_longest_uncut_line():
    line = "x" * (MAX_WIDTH - 1) + "y"
    assert show(line, MAX_WIDTH) == (line, " " * (MAX_WIDTH - 1) + "^")


@pytest.mark.parametrize("length", [MAX_WIDTH + 1, MAX_WIDTH + 2, 600])
def test_cut_lines_fit_and_the_mark_stays_under_its_character(length: int):
    line = "".join(chr(0x1401 + i) for i in range(length))
    for column in range(1, length + 1):
        found = show(line, column)
        assert found is not None
        text, mark = found
        assert len(text) == MAX_WIDTH
        assert text[len(mark) - 1] == line[column - 1]
        assert mark == " " * (len(mark) - 1) + "^"
        assert text.startswith("…") or text[:10] == line[:10]
        assert text.endswith("…") or text[-10:] == line[-10:]
        assert "…" not in text[1:-1]
        # An ellipsis in place of a single character would save nothing.
        assert text[1:11] != line[1:11] or text[0] == line[0]
        assert text[-11:-1] != line[-11:-1] or text[-1] == line[-1]


def test_cut_text_at_start_middle_and_end():
    line = "a" * 500 + "X" + "b" * 500
    assert show(line, 1) == ("a" * 159 + "…", "^")
    assert show(line, 501) == ("…" + "a" * 79 + "X" + "b" * 78 + "…", " " * 80 + "^")
    assert show(line, 1002) == ("…" + "b" * 159, " " * 160 + "^")


def test_a_long_range_is_cut_with_the_line():
    line = "a" * 500
    assert show(line, 1, 400) == ("a" * 159 + "…", "^" + "~" * 158)


def test_tabs_before_the_mark_survive_the_cut():
    line = "a" * 300 + "\t" + "b" * 300
    found = show(line, 303)
    assert found is not None
    text, mark = found
    assert mark.index("\t") == text.index("\t")
    assert mark.endswith("\t ^")


def test_a_ten_megabyte_line_costs_one_screen_line():
    line = "x" * 5_000_000 + "HERE" + "y" * 5_000_000
    begin = time.process_time()
    found = show(line, 5_000_001, 5_000_005)
    assert time.process_time() - begin < 2
    assert found == ("…" + "x" * 79 + "HERE" + "y" * 75 + "…", " " * 80 + "^~~~")


def test_text_with_a_nul_has_no_excerpt():
    assert show("ab\0cd", 2) is None


def test_no_excerpt_without_the_line():
    sources = SourceManager(read_files=False)
    sources.add("f", "a")
    assert excerpt(SourcePosition("f", 2, 1), sources) is None
    assert excerpt(SourcePosition("f", 0, 0), sources) is None
    assert excerpt(SourcePosition("g", 1, 1), sources) is None
    assert excerpt(SourcePosition("f", 1, 1), sources) == Excerpt(1, "a", "^")


def test_nothing_unprintable_is_shown():
    assert printable("a\x1b[31m\u202eb\ud800\x9b\x7f") == "a�[31m�b���"
    assert printable("tab\tand\nline α日") == "tab\tand\nline α日"
