"""Which thread accesses which elements of a shared buffer, at thread level.

The index of an access is a sum. Addends that depend on the thread, or on loops of constant trip
count, are evaluated for all threads and all iterations of these loops; the others have to be the
same in all threads, and stay symbols::

    k * 4096 + (tid * 8 + i * 2048)        symbols {k * 4096}; elements of each thread for all i

Two accesses with the same symbols conflict if an element of the one belongs to another thread in
the other one. Then a barrier is needed between them; otherwise every thread accesses what only it
accesses itself, and program order is enough. A symbol has the same value in both accesses as long
as no loop that it depends on starts another iteration in between (`depends_on`).

Accesses in different iterations of an evaluated loop conflict only if, besides, they share an
element in different iterations: a statement with which all threads write element `i` in iteration
`i` needs no barrier between iterations (`EarlierAccess`).

What is not known conflicts: collective accesses of a warp, indices that depend on data, views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import gcd, prod

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.integers.index_values import IndexValues, Undefined, Values, addends_of
from tilewright.analysis.threads.uniformity import differs
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import Dimension, ThreadIdOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.traversal import walk

_MAX_POINTS = 1 << 16
"""Threads times iterations for which an index is evaluated."""
_FREE, _SEVERAL = -1, -2
"""Owners of elements that no thread, or more than one, accesses."""


@dataclass(frozen=True, eq=False)
class Accesses:
    """Accesses of single threads."""

    starts: Values
    """The first element of each, without the symbols."""
    threads: Values
    iterations: Mapping[SSAValue, Values]
    """The iterations of evaluated loops, by their index and counted from 0."""

    def labels(self, by: SSAValue | None, together: int) -> Values:
        """What accesses: the iteration of a loop, or the thread; of warps of `together` threads."""
        if by is not None:
            return self.iterations[by]
        return self.threads if together == 1 else self.threads // together


@dataclass(eq=False)
class Footprint:
    """The elements that one op accesses, with the threads that do."""

    symbols: frozenset[tuple[SSAValue, int]]
    """Addends that are the same in all threads, with their multiplicity."""
    variables: frozenset[SSAValue]
    """Loop indices that the symbols depend on."""
    width: int
    """Contiguous elements of an access."""
    evaluated: frozenset[SSAValue]
    """Indices of loops for all of whose iterations the accesses are evaluated."""
    evaluate: Callable[[], Accesses | None]
    """The accesses of all threads and iterations; None if not known."""
    _compared: dict[tuple[int, SSAValue | None, int], bool] = field(
        default_factory=dict["tuple[int, SSAValue | None, int]", bool]
    )
    _owners: dict[tuple[SSAValue | None, int, int], tuple[int, Values]] = field(
        default_factory=dict["tuple[SSAValue | None, int, int]", "tuple[int, Values]"]
    )

    @cached_property
    def accesses(self) -> Accesses | None:
        return self.evaluate()

    def owners(
        self, accesses: Accesses, by: SSAValue | None, unit: int, together: int = 1
    ) -> tuple[int, Values]:
        """The first element, and from there on which thread accesses each `unit` of elements, or
        which warp of `together` threads, or in which iteration of the loop with index `by`.
        """
        key = by, unit, together
        if key not in self._owners:
            self._owners[key] = self._owned(accesses.starts, accesses.labels(by, together), unit)
        return self._owners[key]

    def _owned(self, starts: Values, threads: Values, unit: int) -> tuple[int, Values]:
        low, lanes = int(starts.min()), self.width // unit
        first = (starts - low) // unit
        owners = np.full(int(first.max()) + lanes, _FREE, dtype=np.int64)
        elements = [first + lane for lane in range(lanes)]
        for each in elements:
            owners[each] = threads
        for each in elements:
            owners[each[owners[each] != threads]] = _SEVERAL
        return low, owners

    def conflicts(self, other: Footprint, together: int = 1) -> bool:
        """Whether a thread may access an element that another thread accesses in `other`; threads
        of a warp of `together` are one."""
        return self.symbols != other.symbols or self.overlaps(other, None, together)

    def overlaps(self, other: Footprint, by: SSAValue | None, together: int = 1) -> bool:
        """Whether different threads may access the same element here and in `other`; with `by`,
        whether that happens in different iterations of the loop with this index.
        """
        key = id(other), by, together
        if key not in self._compared:
            self._compared[key] = self._overlaps(other, by, together)
        return self._compared[key]

    def _overlaps(self, other: Footprint, by: SSAValue | None, together: int) -> bool:
        if self.accesses is None or other.accesses is None:
            return True
        if by is not None and not (by in self.accesses.iterations) & (
            by in other.accesses.iterations
        ):
            return True
        unit = self._unit(self.accesses.starts, other.accesses.starts, other.width)
        low, owners = self.owners(self.accesses, by, unit, together)
        labels = other.accesses.labels(by, together)
        first = (other.accesses.starts - low) // unit
        for lane in range(other.width // unit):
            elements = first + lane
            inside = (elements >= 0) & (elements < len(owners))
            found = owners[elements[inside]]
            if bool(np.any((found != _FREE) & (found != labels[inside]))):
                return True
        return False

    def _unit(self, starts: Values, others: Values, width: int) -> int:
        """How many contiguous elements all accesses, here and of another footprint, have whole."""
        unit = gcd(self.width, width)
        distances = (starts - starts[0], others - starts[0])
        return unit if unit == 1 or all(_are_multiples(each, unit) for each in distances) else 1

    def depends_on(self, loop: ForOp) -> bool:
        """Whether the elements are others in each iteration of `loop`, in a way not evaluated."""
        return loop.body.block.args[0] in self.variables


@dataclass(frozen=True)
class EarlierAccess:
    """A footprint, and in which iterations it was accessed, as seen from a later access."""

    footprint: Footprint
    apart: SSAValue | None = None
    """The index of a loop of which this was another iteration."""
    is_mixed: bool = False
    """Whether it may have been any iteration of the evaluated loops, the present one included."""

    def conflicts(self, later: Footprint, together: int = 1) -> bool:
        """Whether different threads may access the same element, here and in `later`; threads of a
        warp of `together` are one."""
        if not self.footprint.conflicts(later, together):
            return False
        return self.apart is None or self.footprint.overlaps(later, self.apart)

    def in_next_iteration(self, loop: ForOp) -> EarlierAccess | None:
        """The access as the next iteration of `loop` sees it; None if nothing is known then."""
        if self.footprint.depends_on(loop):
            return None
        if self.is_mixed:
            return self
        variable = loop.body.block.args[0]
        if variable in self.footprint.evaluated:
            return replace(self, apart=variable)
        return EarlierAccess(self.footprint, is_mixed=True)

    def after(self, loop: ForOp) -> EarlierAccess | None:
        """The access as seen after `loop`."""
        if self.footprint.depends_on(loop):
            return None
        if loop.body.block.args[0] in self.footprint.evaluated:
            return EarlierAccess(self.footprint, is_mixed=True)
        return self


class ThreadFootprints:
    """The footprints of the accesses of one kernel."""

    def __init__(self, function: FuncOp) -> None:
        count = function.attributes.get(simt_names.THREADS)
        self._threads = count.value.data if isinstance(count, IntegerAttr) else None
        self._values = IndexValues()
        self._thread_ids = {
            op.result for op in walk(function) if isinstance(op, ThreadIdOp) and _is_first(op)
        }
        self._same = set[SSAValue](function.body.block.args)
        """Leaves that are equal in all threads, and constant outside of loops."""
        self._loops: dict[SSAValue, range] = {}
        """Indices of loops of constant trip count."""
        for op in walk(function):
            if op.name == "gpu.block_id":
                self._same.update(op.results)
            elif isinstance(op, ForOp):
                self._look_at_loop(op)
        self._known: dict[tuple[Operation, SSAValue], Footprint | None] = {}

    def _look_at_loop(self, loop: ForOp) -> None:
        bounds = (loop.lower_bound, loop.upper_bound, loop.step)
        low, high, step = map(constant_integer, bounds)
        variable = loop.body.block.args[0]
        if low is not None and high is not None and step is not None and step > 0:
            self._loops[variable] = range(low, max(high, low + 1), step)
        if not any(map(differs, bounds)):
            self._same.add(variable)

    def of(self, op: Operation, buffer: SSAValue, index: SSAValue, width: int) -> Footprint | None:
        """What `op` accesses with `width` elements at `index`; None if not known."""
        if self._threads is None or not isinstance(buffer.owner, AllocOp):
            return None
        key = op, index
        if key not in self._known:
            self._known[key] = self._split(op, index, width)
        return self._known[key]

    def _split(self, op: Operation, index: SSAValue, width: int) -> Footprint | None:
        threads, guards = self._threads_at(op), self._guards(op)
        symbols, changing = list[SSAValue](), list[SSAValue]()
        for addend in addends_of(index):
            is_symbol = self._leaves(addend) and self._leaves(addend) <= self._same
            (symbols if is_symbol else changing).append(addend)
        axes = self._axes([*changing, *(condition for condition, _ in guards)])
        if axes is None or self._points(axes, threads) > _MAX_POINTS:
            return None
        for addend in self._innermost_first(symbols):
            more = self._axes([addend], axes)
            if more is not None and self._points(more, threads) <= _MAX_POINTS:
                axes = more
                symbols.remove(addend)
                changing.append(addend)
        leaves = {leaf for each in symbols for leaf in self._leaves(each)}
        return Footprint(
            frozenset((each, symbols.count(each)) for each in symbols),
            frozenset(each for each in leaves if isinstance(each.owner, Block)),
            width,
            frozenset(axes),
            partial(self._evaluate, changing, guards, axes, threads),
        )

    def _evaluate(
        self,
        addends: Sequence[SSAValue],
        guards: Sequence[tuple[SSAValue, bool]],
        axes: Sequence[SSAValue],
        threads: Values,
    ) -> Accesses | None:
        """The sum of the addends for all threads and iterations that get there."""
        given, extents = self._given(axes, threads)
        try:
            values = self._values.evaluate_all(
                [*addends, *(condition for condition, _ in guards)], given
            )
        except Undefined:
            return None
        starts: Values = np.zeros(extents, dtype=np.int64)
        for each in values[: len(addends)]:
            starts += each
        own = np.broadcast_to(threads.reshape(-1, *[1] * len(axes)), extents)
        counts = np.indices(extents, sparse=True)
        iterations = {each: np.broadcast_to(counts[n], extents) for n, each in enumerate(axes, 1)}
        if not guards:
            flat = {each: count.ravel() for each, count in iterations.items()}
            return Accesses(starts.ravel(), own.ravel(), flat)
        reached = np.ones(extents, dtype=np.bool_)
        for (_, holds), condition in zip(guards, values[len(addends) :], strict=True):
            reached &= condition == holds
        if not bool(reached.any()):
            return None
        some = {each: count[reached] for each, count in iterations.items()}
        return Accesses(starts[reached], own[reached], some)

    # -- what an index is computed from ------------------------------------------------------

    def _leaves(self, value: SSAValue) -> frozenset[SSAValue]:
        return self._values.leaves(value)

    def _axes(
        self, values: Sequence[SSAValue], others: Sequence[SSAValue] = ()
    ) -> list[SSAValue] | None:
        """The loop indices to evaluate for, besides `others`; None if a value is not known."""
        found = dict.fromkeys(others)
        for value in values:
            for leaf in self._leaves(value):
                if leaf not in self._thread_ids and leaf not in self._loops:
                    return None
        for variable in self._loops:  # in the order of the kernel
            if any(variable in self._leaves(value) for value in values):
                found[variable] = None
        return list(found)

    def _innermost_first(self, addends: Sequence[SSAValue]) -> list[SSAValue]:
        """Addends that depend on loops of constant trip count."""
        order = {variable: position for position, variable in enumerate(self._loops)}
        found = [each for each in addends if self._leaves(each) and self._leaves(each) <= {*order}]
        return sorted(found, key=lambda each: -min(order[leaf] for leaf in self._leaves(each)))

    def _points(self, axes: Sequence[SSAValue], threads: Values) -> int:
        return threads.size * prod(len(self._loops[each]) for each in axes)

    def _given(
        self, axes: Sequence[SSAValue], threads: Values
    ) -> tuple[dict[SSAValue, Values], list[int]]:
        """Arrays of the leaves, one dimension for the threads and one for each loop."""
        rank = 1 + len(axes)
        given: dict[SSAValue, Values] = {
            each: threads.reshape(-1, *[1] * len(axes)) for each in self._thread_ids
        }
        for axis, each in enumerate(axes, 1):
            shape = [1] * rank
            shape[axis] = -1
            given[each] = np.asarray(self._loops[each], dtype=np.int64).reshape(shape)
        return given, [threads.size, *(len(self._loops[each]) for each in axes)]

    def _threads_at(self, op: Operation) -> Values:
        """The threads of the role that `op` belongs to, or all of them."""
        inner, outer = op, op.parent_op()
        while outer is not None:
            if isinstance(outer, WsOp):
                ranges = outer.roles[_region_index(outer, inner)].ranges
                return np.concatenate([np.arange(*each, dtype=np.int64) for each in ranges])
            inner, outer = outer, outer.parent_op()
        assert self._threads is not None
        return np.arange(self._threads, dtype=np.int64)

    def _guards(self, op: Operation) -> list[tuple[SSAValue, bool]]:
        """Conditions around `op` that can be evaluated, and whether they hold there."""
        known = self._thread_ids | {*self._loops}
        found: list[tuple[SSAValue, bool]] = []
        inner, outer = op, op.parent_op()
        while outer is not None and not isinstance(outer, WsOp | FuncOp):
            if isinstance(outer, IfOp) and self._leaves(outer.condition) <= known:
                found.append((outer.condition, inner.parent is outer.then_region.block))
            inner, outer = outer, outer.parent_op()
        return found


def _are_multiples(values: Values, of: int) -> bool:
    return bool((values // of * of == values).all())  # the remainder of an array takes longer


def _region_index(outer: Operation, inner: Operation) -> int:
    """In which region of `outer` the op `inner` is."""
    regions = [region for region in outer.regions if region.blocks]
    return next(n for n, region in enumerate(regions) if region.block is inner.parent)


def _is_first(op: ThreadIdOp) -> bool:
    """Whether it is the index in the first dimension: the only one of a flattened block."""
    return op.dimension.data is Dimension.X
