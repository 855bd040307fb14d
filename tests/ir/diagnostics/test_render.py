"""Whole diagnostics as text, in the form for people and in the form for tools."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute

from tilewright.ir.diagnostics import (
    Diagnostic,
    Severity,
    SourceManager,
    SourcePosition,
    one_line,
    pretty,
    pretty_all,
)
from tilewright.ir.text.locations import FileLineColRangeLoc


def at(file: str, line: int, column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def named(name: str, inner: Attribute) -> NameLoc:
    return NameLoc(StringAttr(name), inner)


def sources() -> SourceManager:
    manager = SourceManager(read_files=False)
    manager.add("a.mlir", "func {\n\t%0 = add %α, %b\n}\n")
    return manager


def text(*lines: str) -> str:
    return "\n".join(lines)


def test_header_excerpt_and_caret():
    diagnostic = Diagnostic(Severity.ERROR, "no such op", at("a.mlir", 2, 7), "TW0001")
    assert pretty(diagnostic, sources()) == text(
        "a.mlir:2:7: error[TW0001]: no such op",
        "  2 | \t%0 = add %α, %b",
        "    | \t     ^",
    )


def test_range_location():
    location = FileLineColRangeLoc(
        StringAttr("a.mlir"), IntAttr(2), IntAttr(11), IntAttr(2), IntAttr(17)
    )
    assert pretty(Diagnostic(Severity.WARNING, "both", location), sources()) == text(
        "a.mlir:2:11: warning: both",
        "  2 | \t%0 = add %α, %b",
        "    | \t         ^~~~~~",
    )


@pytest.mark.parametrize("severity", list(Severity))
def test_severity_words(severity: Severity):
    assert pretty(Diagnostic(severity, "m", at("x", 1, 2)), sources()) == (
        f"x:1:2: {severity.name.lower()}: m"
    )


def test_the_gutter_is_as_wide_as_the_line_number():
    manager = SourceManager()
    manager.add("f", "here", first_line=1234)
    assert pretty(Diagnostic(Severity.ERROR, "m", at("f", 1234, 2)), manager) == text(
        "f:1234:2: error: m",
        "  1234 | here",
        "       |  ^",
    )


def test_empty_line_and_unknown_column_leave_no_trailing_space():
    manager = SourceManager()
    manager.add("f", "\nab")
    assert pretty(Diagnostic(Severity.ERROR, "m", at("f", 1, 1)), manager) == text(
        "f:1:1: error: m", "  1 |", "    | ^"
    )
    assert pretty(Diagnostic(Severity.ERROR, "m", at("f", 2, 0)), manager) == text(
        "f:2:0: error: m", "  2 | ab"
    )


def test_notes_are_indented():
    diagnostic = Diagnostic(Severity.ERROR, "bad", at("a.mlir", 3, 1))
    diagnostic.note(at("a.mlir", 1, 1), "begins\nhere").note(UnknownLoc(), "somewhere")
    assert pretty(diagnostic, sources()) == text(
        "a.mlir:3:1: error: bad",
        "  3 | }",
        "    | ^",
        "  a.mlir:1:1: note: begins",
        "  here",
        "    1 | func {",
        "      | ^",
        "  note: somewhere",
    )


def test_the_same_line_is_not_shown_twice_in_a_row():
    diagnostic = Diagnostic(Severity.ERROR, "bad", at("a.mlir", 3, 1))
    diagnostic.note(None, "again").note(at("a.mlir", 1, 1), "n").note(None, "back")
    assert pretty(diagnostic, sources()) == text(
        "a.mlir:3:1: error: bad",
        "  3 | }",
        "    | ^",
        "  a.mlir:3:1: note: again",
        "  a.mlir:1:1: note: n",
        "    1 | func {",
        "      | ^",
        "  a.mlir:3:1: note: back",
        "    3 | }",
        "      | ^",
    )


def test_call_chain():
    chain = CallSiteLoc(
        named("f", at("a.mlir", 3, 1)),
        CallSiteLoc(named("kernel", at("k.py", 9, 5)), at("main.py", 2, 1)),
    )
    diagnostic = Diagnostic(Severity.ERROR, "bad", chain).note(
        CallSiteLoc(at("x", 1, 1), at("y", 2, 2)), "why"
    )
    assert pretty(diagnostic, sources()) == text(
        "a.mlir:3:1: error: bad",
        "  3 | }",
        "    | ^",
        "  called from k.py:9:5 in kernel",
        "  called from main.py:2:1",
        "  x:1:1: note: why",
        "    called from y:2:2",
    )


@pytest.mark.parametrize(
    ("callers", "last"),
    [
        (10, "  called from f:10:1"),
        (11, "  … and 1 more call"),
        (15, "  … and 5 more calls"),
    ],
)
def test_a_long_call_chain_is_cut(callers: int, last: str):
    location: Attribute = at("f", callers, 1)
    for line in reversed(range(callers)):
        location = CallSiteLoc(at("f", line, 1), location)
    lines = pretty(Diagnostic(Severity.ERROR, "m", location), sources()).split("\n")
    assert lines[0] == "f:0:1: error: m"
    assert lines[1:11] == [f"  called from f:{n}:1" for n in range(1, 11)]
    assert lines[-1] == last
    assert len(lines) == min(callers, 11) + 1


def test_fused_shows_its_first_place():
    location = FusedLoc((UnknownLoc(), at("a.mlir", 1, 6), at("b", 1, 1)), NoneAttr())
    assert pretty(Diagnostic(Severity.REMARK, "m", location), sources()) == text(
        "a.mlir:1:6: remark: m", "  1 | func {", "    |      ^"
    )


def test_without_a_position():
    assert pretty(Diagnostic(Severity.ERROR, "m", None, "TW9001")) == "error[TW9001]: m"
    assert pretty(Diagnostic(Severity.ERROR, "m", UnknownLoc())) == "error: m"
    only_name = named("acc", UnknownLoc())
    assert pretty(Diagnostic(Severity.ERROR, "m", only_name)) == 'loc("acc"): error: m'


def test_missing_and_binary_files_give_no_excerpt(tmp_path: Path):
    binary = tmp_path / "kernel.cubin"
    binary.write_bytes(b"\x7fELF\0\n")
    for file in (str(binary), str(tmp_path / "missing.py"), str(tmp_path), ""):
        diagnostic = Diagnostic(Severity.ERROR, "m", SourcePosition(file, 1, 1))
        assert pretty(diagnostic) == f"{file}:1:1: error: m"


def test_files_on_disk_are_read_without_a_source_manager(tmp_path: Path):
    file = tmp_path / "k.py"
    file.write_text("x = 1\n")
    diagnostic = Diagnostic(Severity.ERROR, "m", SourcePosition(str(file), 1, 3))
    assert pretty(diagnostic) == text(f"{file}:1:3: error: m", "  1 | x = 1", "    |   ^")


def test_text_from_standard_input():
    manager = SourceManager()
    manager.add("<stdin>", "x y")
    diagnostic = Diagnostic(Severity.ERROR, "m", SourcePosition("<stdin>", 1, 3))
    assert pretty(diagnostic, manager) == text("<stdin>:1:3: error: m", "  1 | x y", "    |   ^")


def test_output_can_always_be_encoded():
    manager = SourceManager()
    manager.add("f\ud800", "a\udcffb")
    diagnostic = Diagnostic(Severity.ERROR, "bad \udc80 \x1b[2J", SourcePosition("f\ud800", 1, 3))
    diagnostic.note(named("\ud801", UnknownLoc()), "n\x07")
    expected = text(
        "f�:1:3: error: bad � �[2J",
        "  1 | a�b",
        "    |   ^",
        '  loc("�"): note: n�',
    )
    assert pretty(diagnostic, manager) == expected
    assert pretty(diagnostic, manager).encode("utf-8").decode("utf-8") == expected
    assert one_line(diagnostic) == text(
        "f�:1:3: error: bad � �[2J", '<unknown>:0: note: loc("�"): n�'
    )


def test_colour_only_when_asked():
    diagnostic = Diagnostic(Severity.ERROR, "m", at("a.mlir", 3, 1), "TW0001")
    diagnostic.note(UnknownLoc(), "n")
    assert "\x1b" not in pretty(diagnostic, sources())
    assert pretty(diagnostic, sources(), colour=True) == text(
        "\x1b[1ma.mlir:3:1: \x1b[0m\x1b[1;31merror[TW0001]:\x1b[0m m",
        "  3 | }",
        "    | \x1b[1;32m^\x1b[0m",
        "  \x1b[1;36mnote:\x1b[0m n",
    )


def test_several_diagnostics():
    diagnostics = [
        Diagnostic(Severity.ERROR, "one", at("a.mlir", 3, 1)),
        Diagnostic(Severity.WARNING, "two"),
    ]
    assert pretty_all(diagnostics, sources()) == text(
        "a.mlir:3:1: error: one", "  3 | }", "    | ^", "warning: two"
    )
    assert pretty_all([]) == ""


def test_one_line_is_worded_as_by_mlir_opt():
    diagnostic = Diagnostic(Severity.ERROR, "'tt.dot' op bad\n  operand", at("a", 2, 3), "TW1001")
    diagnostic.note(at("b", 4, 5), "see here").note(UnknownLoc(), "and there")
    assert one_line(diagnostic) == text(
        "a:2:3: error: 'tt.dot' op bad operand",
        "b:4:5: note: see here",
        "<unknown>:0: note: and there",
    )


def test_one_line_shows_callers_as_notes():
    location: Attribute = at("f", 12, 1)
    for line in reversed(range(12)):
        location = CallSiteLoc(at("f", line, 1), location)
    diagnostic = Diagnostic(Severity.WARNING, "m", location).note(None, "n")
    assert one_line(diagnostic) == text(
        "f:0:1: warning: m",
        *(f"f:{line}:1: note: called from" for line in range(1, 11)),
        "f:0:1: note: n",
    )


def test_one_line_without_a_position():
    assert one_line(Diagnostic(Severity.ERROR, "m")) == "<unknown>:0: error: m"
    assert (
        one_line(Diagnostic(Severity.REMARK, "m", named("x", UnknownLoc())))
        == '<unknown>:0: remark: loc("x"): m'
    )
