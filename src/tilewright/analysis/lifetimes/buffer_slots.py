"""Which version of a multi-buffered shared buffer an access uses, at thread level.

A buffer with `n` versions of `S` elements is a run of ``n * S`` elements; an access to version
``v`` has the index ``S * v + r`` with ``0 <= r < S``. Here an index is split so: the addends that
are multiples of `S`, and do not differ between threads, give the version; the rest, which depends
on threads and on loops of constant trip count, is evaluated for all of them, and must stay below
`S`. Otherwise the version is not known.

Two versions differ if their difference is a constant that `n` does not divide, plus multiples of
`n`. With ``k mod 2`` written as ``k - 2 * floor(k / 2)`` that shows that ``k mod 2`` and
``(k - 1) mod 2`` are two versions in every iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Poly, Substitution
from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.integers.index_values import IndexValues, Undefined, Values, addends_of
from tilewright.dialects.func import FuncOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.tile.warps import WsOp
from tilewright.dialects.type_utils import num_elements
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.traversal import walk

Guards: TypeAlias = tuple[tuple[SSAValue, bool], ...]
"""Conditions, and whether they hold."""
Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Threads of a role."""
Rest: TypeAlias = tuple[int, int]
"""The least and the greatest place inside of a version."""
_MAX_POINTS = 1 << 17
"""Values of the rest of an index that are computed."""


@dataclass(frozen=True)
class Slot:
    """One version of a buffer."""

    index: Poly
    versions: int

    def differs_from(self, other: Slot) -> bool:
        """Whether the two are certainly different versions of the same buffer."""
        distance = self.index - other.index
        changing = distance - distance.constant_term
        is_multiple = all(each % self.versions == 0 for each in changing.terms.values())
        return is_multiple and distance.constant_term % self.versions != 0


