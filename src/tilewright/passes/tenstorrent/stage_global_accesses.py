"""Copy what element-wise loops access in global memory through on-chip buffers.

    for i in T.Parallel(64):                     T.copy(X[bx * 64 : ...], x)
        Y[bx * 64 + i] = exp(X[bx * 64 + i])  -> for i in T.Parallel(64):
                                                     y[i] = exp(x[i])
                                                 T.copy(y, Y[bx * 64 : ...])

Cores move whole tiles between DRAM and L1. An index is a loop index plus a value that is the same
for the whole loop; a store under a condition reads the old elements first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, CopyOp, KernelOp, ParallelOp, RegionOp, buffer_type
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.kernel import kernel_of
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.choices import select_instead_of_branches
from tilewright.passes.tenstorrent.reports import NotSupported, reporting
from tilewright.passes.tile.clone_ops import copy_op


@dataclass(frozen=True)
class StageGlobalAccesses(Pass):
    """Copy tensors that element-wise loops access to and from buffers."""

    name = "stage-global-accesses"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for loop in [op for op in walk(function) if isinstance(op, ParallelOp)]:
                if any(_is_global(op) for op in walk(loop)):
                    with reporting(engine):
                        select_instead_of_branches(loop)
                        _Staging(loop).run()


def _is_global(op: Operation) -> bool:
    return isinstance(op, (LoadOp, StoreOp)) and space_of(op.memref.type) is Space.GLOBAL


@dataclass(frozen=True)
class _Box:
    """The elements that a loop accesses with one expression."""

    offsets: tuple[SSAValue, ...]
    extents: tuple[int, ...]
    indices: tuple[SSAValue, ...]
    """The loop indices, in the order of the dimensions that they run along."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a buffer for the elements."""
        return tuple(extent for extent in self.extents if extent != 1) or (1,)


class _Staging:
    def __init__(self, loop: ParallelOp) -> None:
        self.loop = loop
        self.rewriter = Rewriter()
        self.buffers: dict[tuple[object, ...], tuple[SSAValue, SSAValue]] = {}
        """By tensor and indices: the buffer and the region that it mirrors."""
        self.loaded: set[SSAValue] = set()
        self.stored: set[SSAValue] = set()
        kernel = kernel_of(loop)
        assert isinstance(kernel, KernelOp)
        self.kernel = kernel
        self.ranges = IndexRanges(kernel)

    def run(self) -> None:
        for op in [op for op in walk(self.loop) if _is_global(op)]:
            assert isinstance(op, (LoadOp, StoreOp))
            box = self._box(op, op.indices)
            buffer, region = self._buffer(op, op.memref, box)
            indices = list(box.indices) or [self._zero(op)]
            if isinstance(op, LoadOp):
                if buffer not in self.stored:
                    self._load(buffer, region)
                self.rewriter.replace_op(op, LoadOp(buffer, indices))
            else:
                self.stored.add(buffer)
                self.rewriter.replace_op(op, StoreOp(op.value, buffer, indices), ())
        for buffer, region in reversed(self.buffers.values()):
            if buffer in self.stored:
                self.rewriter.insert_after(self.loop, CopyOp(buffer, region))

    def _load(self, buffer: SSAValue, region: SSAValue) -> None:
        if buffer not in self.loaded:
            self.loaded.add(buffer)
            self.rewriter.insert_before(self.loop, CopyOp(region, buffer))

    def _zero(self, op: Operation) -> SSAValue:
        made = ConstantOp.of(0, IndexType())
        self.rewriter.insert_before(op, made)
        return made.results[0]

    def _buffer(self, op: Operation, tensor: SSAValue, box: _Box) -> tuple[SSAValue, SSAValue]:
        key = (tensor, box.extents, tuple(map(self._text, box.offsets)), box.indices)
        if key not in self.buffers:
            type = buffer_type(element_type_of(tensor.type), box.shape, Space.FRAGMENT)
            alloc = AllocOp(type, name=f"{name_of(tensor)}_block")
            first = self.kernel.body_block.first_op
            assert first is not None
            self.rewriter.insert_before(first, alloc, op)
            region = RegionOp(tensor, list(box.offsets), list(box.extents))
            self.rewriter.insert_before(self.loop, region, op)
            self.buffers[key] = alloc.result, region.result
        return self.buffers[key]

    def _text(self, offset: SSAValue) -> str:
        """Offsets that are equal as polynomials are one offset."""
        return str(self.ranges.poly(offset))

    # -- indices ---------------------------------------------------------------------------------

    def _box(self, op: Operation, indices: Sequence[SSAValue]) -> _Box:
        offsets: list[SSAValue] = []
        extents: list[int] = []
        used: list[SSAValue] = []
        for index in indices:
            variable = self._loop_index(op, index)
            offset = self._at_zero(op, index)
            self.ranges.learn(
                offset,
                self.ranges.poly(index)
                if variable is None
                else self.ranges.poly(index) - self.ranges.poly(variable),
            )
            offsets.append(offset)
            extent = 1 if variable is None else self._extent(variable)
            extents.append(extent)
            if variable is not None and extent != 1:
                used.append(variable)
        return _Box(tuple(offsets), tuple(extents), tuple(used))

    def _extent(self, variable: SSAValue) -> int:
        position = next(n for n, each in enumerate(self.loop.arguments) if each is variable)
        extent = self.loop.extents[position]
        if not isinstance(extent, int):
            raise NotSupported(
                self.loop, "the extent of T.Parallel is a run-time value: use a constant"
            )
        return extent

    def _loop_index(self, op: Operation, index: SSAValue) -> SSAValue | None:
        """The loop index in an index of a tensor, which is added to the rest."""
        poly = self.ranges.poly(index)
        found: list[SSAValue] = []
        for variable in self.loop.arguments:
            atom = self.ranges.poly(variable).atom
            if atom is None or not poly.mentions(atom):
                continue
            factor = poly.coefficient_of(atom)
            if factor is None or factor.constant != 1:
                found = [variable, variable]
                break
            found.append(variable)
        if len(found) > 1:
            raise NotSupported(
                op,
                f"the index {poly} is not one loop index plus an offset: cores copy blocks of "
                "tiles, not single elements; copy a block with T.copy first",
            )
        return found[0] if found else None

    def _at_zero(self, op: Operation, index: SSAValue) -> SSAValue:
        """The index for the first iteration, computed before the loop."""
        return _hoisted(index, self.loop, {}, self.rewriter, op)


def _hoisted(
    value: SSAValue,
    loop: ParallelOp,
    known: dict[SSAValue, SSAValue],
    rewriter: Rewriter,
    op: Operation,
) -> SSAValue:
    if value in known:
        return known[value]
    if value in loop.arguments:
        zero = ConstantOp.of(0, IndexType())
        rewriter.insert_before(loop, zero)
        known[value] = zero.results[0]
        return known[value]
    owner = value.owner
    if not isinstance(owner, Operation) or not loop.is_ancestor(owner):
        return value
    if not is_removable(owner) or owner.regions or isinstance(owner, LoadOp):
        raise NotSupported(
            op,
            "an index of a tensor depends on data: cores copy blocks of tiles; use indices of "
            "loops and blocks",
        )
    for operand in owner.operands:
        known.setdefault(operand, _hoisted(operand, loop, known, rewriter, op))
    made = copy_op(owner, dict(known))
    rewriter.insert_before(loop, made)
    for old, new in zip(owner.results, made.results, strict=True):
        known[old] = new
    return known[value]
