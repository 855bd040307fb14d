"""`hoist-guarded-indices`: the common part of indices of atomic updates is computed once.

                                              %base = nv.opaque (%b * 49152 + %row * 192)
    for i in unrolled(12) {                   for i in unrolled(12) {
      if %row + 8 * i < %n {           ->       if %row + 8 * i < %n {
        red_add dQ[%b * 49152                     red_add dQ[%base + 1536 * i]
                   + (%row + 8 * i) * 192]      }
      }                                       }
    }

Unrolled, the loop is a sequence of branches, one for each update. The CUDA compiler computes an
index in the branch that uses it, from the indices of thread and block on, which takes longer than
the update. So the index is split: terms that do not depend on the loop are added before it, and
`nv.opaque` keeps the compiler from moving the sum back. What depends on the loop is a constant once
it is unrolled. Loads and stores stay: they become predicated instructions, without branches.

Indices of 32 bits are split if the tensor has at most `_MAX_ELEMENTS` elements, so that a sum which
a guard would have skipped does not overflow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import AddiOp, MuliOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import OpaqueOp, RedAddOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import names
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

_MAX_ELEMENTS = 1 << 30
_CHEAP = frozenset(
    f"arith.{name}"
    for name in (
        *("addi", "subi", "muli", "index_cast", "index_castui", "extui", "extsi"),
        *("xori", "andi", "ori", "shli", "shrui", "shrsi", "minsi", "maxsi", "minui", "maxui"),
    )
)
"""Ops on integers that may be computed where they are not needed."""
_DIVISIONS = frozenset(f"arith.{name}" for name in ("divui", "remui", "floordivsi", "remsi"))
"""The same for a divisor that is a constant, and not 0."""


@dataclass(frozen=True)
class HoistGuardedIndices(Pass):
    """Compute what the indices of guarded updates have in common before an unrolled loop."""

    name = "hoist-guarded-indices"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                _run(function)


def _run(function: FuncOp) -> None:
    is_wide = simt_names.INDEX_BITS in function.attributes
    splits: dict[ForOp, _Split] = {}
    for op in [op for op in walk(function) if isinstance(op, RedAddOp)]:
        loop = _unrolled_around(op)
        if loop is not None and (is_wide or _is_small(op.dst)):
            splits.setdefault(loop, _Split(loop)).rewrite(op)


def _unrolled_around(op: Operation) -> ForOp | None:
    """The outermost of the unrolled loops around a branch that `op` is in."""
    found: ForOp | None = None
    is_guarded = False
    around = op.parent_op()
    while isinstance(around, ForOp | IfOp):
        if isinstance(around, IfOp):
            is_guarded = True
            if found is not None:
                break  # before the loop is in the branch
        elif names.UNROLL not in around.attributes:
            break
        else:
            found = around
        around = around.parent_op()
    return found if is_guarded else None


def _is_small(tensor: SSAValue) -> bool:
    total = 1
    for extent in shape_of(tensor.type):
        if extent < 0:
            return False
        total *= extent
    return total <= _MAX_ELEMENTS


@dataclass(frozen=True)
class _Term:
    """A part of a sum: a value times what does not depend on the loop."""

    value: SSAValue
    factors: tuple[SSAValue, ...] = ()


@dataclass
class _Split:
    """Indices of one loop."""

    loop: ForOp
    _before: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Values of the loop, computed before it."""
    _bases: dict[tuple[_Term, ...], SSAValue] = field(
        default_factory=dict[tuple[_Term, ...], SSAValue]
    )
    _varying: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])

    def rewrite(self, op: RedAddOp) -> None:
        (index,) = op.dst_indices
        terms = list(self._terms(index, ()))
        common = tuple(each for each in terms if not self._varies(each.value))
        own = [each for each in terms if self._varies(each.value)]
        if not own or not any(map(self._is_computed, common)):
            return
        total = self._base(common)
        for each in own:
            total = _sum(total, _multiplied([each.value, *each.factors], op), op)
        op.operands[list(op.operands).index(index)] = total
        _erase_unused(index)

    def _is_computed(self, term: _Term) -> bool:
        """Whether the loop computes a term."""
        return bool(term.factors) or self._is_inside(term.value)

    def _terms(self, value: SSAValue, factors: tuple[SSAValue, ...]) -> Iterator[_Term]:
        owner = value.owner
        if isinstance(owner, AddiOp) and self._varies(value):
            for each in owner.operands:
                yield from self._terms(each, factors)
            return
        if isinstance(owner, MuliOp) and self._varies(value):
            one, other = owner.operands
            if self._varies(one):
                one, other = other, one
            inner = [] if self._varies(one) else list(self._terms(other, (*factors, one)))
            if not all(self._varies(each.value) for each in inner):
                yield from inner
                return
        yield _Term(value, factors)

    # -- values ------------------------------------------------------------------------------

    def _varies(self, value: SSAValue) -> bool:
        """Whether a value cannot be computed before the loop."""
        found = self._varying.get(value)
        if found is None:
            found = self._varying[value] = self._looked_up(value)
        return found

    def _looked_up(self, value: SSAValue) -> bool:
        if not self._is_inside(value):
            return False
        owner = value.owner
        if isinstance(owner, Block) or not _is_movable(owner):
            return True
        return any(map(self._varies, owner.operands))

    def _is_inside(self, value: SSAValue) -> bool:
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        return block is not None and self.loop.is_ancestor(block)

    def _base(self, terms: tuple[_Term, ...]) -> SSAValue:
        """The sum of terms, before the loop."""
        found = self._bases.get(terms)
        if found is None:
            added = [
                _multiplied(
                    [self._hoisted(each.value), *map(self._hoisted, each.factors)], self.loop
                )
                for each in terms
            ]
            total = reduce(lambda one, other: _sum(one, other, self.loop), added)
            found = self._bases[terms] = _inserted(OpaqueOp(total), self.loop)
        return found

    def _hoisted(self, value: SSAValue) -> SSAValue:
        if not self._is_inside(value):
            return value
        found = self._before.get(value)
        if found is None:
            owner = value.owner
            assert isinstance(owner, Operation)  # variables of loops vary
            for each in owner.operands:
                self._hoisted(each)
            new = owner.clone({**self._before})
            Rewriter().insert_before(self.loop, new, owner)
            found = self._before[value] = new.results[0]
        return found


def _is_movable(op: Operation) -> bool:
    if op.name in _DIVISIONS:
        divisor = constant_value(op.operands[1])
        return isinstance(divisor, IntegerAttr) and divisor.value.data > 0
    return op.name in _CHEAP or constant_value(op.results[0]) is not None


def _multiplied(factors: Sequence[SSAValue], at: Operation) -> SSAValue:
    return reduce(lambda one, other: _inserted(MuliOp(one, other), at), factors)


def _sum(one: SSAValue, other: SSAValue, at: Operation) -> SSAValue:
    return _inserted(AddiOp(one, other), at)


def _erase_unused(value: SSAValue) -> None:
    """Erase what only the old index was computed from."""
    owner = value.owner
    if isinstance(owner, Block) or any(each.uses for each in owner.results):
        return
    if not _is_movable(owner):
        return
    operands = list(owner.operands)
    Rewriter().erase(owner)
    for each in dict.fromkeys(operands):
        _erase_unused(each)


def _inserted(op: Operation, at: Operation) -> SSAValue:
    Rewriter().insert_before(at, op, at)
    return op.results[0]
