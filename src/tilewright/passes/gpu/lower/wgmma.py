"""A GEMM by warp groups: descriptors of operands in shared memory, accumulators in registers."""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.gemm_plan import GemmPlan
from tilewright.analysis.layout_inference.scopes import GROUP
from tilewright.dialects.arith import ConstantOp, XoriOp
from tilewright.dialects.nv import (
    MatrixOp,
    WgmmaCommitOp,
    WgmmaFenceOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.dialects.tile import GemmOp, KernelOp, Space, WsOp, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.signedness import is_unsigned
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.gpu.lower.shared_operands import SharedOperand, shared_operand
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined


def lower_wgmma(op: GemmOp, plan: GemmPlan, storage: BufferStorage) -> None:
    """Replace a GEMM by the instructions of one warp group."""
    code = IndexBuilder(op)
    m, n, k = op.mnk
    down, across = plan.groups
    rows, columns = m // down, n // across
    tid = storage.thread_at(code, op)
    group = combined(code, "floordiv", tid, GROUP) if down * across > 1 else 0
    first_row = combined(code, "floordiv", group, across) if across > 1 else group
    first_column = combined(code, "mod", group, across) if across > 1 else 0
    if down == 1:
        first_row = 0
    _, width, depth = plan.shape
    a = _operand(code, storage, op.a, is_k_major=op.transpose_a is None)
    b = _operand(code, storage, op.b, is_k_major=op.transpose_b is not None)
    assert b is not None
    if a is not None:
        a = a.moved(code, first_row, rows)
    b = b.moved(code, first_column, columns)
    accumulators = storage.registers[base_of(op.c)].buffer
    keeps = _keeps(code, op)
    code.add(WgmmaFenceOp())
    for row in range(rows // 64):
        for column in range(columns // width):
            for step in range(k // depth):
                tile = row * (columns // width) + column
                _issue(
                    code,
                    op,
                    (64, width, depth),
                    a.descriptor(code, MatrixOp, row * 64, step * depth) if a is not None else None,
                    (row * (k // depth) + step) * (64 * depth // GROUP),
                    b.descriptor(code, MatrixOp, column * width, step * depth),
                    (accumulators, tile * (64 * width // GROUP)),
                    keeps if step == 0 else None,
                    storage,
                )
    code.add(WgmmaCommitOp())
    if op.asynchronous is None:
        code.add(WgmmaWaitOp(0))
        code.add(WgmmaFenceOperandOp(accumulators))
    code.rewriter.erase(op)


def fence_operands_after(wait: WgmmaWaitOp) -> None:
    """Return to the threads the accumulators that a user-defined wait completes.

    A wait for `count` leaves the last `count` groups in flight; their accumulators stay with them.
    """
    groups = 0
    pending: set[SSAValue] = set()
    done: dict[SSAValue, bool] = {}
    for op in _issued_before(wait):
        if isinstance(op, WgmmaCommitOp):
            groups += 1
        elif isinstance(op, WgmmaOp) and groups <= wait.count:
            pending.add(op.acc)
        elif isinstance(op, WgmmaOp) and op.acc not in pending:
            done[op.acc] = done.get(op.acc, False) or op.parent is not wait.parent
    following = wait.next_op
    assert following is not None  # a block ends with a terminator
    code = IndexBuilder(following)
    for acc, is_late in done.items():
        code.add(WgmmaFenceOperandOp(acc, late=is_late))


def _issued_before(wait: WgmmaWaitOp) -> list[Operation]:
    """Ops of the same role that run before a wait, the last one first; includes loop back edges."""
    top: Operation = wait
    loop: Operation | None = None
    while (parent := top.parent_op()) is not None and not isinstance(parent, WsOp | KernelOp):
        top = parent
        loop = top if isinstance(top, ForOp | WhileOp) else loop
    block = top.parent
    assert block is not None
    ops = [op for each in block.ops for op in walk(each)]
    position = ops.index(wait)
    later = [op for op in ops[position + 1 :] if loop is not None and loop.is_ancestor(op)]
    return [*reversed(ops[:position]), *reversed(later)]


def _keeps(code: IndexBuilder, op: GemmOp) -> SSAValue | None:
    """Whether the first step adds to what was there; None if it does."""
    if op.clear is not None:
        return code.add(ConstantOp.of(0, i1)).results[0]
    if op.clear_if is not None:
        true = code.add(ConstantOp.of(1, i1)).results[0]
        return code.add(XoriOp(op.clear_if, true)).results[0]
    return None


def _issue(
    code: IndexBuilder,
    op: GemmOp,
    shape: tuple[int, int, int],
    a: SSAValue | None,
    a_register: int,
    b: SSAValue,
    accumulators: tuple[SSAValue, int],
    keeps: SSAValue | None,
    storage: BufferStorage,
) -> None:
    types = (element_type_of(op.a.type), element_type_of(op.b.type))
    acc = (accumulators[0], code.index(accumulators[1]))
    unsigned = is_unsigned(op.a), is_unsigned(op.b)
    if a is not None:
        code.add(
            WgmmaOp(
                a,
                b,
                acc,
                shape,
                types,
                scale_d=keeps,
                transposed_a=op.transpose_a is not None,
                transposed_b=op.transpose_b is None,
                unsigned=unsigned,
            )
        )
        return
    registers = storage.registers[base_of(op.a)].buffer
    code.add(
        WgmmaOp(
            registers,
            b,
            acc,
            shape,
            types,
            a_index=code.index(a_register),
            scale_d=keeps,
            transposed_b=op.transpose_b is None,
            unsigned=unsigned,
        )
    )


def _operand(
    code: IndexBuilder, storage: BufferStorage, value: SSAValue, *, is_k_major: bool
) -> SharedOperand | None:
    if space_of(value.type) is Space.FRAGMENT:
        return None
    return shared_operand(code, storage, value, is_k_major=is_k_major, is_tcgen05=False)
