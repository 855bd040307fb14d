"""Ops with which TLX controls registers of AMD GPUs, written with what stock Triton has.

They choose register classes and the order of instructions, never values. Stock Triton 3.9 has no
place for the choice, so the values are preserved and the choice is dropped, with a remark::

    amdg.rematerialized_range        tt.make_range
    amdg.scheduled_mfma %a, %b, %c   tt.dot %a, %b, %c     (%c zero, if it initialises)
    amdg.mfma_commit, amdg.register_resident, amdg.register_handoff, amdg.assume_uniform
                                     their operands
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.amdg import RematerializedRangeOp, ScheduledMfmaOp
from tilewright.dialects.tt import DotOp, MakeRangeOp
from tilewright.dialects.type_utils import is_tensor
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.amd.lower_buffer_accesses import zeros

DROPPED = "TW6044"


@dataclass(frozen=True)
class DropRegisterControls(Pass):
    """Replace ops that choose registers and instruction order by ops of stock Triton."""

    name = "drop-register-controls"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        reported: set[str] = set()
        for op in list(walk(module)):
            rewrite = _REWRITES.get(op.name)
            if rewrite is None:
                continue
            effect = _EFFECTS.get(op.name)
            if effect is not None and op.name not in reported:
                reported.add(op.name)
                engine.remark(op, f"{op.name} not applied: {effect}", DROPPED)
            rewrite(op, rewriter)


def _operands(op: Operation, rewriter: Rewriter) -> None:
    rewriter.replace_op(op, (), list(op.operands))


def _range(op: Operation, rewriter: Rewriter) -> None:
    assert isinstance(op, RematerializedRangeOp)
    start, end = op.start.value.data, op.end.value.data
    assert is_tensor(op.result.type)
    rewriter.replace_op(op, MakeRangeOp(start, end, op.result.type))


def _dot(op: Operation, rewriter: Rewriter) -> None:
    assert isinstance(op, ScheduledMfmaOp)
    accumulator = op.c
    if op.initialize.value.data:
        zero = zeros(op.c.type)
        rewriter.insert_before(op, zero)
        accumulator = zero.result
    rewriter.replace_op(op, DotOp(op.a, op.b, accumulator))


_REWRITES: Mapping[str, Callable[[Operation, Rewriter], None]] = {
    "amdg.assume_uniform": _operands,
    "amdg.mfma_commit": _operands,
    "amdg.register_handoff": _operands,
    "amdg.register_resident": _operands,
    "amdg.rematerialized_range": _range,
    "amdg.scheduled_mfma": _dot,
}
_EFFECTS: Mapping[str, str] = {
    "amdg.register_handoff": "stock Triton chooses the register class",
    "amdg.register_resident": "stock Triton chooses the register class",
    "amdg.scheduled_mfma": "stock Triton chooses the order of matrix instructions",
}
"""What a user loses. The other ops are hints whose effect stock Triton has anyway."""
