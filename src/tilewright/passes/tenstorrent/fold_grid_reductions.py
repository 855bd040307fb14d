"""Replace atomic additions of blocks by a sum on one core.

    T.Kernel(gx, gy, split) as (bx, by, bz):         T.Kernel(gx, gy, 1) as (bx, by, _):
        ...                                   ->         total = C[by, bx]
        T.atomic_add(C[by, bx], part)                    for bz in range(split):
                                                             ...
                                                             total += part
                                                         C[by, bx] = total

Cores have no atomic addition on tiles in DRAM. Blocks that add to the same tiles differ in grid
indices that the destination does not depend on: one core runs them in a loop. Blocks of
different destinations have to be disjoint.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, IndexType, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.arith import AddfOp, ConstantOp, ExtfOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import (
    AllocOp,
    AtomicOp,
    CopyOp,
    KernelOp,
    ParallelOp,
    RegionOp,
    buffer_type,
)
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import split
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tenstorrent.reports import NotSupported, reporting
from tilewright.passes.tile.clone_ops import copy_op

_FIX = "use T.atomic_add of a whole block at the end of the kernel"


@dataclass(frozen=True)
class FoldGridReductions(Pass):
    """Sum the blocks that add to the same tiles on one core."""

    name = "fold-grid-reductions"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for kernel in [op for op in walk(function) if isinstance(op, KernelOp)]:
                atomics = [op for op in walk(kernel) if isinstance(op, AtomicOp)]
                if atomics:
                    with reporting(engine):
                        _fold(kernel, atomics)


def _fold(kernel: KernelOp, atomics: list[AtomicOp]) -> None:
    for op in atomics:
        _check(op, kernel)
    used = {each for op in atomics for each in _grid_indices(op.dst, kernel)}
    ranges = IndexRanges(kernel)
    for op in atomics:
        _check_disjoint(op, kernel, ranges)
    folded = [
        position
        for position, (argument, extent) in enumerate(
            zip(kernel.arguments, kernel.grid, strict=True)
        )
        if argument not in used and extent != 1
    ]
    totals = [_load_total(op, kernel) for op in atomics]
    _loops(kernel, folded, totals)
    for op, total in zip(atomics, totals, strict=True):
        _add(op, total)
        _store_total(op, total, kernel)


def _check(op: AtomicOp, kernel: KernelOp) -> None:
    region = op.dst.owner
    if op.kind.data != "add" or op.is_element or op.value is None or op.results:
        raise NotSupported(
            op, f"atomic '{op.kind.data}' has no counterpart on the Tenstorrent target: {_FIX}"
        )
    if not isinstance(element_type_of(op.dst.type), AnyFloat):
        raise NotSupported(op, "atomic additions of integers are not supported: use floats")
    if op.parent is not kernel.body_block or not isinstance(region, RegionOp):
        raise NotSupported(op, f"an atomic addition inside a loop or a branch: {_FIX}")


def _grid_indices(value: SSAValue, kernel: KernelOp) -> set[BlockArgument]:
    """The grid indices that a value depends on."""
    if isinstance(value, BlockArgument):
        return {value} if value.block is kernel.body_block else set()
    owner = value.owner
    if not isinstance(owner, Operation):
        return set()
    return {each for operand in owner.operands for each in _grid_indices(operand, kernel)}


def _check_disjoint(op: AtomicOp, kernel: KernelOp, ranges: IndexRanges) -> None:
    """Every grid index moves the destination by at least its extent, along one dimension."""
    region = op.dst.owner
    assert isinstance(region, RegionOp)
    for index in _grid_indices(op.dst, kernel):
        steps: list[bool] = []
        for offset, extent in zip(region.offsets, region.extents, strict=True):
            poly = ranges.poly(offset)
            atom = ranges.poly(index).atom
            assert atom is not None
            factor = poly.coefficient_of(atom)
            constant = None if factor is None else factor.constant
            steps.append(
                constant is not None and isinstance(extent, int) and abs(constant) >= extent
            )
        if not any(steps):
            raise NotSupported(
                op,
                "atomic additions of different blocks overlap partly: let every block add to "
                "tiles of its own, or all of them to the same tiles",
            )


def _load_total(op: AtomicOp, kernel: KernelOp) -> SSAValue:
    """A buffer with what the destination holds, at the start of the kernel."""
    region = op.dst.owner
    assert isinstance(region, RegionOp)
    assert op.value is not None
    shape = shape_of(op.value.type)
    alloc = AllocOp(buffer_type(element_type_of(op.dst.type), shape, Space.FRAGMENT), name="total")
    first = kernel.body_block.first_op
    assert first is not None
    Rewriter().insert_before(first, alloc, op)
    values: dict[SSAValue, SSAValue] = {}
    _copy_chain(region, first, values)
    Rewriter().insert_before(first, CopyOp(values[region.result], alloc.result), op)
    return alloc.result


def _copy_chain(op: Operation, anchor: Operation, values: dict[SSAValue, SSAValue]) -> None:
    """Compute what `op` computes before `anchor`."""
    for operand in op.operands:
        owner = operand.owner
        if isinstance(owner, Operation) and owner.parent is op.parent and operand not in values:
            _copy_chain(owner, anchor, values)
    Rewriter().insert_before(anchor, copy_op(op, values))


def _loops(kernel: KernelOp, folded: list[int], totals: list[SSAValue]) -> None:
    """Put the kernel into loops over the folded grid indices."""
    rewriter = Rewriter()
    block = kernel.body_block
    ops = list(block.ops)[:-1]
    start = next(
        (n + 1 for n in reversed(range(len(ops))) if _loads_total(ops[n], totals)), len(ops)
    )
    inner = [op for op in ops[start:] if not isinstance(op, AllocOp)]
    anchor = block.last_op
    assert anchor is not None
    current = block
    grid: list[int | SSAValue] = list(kernel.grid)
    for position in folded:
        extent = grid[position]
        lower, upper, step = (_constant(rewriter, anchor, each) for each in (0, extent, 1))
        loop = ForOp(lower, upper, step)
        rewriter.insert_before(anchor, loop, kernel)
        rewriter.replace_all_uses(kernel.arguments[position], loop.body.block.args[0])
        current = loop.body.block
        end = current.last_op
        assert end is not None
        anchor, grid[position] = end, 1
    if folded:
        for op in inner:
            op.detach()
            current.insert_op_before(op, anchor)
        _set_grid(kernel, grid)


def _loads_total(op: Operation, totals: list[SSAValue]) -> bool:
    return isinstance(op, CopyOp) and op.dst in totals


def _set_grid(kernel: KernelOp, grid: list[int | SSAValue]) -> None:
    static, dynamic = split(grid)
    kernel.static_grid = static
    kernel.operands = dynamic


def _constant(rewriter: Rewriter, anchor: Operation, value: int | SSAValue) -> SSAValue:
    if isinstance(value, SSAValue):
        return value
    made = ConstantOp.of(value, IndexType())
    rewriter.insert_before(anchor, made)
    return made.results[0]


def _add(op: AtomicOp, total: SSAValue) -> None:
    """``total += value`` instead of the atomic op."""
    assert op.value is not None
    shape = shape_of(total.type)
    loop = ParallelOp(list(shape))
    indices = list(loop.arguments)
    block = loop.body_block
    end = block.last_op
    assert end is not None
    old, new = LoadOp(total, indices), LoadOp(op.value, indices)
    ops: list[Operation] = [old, new]
    added = new.result
    if added.type != old.result.type:
        wide = ExtfOp(added, old.result.type)
        ops.append(wide)
        added = wide.results[0]
    summed = AddfOp(old.result, added)
    ops += [summed, StoreOp(summed.results[0], total, indices)]
    for each in ops:
        block.insert_op_before(each, end)
    Rewriter().insert_before(op, loop)


def _store_total(op: AtomicOp, total: SSAValue, kernel: KernelOp) -> None:
    """Store the sum at the end of the kernel, instead of the atomic op."""
    region = op.dst.owner
    assert isinstance(region, RegionOp)
    load = next(
        use.operation
        for use in total.uses
        if isinstance(use.operation, CopyOp) and use.operation.dst is total
    )
    assert isinstance(load, CopyOp)
    last = kernel.body_block.last_op
    assert last is not None
    rewriter = Rewriter()
    rewriter.insert_before(last, CopyOp(total, load.src), op)
    rewriter.erase(op)
