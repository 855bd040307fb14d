"""Reading `expected-…` comments: every form, and every way to get one wrong."""

import time

import pytest

from tilewright.ir.diagnostics import Expectation, Severity, SourcePosition, parse_expectations

Brief = tuple[str, str, int | None]


def brief(expectation: Expectation) -> Brief:
    return (expectation.severity.label, expectation.text, expectation.line)


def parse(text: str, line_offset: int = 0) -> list[Brief]:
    parsed = parse_expectations(text, "f.mlir", line_offset)
    assert parsed.problems == ()
    return [brief(item) for item in parsed.items]


def problems(text: str) -> list[tuple[int, int, str]]:
    parsed = parse_expectations(text, "f.mlir")
    return [(each.position.line, each.position.column, each.message) for each in parsed.problems]


def single(text: str) -> Expectation:
    (item,) = parse_expectations(text, "f.mlir").items
    return item


@pytest.mark.parametrize("kind", ["error", "warning", "remark", "note"])
def test_every_severity(kind: str):
    assert parse(f"op // expected-{kind} {{{{some text}}}}") == [(kind, "some text", 1)]


@pytest.mark.parametrize(
    ("comment", "line"),
    [
        ("// expected-error {{t}}", 3),
        ("// expected-error{{t}}", 3),
        ("//expected-error   {{t}}   ", 3),
        ("// expected-error {{t}}\r", 3),
        ("// expected-error@+1 {{t}}", 4),
        ("// expected-error @+1 {{t}}", 4),
        ("// expected-error @+12{{t}}", 15),
        ("// expected-error @-2 {{t}}", 1),
        ("// expected-error @-9 {{t}}", -6),
        ("// expected-error @+0 {{t}}", 3),
        ("// expected-error @above {{t}}", 2),
        ("// expected-error@below {{t}}", 4),
        ("// expected-error @unknown {{t}}", None),
        ("// expected-error @#here {{t}}", 5),
        ("// words first, expected-error@#here {{t}}", 5),
    ],
)
def test_every_place(comment: str, line: int | None):
    text = f"one\ntwo\n{comment}\nfour\nfive // #here\n"
    assert parse(text) == [("error", "t", line)]


def test_above_and_below_skip_lines_with_such_comments():
    text = "\n".join(
        [
            "// expected-error @below {{a}}",
            "// expected-note @below {{b}}",
            "op1 // expected-remark {{c}}",
            "op2",
            "op3 // expected-remark {{d}}",
            "// expected-error @above {{e}}",
            "// expected-error @below {{f}}",
            "",
            "op4",
        ]
    )
    assert parse(text) == [
        ("error", "a", 4),
        ("note", "b", 4),
        ("remark", "c", 3),
        ("remark", "d", 5),
        ("error", "e", 4),
        ("error", "f", 8),
    ]


def test_below_at_the_end_means_the_last_line():
    assert parse("op\n// expected-error @below {{t}}") == [("error", "t", 2)]
    assert parse("op\n// expected-error @below {{t}}\n") == [("error", "t", 3)]


def test_above_at_the_beginning_means_the_first_line():
    assert parse("// expected-error @above {{t}}\nop") == [("error", "t", 1)]


def test_lines_of_a_chunk_are_those_of_the_original_file():
    text = "\n".join(
        [
            "// expected-error @above {{a}}",
            "op // #mark",
            "op // expected-error {{b}}",
            "// expected-error @+1 {{c}}",
            "// expected-error @#mark {{d}}",
            "// expected-error @below {{e}}",
            "op",
            "// expected-error @below {{f}}",
        ]
    )
    lines = [101, 103, 105, 102, 107, 108]
    assert parse(text, 100) == [
        ("error", name, line) for name, line in zip("abcdef", lines, strict=True)
    ]
    positions = [item.position for item in parse_expectations(text, "f.mlir", 100).items]
    assert [(each.file, each.line) for each in positions] == [
        ("f.mlir", line) for line in (101, 103, 104, 105, 106, 108)
    ]


def test_several_texts_and_comments_on_a_line():
    text = "op // expected-error@+1 {{a}} {{b}}  expected-note {{c}} // expected-warning @-1 {{d}}"
    assert parse(text) == [
        ("error", "a", 2),
        ("error", "b", 2),
        ("note", "c", 1),
        ("warning", "d", 0),
    ]


def test_positions_of_the_announcements():
    items = parse_expectations("op // expected-error@+1 {{ab}} {{c}}", "f.mlir").items
    assert [item.position for item in items] == [
        SourcePosition("f.mlir", 1, 7, 1, 31),
        SourcePosition("f.mlir", 1, 32, 1, 37),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a } b",
        "{a}",
        "found '{{' here",
        "found '}}' here",
        "x}} then {{y",
        "pair {{inner}} kept",
        "ends with }",
        "// not a comment",
    ],
)
def test_text_with_braces_is_kept_whole(text: str):
    assert parse(f"// expected-error {{{{{text}}}}}") == [("error", text, 1)]


