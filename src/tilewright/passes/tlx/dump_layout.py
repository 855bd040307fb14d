"""Report and compare layouts as the kernel requests.

``tlx.dump_layout`` becomes a remark with the type that a value ended up with, and its layout in
CuTe's notation if it has one. ``tlx.assert_same_layout`` and ``tlx.assert_same_layout_expected``
hold if every element has the same owner, however the layouts are written; if not, both are named.
The ops are erased.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tlx import (
    AssertSameLayoutExpectedOp,
    AssertSameLayoutOp,
    DumpLayoutOp,
)
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.dialects.type_utils import encoding_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tlx.cute_notation import notation
from tilewright.passes.ttg.linear import linear_of

LAYOUT = "TW2053"
DIFFERENT = "TW2045"


@dataclass(frozen=True)
class DumpLayout(Pass):
    """Remarks and errors for the kernel's queries about layouts."""

    name = "tlx-dump-layout"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        for op in list(walk(module)):
            match op:
                case DumpLayoutOp():
                    _describe(op, engine)
                case AssertSameLayoutOp():
                    _compare(op, op.lhs, _layout(op.rhs), engine)
                case AssertSameLayoutExpectedOp():
                    _compare(op, op.src, unwrapped(op.expected), engine)
                case _:
                    continue
            rewriter.erase(op)


def _describe(op: DumpLayoutOp, engine: DiagnosticEngine) -> None:
    name = op.src.name_hint or "the value"
    remark = engine.remark(op, f"tlx.dump_layout @ {name}", LAYOUT)
    remark.note(None, f"type: {op.src.type}")
    layout = _layout(op.src)
    if layout is not None:
        shape, is_buffer = _shape(op.src), isinstance(op.src.type, MemDescType)
        remark.note(None, f"cute: {notation(layout, shape, is_buffer=is_buffer) or 'none'}")


def _layout(value: SSAValue) -> Attribute | None:
    actual = value.type.encoding if isinstance(value.type, MemDescType) else encoding_of(value.type)
    return None if actual is None else unwrapped(actual)


def _shape(value: SSAValue) -> tuple[int, ...]:
    type = value.type
    return type.shape if isinstance(type, MemDescType) else shape_of(type)


def _compare(
    op: Operation, value: SSAValue, expected: Attribute | None, engine: DiagnosticEngine
) -> None:
    actual = _layout(value)
    if actual == expected:
        return
    shape = _shape(value)
    if actual is not None and expected is not None:
        one, other = linear_of(actual, shape), linear_of(expected, shape)
        if one is not None and other is not None and one.same_map(other):
            return
    error = engine.error(op, "layout assertion failed: LinearLayouts differ", DIFFERENT)
    error.note(None, f"lhs: {actual}")
    error.note(None, f"rhs: {expected}")
