"""`hoist-views`: views of tensors are made by the host, before the kernel.

    tile.kernel { %f = tile.view %A : memref<3x3x64xf16> to memref<576xf16> ... }
    ->   %f = tile.view %A ... ; tile.kernel { ... }

A view of global memory changes no bytes, so a kernel can be given it as an argument, and a tensor
map can be created for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tile import KernelOp, Space, space_of
from tilewright.dialects.tile.regions import PtrOfOp, ViewOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class HoistViews(Pass):
    """Move views of tensors out of kernels."""

    name = "hoist-views"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in list(walk(module)):
            if isinstance(kernel, KernelOp):
                for op in list(walk(kernel)):
                    if _is_view(op) and space_of(op.results[0].type) is Space.GLOBAL:
                        _hoist(op, kernel)


def _is_view(op: Operation) -> bool:
    """A view, or the address of an element that is needed for views alone."""
    if isinstance(op, PtrOfOp):
        return all(isinstance(use.operation, ViewOp) for use in op.result.uses)
    return isinstance(op, ViewOp)


def _hoist(op: Operation, kernel: KernelOp) -> None:
    if not all(_is_outside(each, kernel) for each in op.operands):
        return
    block = kernel.parent
    assert block is not None
    for index, operand in enumerate(op.operands):
        owner = operand.owner
        if isinstance(owner, ConstantOp) and _is_within(owner, kernel):
            copy = owner.clone()
            block.insert_op_before(copy, kernel)
            op.operands[index] = copy.results[0]
    op.detach()
    block.insert_op_before(op, kernel)


def _is_outside(value: SSAValue, kernel: KernelOp) -> bool:
    return isinstance(value.owner, ConstantOp) or not _is_within(value.owner, kernel)


def _is_within(owner: Operation | Block, kernel: KernelOp) -> bool:
    current = owner if isinstance(owner, Operation) else owner.parent_op()
    while current is not None and current is not kernel:
        current = current.parent_op()
    return current is kernel
