"""Announcements against diagnostics; each check also fails when one thing is changed."""

from dataclasses import replace

import pytest
from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, IntAttr, StringAttr, UnknownLoc

from tilewright.ir.diagnostics import (
    Diagnostic,
    Mismatch,
    MismatchKind,
    Severity,
    SourceManager,
    SourcePosition,
    match,
    parse_expectations,
    pretty,
)

ERROR = Severity.ERROR


def at(line: int, file: str = "f.mlir", column: int = 3) -> SourcePosition:
    return SourcePosition(file, line, column)


def error(message: str, line: int) -> Diagnostic:
    return Diagnostic(ERROR, message, at(line))


def check(text: str, *diagnostics: Diagnostic, line_offset: int = 0) -> list[str]:
    expectations = parse_expectations(text, "f.mlir", line_offset)
    return [str(each) for each in match(expectations, diagnostics)]


def test_nothing_announced_and_nothing_came():
    assert check("op\n") == []


def test_all_that_was_announced_came():
    text = "op // expected-error {{bad op}}\n// expected-warning @below {{odd}}\nop"
    assert check(text, error("a bad op here", 1), Diagnostic(Severity.WARNING, "odd", at(3))) == []


BASE = Diagnostic(ERROR, "bad op", at(2))
ANNOUNCED = "op\nop // expected-error {{bad op}}"
NOT_PRODUCED = 'f.mlir:2:7: error: expected error "bad op" was not produced'


def test_base_of_the_mutations_matches():
    assert check(ANNOUNCED, BASE) == []


@pytest.mark.parametrize(
    ("mutant", "first"),
    [
        (replace(BASE, message="bad"), "f.mlir:2:3: error: unexpected error: bad"),
        (replace(BASE, location=at(1)), "f.mlir:1:3: error: unexpected error: bad op"),
        (replace(BASE, location=at(2, "g")), "g:2:3: error: unexpected error: bad op"),
        (replace(BASE, location=None), "<unknown>:0: error: unexpected error: bad op"),
        (replace(BASE, location=UnknownLoc()), "<unknown>:0: error: unexpected error: bad op"),
        (
            replace(BASE, severity=Severity.WARNING),
            "f.mlir:2:7: error: 'warning' diagnostic emitted when expecting a 'error'",
        ),
    ],
)
def test_one_change_is_caught_on_both_sides(mutant: Diagnostic, first: str):
    assert check(ANNOUNCED, mutant) == [first, NOT_PRODUCED]


def test_a_missing_diagnostic():
    assert check(ANNOUNCED) == [NOT_PRODUCED]


@pytest.mark.parametrize("severity", [Severity.REMARK, Severity.WARNING, Severity.ERROR])
def test_every_severity_must_be_announced(severity: Severity):
    label = severity.label
    diagnostic = Diagnostic(severity, "m", at(1))
    assert check("op", diagnostic) == [f"f.mlir:1:3: error: unexpected {label}: m"]
    assert check(f"op // expected-{label} {{{{m}}}}", diagnostic) == []


def test_notes_must_be_announced_too():
    diagnostic = error("bad", 1).note(at(2), "see here")
    text = "op // expected-error {{bad}}\nop"
    assert check(text, diagnostic) == ["f.mlir:2:3: error: unexpected note: see here"]
    assert check(text + " // expected-note {{see}}", diagnostic) == []
    assert check(text + " // expected-note {{other}}", diagnostic) == [
        "f.mlir:2:3: error: unexpected note: see here",
        'f.mlir:2:7: error: expected note "other" was not produced',
    ]


def test_a_note_without_a_place_is_where_its_diagnostic_is():
    diagnostic = error("bad", 1).note(None, "why")
    assert check("op // expected-error {{bad}} expected-note {{why}}", diagnostic) == []


def test_one_announcement_covers_several_equal_diagnostics():
    assert check("op // expected-error {{bad}}", error("bad", 1), error("bad again", 1)) == []


def test_equal_announcements_are_met_one_by_one():
    text = "op // expected-error {{bad}} {{bad}}"
    assert check(text, error("bad", 1), error("bad", 1)) == []
    assert check(text, error("bad", 1)) == [
        'f.mlir:1:30: error: expected error "bad" was not produced'
    ]


def test_an_announcement_not_yet_met_is_preferred():
    text = "op // expected-error {{bad}} {{bad op}}"
    assert check(text, error("bad", 1), error("bad op", 1)) == []
    assert check(text, error("bad op", 1), error("bad op", 1), error("bad op", 1)) == []


@pytest.mark.parametrize(
    ("came", "result"),
    [
        (0, ['f.mlir:1:7: error: expected error "bad" was not produced']),
        (1, ['f.mlir:1:7: error: expected error "bad" was produced 1 of 2 times']),
        (2, []),
        (3, ["f.mlir:1:3: error: unexpected error: bad"]),
    ],
)
def test_count_is_exact(came: int, result: list[str]):
    assert check("op // expected-error 2 {{bad}}", *[error("bad", 1)] * came) == result


