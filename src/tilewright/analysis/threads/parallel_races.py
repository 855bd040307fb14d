"""Data races between iterations of a ``tile.parallel``.

Iterations have no order. Two of them that write different values to one element, or one that reads
what another writes, make the result nondeterministic. For every two accesses of one buffer, one of
them a write, the result is one of three:

    disjoint  no two iterations access the same element: proved
    a race    two iterations and the element that both access: shown
    unknown   neither

Symbolic proof: both accesses use the same indices, and every index of the loop occurs alone in one
of them. Otherwise the iterations are enumerated. What an index adds from outside of the loop (a
block, an outer loop, loaded values) cancels if both accesses add the same; if not, values are
assumed for it, which can show a race but prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.affine import Context, Formula, FormulaKind, Poly
from tilewright.analysis.affine.arrays import ArrayEvaluator
from tilewright.analysis.affine.evaluate import Evaluator
from tilewright.analysis.affine.symbols import Atom, SymbolKind
from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import DimOp, LoadOp, StoreOp
from tilewright.dialects.tile import AtomicOp, ParallelOp, ReducerAllocOp, space_of
from tilewright.dialects.tile.interfaces import AccessedRegion, base_of, reads, writes
from tilewright.ir.traversal import walk

MAX_POINTS = 1 << 18
_SAMPLES = (64, 1000, 1)
"""Values to try for run-time arguments."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LoopAccess:
    """One load or store of the loop's body."""

    op: LoadOp | StoreOp
    indices: tuple[Poly, ...]
    conditions: tuple[Formula, ...]
    """Conditions that hold where it runs, beyond those before the loop."""

    @property
    def is_write(self) -> bool:
        return isinstance(self.op, StoreOp)


@dataclass(frozen=True)
class Race:
    """Two iterations that access the same element."""

    one: LoopAccess
    other: LoopAccess
    iterations: tuple[tuple[int, ...], tuple[int, ...]]
    element: tuple[int, ...]
    outer: tuple[tuple[str, int], ...] = ()
    """Values assumed for inputs from outside of the loop."""
    by_caller: bool = False
    """Whether some of them are run-time arguments, which may have other values."""


@dataclass(frozen=True)
class Unknown:
    """An access that is not analysed, and why."""

    op: Operation
    reason: str


Finding = Race | Unknown


def find_races(loop: ParallelOp, ranges: IndexRanges) -> Iterator[Finding]:
    """Races of a loop, one for each pair of accesses; loops that are proved have none."""
    if loop not in ranges.scopes or ranges.context(loop).unreachable:
        return
    question = _Question(loop, ranges)
    yield from question.findings()


@dataclass(frozen=True)
class _Axis:
    """An index that differs between iterations: of the loop itself or of a loop inside."""

    atom: Atom
    lower: int
    upper: int


