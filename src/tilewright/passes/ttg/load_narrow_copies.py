"""Copies that the hardware cannot make asynchronously go through registers.

``cp.async`` moves 4, 8 or 16 bytes that are consecutive in global memory and in shared memory, and
that share one mask. Where less is proved (an odd stride, a mask that may end anywhere), the copy
becomes a load and a store to shared memory. The groups that the kernel commits and waits for then
wait for nothing, which is right: the data is there already, only later than it could be. A remark
reports what was not proved. Copies that remain carry how many bytes were proved.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import SSAValue

from tilewright.analysis.axis_info import AxisFacts, solve_axis_info
from tilewright.dialects.tt import LoadOp
from tilewright.dialects.ttg import AsyncCommitGroupOp, AsyncCopyGlobalToLocalOp, LocalStoreOp
from tilewright.dialects.ttg.shared import (
    NvmmaSharedEncoding,
    SharedLinearEncoding,
    SwizzledSharedEncoding,
)
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.coalescing import element_bytes, run_length

NARROW = "TW3050"

MIN_COPY_BYTES = 4
"""The smallest copy that ``cp.async`` makes."""


@dataclass(frozen=True)
class LoadNarrowCopies(Pass):
    """Replace copies of fewer than four consecutive bytes by loads and stores."""

    name = "load-narrow-copies"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        copies = [
            op
            for op in walk(module)
            if isinstance(op, AsyncCopyGlobalToLocalOp) and op.barrier is None
        ]
        if not copies:
            return
        axis_info = solve_axis_info(module)
        rewriter = Rewriter()
        for op in copies:
            size = copied_bytes(op, axis_info)
            if size >= MIN_COPY_BYTES:
                # Triton may not repeat the proof; it relies on this attribute.
                run = size // element_bytes(op.src)
                op.properties["contiguity"] = IntegerAttr(run, i32)
            elif forget_token(op.token):
                _through_registers(op, rewriter)
                engine.remark(
                    op,
                    f"cp.async not used: {MIN_COPY_BYTES} contiguous bytes under one mask needed, "
                    f"{size} proved; the copy goes through registers",
                    NARROW,
                )


def copied_bytes(op: AsyncCopyGlobalToLocalOp, axis_info: AxisFacts) -> int:
    """How many bytes one thread can copy at once."""
    type = op.result.type
    assert isinstance(type, MemDescType)
    layout = unwrapped(type.encoding)
    if not isinstance(layout, NvmmaSharedEncoding | SharedLinearEncoding | SwizzledSharedEncoding):
        return 0
    fastest = layout.order[0]
    return run_length(op.src, op.mask, fastest, axis_info) * element_bytes(op.src)


def forget_token(token: SSAValue) -> bool:
    """Take the token of a copy out of the groups it is in; False if it goes anywhere else."""
    uses = list(token.uses)
    if not all(isinstance(use.operation, AsyncCommitGroupOp) for use in uses):
        return False
    for use in uses:
        group = use.operation
        group.operands = [value for value in group.operands if value is not token]
    return True


def _through_registers(op: AsyncCopyGlobalToLocalOp, rewriter: Rewriter) -> None:
    load = LoadOp(op.src, op.mask, op.other, policy=op.policy)
    store = LocalStoreOp(load.result, op.result)
    rewriter.insert_before(op, [load, store])
    rewriter.erase(op)
