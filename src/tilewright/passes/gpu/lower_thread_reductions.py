"""`lower-thread-reductions`: combining across threads by exchange in a warp, or shared memory.

Partners within a warp exchange by shuffles, half the distance at each step. Partners in different
warps put their values into shared memory, synchronise, and each reads those of its partners
(docs/design/passes.md#reductions-across-threads). Rows of a loop do so together, with one barrier
(`lower/row_exchange.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, NoneAttr, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.dialects.arith import CmpiOp, ConstantOp, MinuiOp
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import IfOp
from tilewright.dialects.simt import AllReduceOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import warp_size_of
from tilewright.dialects.tile import AllocOp, KernelOp, Space, SpaceAttr
from tilewright.dialects.tile.kernel import kernel_of
from tilewright.dialects.tile.lanes import ShuffleOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.lower.combinations import both
from tilewright.passes.gpu.lower.row_exchange import RowLoop, divide, row_loop
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined


@dataclass(frozen=True)
class LowerThreadReductions(Pass):
    """Write reductions across threads as exchanges."""

    name = "lower-thread-reductions"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        reductions = [op for op in walk(module) if isinstance(op, AllReduceOp)]
        equal = {op: _equal_lanes(op.value) for op in reductions}
        for op in reductions:
            _lower(op, equal[op])


def _equal_lanes(value: SSAValue) -> int:
    """How many neighbouring threads of a warp hold the same value, as far as known."""
    owner = value.owner
    if not isinstance(owner, AllReduceOp) or owner.scale.value.data != 1:
        return 1
    threads = owner.threads.value.data
    return threads if _in_a_warp(threads, 1, warp_size_of(owner)) == threads else 1


def _lower(op: AllReduceOp, equal: int) -> None:
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
        if scale == equal:
            equal *= inside
        partners = threads // inside, scale * inside
        rows = row_loop(op)
        if rows is not None:
            value = _rows_through_memory(op, value, rows, partners, equal)
        else:
            value = _through_memory(code, op, value, *partners)
    code.rewriter.replace_op(op, [], [value])


def _rows_through_memory(
    op: AllReduceOp, value: SSAValue, rows: RowLoop, partners: tuple[int, int], equal: int
) -> SSAValue:
    """As `_through_memory`, but all rows of a loop at once."""
    scope, (threads, scale) = threads_of(op), partners
    if scale % equal or scope.count % equal or scope.count % (threads * scale):
        equal = 1
    size = scope.count // equal
    buffer = _exchange(op, value.type, rows.rows * size)
    code = IndexBuilder(op)
    tid = code.minus(code.add(ThreadIdOp("x")).results[0], scope.first)
    row = rows.loop.body.block.args[0]
    slot = combined(code, "+", _times(code, row, size), combined(code, "floordiv", tid, equal))
    leader = code
    if equal > 1:
        lane = code.index(combined(code, "mod", tid, equal))
        guard = IfOp(code.add(CmpiOp("eq", lane, code.index(0))).results[0])
        code.add(guard)
        leader = code.inside(guard.regions[0].block)
    leader.add(StoreOp(value, buffer, [code.index(slot)]))
    later, row = divide(rows, op)
    later_tid = later.minus(later.add(ThreadIdOp("x")).results[0], scope.first)
    start = combined(later, "floordiv", _first_partner(later, later_tid, threads, scale), equal)
    start = combined(later, "+", _times(later, row, size), start)
    return _total(later, op, buffer, start, (threads, scale // equal), rows.rows * size)


def _times(code: IndexBuilder, row: SSAValue, size: int) -> Mixed:
    return combined(code, "*", row, size)


def _exchange(op: AllReduceOp, element: Attribute, size: int) -> SSAValue:
    """Shared memory through which threads exchange values."""
    kernel = kernel_of(op)
    assert isinstance(kernel, KernelOp)
    first = kernel.body.block.first_op
    assert first is not None
    type = MemRefType(element, (size,), NoneAttr(), SpaceAttr(Space.SHARED))
    buffer = IndexBuilder(first).add(AllocOp(type, name="exchange"))
    buffer.attributes[simt_names.ALIGN] = IntegerAttr(16, i64)
    return buffer.results[0]


def _first_partner(code: IndexBuilder, tid: Mixed, threads: int, scale: int) -> Mixed:
    """The digit of the thread index that counts partners set to zero."""
    digit = combined(code, "mod", combined(code, "floordiv", tid, scale), threads)
    return combined(code, "-", tid, combined(code, "*", digit, scale))


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
    buffer = _exchange(op, value.type, scope.count)
    tid = code.minus(code.add(ThreadIdOp("x")).results[0], scope.first)
    code.add(StoreOp(value, buffer, [code.index(tid)]))
    start = _first_partner(code, tid, threads, scale)
    return _total(code, op, buffer, start, (threads, scale), scope.count)


def _total(
    code: IndexBuilder,
    op: AllReduceOp,
    buffer: SSAValue,
    start: Mixed,
    partners: tuple[int, int],
    count: int,
) -> SSAValue:
    """The combination of the values of all partners; `count` values were left."""
    threads, scale = partners
    total: SSAValue | None = None
    for partner in range(threads):
        slot = combined(code, "+", start, partner * scale)
        if threads_of(op).count % (threads * scale):
            # Threads of a group that is cut short have no use for the result.
            slot = code.add(MinuiOp(code.index(slot), code.index(count - 1))).results[0]
        loaded = code.add(LoadOp(buffer, [code.index(slot)])).results[0]
        total = loaded if total is None else _both(code, op, total, loaded)
    assert total is not None
    return total
