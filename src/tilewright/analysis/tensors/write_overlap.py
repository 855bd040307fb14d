"""Whether accesses of a kernel overlap in a tensor: in different iterations or ops.

    for k in T.serial(8):
        for i in T.Parallel(64):
            B[i + k] = ...          iteration k + 1 writes 63 elements of iteration k again

An index is a sum of variables times constants. Two executions write the same element only if, in
every dimension, the differences of the variables add up to less than the extent of the box. A
variable is *pinned* where that forces its difference to be zero: its coefficient is larger than all
that the other variables and the extent can make up for::

    C[k * 64 + i, j]    i < 64      k is pinned: iterations are disjoint
    B[i * 4 + k]        k < 4       i is pinned, and then k: iterations are disjoint
    B[i + k]            i < 64      neither: iterations overlap, at other elements

An index that is not such a sum (quotients, loaded values) shows nothing about iterations. Two ops
are disjoint nevertheless if it is a multiple of a constant in both, and their boxes are disjoint
modulo it: `C[by * 256]` and `C[by * 256 + 128]`, 128 elements each, whatever `by` is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import gcd

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.affine import Poly, SymbolKind
from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.threads.uniformity import differs
from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.tile import KernelOp, ParallelOp, PersistentOp, PipelineOp, Space
from tilewright.dialects.tile.access import AccessedRegion
from tilewright.dialects.tile.interfaces import writes
from tilewright.dialects.tile.mixed import known
from tilewright.ir.traversal import walk

_LOOPS = (ForOp, WhileOp, PersistentOp, PipelineOp)


class Overlap(Enum):
    """When two ops may access the same elements of a tensor."""

    NEVER = "never"
    SAME_ITERATION = "same iteration"
    """Only in the same iteration of all loops around both."""
    POSSIBLE = "possible"


@dataclass(frozen=True)
class _Variable:
    """What differs between two executions of a write."""

    value: SSAValue
    step: int
    reach: int | None
    """The largest difference of two of its values, in steps; None if it is not known."""


@dataclass(frozen=True)
class _Dimension:
    """The extent of a write in one dimension: a start, and variables times constants."""

    start: Poly
    """The index without the variables inside."""
    outer: dict[_Variable, int] | None
    """Indices of loops around the statement; None if the index is not a sum of them."""
    inner: dict[_Variable, int]
    """What differs within one execution of the statement: threads, parallel iterations."""
    low: int | None
    high: int | None
    """The bounds of the box, relative to its start; None if they are unknown."""


@dataclass(eq=False)
class WriteOverlap:
    """Queries about the writes inside `root`; nothing is analysed before the first query."""

    root: Operation
    _ranges: IndexRanges | None = None
    _shifts: dict[Operation, bool] = field(default_factory=dict[Operation, bool])

    def is_shifted(self, statement: Operation) -> bool:
        """Whether iterations of loops around a statement write overlapping boxes of a tensor.

        Iterations that write the very same box do not count.
        """
        found = self._shifts.get(statement)
        if found is None:
            found = self._shifts[statement] = bool(_loops_around(statement)) and any(
                self._moves_into_itself(region, statement, leaf)
                for leaf, region in tensor_writes(statement)
            )
        return found

    def may_overlap(self, one: Operation, other: Operation) -> bool:
        """Whether two ops without regions may write the same elements of a tensor."""
        return any(
            self.overlap((one, own), (other, others)) is not Overlap.NEVER
            for _, own in tensor_writes(one)
            for _, others in tensor_writes(other)
        )

    # -- one statement -------------------------------------------------------------------------

    def _moves_into_itself(
        self, region: AccessedRegion, statement: Operation, leaf: Operation
    ) -> bool:
        dimensions = self._dimensions(region, statement, leaf)
        parts: list[tuple[dict[_Variable, int], int]] = []
        moving: set[_Variable] = set()
        for each, extent in zip(dimensions, region.extents, strict=True):
            if each is not None and each.outer is not None and isinstance(extent, int):
                parts.append(({**each.outer, **each.inner}, extent))
                moving |= {*each.outer}
        return not moving <= _pinned(parts)

    # -- two statements ------------------------------------------------------------------------

    def overlap(
        self, one: tuple[Operation, AccessedRegion], other: tuple[Operation, AccessedRegion]
    ) -> Overlap:
        """When two accesses, each by an op without regions, may have elements in common."""
        (first, own), (second, others) = one, other
        if not own.may_overlap(others):
            return Overlap.NEVER
        if own.base is not others.base:
            return Overlap.POSSIBLE
        parts: list[tuple[dict[_Variable, int], int]] = []
        separating: list[set[_Variable]] = []
        for a, b in zip(
            self._dimensions(own, first, first),
            self._dimensions(others, second, second),
            strict=True,
        ):
            if a is None or b is None or a.low is None or b.low is None:
                continue
            if a.high is None or b.high is None:
                continue
            if _apart_by_residue(
                a.start + a.low, a.high - a.low + 1, b.start + b.low, b.high - b.low + 1
            ):
                return Overlap.NEVER
            distance = (a.start - b.start).constant
            if distance is None or a.outer is None or a.outer != b.outer:
                continue
            low, high = a.low + distance, a.high + distance
            parts.append((a.outer, max(high, b.high) - min(low, b.low) + 1))
            if high < b.low or b.high < low:
                separating.append({*a.outer})
        pinned = _pinned(parts)
        if any(variables <= pinned for variables in separating):
            return Overlap.NEVER
        shared = [loop for loop in _loops_around(first) if loop.is_ancestor(second)]
        held = {variable.value for variable in pinned}
        if not all(_index_of(loop) in held for loop in shared):
            return Overlap.POSSIBLE
        return Overlap.NEVER if _exclude_each_other(first, second) else Overlap.SAME_ITERATION

    # -- indices -------------------------------------------------------------------------------

    @property
    def _known(self) -> IndexRanges:
        if self._ranges is None:
            self._ranges = IndexRanges(self.root)
        return self._ranges

    def _dimensions(
        self, region: AccessedRegion, statement: Operation, leaf: Operation
    ) -> list[_Dimension | None]:
        return [
            self._dimension(offset, extent, statement, leaf)
            for offset, extent in zip(region.offsets, region.extents, strict=True)
        ]

    def _dimension(
        self, offset: SSAValue | int | None, extent: object, statement: Operation, leaf: Operation
    ) -> _Dimension | None:
        """A dimension as a sum; None where it is none."""
        if offset is None or not isinstance(extent, int):
            return None
        poly = start = self._known.poly(offset)
        loops = _loops_around(statement)
        outer: dict[_Variable, int] | None = {}
        inner: dict[_Variable, int] = {}
        for atom in poly.atoms_within():
            if atom.kind not in (SymbolKind.SYMBOL, SymbolKind.CALL):
                continue
            value = self._known.sources.get(atom.id)
            if value is None:
                return None
            coefficient = poly.coefficient_of(atom)
            factor = None if coefficient is None else coefficient.constant
            if any(_is_index(value, each) for each in loops):
                if outer is not None and factor is not None:
                    variable = self._variable(value, leaf)
                    outer[variable] = factor * variable.step
                else:
                    outer = None
            elif self._is_inner(value, statement):
                if factor is None:
                    return None
                start = start - self._known.poly(value) * factor
                variable = self._variable(value, leaf)
                inner[variable] = factor * variable.step
            elif any(each.is_ancestor(value.owner) for each in loops):
                outer = None  # another one in every iteration
        low, high = _hull(inner, extent, self._minima(inner, leaf))
        return _Dimension(start, outer, inner, low, high)

    def _is_inner(self, value: SSAValue, statement: Operation) -> bool:
        if isinstance(value, BlockArgument):
            around = value.block.parent_op()
            if around is not None and statement.is_ancestor(around):
                return True
        return differs(value)

    def _variable(self, value: SSAValue, at: Operation) -> _Variable:
        loop = value.owner.parent_op() if isinstance(value, BlockArgument) else None
        step = known(loop.step) if isinstance(loop, ForOp) else 1
        step = step if isinstance(step, int) and step > 0 else 1
        limits = self._known.range(value, at)
        if limits.lo is None or limits.hi is None:
            return _Variable(value, step, None)
        return _Variable(value, step, (limits.hi - limits.lo) // step)

    def _minima(self, variables: dict[_Variable, int], at: Operation) -> list[int | None]:
        """What each variable adds at its minimum."""
        found: list[int | None] = []
        for variable, factor in variables.items():
            minima = self._known.range(variable.value, at).lo
            found.append(None if minima is None else minima * factor // variable.step)
        return found


def tensor_writes(statement: Operation) -> Iterator[tuple[Operation, AccessedRegion]]:
    """The ops of a statement that write tensors, and where."""
    for leaf in walk(statement):
        if not leaf.regions:
            for region in writes(leaf):
                if region.space is Space.GLOBAL:
                    yield leaf, region


def _hull(
    variables: dict[_Variable, int], extent: int, minima: Sequence[int | None]
) -> tuple[int | None, int | None]:
    low, high = 0, extent - 1
    for (variable, factor), base in zip(variables.items(), minima, strict=True):
        if base is None or variable.reach is None:
            return None, None
        low += base + min(0, factor * variable.reach)
        high += base + max(0, factor * variable.reach)
    return low, high


def _pinned(parts: Sequence[tuple[dict[_Variable, int], int]]) -> set[_Variable]:
    """The variables that are the same in any two executions that write one element."""
    pinned: set[_Variable] = set()
    is_new = True
    while is_new:
        is_new = False
        for factors, extent in parts:
            free = {each: abs(n) for each, n in factors.items() if n and each not in pinned}
            for variable, factor in free.items():
                others = [
                    None if each.reach is None else each.reach * n
                    for each, n in free.items()
                    if each != variable
                ]
                if None in others:
                    continue
                if factor > sum(each for each in others if each is not None) + extent - 1:
                    pinned.add(variable)
                    is_new = True
    return pinned


def _apart_by_residue(one: Poly, size: int, other: Poly, other_size: int) -> bool:
    """Whether boxes are disjoint modulo a constant that divides all of both starts but a
    constant."""
    unit = gcd(*(n for poly in (one, other) for monomial, n in poly if monomial))
    if not unit:
        return False  # two constants, which have been compared
    ahead = (other.constant_term - one.constant_term) % unit
    return size <= ahead and ahead + other_size <= unit


def _loops_around(op: Operation) -> list[Operation]:
    """The loops of the kernel around an op whose iterations are sequential."""
    found: list[Operation] = []
    around = op.parent_op()
    while around is not None and not isinstance(around, KernelOp):
        if isinstance(around, _LOOPS):
            found.append(around)
        elif isinstance(around, ParallelOp):
            found = []  # its iterations are not sequential, nor are those inside
        around = around.parent_op()
    return found


def _index_of(loop: Operation) -> SSAValue | None:
    return loop.regions[0].block.args[0] if isinstance(loop, ForOp | PipelineOp) else None


def _is_index(value: SSAValue, loop: Operation) -> bool:
    if not isinstance(value, BlockArgument) or value.block.parent_op() is not loop:
        return False
    return isinstance(loop, PersistentOp | PipelineOp) or (
        isinstance(loop, ForOp) and value.index == 0
    )


def _exclude_each_other(one: Operation, other: Operation) -> bool:
    """Whether two ops are in different branches of one `if`."""
    around: Operation | None = one
    while around is not None:
        outer = around.parent_op()
        if isinstance(outer, IfOp) and outer.is_ancestor(other):
            own = next(n for n, each in enumerate(outer.regions) if each.is_ancestor(one))
            return not outer.regions[own].is_ancestor(other)
        if outer is not None and outer.is_ancestor(other):
            return False
        around = outer
    return False