def test_the_severity_hint_names_the_announcement():
    text = "op // expected-warning {{bad}}"
    found = match(parse_expectations(text, "f.mlir"), [error("bad", 1)])
    assert [each.kind for each in found] == [MismatchKind.WRONG_SEVERITY, MismatchKind.MISSING]
    assert str(found[0]) == (
        "f.mlir:1:7: error: 'error' diagnostic emitted when expecting a 'warning'"
    )


def test_the_severity_hint_is_about_the_last_near_miss():
    text = "op // expected-warning {{bad}} expected-remark {{bad}}"
    assert check(text, error("bad", 1))[0] == (
        "f.mlir:1:32: error: 'error' diagnostic emitted when expecting a 'remark'"
    )


def test_right_severity_wins_over_a_near_miss():
    text = "op // expected-warning {{bad}} expected-error {{bad}}"
    assert check(text, error("bad", 1)) == [
        'f.mlir:1:7: error: expected warning "bad" was not produced'
    ]


def test_unknown_positions():
    text = "// expected-error @unknown {{bad}}"
    assert check(text, Diagnostic(ERROR, "bad", UnknownLoc())) == []
    assert check(text, Diagnostic(ERROR, "bad", None)) == []
    assert check(text, error("bad", 1)) == [
        "f.mlir:1:3: error: unexpected error: bad",
        'f.mlir:1:4: error: expected error "bad" was not produced',
    ]


def test_every_place_form_finds_its_line():
    text = "\n".join(
        [
            "// expected-error @+5 {{a}}",
            "// expected-error @#target {{b}}",
            "// expected-error @below {{c}}",
            "",
            "// prose",
            "op // #target",
            "// expected-error @above {{d}}",
            "// expected-error @-2 {{e}}",
        ]
    )
    came = [error("a", 6), error("b", 6), error("c", 4), error("d", 6), error("e", 6)]
    assert check(text, *came) == []
    for index, diagnostic in enumerate(came):
        moved = replace(diagnostic, location=at(5))
        assert len(check(text, *came[:index], moved, *came[index + 1 :])) == 2


def test_a_regular_expression():
    text = "op // expected-error-re {{size {{[0-9]+}}!}}"
    assert check(text, error("size 12!", 1)) == []
    assert check(text, error("size x!", 1)) == [
        "f.mlir:1:3: error: unexpected error: size x!",
        'f.mlir:1:7: error: expected error "size {{[0-9]+}}!" was not produced',
    ]


def test_chunk_lines_are_those_of_the_original_file():
    text = "// expected-error @below {{bad}}\nop"
    assert check(text, error("bad", 42), line_offset=40) == []
    assert check(text, error("bad", 2), line_offset=40) == [
        "f.mlir:2:3: error: unexpected error: bad",
        'f.mlir:41:4: error: expected error "bad" was not produced',
    ]


def test_the_callee_position_counts():
    def loc(line: int) -> FileLineColLoc:
        return FileLineColLoc(StringAttr("f.mlir"), IntAttr(line), IntAttr(3))

    inlined = Diagnostic(ERROR, "bad", CallSiteLoc(loc(1), loc(2)))
    assert check("op // expected-error {{bad}}\nop", inlined) == []
    assert len(check("op\nop // expected-error {{bad}}", inlined)) == 2


def test_a_comment_that_cannot_be_read_fails_the_run():
    expectations = parse_expectations("op // expected-error {{bad}} indeed", "f.mlir")
    assert match(expectations, []) == [
        Mismatch(
            MismatchKind.MALFORMED,
            "expected-… comment does not end its line with '}}'",
            SourcePosition("f.mlir", 1, 7, 1, 36),
        )
    ]


def test_only_expected_lets_others_pass_but_not_missing_ones():
    expectations = parse_expectations("op // expected-error {{bad}}", "f.mlir")
    assert match(expectations, [error("bad", 1), error("x", 9)], only_expected=True) == []
    found = match(expectations, [error("x", 1)], only_expected=True)
    assert [each.kind for each in found] == [MismatchKind.MISSING]


def test_order_of_the_report():
    text = "op // expected-error {{a}} {{b}}\n// expected-error {{c}} d"
    found = match(parse_expectations(text, "f.mlir"), [error("y", 1), error("x", 1)])
    assert [(each.kind.name, each.message) for each in found] == [
        ("MALFORMED", "expected-… comment does not end its line with '}}'"),
        ("UNEXPECTED", "unexpected error: y"),
        ("UNEXPECTED", "unexpected error: x"),
        ("MISSING", 'expected error "a" was not produced'),
        ("MISSING", 'expected error "b" was not produced'),
    ]


def test_a_mismatch_is_shown_like_any_error():
    sources = SourceManager()
    sources.add("f.mlir", "op // expected-error {{bad}}")
    expectations = parse_expectations("op // expected-error {{bad}}", "f.mlir")
    (mismatch,) = match(expectations, [])
    assert pretty(mismatch.diagnostic(), sources) == "\n".join(
        [
            'f.mlir:1:7: error: expected error "bad" was not produced',
            "  1 | op // expected-error {{bad}}",
            "    |       ^~~~~~~~~~~~~~~~~~~~~~",
        ]
    )
