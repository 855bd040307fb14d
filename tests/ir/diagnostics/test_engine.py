"""Reporting: severities, filter, limit, delivery to handlers, capture, CompileError."""

import pytest
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnknownLoc, i32
from xdsl.ir import Block

from tilewright.ir.diagnostics import (
    DEFAULT_MAX_ERRORS,
    CompileError,
    Diagnostic,
    DiagnosticEngine,
    Severity,
    SourceManager,
    SourcePosition,
    locate,
)

HERE = SourcePosition("a.mlir", 1, 1)
THERE = SourcePosition("a.mlir", 2, 3)


def file_location(line: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr("a.mlir"), IntAttr(line), IntAttr(1))


def messages(diagnostics: list[Diagnostic]) -> list[str]:
    return [each.message for each in diagnostics]


def test_severities_are_ordered():
    assert sorted(Severity) == [
        Severity.NOTE,
        Severity.REMARK,
        Severity.WARNING,
        Severity.ERROR,
    ]
    assert [each.label for each in Severity] == ["note", "remark", "warning", "error"]


def test_where_becomes_a_location():
    op = test_dialect.TestOp(result_types=[i32])
    op.location = file_location(4)
    block = Block(arg_types=[i32])
    block.args[0].location = file_location(7)
    assert locate(op) == file_location(4)
    assert locate(op.results[0]) == file_location(4)
    assert locate(block.args[0]) == file_location(7)
    assert locate(file_location(9)) == file_location(9)
    assert locate(HERE) == HERE
    assert locate(None) is None


def test_reports_are_kept_in_order_with_all_they_were_given():
    engine = DiagnosticEngine()
    engine.warning(HERE, "odd", "TW2001")
    engine.error(file_location(3), "bad")
    engine.remark(None, "slow path", code="TW3001")
    assert engine.diagnostics == [
        Diagnostic(Severity.WARNING, "odd", HERE, "TW2001"),
        Diagnostic(Severity.ERROR, "bad", file_location(3), None),
        Diagnostic(Severity.REMARK, "slow path", None, "TW3001"),
    ]


def test_counts_and_has_errors():
    engine = DiagnosticEngine()
    assert not engine.has_errors
    engine.warning(HERE, "w")
    engine.remark(HERE, "r")
    assert not engine.has_errors
    engine.error(HERE, "e")
    engine.error(HERE, "e")
    assert engine.has_errors
    assert (engine.error_count, engine.warning_count, engine.remark_count) == (2, 1, 1)


def test_notes_chain_and_belong_to_their_diagnostic():
    engine = DiagnosticEngine()
    diagnostic = engine.error(HERE, "bad").note(THERE, "one").note(None, "two")
    assert diagnostic is engine.diagnostics[0]
    assert diagnostic.notes == [
        Diagnostic(Severity.NOTE, "one", THERE),
        Diagnostic(Severity.NOTE, "two", HERE),
    ]
    assert engine.error_count == 1


def test_a_note_can_be_at_an_unknown_place():
    diagnostic = Diagnostic(Severity.ERROR, "bad", HERE).note(UnknownLoc(), "somewhere")
    assert diagnostic.notes[0].location == UnknownLoc()


def test_a_diagnostic_is_a_value_and_can_be_hashed():
    first = Diagnostic(Severity.ERROR, "bad", HERE)
    assert len({first, Diagnostic(Severity.ERROR, "bad", HERE)}) == 1
    with pytest.raises(AttributeError):
        first.message = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_note_cannot_be_reported_alone():
    engine = DiagnosticEngine(minimum=Severity.NOTE)
    with pytest.raises(ValueError, match="a note is attached"):
        engine.emit(Diagnostic(Severity.NOTE, "alone"))


@pytest.mark.parametrize(
    ("minimum", "kept"),
    [
        (Severity.NOTE, ["r", "w", "e"]),
        (Severity.REMARK, ["r", "w", "e"]),
        (Severity.WARNING, ["w", "e"]),
        (Severity.ERROR, ["e"]),
    ],
)
def test_minimum_severity(minimum: Severity, kept: list[str]):
    seen: list[Diagnostic] = []
    with DiagnosticEngine(minimum=minimum, handlers=[seen.append]) as engine:
        engine.remark(HERE, "r").note(HERE, "why")
        engine.warning(HERE, "w").note(HERE, "why")
        engine.error(HERE, "e").note(HERE, "why")
    assert messages(engine.diagnostics) == kept
    assert messages(seen) == kept
    assert [len(each.notes) for each in seen] == [1] * len(kept)
    assert engine.remark_count == kept.count("r")
    assert engine.warning_count == kept.count("w")


def test_default_limit_is_twenty_errors():
    engine = DiagnosticEngine()
    for number in range(25):
        engine.error(HERE, f"e{number}")
    assert DEFAULT_MAX_ERRORS == 20
    assert messages(engine.diagnostics) == [
        *(f"e{number}" for number in range(20)),
        "too many errors: only the first 20 are shown",
    ]
    assert engine.diagnostics[-1].severity is Severity.ERROR
    assert (engine.error_count, engine.suppressed) == (25, 5)


def test_exactly_the_limit_is_shown_without_a_closing_message():
    engine = DiagnosticEngine(max_errors=2)
    engine.error(HERE, "a")
    engine.error(HERE, "b")
    engine.warning(HERE, "still shown")
    assert messages(engine.diagnostics) == ["a", "b", "still shown"]
    assert engine.suppressed == 0


