"""`duplicate-operands`: a second copy of what GEMMs read along both of its dimensions.

    copy %Q[...] -> %Qs                      copy %Q[...] -> %Qs;  copy %Q[...] -> %Qs_t
    gemm %K, %Qs {transpose_B} -> %P    ->   gemm %K, %Qs {transpose_B} -> %P
    gemm %P, %Qs -> %dK                      gemm %P, %Qs_t -> %dK

Lanes read operands 16 bytes at a time along K, and one order of elements in shared memory can have
only one dimension contiguous. Along the other one lanes would read element by element: eight times
as many reads of halves. The second buffer has the other order; `stage-copies` loads the elements
once and stores them twice.

That takes shared memory: where both do not fit, with what is live at the same time, or other ops
than whole copies write the buffer, it stays one, and a remark gives the reason (TW7550).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.amd_storage import COLUMNS, axis_of_k, is_free
from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    GemmOp,
    KernelOp,
    RegionOp,
    Space,
    SpaceAttr,
)
from tilewright.dialects.tile.regions import ViewOp
from tilewright.dialects.tile.signedness import unsigned_dtype
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.passes.gpu.shared_sizes import bytes_of
from tilewright.passes.tile.index_builder import IndexBuilder

NARROW = "TW7550"
_OPERANDS = ((0, True), (1, False))
"""The operands of a GEMM by their index, and whether they are A."""


@dataclass(frozen=True)
class DuplicateOperands(Pass):
    """Give buffers that GEMMs read along both dimensions a transposed copy."""

    name = "duplicate-operands"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            chip = amd_chip_of(kernel)
            if chip is not None:
                for op in list(walk(kernel)):
                    if isinstance(op, AllocOp) and op.space.is_shared:
                        _look_at(op, kernel, chip, engine)


def _look_at(op: AllocOp, kernel: KernelOp, chip: Chip, engine: DiagnosticEngine) -> None:
    reads = _reads(op.result)
    across = [(gemm, index) for gemm, index, axis in reads if axis == COLUMNS]
    if len(across) in (0, len(reads)):
        return
    reason = _why_not(op, kernel, chip)
    if reason is None:
        _duplicate(op, across)
        return
    remark = engine.remark(
        across[0][0],
        f"'{op.buffer_name}' read element by element here: other GEMMs read it along its rows, "
        f"and {reason}",
        NARROW,
    )
    remark.note(
        None,
        "help: T.copy the tile to two shared buffers, one for each of these GEMMs, or transpose "
        "the tensor",
    )


def _reads(buffer: SSAValue) -> list[tuple[GemmOp, int, int]]:
    """GEMMs that read all of the buffer: the index of the operand, and its dimension along K."""
    return [
        (use.operation, index, axis_of_k(use.operation, is_a=is_a))
        for use in buffer.uses
        if isinstance(use.operation, GemmOp)
        for index, is_a in _OPERANDS
        if index == use.index and is_free(buffer)
    ]


def _why_not(op: AllocOp, kernel: KernelOp, chip: Chip) -> str | None:
    """Why there cannot be a second copy, as the end of a sentence."""
    if op.alias is not None:
        return "it has storage that the user chose"
    for use in op.result.uses:
        user = use.operation
        is_whole_copy = isinstance(user, CopyOp) and user.dst is op.result is not user.src
        is_read = isinstance(user, LoadOp | GemmOp) or (
            isinstance(user, CopyOp) and user.src is op.result is not user.dst
        )
        if not is_whole_copy and not is_read:
            return f"'{user.name}' accesses a part of it, or writes it without T.copy"
    needed = _live_with(op, kernel) + bytes_of(op)
    if needed > chip.lds_bytes:
        return (
            f"a transposed copy does not fit: {needed} B needed, {chip.lds_bytes} B available per "
            f"block on {chip}"
        )
    return None


def _live_with(op: AllocOp, kernel: KernelOp) -> int:
    """Bytes of shared buffers that hold something while a buffer does, itself included, at most.

    The statements of the kernel are its moments; a loop is one, in which all its buffers are live.
    """
    spans = {
        each: span
        for each in walk(kernel)
        if isinstance(each, AllocOp) and (each.space.is_shared or each.space.is_barrier)
        if (span := _live(each, kernel)) is not None
    }
    first, last = spans[op]
    return max(
        sum(bytes_of(each) for each, (begin, end) in spans.items() if begin <= moment <= end)
        for moment in range(first, last + 1)
    )


def _live(op: AllocOp, kernel: KernelOp) -> tuple[int, int] | None:
    """The first and the last statement of the kernel that uses a buffer; None if it is unused."""
    moments: list[int] = []
    pending = [op.result]
    for value in pending:
        for use in value.uses:
            user = use.operation
            pending += [each for each in user.results if isinstance(user, RegionOp | ViewOp)]
            while (parent := user.parent_op()) is not kernel:
                assert parent is not None, "the buffers of a kernel are used inside it"
                user = parent
            moments.append(kernel.body_block.get_operation_index(user))
    return (min(moments), max(moments)) if moments else None


def _duplicate(op: AllocOp, across: list[tuple[GemmOp, int]]) -> None:
    """A second buffer, written by the same copies."""
    name = f"{op.buffer_name}_t"
    element, shape = element_type_of(op.result.type), shape_of(op.result.type)
    type = MemRefType(element, shape, NoneAttr(), SpaceAttr(Space.SHARED))
    second = (
        IndexBuilder(op).add(AllocOp(type, name=name, dtype=unsigned_dtype(op.result))).results[0]
    )
    second.name_hint = name
    for use in list(op.result.uses):
        copy = use.operation
        if isinstance(copy, CopyOp) and copy.dst is op.result:
            following = copy.next_op
            assert following is not None, "a block ends with a terminator"
            again = copy.clone()
            again.operands[1] = second
            IndexBuilder(following).add(again)
    for gemm, index in across:
        gemm.operands[index] = second