class _Question:
    def __init__(self, loop: ParallelOp, ranges: IndexRanges) -> None:
        self.loop = loop
        self.ranges = ranges
        self.context = ranges.context(loop)
        self.own = [_atom(ranges.poly(argument)) for argument in loop.arguments]

    def findings(self) -> Iterator[Finding]:
        buffers: dict[SSAValue, list[LoadOp | StoreOp]] = {}
        for op in walk(self.loop):
            if isinstance(op, LoadOp | StoreOp):
                buffers.setdefault(base_of(op.memref), []).append(op)
        others = [
            (op, region)
            for op in walk(self.loop)
            if not op.regions and not isinstance(op, LoadOp | StoreOp | AtomicOp)
            for region in (*reads(op), *writes(op))
        ]
        for base, ops in buffers.items():
            if self._is_private(base) or not any(isinstance(op, StoreOp) for op in ops):
                continue
            yield from self._buffer(base, ops, others)

    def _is_private(self, base: SSAValue) -> bool:
        """Whether the buffer is private to an iteration, or may be shared."""
        space = space_of(base.type)
        owner = base.owner
        inside = isinstance(owner, Operation) and self.loop.is_ancestor(owner)
        return inside or (space is not None and space.is_per_thread) or _is_reducer(base)

    def _buffer(
        self,
        base: SSAValue,
        ops: list[LoadOp | StoreOp],
        others: list[tuple[Operation, AccessedRegion]],
    ) -> Iterator[Finding]:
        for op, region in others:
            if region.base is base:
                yield Unknown(op, f"{op.name} accesses the buffer as well")
                return
        if any(op.memref is not ops[0].memref for op in ops):
            yield Unknown(ops[0], "the buffer is used under several shapes")
            return
        accesses = [self._access(op) for op in ops]
        for position, one in enumerate(accesses):
            for other in accesses[position:]:
                if not one.is_write and not other.is_write:
                    continue
                if _same_value(one, other, self.loop):
                    continue
                found = self._pair(one, other)
                if found is not None:
                    yield found

    def _access(self, op: LoadOp | StoreOp) -> LoopAccess:
        inside = self.ranges.context(op).facts.held
        known = self.context.facts.held
        formulas = self.ranges.space.formulas
        held = tuple(formulas[id] for id in sorted(inside - known))
        indices = tuple(self.ranges.poly(index) for index in op.indices)
        return LoopAccess(op, indices, tuple(f for f in held if f.kind is not FormulaKind.AND))

    # -- one pair ----------------------------------------------------------------------------

    def _pair(self, one: LoopAccess, other: LoopAccess) -> Finding | None:
        if one.indices == other.indices and self._stands_alone(one.indices):
            return None
        axes = self._axes((one, other))
        if isinstance(axes, str):
            return Unknown(other.op, axes)
        halves = self._inner_parts(one, other, {axis.atom.id for axis in axes})
        if halves is not None:
            search = _Enumeration(axes, len(self.own), {}, strict=False)
            if search.find(one, other, *halves) is None:
                return None
        return self._show(one, other, axes, halves)

    def _stands_alone(self, indices: tuple[Poly, ...]) -> bool:
        """Whether two iterations with the same element are the same iteration."""
        return all(
            any(self._is_alone(atom, index) for index in indices)
            for atom in self.own
            if atom is not None
        ) and all(atom is not None for atom in self.own)

    def _is_alone(self, atom: Atom, index: Poly) -> bool:
        factor = index.coefficient_of(atom)
        if factor is None or not factor.constant:
            return False
        others = (self._inside_atoms() | {a.id for a in self.own if a}) - {atom.id}
        return not any(inner.id in others for inner in index.atoms_within())

    def _inside_atoms(self) -> set[int]:
        """Atoms whose value may differ between iterations."""
        return {
            id
            for id, value in self.ranges.sources.items()
            if self.loop.is_ancestor(value.owner)
            and not (isinstance(value.owner, Operation) and _is_dim(value.owner))
        }

    def _axes(self, pair: tuple[LoopAccess, LoopAccess]) -> list[_Axis] | str:
        """The indices to enumerate; a reason if they cannot be enumerated."""
        varying: dict[int, Atom] = {atom.id: atom for atom in self.own if atom is not None}
        inside = self._inside_atoms()
        for access in pair:
            for root in (*access.indices, *access.conditions):
                for atom in self.ranges.space.atoms_within((root,)):
                    if atom.id in inside:
                        varying[atom.id] = atom
        axes: list[_Axis] = []
        for id, atom in varying.items():
            source = self.ranges.sources[id]
            if not isinstance(source, BlockArgument):
                return "the index is data-dependent"
            at = source.block.first_op
            limits = self.ranges.context(at or self.loop).range(self.ranges.poly(source))
            if limits.lo is None or limits.hi is None:
                return "the trip count of the loop is unknown"
            axes.append(_Axis(atom, limits.lo, limits.hi + 1))
        if prod(axis.upper - axis.lower for axis in axes) > MAX_POINTS:
            return "there are too many iterations to enumerate"
        return axes

    def _inner_parts(
        self, one: LoopAccess, other: LoopAccess, axes: set[int]
    ) -> tuple[tuple[Poly, ...], tuple[Poly, ...]] | None:
        """The indices without what both add from outside; None if that does not cancel."""
        own_parts: list[Poly] = []
        other_parts: list[Poly] = []
        for a, b in zip(one.indices, other.indices, strict=True):
            first, second = _split(a, axes), _split(b, axes)
            if first is None or second is None or first[1] - second[1] != 0:
                return None
            own_parts.append(first[0])
            other_parts.append(second[0])
        return tuple(own_parts), tuple(other_parts)

    def _show(
        self,
        one: LoopAccess,
        other: LoopAccess,
        axes: list[_Axis],
        halves: tuple[tuple[Poly, ...], tuple[Poly, ...]] | None,
    ) -> Finding:
        free = self._free_atoms(one, other, {axis.atom.id for axis in axes})
        if isinstance(free, str):
            return Unknown(other.op, free)
        for values in self._valuations(free):
            search = _Enumeration(axes, len(self.own), values, strict=True)
            found = search.find(one, other, one.indices, other.indices)
            if isinstance(found, Race):
                return replace(found, by_caller=any(map(self._is_of_caller, free)))
        return Unknown(
            other.op, "no two iterations with the same element were found, and none were excluded"
        )

    def _free_atoms(self, one: LoopAccess, other: LoopAccess, axes: set[int]) -> list[Atom] | str:
        roots = (*one.indices, *one.conditions, *other.indices, *other.conditions)
        free: list[Atom] = []
        for formula in (*one.conditions, *other.conditions):
            if _has_predicate(formula):
                return "a condition of the access is data-dependent"
        for atom in self.ranges.space.atoms_within(roots):
            if atom.kind not in (SymbolKind.SYMBOL, SymbolKind.CALL) or atom.id in axes:
                continue
            source = self.ranges.sources.get(atom.id)
            if source is None or not _is_launch_value(source):
                return "the index is data-dependent"
            free.append(atom)
        return free

    def _is_of_caller(self, atom: Atom) -> bool:
        """Whether a value is a run-time argument, or an index with a run-time bound."""
        source = self.ranges.sources[atom.id]
        limits = self.context.range(self.ranges.space.of_atom(atom))
        parent = source.owner.parent_op() if isinstance(source, BlockArgument) else None
        is_index = parent is not None and not isinstance(parent, FuncOp)
        return not is_index or limits.lo is None or limits.hi is None

    def _valuations(self, free: list[Atom]) -> Iterator[dict[str, int]]:
        """Assumed values for inputs from outside that satisfy their constraints."""
        if not free:
            yield {}
            return
        space = self.ranges.space
        held = [space.formulas[id] for id in sorted(self.context.facts.held)]
        for choice in range(len(_SAMPLES) + 1):
            values = {atom.name: _pick(self.context, space.of_atom(atom), choice) for atom in free}
            judge = Evaluator(values)
            if all(_agrees(judge, formula) for formula in held):
                yield values