def test_past_the_limit_everything_is_suppressed_but_counted():
    seen: list[Diagnostic] = []
    with DiagnosticEngine(max_errors=1, handlers=[seen.append]) as engine:
        engine.warning(HERE, "w")
        for _ in range(3):
            engine.error(HERE, "e").note(HERE, "n")
        engine.warning(HERE, "w")
    assert messages(seen) == ["w", "e", "too many errors: only the first 1 are shown"]
    assert seen[-1].notes == []
    assert (engine.error_count, engine.warning_count, engine.suppressed) == (3, 2, 3)


def test_no_limit():
    engine = DiagnosticEngine(max_errors=None)
    for _ in range(100):
        engine.error(HERE, "e")
    assert messages(engine.diagnostics) == ["e"] * 100


def test_handlers_get_each_diagnostic_once_with_its_notes():
    first: list[tuple[str, int]] = []
    second: list[str] = []
    engine = DiagnosticEngine(handlers=[lambda d: first.append((d.message, len(d.notes)))])
    engine.handlers.append(lambda d: second.append(d.message))
    engine.error(HERE, "a").note(HERE, "n").note(HERE, "n")
    assert first == []
    engine.warning(HERE, "b")
    assert first == [("a", 2)]
    engine.flush()
    engine.flush()
    assert first == [("a", 2), ("b", 0)]
    assert second == ["a", "b"]


def test_leaving_the_engine_block_by_an_exception_delivers_what_was_said():
    seen: list[Diagnostic] = []
    with pytest.raises(KeyError), DiagnosticEngine(handlers=[seen.append]) as engine:
        engine.error(HERE, "before the crash")
        raise KeyError
    assert messages(seen) == ["before the crash"]


def test_a_handler_may_report():
    engine = DiagnosticEngine()
    seen: list[str] = []

    def handler(diagnostic: Diagnostic) -> None:
        seen.append(diagnostic.message)
        if diagnostic.message == "a":
            engine.remark(HERE, "from handler")

    engine.handlers.append(handler)
    engine.error(HERE, "a")
    engine.flush()
    engine.flush()
    assert seen == ["a", "from handler"]


def test_capture_diverts_reports_and_state():
    seen: list[Diagnostic] = []
    engine = DiagnosticEngine(handlers=[seen.append], max_errors=1)
    engine.error(HERE, "outside")
    with engine.capture() as captured:
        assert not engine.has_errors
        engine.error(HERE, "inside").note(THERE, "n")
        assert engine.has_errors
    assert messages(captured.diagnostics) == ["inside"]
    assert messages(captured.diagnostics[0].notes) == ["n"]
    assert captured.has_errors
    assert captured.count(Severity.ERROR) == 1
    assert engine.error_count == 1
    engine.flush()
    assert messages(seen) == ["outside"]


def test_captured_diagnostics_can_be_emitted_again():
    seen: list[Diagnostic] = []
    engine = DiagnosticEngine(handlers=[seen.append])
    with engine.capture() as captured:
        engine.error(HERE, "inside").note(THERE, "n")
    for diagnostic in captured.diagnostics:
        engine.emit(diagnostic)
    engine.flush()
    assert seen == captured.diagnostics
    assert engine.has_errors


def test_captures_nest_and_end_with_an_exception():
    engine = DiagnosticEngine()
    with engine.capture() as outer:
        with pytest.raises(KeyError), engine.capture() as inner:
            engine.error(HERE, "inner")
            raise KeyError
        engine.warning(HERE, "outer")
    engine.remark(HERE, "outside")
    assert messages(inner.diagnostics) == ["inner"]
    assert messages(outer.diagnostics) == ["outer"]
    assert messages(engine.diagnostics) == ["outside"]


def test_filter_and_limit_hold_inside_a_capture():
    engine = DiagnosticEngine(minimum=Severity.WARNING, max_errors=1)
    with engine.capture() as captured:
        engine.remark(HERE, "r")
        engine.error(HERE, "a")
        engine.error(HERE, "b")
    assert messages(captured.diagnostics) == [
        "a",
        "too many errors: only the first 1 are shown",
    ]
    assert captured.suppressed == 1


def test_raise_if_errors_is_quiet_without_errors():
    engine = DiagnosticEngine()
    engine.warning(HERE, "w")
    assert engine.raise_if_errors() is None


def test_compile_error_shows_every_diagnostic_with_its_source():
    seen: list[Diagnostic] = []
    sources = SourceManager(read_files=False)
    sources.add("a.mlir", "x\n  y z\n")
    engine = DiagnosticEngine(sources=sources, handlers=[seen.append])
    engine.warning(HERE, "odd")
    engine.error(THERE, "bad", "TW1001").note(HERE, "defined here")
    with pytest.raises(CompileError) as caught:
        engine.raise_if_errors()
    assert str(caught.value) == "\n".join(
        [
            "a.mlir:1:1: warning: odd",
            "  1 | x",
            "    | ^",
            "a.mlir:2:3: error[TW1001]: bad",
            "  2 |   y z",
            "    |   ^",
            "  a.mlir:1:1: note: defined here",
            "    1 | x",
            "      | ^",
        ]
    )
    assert caught.value.diagnostics == tuple(engine.diagnostics)
    assert messages(seen) == ["odd", "bad"]
