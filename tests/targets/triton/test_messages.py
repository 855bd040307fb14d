"""Diagnostics of MLIR as they appear on standard error, read back."""

from tilewright.ir.diagnostics import Severity, SourcePosition
from tilewright.targets.triton.messages import REFUSED, parse


def test_both_forms_of_a_message():
    said = parse('loc("a.py":3:7): error: no such layout\nb.py:12:1: warning: slow\n')
    first, second = said.diagnostics
    assert (first.severity, first.message, first.code) == (
        Severity.ERROR,
        "no such layout",
        REFUSED,
    )
    assert first.location == SourcePosition("a.py", 3, 7)
    assert (second.severity, second.message) == (Severity.WARNING, "slow")
    assert second.location == SourcePosition("b.py", 12, 1)
    assert said.other == ""


def test_places_inside_calls_and_names():
    text = (
        'loc(callsite("f"("lib.py":3:5) at "main.py":9:1)): error: one\n'
        'loc("name"("a.py":4:2)): error: two\nloc(unknown): error: three\n'
    )
    places = [each.location for each in parse(text).diagnostics]
    assert places == [SourcePosition("lib.py", 3, 5), SourcePosition("a.py", 4, 2), None]


def test_notes_belong_to_their_error_and_operations_are_left_out():
    text = (
        "a.py:1:1: error: wrong\n    x = 1\n    ^\n"
        'a.py:1:1: note: see current operation: %0 = "tt.load"(%1)\n'
        "a.py:2:1: note: prior use here\n"
    )
    (error,) = parse(text).diagnostics
    assert [note.message for note in error.notes] == ["prior use here"]


def test_errors_of_llvm_have_no_place():
    (error,) = parse("error: could not allocate output register for constraint 'z'\n").diagnostics
    assert (error.severity, error.location) == (Severity.ERROR, None)
    assert error.message == "could not allocate output register for constraint 'z'"


def test_what_is_no_message_is_passed_on():
    said = parse("// -----// IR Dump //----- //\nmodule {\n}\n")
    assert said.diagnostics == ()
    assert said.other == "// -----// IR Dump //----- //\nmodule {\n}"


def test_endless_operations_are_cut():
    (error,) = parse(
        "a.py:1:1: error: failed to legalize operation 'ttg.x' that was explicitly marked "
        "illegal: %1 = " + "x" * 1000
    ).diagnostics
    assert error.message == (
        "failed to legalize operation 'ttg.x' that was explicitly marked illegal"
    )
