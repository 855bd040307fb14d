"""`read-shared-operands`: GEMMs read operands in shared memory that were copied from there.

    copy %Ps -> %P                        gemm %Ps, %V -> %O
    gemm %P, %V -> %O              ->

A fragment that is an operand takes registers for all of K, in every wave that has its rows; from
shared memory a GEMM reads a few elements at a time. The kernel may want the registers, which saves
reads, so the pass is off unless registers spill (`targets.hip.compile`).

The fragment has to be a copy of a whole buffer, with its element type, and operands of GEMMs its
only uses; nothing may write the buffer between the copy and the GEMMs.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.dialects.tile import AllocOp, CopyOp, GemmOp, Space
from tilewright.dialects.tile.access import base_of, may_share_bytes
from tilewright.dialects.tile.interfaces import writes
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

_ACCUMULATOR = 2
"""The index of a GEMM's result among its operands."""


@dataclass(frozen=True)
class ReadSharedOperands(Pass):
    """Let GEMMs read operands where they were copied from."""

    name = "read-shared-operands"

    enabled: bool = False
    """Whether they do."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        if not self.enabled:
            return
        for copy in _copies(module):
            fragment = copy.dst
            for use in list(fragment.uses):
                if isinstance(use.operation, GemmOp):
                    use.operation.operands[use.index] = copy.src
            assert isinstance(fragment.owner, AllocOp)
            for op in (copy, fragment.owner):
                op.detach()
                op.erase()


def has_shared_operands(module: ModuleOp) -> bool:
    """Whether a kernel has operands in registers that it could read in shared memory."""
    return any(True for _ in _copies(module))


def _copies(module: ModuleOp) -> list[CopyOp]:
    """The copies to fragments that are not needed."""
    return [
        copy
        for kernel in kernels(module)
        for op in walk(kernel)
        if isinstance(op, AllocOp) and op.space is Space.FRAGMENT and op.layout is None
        if (copy := _only_copy(op.result)) is not None
    ]


def _only_copy(fragment: SSAValue) -> CopyOp | None:
    """The copy of a shared buffer that a fragment is, as an operand of GEMMs; None if it is not."""
    users = [(use.operation, use.index) for use in fragment.uses]
    copies = [op for op, _ in users if isinstance(op, CopyOp)]
    gemms = [op for op, index in users if isinstance(op, GemmOp) and index != _ACCUMULATOR]
    if len(copies) != 1 or not gemms or len(copies) + len(gemms) != len(users):
        return None
    (copy,) = copies
    source = copy.src.owner
    if copy.dst is not fragment or not isinstance(source, AllocOp) or not source.space.is_shared:
        return None
    if element_type_of(copy.src.type) != element_type_of(fragment.type):
        return None
    if shape_of(copy.src.type) != shape_of(fragment.type):
        return None
    return copy if all(_is_unchanged(copy, gemm) for gemm in gemms) else None


def _is_unchanged(copy: CopyOp, gemm: GemmOp) -> bool:
    """Whether the buffer has, at a GEMM of the same block, what was copied."""
    if copy.parent is not gemm.parent or not copy.is_before_in_block(gemm):
        return False
    op: Operation | None = copy.next_op
    while op is not None and op is not gemm:
        if any(may_share_bytes(base_of(copy.src), region.base) for region in writes(op)):
            return False
        op = op.next_op
    return True