def test_nested_braces_before_another_text():
    assert parse("// expected-error {{a {{b}} c}} {{d}}") == [
        ("error", "a {{b}} c", 1),
        ("error", "d", 1),
    ]


def test_count():
    assert single("// expected-error {{t}}").count is None
    assert single("// expected-error 2 {{t}}").count == 2
    assert single("// expected-error@+1 12 {{t}}").count == 12
    assert single("// expected-error@+1 12 {{t}}").line == 2


@pytest.mark.parametrize(
    "text",
    [
        "expected-error {{no comment}}",
        '"expected-error {{t}}" // other comment',
        "// expected-error without braces",
        "// expected-errors {{t}}",
        "// expected-error-regex {{t}}",
        "// expected-failure {{t}}",
        "// unexpected {{t}}",
        "",
    ],
)
def test_what_is_not_such_a_comment(text: str):
    assert parse(text) == []


CANNOT_READ = "cannot read this expected-… comment"
NO_END = "expected-… comment does not end its line with '}}'"


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("// expected-error@nowhere {{t}}", CANNOT_READ),
        ("// expected-error@ +1 {{t}}", CANNOT_READ),
        ("// expected-error 0 {{t}}", CANNOT_READ),
        ("// expected-error: {{t}}", CANNOT_READ),
        ("// expected-error@+1234567890 {{t}}", CANNOT_READ),
        ("// expected-error@# {{t}}", CANNOT_READ),
        ("// expected-error {{t}} trailing", NO_END),
        ("// expected-error {{t", NO_END),
        ("// expected-error {{t}", NO_END),
        ("// expected-error {{}", NO_END),
        ("// expected-error @#lost {{t}}", "marker '#lost' is not defined"),
        ("// expected-error @#twice {{t}}", "marker '#twice' is defined more than once"),
        ("// expected-error-re {{a {{[0-9}} b}}", "invalid regex: "),
        ("// expected-error-re {{a {{b}}", "found start of regex with no end '}}'"),
    ],
)
def test_a_comment_that_cannot_be_read_is_reported(comment: str, message: str):
    found = problems(f"op // #twice\nop // #twice\n   {comment}\n")
    assert [(line, column) for line, column, _ in found] == [(3, 7)]
    assert found[0][2].startswith(message)
    assert parse_expectations(comment, "f").items == ()


def test_a_good_text_before_a_bad_one_is_kept():
    parsed = parse_expectations("// expected-error {{a}} {{b}} c", "f")
    assert [brief(item) for item in parsed.items] == [("error", "a", 1)]
    assert [each.message for each in parsed.problems] == [NO_END]


def test_an_unused_marker_is_no_problem():
    assert parse("op // #a\nop // #a\n") == []


def test_substring_match():
    item = single("// expected-error {{b.c}}")
    assert item.accepts("ab.cd")
    assert not item.accepts("abXcd")
    assert single("// expected-error {{}}").accepts("anything")


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("size {{[0-9]+}} too big", "the size 128 too big", "the size x too big"),
        ("{{a|b}}.c", "b.c", "bxc"),
        ("{{a|b}}.c", "a.c", "c.c"),
        ("plain (text)", "some plain (text) here", "plain text"),
        ("x{{.*}}y", "x\n\ny", "x\n\nz"),
        ("{{^}}start", "start here", "no start"),
        ("end{{$}}", "the end", "end of"),
        ("{{[[:digit:]]+}} {{[[:upper:][:space:]]}}", "12 A", "12 a"),
        ("{{(a)\\1}}!", "aa!", "ab!"),
    ],
)
def test_regular_expressions(text: str, yes: str, no: str):
    item = single(f"// expected-error-re @+1 {{{{{text}}}}}")
    assert item.text == text
    assert (item.severity, item.line) == (Severity.ERROR, 2)
    assert item.accepts(yes)
    assert not item.accepts(no)


def test_regular_expressions_beside_other_texts():
    parsed = parse_expectations("// expected-note-re {{a {{.}}}} {{{{x+}}}} {{b}}", "f")
    assert parsed.problems == ()
    assert [item.text for item in parsed.items] == ["a {{.}}", "{{x+}}", "b"]


def test_braces_without_re_are_literal():
    item = single("// expected-error {{a {{.}}}}")
    assert item.accepts("a {{.}}")
    assert not item.accepts("a b")


@pytest.mark.parametrize(
    "line",
    [
        "x" * 10_000_000,
        "// expected-error {{" * 200_000,
        "// expected-error " + "}}{{" * 1_000_000,
        "// expected-error {{" + "{{ }} " * 500_000 + "}}",
        "// " + "expected-" * 500_000,
        "// expected-error" + " " * 1_000_000,
        "// expected-error {{a}}" + " " * 1_000_000 + "b",
    ],
    ids=["plain", "open", "braces", "nested", "prefix", "blanks", "trailing"],
)
def test_huge_lines_take_no_long(line: str):
    begin = time.process_time()
    parse_expectations(line, "f")
    assert time.process_time() - begin < 5
