"""Errors as an author meets them: the place is the culprit, the words help."""

import io
from dataclasses import dataclass

import pytest
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.opt import OptDriver, OptOptions
from tilewright.ir.passes import Pass, Pipeline

ARGUMENTS = "tt.func @f(%a: i32, %p: tensor<8x!tt.ptr<f32>>, %i: tensor<4xi32>) {\n"


def said(text: str, *passes: Pass, **options) -> list[str]:
    errors = io.StringIO()
    OptDriver(make_context, Pipeline(passes), OptOptions(**options), errors).run(text, "k.ttir")
    return errors.getvalue().splitlines()


@pytest.mark.parametrize(
    ("body", "first", "marked"),
    [
        (
            "%0 = arith.adddi %a, %a : i32",
            "k.ttir:2:6: error: unknown operation 'arith.adddi'; did you mean 'arith.addi'?",
            "arith.adddi",
        ),
        (
            "emitc.call @g() : () -> ()",
            "k.ttir:2:1: error: unknown operation 'emitc.call': there is no dialect 'emitc'",
            "emitc.call",
        ),
        ("%0 = arith.addi %a, %a", "k.ttir:2:23: error: expected ':'", ""),
        ("cf.br ^bb3", "k.ttir:2:7: error: reference to an undefined block", "^bb3"),
        (
            "%0 = tt.splat %a : i32 -> tensor<4xi32, #blocked>",
            "k.ttir:2:41: error: undefined symbol alias '#blocked'",
            "#blocked",
        ),
        (
            "%0 = tt.splat %a : i32 -> !tt.pointer<i32>",
            "k.ttir:2:28: error: unknown type '!tt.pointer'",
            "tt.pointer",
        ),
        (
            "%0 = arith.addi %a, %b : i32",
            "k.ttir:2:21: error: use of undeclared SSA value name '%b'",
            "%b",
        ),
    ],
)
def test_parse_errors(body, first, marked):
    lines = said(f"{ARGUMENTS}{body}\ntt.return\n}}\n")
    assert lines[0] == first
    source, caret = lines[1], lines[2]
    assert source.endswith(body)
    start = caret.index("^")
    if marked:
        assert source[start:].startswith(marked)
        assert caret.count("~") + 1 == len(marked)


def test_values_used_with_another_type_show_the_first_use():
    lines = said(f"{ARGUMENTS}%0 = arith.addi %a, %i : i32\ntt.return\n}}\n")
    assert lines[0] == (
        "k.ttir:2:21: error: use of value '%i' expects different type than prior uses: "
        "'i32' vs 'tensor<4xi32>'"
    )
    assert lines[3] == "  k.ttir:1:49: note: prior use here"


def test_an_op_of_the_python_source_is_quoted():
    body = '%0 = tt.addptr %p, %i : tensor<8x!tt.ptr<f32>>, tensor<4xi32> loc("kern.py":2:5)'
    lines = said(f"{ARGUMENTS}{body}\ntt.return\n}}\n")
    assert lines == [
        "kern.py:2:5: error[TW1033]: 'tt.addptr' op all non-scalar operands/results must have the "
        "same shape and base type",
        "  kern.py:2:5: note: see current operation: "
        "%0 = tt.addptr %arg1, %arg2 : tensor<8x!tt.ptr<f32>>, tensor<4xi32>",
    ]


def test_an_op_of_the_file_itself_is_not_quoted_twice():
    body = "%0 = tt.addptr %p, %i : tensor<8x!tt.ptr<f32>>, tensor<4xi32>"
    lines = said(f"{ARGUMENTS}{body}\ntt.return\n}}\n")
    assert len(lines) == 3
    assert "see current operation" not in "\n".join(lines)


@dataclass(frozen=True)
class LoseTheEnd(Pass):
    """Takes the last op of every function."""

    name = "lose-the-end"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(module.walk()):
            if op.name == "tt.return":
                op.detach()


def test_what_a_pass_breaks_is_not_the_authors_fault():
    body = f"{ARGUMENTS}%0 = arith.addi %a, %a : i32\ntt.return\n}}\n"
    assert said(body) == []
    first, *_ = said(body, LoseTheEnd())
    assert first == "k.ttir:2:6: error[TW9002]: block with no terminator, has 'arith.addi'"


def test_tools_get_no_codes():
    body = "%0 = tt.addptr %p, %i : tensor<8x!tt.ptr<f32>>, tensor<4xi32>"
    (line,) = said(f"{ARGUMENTS}{body}\ntt.return\n}}\n", one_line=True)
    assert line.startswith("k.ttir:2:6: error: 'tt.addptr' op all non-scalar operands")