def _pick(context: Context, poly: Poly, choice: int) -> int:
    limits = context.range(poly)
    if choice == 0 and limits.lo is not None and limits.lo > -(1 << 40):
        return limits.lo
    position = _SAMPLES[choice - 1]
    if limits.hi is not None:
        position = min(position, limits.hi)
    return position if limits.lo is None else max(position, limits.lo)


def _agrees(judge: Evaluator, formula: Formula) -> bool:
    try:
        return judge.truth(formula)
    except KeyError:
        return True  # about something else


def _atom(poly: Poly) -> Atom | None:
    return poly.atom


def _is_dim(op: Operation) -> bool:
    return isinstance(op, DimOp)


def _is_reducer(base: SSAValue) -> bool:
    return isinstance(base.owner, ReducerAllocOp)


def _is_launch_value(value: SSAValue) -> bool:
    """Whether any value in its range can occur: indices, arguments, extents."""
    return isinstance(value, BlockArgument) or isinstance(value.owner, DimOp)


def _has_predicate(formula: Formula) -> bool:
    return formula.kind is FormulaKind.PREDICATE or any(map(_has_predicate, formula.parts))


def _same_value(one: LoopAccess, other: LoopAccess, loop: ParallelOp) -> bool:
    """Whether two writes write the same value, computed before the loop."""
    if not isinstance(one.op, StoreOp) or not isinstance(other.op, StoreOp):
        return False
    value = one.op.value
    return value is other.op.value and not loop.is_ancestor(value.owner)


def _split(poly: Poly, axes: set[int]) -> tuple[Poly, Poly] | None:
    """Terms with and without what is enumerated; None if a term has both."""
    inner: dict[tuple[int, ...], int] = {}
    outer: dict[tuple[int, ...], int] = {}
    space = poly.space
    for monomial, coefficient in poly.terms.items():
        if not monomial:
            inner[monomial] = coefficient
            continue
        leaves = [
            leaf
            for id in monomial
            for leaf in space.atoms_within((space.of_atom(space.atoms[id]),))
            if leaf.kind in (SymbolKind.SYMBOL, SymbolKind.CALL)
        ]
        belongs = {leaf.id in axes for leaf in leaves}
        if len(belongs) > 1:
            return None
        (inner if True in belongs else outer)[monomial] = coefficient
    return Poly(space, inner), Poly(space, outer)


