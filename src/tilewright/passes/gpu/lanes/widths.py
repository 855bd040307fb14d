"""How many lanes one access of a loop over lanes can take at once.

An access is made wide if its address grows by one with the lane, begins at a multiple of the width,
and is guarded by nothing that differs between lanes (docs/design/passes.md#vector-width). Where
run-time values decide whether all lanes are within a tensor, or whether its rows begin at multiples
of the width, both forms are generated::

    if start + 7 < n and row % 8 == 0:   one access of 8 lanes      (*cut*)
    else:                                each lane by itself

A load from rows that begin anywhere is made wide all the same (*unaligned*): the aligned units that
have its elements are read and shifted, where both are inside of the tensor.

A value that is read from memory, or chosen by a branch, is an unknown to the algebra of indices. It
differs between lanes if what it is computed from does: in ``X[I[j], j]`` each lane has its own row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.affine import Atom, Poly, SymbolKind
from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.tensors.tensor_geometry import declared_strides, row_strides, uneven_start
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import AtomicOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.passes.gpu.arch import gpu_of
from tilewright.passes.gpu.lanes.accesses import LaneAccess, written_in
from tilewright.passes.gpu.narrow_accesses import is_shifted, unaligned

ACCESS_BITS = 128
VECTOR_ATOMICS = 90
"""The first NVIDIA GPU with ``red.global.add.v4.f32`` and its relatives."""
_NARROW_BITS = 32
"""An aligned load of more is better than two and a shift."""
_UNKNOWN = (SymbolKind.SYMBOL, SymbolKind.CALL)
_NE, _ULT, _ULE, _UGT, _UGE = 1, 6, 7, 8, 9
_BELOW, _NOT_BELOW = (2, _ULT), (5, _UGE)
"""slt, ult: index < extent; sge, uge: index >= 0"""


@dataclass(frozen=True)
class Width:
    """How an access is made wide."""

    lanes: int
    is_cut: bool = False
    """Whether the run decides if all lanes take part."""
    row: int | None = None
    """The dimension whose extent has to be a multiple of the lanes, if the run decides that."""
    is_unaligned: bool = False
    """Whether it begins at any element."""


class LaneWidths:
    """The widths of accesses in one loop over lanes."""

    def __init__(self, loop: ForOp, ranges: IndexRanges) -> None:
        self.loop = loop
        self.ranges = ranges
        self.lane = loop.body.block.args[0]
        atom = ranges.poly(self.lane).atom
        assert atom is not None
        self._atom = atom
        bound = constant_value(loop.upper_bound)
        assert isinstance(bound, IntegerAttr)
        self.count = bound.value.data
        self._written = written_in(loop)

    def _bytes(self, access: LaneAccess, lanes: int) -> int:
        return lanes * max(8, bit_width(element_type_of(access.buffer.type))) // 8

    def widest(self, access: LaneAccess) -> int:
        """Lanes that fit into one access."""
        if isinstance(access.op, AtomicOp) and not self._has_vector_update(access.op):
            return 1
        bits = max(8, bit_width(element_type_of(access.buffer.type)))
        found = min(self.count, ACCESS_BITS // bits)
        while self.count % found:
            found //= 2
        return found

    def _has_vector_update(self, op: AtomicOp) -> bool:
        gpu = gpu_of(op)
        if isinstance(gpu, Chip) or gpu < VECTOR_ATOMICS or op.kind.data != "add":
            return False
        is_relaxed = op.memory_order is None or op.memory_order.data == "relaxed"
        is_plain = op.previous is None and is_relaxed
        element = element_type_of(op.dst.type)
        is_float = isinstance(element, Float32Type | Float16Type | BFloat16Type)
        return is_plain and is_float and space_of(op.dst.type) is Space.GLOBAL

    def of(self, access: LaneAccess) -> tuple[Width, str | None]:
        """The width of an access, and why it is no wider."""
        widest = self.widest(access)
        problem, lanes = self._problem(access, widest), widest
        while lanes > 1 and self._problem(access, lanes) is not None:
            lanes //= 2
        if lanes == 1 < widest:
            cut = self._cut(access, widest)
            if cut is not None:
                return cut, problem
        if self._may_shift(access, lanes, widest):
            return Width(widest, is_cut=True, is_unaligned=True), problem
        return Width(lanes), problem

    # -- without a test ------------------------------------------------------------------------

    def steps(self, access: LaneAccess) -> bool:
        """Whether consecutive lanes access contiguous memory."""
        *outer, last = access.op.indices
        start = self.ranges.poly(last) - self.ranges.poly(self.lane)
        addresses = (start, *map(self.ranges.poly, outer))
        is_dense = row_strides(access.buffer)[-1] == 1
        if not is_dense or any(map(self._varies(access.op.indices), addresses)):
            return False
        needed = (*access.op.indices, *(guard.condition for guard in access.guards))
        return not any(map(self._reads_written, needed))

    def _problem(self, access: LaneAccess, lanes: int) -> str | None:
        """Why an access cannot take `lanes` lanes at once."""
        if lanes == 1:
            return None
        if not self._begins_even(access, lanes):
            return f"the index of the first element is not known to be a multiple of {lanes}"
        uneven = self._unaligned(access, lanes)
        if uneven is not None:
            return uneven
        if not all(self._is_uniform(guard.condition, lanes) for guard in access.guards):
            return f"its guard may differ among {lanes} consecutive elements"
        return None

    def _unaligned(self, access: LaneAccess, lanes: int) -> str | None:
        if space_of(access.buffer.type) is not Space.GLOBAL:
            return None
        around = access.guards[0] if access.guards else access.op
        return unaligned(access.buffer, lanes, around, lambda: self.ranges)

    def _begins_even(self, access: LaneAccess, lanes: int) -> bool:
        around = access.guards[0] if access.guards else access.op
        start = self.ranges.poly(access.op.indices[-1]) - self.ranges.poly(self.lane)
        return self.ranges.context(around).is_multiple(start, lanes)

    def _is_uniform(self, condition: SSAValue, lanes: int) -> bool:
        """Whether all lanes of an access agree: ``start + lane < extent`` with multiples."""
        owner = condition.owner
        if not isinstance(owner, Operation):
            return True
        if owner.name == "arith.andi":
            return all(self._is_uniform(each, lanes) for each in owner.operands)
        if owner.name != "arith.cmpi":
            return not self.depends(condition)
        left, right = (self.ranges.poly(each) for each in owner.operands)
        varies = self._varies(owner.operands)
        if not varies(left) and not varies(right):
            return True
        return self._steps_together(left, right, owner, lanes)

    def _steps_together(self, left: Poly, right: Poly, op: Operation, lanes: int) -> bool:
        start = left - self.ranges.poly(self.lane)
        context = self.ranges.context(op)
        varies = self._varies(op.operands)
        if varies(start) or varies(right):
            return False
        both = context.is_multiple(start, lanes) and context.is_multiple(right, lanes)
        return _predicate(op) in (*_BELOW, *_NOT_BELOW) and both

    # -- with a test ---------------------------------------------------------------------------

    def _cut(self, access: LaneAccess, lanes: int) -> Width | None:
        """A width that holds where the first and the last lane are inside."""
        if isinstance(access.op, AtomicOp) or space_of(access.buffer.type) is not Space.GLOBAL:
            return None
        if not self._begins_even(access, lanes):
            return None
        if not self._is_contiguous(access, lanes):
            return None
        if self._unaligned(access, lanes) is None:
            return Width(lanes, is_cut=True)
        if uneven_start(access.buffer, self._bytes(access, lanes), access.op, lambda: self.ranges):
            return None
        last = len(shape_of(access.buffer.type)) - 1
        is_dynamic = shape_of(access.buffer.type)[last] < 0
        if is_dynamic and declared_strides(access.buffer) is None:
            return Width(lanes, is_cut=True, row=last)
        return None

    def _may_shift(self, access: LaneAccess, lanes: int, widest: int) -> bool:
        """Whether two aligned loads and a shift are better than loads of `lanes` lanes."""
        if isinstance(gpu_of(access.op), Chip) or not isinstance(access.op, LoadOp):
            return False
        buffer = access.buffer
        if space_of(buffer.type) is not Space.GLOBAL or not is_shifted(buffer, widest):
            return False
        is_narrow = lanes * bit_width(element_type_of(buffer.type)) <= _NARROW_BITS
        return is_narrow and self._is_contiguous(access, widest)

    def _is_contiguous(self, access: LaneAccess, lanes: int) -> bool:
        """Whether all lanes take part if the first and the last one do."""
        if len(access.guards) > 1 and any(self._loads(each.condition) for each in access.guards):
            return False  # an inner condition may be valid inside of the outer branch only
        return all(self._is_convex(guard.condition, lanes) for guard in access.guards)

    def _is_convex(self, condition: SSAValue, lanes: int) -> bool:
        """Whether lanes between two that take part do so, too."""
        owner = condition.owner
        if isinstance(owner, Operation) and owner.name == "arith.andi":
            return all(self._is_convex(each, lanes) for each in owner.operands)
        if self._is_uniform(condition, lanes):
            return True
        if not isinstance(owner, Operation) or owner.name != "arith.cmpi":
            return False
        varies = self._varies(owner.operands)
        left, right = (self.ranges.poly(each) for each in owner.operands)
        lane = self.ranges.poly(self.lane)
        predicate = _predicate(owner)
        if not varies(right):
            # Numbers below a bound are an interval, with or without a sign; others only with one.
            return not varies(left - lane) and predicate not in (_NE, _UGT, _UGE)
        return not varies(left) and not varies(right - lane) and predicate not in (_NE, _ULT, _ULE)

    # -- what differs between lanes --------------------------------------------------------------

    def _varies(self, values: Sequence[SSAValue]) -> Callable[[Poly], bool]:
        """Whether an index that is computed from `values` differs between lanes."""
        atoms = [self._atom, *self._unknowns(values)]
        return lambda poly: any(poly.mentions(each) for each in atoms)

    def _unknowns(self, values: Sequence[SSAValue]) -> list[Atom]:
        """What stands for values of the loop that depend on the lane in a way that is not known."""
        depends: dict[SSAValue, bool] = {}
        for value in values:
            self._depends(value, depends)
        found: list[Atom] = []
        for each in (value for value, is_so in depends.items() if is_so and _is_integer(value)):
            atom = self.ranges.poly(each).atom
            if atom is not None and atom is not self._atom and atom.kind in _UNKNOWN:
                inputs = map(self.ranges.poly, filter(_is_integer, needed_by(each.owner)))
                if not any(poly.mentions(atom) for poly in inputs):  # it stands for this value
                    found.append(atom)
        return found

    def depends(self, value: SSAValue) -> bool:
        """Whether `value` is computed from the lane."""
        return self._depends(value, {})

    def _depends(self, value: SSAValue, known: dict[SSAValue, bool]) -> bool:
        """`known` has all values that were seen."""
        if value is self.lane:
            return True
        owner = value.owner
        if not isinstance(owner, Operation) or not self.is_inside(owner):
            return False
        if value not in known:
            needed = [self._depends(each, known) for each in needed_by(owner)]
            known[value] = any(needed)
        return known[value]

    def _loads(self, value: SSAValue) -> bool:
        """Whether a value is computed from memory that is read in the loop."""
        owner = value.owner
        if value is self.lane or not isinstance(owner, Operation) or not self.is_inside(owner):
            return False
        if any(isinstance(op, LoadOp) for op in walk(owner)):
            return True
        return any(self._loads(each) for each in needed_by(owner))

    def _reads_written(self, value: SSAValue) -> bool:
        """Whether a value is computed from memory that the loop writes: it may not be moved."""
        owner = value.owner
        if value is self.lane or not isinstance(owner, Operation) or not self.is_inside(owner):
            return False
        loads = (op for op in walk(owner) if isinstance(op, LoadOp))
        if any(base_of(op.memref) in self._written for op in loads):
            return True
        return any(self._reads_written(each) for each in needed_by(owner))

    def is_inside(self, op: Operation) -> bool:
        """Whether an op is part of the loop's body."""
        return self.loop.body.is_ancestor(op)


def _predicate(op: Operation) -> int:
    predicate = op.properties["predicate"]
    assert isinstance(predicate, IntegerAttr)
    return predicate.value.data


def _is_integer(value: SSAValue) -> bool:
    return isinstance(value.type, IndexType | IntegerType)


def needed_by(op: Operation | Block) -> list[SSAValue]:
    """Values from outside of an op that it uses, inside of its regions too."""
    assert isinstance(op, Operation)
    used = dict.fromkeys(value for inner in op.walk() for value in inner.operands)
    return [value for value in used if not op.is_ancestor(value.owner)]
