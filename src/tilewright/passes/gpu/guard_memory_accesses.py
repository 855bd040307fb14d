"""`guard-memory-accesses`: what would leave a tensor reads as a safe value, and is not written.

    %v = memref.load %A[%r, %c]    ->    %ok = %r < %M and %c < %K
                                         %v = scf.if %ok { load } else { safe value }

Only conditions that cannot be proved are tested (docs/design/passes.md#guards). Copies by TMA need
none: TMA checks the bounds of its tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.tensors.outside_values import safe_value
from tilewright.dialects.amd.moves import LoadLdsOp
from tilewright.dialects.arith import AndiOp, CmpiOp, ConstantOp, SelectOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import AsyncMoveOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.tile import AtomicOp, Space, names, space_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import extent_of


@dataclass(frozen=True)
class GuardMemoryAccesses(Pass):
    """Test accesses that may be out of bounds before they are made."""

    name = "guard-memory-accesses"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in walk(module):
            if isinstance(function, FuncOp):
                self._function(function, engine)

    def _function(self, function: FuncOp, engine: DiagnosticEngine) -> None:
        accesses = [op for op in walk(function) if _is_access(op)]
        if not accesses:
            return
        ranges = IndexRanges(function)
        for op in accesses:
            guard_access(op, ranges)


def guard_access(op: Operation, ranges: IndexRanges) -> None:
    """Test one access."""
    if isinstance(op, LoadOp):
        _guard_load(op, ranges)
    elif isinstance(op, StoreOp):
        _guard_store(op, op.memref, ranges)
    elif isinstance(op, AtomicOp):
        _guard_atomic(op, ranges)
    elif isinstance(op, LoadLdsOp):
        _guard_direct(op, ranges)
    else:
        assert isinstance(op, AsyncMoveOp)
        _guard_async(op, ranges)


def _is_access(op: Operation) -> bool:
    if isinstance(op, (LoadOp, StoreOp)):
        return space_of(op.memref.type) is Space.GLOBAL
    if isinstance(op, AtomicOp):
        return space_of(op.dst.type) is Space.GLOBAL
    return isinstance(op, AsyncMoveOp | LoadLdsOp)


def missing(
    op: Operation, buffer: SSAValue, indices: Sequence[SSAValue], ranges: IndexRanges
) -> SSAValue | None:
    """The condition under which all indices are inside, as far as it is not known; or None."""
    code = IndexBuilder(op)
    found: SSAValue | None = None
    for tests in _tests(op, buffer, indices, ranges):
        for test in tests:
            found = test if found is None else code.add(AndiOp(found, test)).results[0]
    return found


def _tests(
    op: Operation, buffer: SSAValue, indices: Sequence[SSAValue], ranges: IndexRanges
) -> Iterator[list[SSAValue]]:
    """For each index, what has to be tested of it."""
    code = IndexBuilder(op)
    context = ranges.context(op)
    for axis, index in enumerate(indices):
        tests: list[SSAValue] = []
        if not context.is_nonneg(ranges.poly(index)):
            tests.append(code.add(CmpiOp("sge", index, code.index(0))).results[0])
        if not _is_below_extent(op, index, buffer, axis, ranges):
            extent = code.index(extent_of(code, buffer, axis))
            tests.append(code.add(CmpiOp("slt", index, extent)).results[0])
        yield tests


def _is_below_extent(
    op: Operation, index: SSAValue, buffer: SSAValue, axis: int, ranges: IndexRanges
) -> bool:
    """Whether an index is proved to be less than an extent, which may be zero."""
    if shape_of(buffer.type)[axis] < 0:
        ranges = ranges.checked
    context = ranges.context(op)
    below = context.compare("<", ranges.poly(index), ranges.extent(buffer, axis))
    return context.decide(below) is True


def _guard_load(op: LoadOp, ranges: IndexRanges) -> None:
    around = op.parent_op()
    if isinstance(around, IfOp) and names.FILLED in around.attributes:
        _reduce_guard(around, op, ranges)
        return
    condition = missing(op, op.memref, op.indices, ranges)
    if condition is not None:
        _choose(op, LoadOp(op.memref, list(op.indices)), op.memref, condition)


def _choose(op: Operation, inside: Operation, tensor: SSAValue, condition: SSAValue) -> None:
    """Replace `op` by `inside` where the condition holds, and by the safe value elsewhere."""
    code = IndexBuilder(op)
    then, otherwise = Block(), Block()
    inside.location = op.location
    then.add_ops([inside, YieldOp([inside.results[0]])])
    safe = ConstantOp(safe_value(tensor))
    otherwise.add_ops([safe, YieldOp([safe.results[0]])])
    choice = IfOp(condition, [op.results[0].type], Region(then), Region(otherwise))
    code.add(choice)
    choice.results[0].name_hint = op.results[0].name_hint
    code.rewriter.replace_op(op, [], [choice.results[0]])


def _guard_atomic(op: AtomicOp, ranges: IndexRanges) -> None:
    if not op.results:
        _guard_store(op, op.dst, ranges)
        return
    condition = missing(op, op.dst, op.indices, ranges)
    if condition is not None:
        _choose(op, op.clone(), op.dst, condition)


def _reduce_guard(choice: IfOp, op: LoadOp, ranges: IndexRanges) -> None:
    """Leave of the guard of a copy with a fill what cannot be proved."""
    condition = missing(choice, op.memref, op.indices, ranges)
    del choice.attributes[names.FILLED]
    if condition is not None:
        choice.operands[0] = condition
        return
    op.detach()
    IndexBuilder(choice).add(op)
    IndexBuilder(choice).rewriter.replace_op(choice, [], [op.result])


def _guard_store(op: StoreOp | AtomicOp, buffer: SSAValue, ranges: IndexRanges) -> None:
    condition = missing(op, buffer, op.indices, ranges)
    if condition is None:
        return
    code = IndexBuilder(op)
    block = Block([YieldOp()])
    code.add(IfOp(condition, [], Region(block)))
    op.detach()
    end = block.last_op
    assert end is not None
    block.insert_op_before(op, end)


def _guard_async(op: AsyncMoveOp, ranges: IndexRanges) -> None:
    """Rows outside are filled with zeros; a row that ends inside a move is moved in part."""
    code = IndexBuilder(op)
    tested = list(_tests(op, op.src, op.src_indices, ranges))
    inside = [_all(code, tests) for tests in tested]
    condition = _all(code, [each for each in inside if each is not None])
    if condition is None:
        return
    whole = code.index(op.width) if op.valid is None else op.valid
    none = code.index(0)
    valid = code.add(SelectOp(condition, whole, none)).results[0]
    # Nothing is read where nothing is valid, but the address has to be one. An index is replaced if
    # itself is outside: one that does not change in a loop stays so.
    safe = [
        each if own is None else code.add(SelectOp(own, each, none)).results[0]
        for each, own in zip(op.src_indices, inside, strict=True)
    ]
    new = AsyncMoveOp(op.src, safe, op.dst, list(op.dst_indices), op.width, valid)
    code.add(new)
    code.rewriter.erase(op)


def _all(code: IndexBuilder, tests: Sequence[SSAValue]) -> SSAValue | None:
    """Whether all tests hold; None if there is none."""
    if not tests:
        return None
    condition = tests[0]
    for test in tests[1:]:
        condition = code.add(AndiOp(condition, test)).results[0]
    return condition


def _guard_direct(op: LoadLdsOp, ranges: IndexRanges) -> None:
    """Lanes outside fill their part of LDS with zeros, and read nothing."""
    condition = missing(op, op.src, op.src_indices, ranges)
    if condition is None:
        return
    code = IndexBuilder(op)
    if op.predicate is not None:
        condition = code.add(AndiOp(op.predicate, condition)).results[0]
    src, dst = (op.src, list(op.src_indices)), (op.dst, list(op.dst_indices))
    new = LoadLdsOp(*src, *dst, op.width, op.elements, condition)
    new.attributes.update(op.attributes)
    code.add(new)
    code.rewriter.erase(op)