class _Enumeration:
    """Enumerates the iterations of two accesses and finds an element that both access."""

    def __init__(
        self, axes: list[_Axis], own: int, outer: Mapping[str, int], *, strict: bool
    ) -> None:
        self.axes = axes
        self.own = own
        self.outer = outer
        self.strict = strict
        """Whether every condition is evaluated, and not only those that can be."""
        grid = np.meshgrid(
            *(np.arange(axis.lower, axis.upper, dtype=np.int64) for axis in axes), indexing="ij"
        )
        self.points: list[Ints] = [each.reshape(-1) for each in grid]
        sizes = [axis.upper - axis.lower for axis in axes[:own]]
        strides = [prod(sizes[i + 1 :]) for i in range(own)]
        self.count = len(self.points[0]) if self.points else 1
        self.iteration: Ints = np.zeros(self.count, np.int64)
        for axis, points, stride in zip(axes[:own], self.points, strides, strict=False):
            self.iteration += (points - axis.lower) * stride
        values: dict[str, Any] = dict(outer)
        values.update((axis.atom.name, p) for axis, p in zip(axes, self.points, strict=True))
        self.evaluator = ArrayEvaluator(values)

    def find(
        self,
        one: LoopAccess,
        other: LoopAccess,
        own_parts: tuple[Poly, ...],
        other_parts: tuple[Poly, ...],
    ) -> Race | None:
        a, b = self._elements(one, own_parts), self._elements(other, other_parts)
        if not len(a[0]) or not len(b[0]):
            return None
        codes_a, codes_b = _codes(a[1], b[1])
        _, groups = np.unique(np.concatenate((codes_a, codes_b)), return_inverse=True)
        group_a, group_b = groups[: len(codes_a)], groups[len(codes_a) :]
        size = int(groups.max()) + 1
        first_iteration, last_iteration = np.full(size, self.count), np.full(size, -1)
        np.minimum.at(first_iteration, group_b, self.iteration[b[0]])
        np.maximum.at(last_iteration, group_b, self.iteration[b[0]])
        own = self.iteration[a[0]]
        is_shared = (last_iteration[group_a] >= 0) & (
            (first_iteration[group_a] != own) | (last_iteration[group_a] != own)
        )
        if not is_shared.any():
            return None
        first = int(np.flatnonzero(is_shared)[0])
        group, me = group_a[first], own[first]
        partners = np.flatnonzero((group_b == group) & (self.iteration[b[0]] != me))
        second = int(partners[0])
        element = tuple(int(v) for v in a[1][first])
        spots = self._indices_at(int(a[0][first])), self._indices_at(int(b[0][second]))
        return Race(one, other, spots, element, tuple(self.outer.items()))

    def _indices_at(self, point: int) -> tuple[int, ...]:
        return tuple(int(points[point]) for points in self.points[: self.own])

    def _elements(self, access: LoopAccess, indices: tuple[Poly, ...]) -> tuple[Ints, Ints]:
        """Indices of the points that reach the access, and their elements."""
        mask = np.ones(self.count, bool)
        for formula in access.conditions:
            truth = self._truth(formula)
            if truth is not None:
                mask &= np.broadcast_to(truth, mask.shape)
        columns = [
            np.broadcast_to(np.asarray(self.evaluator.value(index), np.int64), (self.count,))
            for index in indices
        ]
        chosen = np.flatnonzero(mask).astype(np.int64)
        return chosen, np.stack([column[chosen] for column in columns], axis=1)

    def _truth(self, formula: Formula) -> NDArray[np.bool_] | None:
        try:
            return self.evaluator.truth(formula)
        except KeyError:
            if self.strict:
                raise
            return None


def _codes(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Elements as single integers, equal for equal elements."""
    both = np.concatenate((one, other))
    low = both.min(axis=0)
    sizes = both.max(axis=0) - low + 1
    code = np.zeros(len(both), np.int64)
    for column in range(both.shape[1]):
        code = code * sizes[column] + (both[:, column] - low[column])
    return code[: len(one)], code[len(one) :]
