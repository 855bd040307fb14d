"""`lower-thread-reductions`: combining across threads by exchange in a warp, or shared memory.

Partners within a warp exchange by shuffles, half the distance at each step. Partners in different
warps put their values into shared memory, synchronise, and each reads those of its partners
(docs/design/passes.md#reductions-across-threads).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, NoneAttr, i32, i64
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.dialects.arith import (
    ConstantOp,
    MinuiOp,
)
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.simt import AllReduceOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import warp_size_of
from tilewright.dialects.tile import AllocOp, KernelOp, Space, SpaceAttr
from tilewright.dialects.tile.kernel import kernel_of
from tilewright.dialects.tile.lanes import ShuffleOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.lower.combinations import both
from tilewright.passes.gpu.lower.expressions import combined
from tilewright.passes.tile.index_builder import IndexBuilder


@dataclass(frozen=True)
class LowerThreadReductions(Pass):
    """Write reductions across threads as exchanges."""

    name = "lower-thread-reductions"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, AllReduceOp):
                _lower(op)


def _lower(op: AllReduceOp) -> None:
    code = IndexBuilder(op)
    value = op.value
    threads, scale = op.threads.value.data, op.scale.value.data
    inside = _in_a_warp(threads, scale, warp_size_of(op))
    distance = inside * scale // 2
    while distance >= scale and inside > 1:
        step = code.add(ConstantOp.of(distance, i32)).results[0]
        other = code.add(ShuffleOp("xor", value, step)).results[0]
        value = _both(code, op, value, other)
        distance //= 2
    if inside < threads:
        value = _through_memory(code, op, value, threads // inside, scale * inside)
    code.rewriter.replace_op(op, [], [value])


def _in_a_warp(threads: int, scale: int, lanes: int) -> int:
    """How many partners next to each other are in one warp, wherever their group begins."""
    found = 1
    while scale & (scale - 1) == 0 and threads % (found * 2) == 0 and found * 2 * scale <= lanes:
        found *= 2
    return found


def _both(code: IndexBuilder, op: AllReduceOp, left: SSAValue, right: SSAValue) -> SSAValue:
    keeps_nan, is_unsigned = simt_names.NAN in op.attributes, simt_names.UNSIGNED in op.attributes
    return both(code, op.kind.data, left, right, keeps_nan=keeps_nan, is_unsigned=is_unsigned)


def _through_memory(
    code: IndexBuilder, op: AllReduceOp, value: SSAValue, threads: int, scale: int
) -> SSAValue:
    """Every thread leaves its value; each takes those of its partners."""
    scope = threads_of(op)
    kernel = kernel_of(op)
    assert isinstance(kernel, KernelOp)
    first = kernel.body.block.first_op
    assert first is not None
    type = MemRefType(value.type, (scope.count,), NoneAttr(), SpaceAttr(Space.SHARED))
    buffer = IndexBuilder(first).add(AllocOp(type, name="exchange"))
    buffer.attributes[simt_names.ALIGN] = IntegerAttr(16, i64)
    tid = code.minus(code.add(ThreadIdOp("x")).results[0], scope.first)
    code.add(StoreOp(value, buffer.results[0], [code.index(tid)]))
    # The first partner: the digit of the thread number that counts them set to zero.
    digit = combined(code, "mod", combined(code, "floordiv", tid, scale), threads)
    start = combined(code, "-", tid, combined(code, "*", digit, scale))
    total: SSAValue | None = None
    for partner in range(threads):
        slot = combined(code, "+", start, partner * scale)
        if scope.count % (threads * scale):
            # Threads of a group that is cut short have no use for the result.
            last = code.index(scope.count - 1)
            slot = code.add(MinuiOp(code.index(slot), last)).results[0]
        loaded = code.add(LoadOp(buffer.results[0], [code.index(slot)])).results[0]
        total = loaded if total is None else _both(code, op, total, loaded)
    assert total is not None
    return total
