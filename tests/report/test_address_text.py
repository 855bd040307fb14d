"""The text report, line for line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.analysis.pid_address import AccessProperties, analyze, read_kernels
from tilewright.analysis.pid_address.checks import run_checks
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.report import address_text
from tilewright.report.address_document import Document

CORPUS = Path(__file__).parents[1] / "corpus" / "ttir"

DESIGN = """\
tt.func @vector_add(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: !tt.ptr<f32>) {
    %c128 = arith.constant 128 : i32
    %pid = tt.get_program_id x : i32
    %block_start = arith.muli %pid, %c128 : i32
    %offsets = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32>
    %indices = arith.addi %block_start, %offsets : tensor<128xi32>

    %ptr_a = tt.splat %arg0 : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %ptrs_a = tt.addptr %ptr_a, %indices : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %a = tt.load %ptrs_a : tensor<128x!tt.ptr<f32>>
    ...
}
"""

DESIGN_REPORT = """\
%pid:       PID_INFO(axis=0, stride=1, offset=0)
%block_start: PID_INFO(axis=0, stride=128, offset=0)
%indices:   PID_INFO(axis=0, stride=128, offset=[0,127], elem_range)
%ptrs_a:    ADDR_INFO(base=%arg0, axis=0, stride=512, offset=[0,508], coalesced=true)
%a (load):  PATTERN(PID_AFFINE, block_size=128, stride=512, coalesced=true)
"""


def document(
    text: str, facts: AccessProperties | None = None, checks: tuple[str, ...] = ()
) -> Document:
    engine = DiagnosticEngine()
    module = read_kernels(make_context(), text, "kernel.ttir", engine)
    assert module is not None, [diagnostic.message for diagnostic in engine.diagnostics]
    report = analyze(module, facts)
    return Document(report, run_checks(report, checks) if checks else ())


def corpus(
    name: str, facts: AccessProperties | None = None, checks: tuple[str, ...] = ()
) -> Document:
    return document((CORPUS / f"{name}.ttir").read_text(), facts, checks)


def test_the_example_of_the_design_line_for_line():
    assert address_text.render([document(DESIGN)]) == DESIGN_REPORT


def test_verbose_adds_to_accesses_and_lists_assumptions():
    lines = address_text.render([document(DESIGN)], verbose=True).splitlines()
    assert lines[:4] == DESIGN_REPORT.splitlines()[:4]
    assert lines[4] == (
        "%a (load):  PATTERN(PID_AFFINE, block_size=128, stride=512, coalesced=true, "
        "vec=32, align=4, order=[0])"
    )
    assert lines[5:7] == ["", "true as long as"]
    assert lines[7].startswith("  0: no_overflow: %block_start = 128*pid0 in [-2147483648,")
    assert lines[7].endswith("at kernel.ttir:4:20")


def test_verbose_shows_virtual_coordinates_and_descriptors_without_vectors():
    text = address_text.render([corpus("matmul_grouped")], verbose=True)
    (store,) = [line for line in text.splitlines() if " (store):" in line]
    assert store.endswith(
        "reason=div_mod, vec=128, align=16, order=[1, 0], "
        "virtual=PID_MULTI_AXIS[%pid_m_8:256*stride_cm, %pid_n:512])"
    )
    tma = address_text.render([corpus("matmul_tma")], verbose=True)
    assert "vec=-, align=16" in tma


def test_verbose_shows_guards():
    text = """\
tt.func @first(%p: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %pid = tt.get_program_id x : i32
  %is_first = arith.cmpi eq, %pid, %c0 : i32
  scf.if %is_first {
    tt.store %p, %n : !tt.ptr<i32>
  }
  tt.return
}
"""
    *_, line = address_text.render([document(text)], verbose=True).splitlines()
    assert line == (
        "%p (store): PATTERN(PID_INDEPENDENT, block_size=1, coalesced=true, "
        "vec=32, align=4, order=[], guard=pid0 = 0)"
    )


def test_findings_follow_with_their_places():
    facts = AccessProperties((5,), {"n_elements": 4992}, {"x_ptr": 19964})
    text = address_text.render([corpus("vector_add", facts, ("bounds",))])
    report, _, findings = text.partition("\n\n")
    assert len(report.splitlines()) == 10
    first, place, *_ = findings.splitlines()
    assert first.startswith("bounds: refuted (")
    assert "program 4, lane 895" in first
    assert place == "  at kernels.py:12:9"


@pytest.mark.parametrize("launches", [1, 2])
def test_launches_have_a_line_of_their_own(launches):
    one = document(DESIGN)
    many = [Document(one.report, (), f"vector_add[{count}, 1, 1]()") for count in range(launches)]
    text = address_text.render(many)
    assert [line for line in text.splitlines() if line.startswith("vector_add[")] == [
        each.launch for each in many
    ]
    assert text.count(DESIGN_REPORT) == launches


def test_a_kernel_without_accesses_says_so():
    text = "tt.func @nothing(%n: i32) {\n  tt.return\n}\n"
    assert address_text.render([document(text)]) == "@nothing accesses no memory\n"
