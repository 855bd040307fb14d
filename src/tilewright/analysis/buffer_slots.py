"""Which version of a multi-buffered shared buffer an access uses, at thread level.

A buffer with `n` versions of `S` elements is a run of ``n * S`` elements; an access to version
``v`` has the index ``S * v + r`` with ``0 <= r < S``. Here an index is split so: the terms whose
coefficients `S` divides, and that do not differ between threads, give the version; the rest, which
depends on threads and on loops of constant trip count, is evaluated for all of them, and must stay
below `S`. Otherwise the version is not known.

Two versions differ if their difference is a constant that `n` does not divide, plus multiples of
`n`. With ``k mod 2`` written as ``k - 2 * floor(k / 2)`` that shows that ``k mod 2`` and
``(k - 1) mod 2`` are two versions in every iteration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Atom, Formula, Poly, Substitution, SymbolKind
from tilewright.analysis.affine.arrays import IntArray, evaluate_array, holds_array
from tilewright.analysis.index_range import IndexRanges
from tilewright.dialects.func import FuncOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.type_utils import num_elements
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import walk

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
    _local: dict[Atom, range] = field(init=False)
    _uniform: set[Atom] = field(init=False)
    _bounds: dict[tuple[Poly, tuple[Formula, ...]], tuple[int, int] | None] = field(init=False)

    def __post_init__(self) -> None:
        self.ranges = IndexRanges(self.function)
        self._bounds = {}
        self._local = {}
        self._uniform = set()
        threads = self.function.attributes.get(simt_names.THREADS)
        arguments = [each for each in self.function.body.block.args if _is_number(each)]
        self._uniform.update(self._atoms(arguments))
        for op in walk(self.function):
            if op.name == "gpu.thread_id" and isinstance(threads, IntegerAttr):
                for atom in self._atoms(op.results):
                    self._local[atom] = range(threads.value.data)
            elif op.name == "gpu.block_id":
                self._uniform.update(self._atoms(op.results))
            elif isinstance(op, ForOp):
                self._look_at_loop(op)

    def _look_at_loop(self, loop: ForOp) -> None:
        atom = self.ranges.poly(loop.body.block.args[0]).atom
        low, high = _integer(loop.lower_bound), _integer(loop.upper_bound)
        step = _integer(loop.step)
        if atom is None or step is None:
            return
        self._uniform.add(atom)
        if low is not None and high is not None and step > 0:
            self._local.setdefault(atom, range(low, max(high, low + 1), step))

    def _atoms(self, values: Iterable[SSAValue]) -> list[Atom]:
        found = (self.ranges.poly(each).atom for each in values)
        return [atom for atom in found if atom is not None]

    # -- queries -----------------------------------------------------------------------------

    def slot(self, op: Operation, buffer: SSAValue, index: SSAValue, width: int) -> Slot | None:
        """The version of `width` elements at `index` that `op` accesses; None if not known."""
        owner = buffer.owner
        if not isinstance(owner, AllocOp):
            return None
        stated = owner.attributes.get(simt_names.VERSIONS)
        versions = stated.value.data if isinstance(stated, IntegerAttr) else 1
        if versions == 1:
            return None
        size = num_elements(owner.result.type) // versions
        version, rest = self._split(self.ranges.poly(index), size)
        bounds = self._range_of(rest, self._guards(op))
        if bounds is None:
            return None
        low, high = bounds
        if low // size != (high + width - 1) // size:
            return None
        return Slot(version.exact_quotient(size) + low // size, versions)

    def _split(self, index: Poly, size: int) -> tuple[Poly, Poly]:
        """Terms that give the version, and the others."""
        version = rest = index - index
        for monomial, coefficient in index:
            term = Poly(index.space, {monomial: coefficient})
            if coefficient % size == 0 and {*_symbols(term)} <= self._uniform:
                version = version + term
            else:
                rest = rest + term
        return version, rest

    def _guards(self, op: Operation) -> tuple[Formula, ...]:
        """What holds of the thread and of the loops around `op`."""
        found: list[Formula] = []
        inner, outer = op, op.parent_op()
        while outer is not None and outer is not self.function:
            if isinstance(outer, IfOp):
                formula = self.ranges.formula(outer.condition)
                if {*_symbols(formula)} <= {*self._local}:
                    is_then = inner.parent is outer.then_region.block
                    found.append(formula if is_then else ~formula)
            inner, outer = outer, outer.parent_op()
        return tuple(found)

    def _range_of(self, rest: Poly, guards: tuple[Formula, ...]) -> tuple[int, int] | None:
        if (rest, guards) not in self._bounds:
            self._bounds[rest, guards] = self._computed(rest, guards)
        return self._bounds[rest, guards]

    def _computed(self, rest: Poly, guards: tuple[Formula, ...]) -> tuple[int, int] | None:
        """The least and the greatest value for all threads and iterations that get there."""
        symbols = list(dict.fromkeys(atom for each in (rest, *guards) for atom in _symbols(each)))
        if any(each not in self._local for each in symbols):
            return None
        if prod(len(self._local[each]) for each in symbols) > _MAX_POINTS:
            return None
        values: dict[str, IntArray] = {}
        for axis, each in enumerate(symbols):
            shape = [1] * len(symbols)
            shape[axis] = -1
            values[each.name] = np.asarray(self._local[each], dtype=np.int64).reshape(shape)
        found = np.broadcast_to(
            evaluate_array(rest, values), [len(self._local[each]) for each in symbols]
        )
        reached = np.ones(found.shape, dtype=np.bool_)
        for guard in guards:
            reached &= holds_array(guard, values)
        found = found[reached]
        return (int(found.min()), int(found.max())) if found.size else None

    def earlier(self, slot: Slot, loop: ForOp) -> Slot | None:
        """The version of the previous iteration of `loop`, as one of this iteration."""
        variable = loop.body.block.args[0]
        atom, step = self.ranges.poly(variable).atom, _integer(loop.step)
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


def _symbols(value: Poly | Formula) -> list[Atom]:
    """What a number or a condition is computed from."""
    kinds = (SymbolKind.SYMBOL, SymbolKind.CALL)
    return [atom for atom in value.space.atoms_within((value,)) if atom.kind in kinds]


def _is_number(value: SSAValue) -> bool:
    return isinstance(value.type, IndexType | IntegerType)


def _integer(value: SSAValue) -> int | None:
    constant = constant_value(value)
    return constant.value.data if isinstance(constant, IntegerAttr) else None