@dataclass
class BufferSlots:
    """The versions that the accesses of one kernel use."""

    function: FuncOp
    ranges: IndexRanges = field(init=False)
    _values: IndexValues = field(init=False, default_factory=IndexValues)
    _local: dict[SSAValue, range] = field(init=False, default_factory=dict[SSAValue, range])
    """Thread indices, and indices of loops of constant trip count, with their values."""
    _uniform: set[SSAValue] = field(init=False, default_factory=set[SSAValue])
    """What all threads have in common at the same time."""
    _threads: set[SSAValue] = field(init=False, default_factory=set[SSAValue])
    """Thread indices."""
    _known: dict[tuple[SSAValue, int, Guards, Ranges], tuple[Poly, Rest | None]] = field(
        init=False,
        default_factory=dict["tuple[SSAValue, int, Guards, Ranges]", "tuple[Poly, Rest | None]"],
    )

    def __post_init__(self) -> None:
        self.ranges = IndexRanges(self.function)
        threads = self.function.attributes.get(simt_names.THREADS)
        self._uniform.update(self.function.body.block.args)
        for op in walk(self.function):
            if op.name == "gpu.thread_id" and isinstance(threads, IntegerAttr):
                self._local[op.results[0]] = range(threads.value.data)
                self._threads.add(op.results[0])
            elif op.name == "gpu.block_id":
                self._uniform.update(op.results)
            elif isinstance(op, ForOp):
                self._look_at_loop(op)

    def _look_at_loop(self, loop: ForOp) -> None:
        variable = loop.body.block.args[0]
        bounds = (loop.lower_bound, loop.upper_bound, loop.step)
        low, high, step = map(constant_integer, bounds)
        if step is None or step <= 0:
            return
        self._uniform.add(variable)
        if low is not None and high is not None:
            self._local[variable] = range(low, max(high, low + 1), step)

    # -- queries -----------------------------------------------------------------------------

    def slot(self, op: Operation, buffer: SSAValue, index: SSAValue, width: int) -> Slot | None:
        """The version of `width` elements at `index` that `op` accesses; None if not known."""
        owner = buffer.owner
        stated = owner.attributes.get(simt_names.VERSIONS) if isinstance(owner, AllocOp) else None
        if not isinstance(stated, IntegerAttr) or stated.value.data == 1:
            return None
        versions = stated.value.data
        size = num_elements(buffer.type) // versions
        key = index, size, self._guards(op), _role_of(op)
        if key not in self._known:
            version, rest = self._split(index, size)
            self._known[key] = version, self._range_of(rest, *key[2:])
        version, bounds = self._known[key]
        if bounds is None or bounds[0] // size != (bounds[1] + width - 1) // size:
            return None
        return Slot(version.exact_quotient(size) + bounds[0] // size, versions)

    def _split(self, index: SSAValue, size: int) -> tuple[Poly, list[SSAValue]]:
        """The addends that give the version, as one number, and the others."""
        version, rest = self.ranges.poly(0), list[SSAValue]()
        for addend in addends_of(index):
            if self._values.leaves(addend) <= self._uniform:
                poly = self.ranges.poly(addend)
                if all(each % size == 0 for each in poly.terms.values()):
                    version = version + poly
                    continue
            rest.append(addend)
        return version, rest

    def _guards(self, op: Operation) -> Guards:
        """Conditions on the thread and on loops around `op`, and whether they hold there."""
        found: list[tuple[SSAValue, bool]] = []
        inner, outer = op, op.parent_op()
        while outer is not None and outer is not self.function:
            if isinstance(outer, IfOp) and self._values.leaves(outer.condition) <= {*self._local}:
                found.append((outer.condition, inner.parent is outer.then_region.block))
            inner, outer = outer, outer.parent_op()
        return tuple(found)

    def _range_of(self, addends: list[SSAValue], guards: Guards, role: Ranges) -> Rest | None:
        """The least and the greatest sum for all threads and iterations that get there."""
        values = [*addends, *(condition for condition, _ in guards)]
        leaves = list(dict.fromkeys(leaf for each in values for leaf in self._ordered(each)))
        if any(each not in self._local for each in leaves):
            return None
        ranges = [self._values_of(each, role) for each in leaves]
        extents = [len(each) for each in ranges]
        if prod(extents) > _MAX_POINTS:
            return None
        given: dict[SSAValue, Values] = {}
        for axis, each in enumerate(leaves):
            shape = [1] * len(leaves)
            shape[axis] = -1
            given[each] = ranges[axis].reshape(shape)
        try:
            found = self._values.evaluate_all(values, given)
        except Undefined:
            return None
        total: Values = np.zeros(extents, dtype=np.int64)
        for each in found[: len(addends)]:
            total += each
        if guards:
            reached = np.ones(extents, dtype=np.bool_)
            for (_, holds), condition in zip(guards, found[len(addends) :], strict=True):
                reached &= condition == holds
            total = total[reached]
        return (int(total.min()), int(total.max())) if total.size else None

    def _values_of(self, leaf: SSAValue, role: Ranges) -> Values:
        """The values of a thread index or a loop index where an op of a role runs."""
        if leaf in self._threads and role:
            return np.concatenate([np.arange(*each, dtype=np.int64) for each in role])
        return np.asarray(self._local[leaf], dtype=np.int64)

    def _ordered(self, value: SSAValue) -> list[SSAValue]:
        """Leaves in the order of the kernel, so that results do not depend on hashes."""
        return [each for each in self._local if each in self._values.leaves(value)] + [
            each for each in self._values.leaves(value) if each not in self._local
        ]

    def earlier(self, slot: Slot, loop: ForOp) -> Slot | None:
        """The version of the previous iteration of `loop`, as one of this iteration."""
        variable = loop.body.block.args[0]
        atom, step = self.ranges.poly(variable).atom, constant_integer(loop.step)
        if atom is None or not slot.index.mentions(atom):
            return slot
        if step is None:
            return None
        before = self.ranges.poly(variable) - step
        moved = Substitution(self.ranges.space.root, {atom: before}).poly(slot.index)
        return Slot(moved, slot.versions)

    def depends_on(self, slot: Slot, loop: ForOp) -> bool:
        """Whether a version is another one in each iteration of `loop`."""
        atom = self.ranges.poly(loop.body.block.args[0]).atom
        return atom is None or slot.index.mentions(atom)


def _role_of(op: Operation) -> Ranges:
    """The threads of the role that `op` belongs to; none if it is in no role."""
    inner, outer = op, op.parent_op()
    while outer is not None and not isinstance(outer, WsOp):
        inner, outer = outer, outer.parent_op()
    if outer is None:
        return ()
    regions = [region for region in outer.regions if region.blocks]
    index = next(n for n, region in enumerate(regions) if region.block is inner.parent)
    return outer.roles[index].ranges
