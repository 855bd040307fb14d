"""Simplify index arithmetic with what is known about loops, blocks and assumptions.

    (%i * 32 + %j) / 32         ->  %i              for 0 <= j < 32
    scf.if (%i * 32 + %j < 128) ->  its body        for i < 4, j < 32
    min(%n, %n + 5)             ->  %n
    A[i] = A[i]                 ->  nothing

Each round queries `analysis.index_range` for every index value. One that is a known integer becomes
a constant; one that equals a value which is there already becomes that value; a quotient,
remainder, minimum or selection that is a short sum becomes the sum. Conditions that are decided
become constants. Then ``canonicalize`` and ``cse`` remove what became dead. After `rounds`
rounds, or when the analysis has used up its budget, the rest stays as it is: the result is right,
only less simple. Arguments of functions are never changed.

An index below zero is outside of the buffer, whether it is computed or constant. ``A[-1]`` of the
language is counted from the end while it is traced: here it could not be distinguished from a sum
that was folded.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, ModuleOp, i1
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.affine import Context, Poly
from tilewright.analysis.integers.index_range import BUDGET, IndexRanges
from tilewright.analysis.integers.index_rules import is_integer, is_truth
from tilewright.dialects.arith import AddiOp, ConstantOp, MuliOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import always_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.cleanup.canonicalize import canonicalize
from tilewright.passes.cleanup.cse import Cse

MAX_TERMS = 3
"""Terms of a sum that still costs less than the division it replaces."""

_COSTLY = frozenset(
    f"arith.{name}"
    for name in (
        *("divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui"),
        *("minsi", "maxsi", "minui", "maxui", "select", "andi", "ori", "xori", "shrsi", "shrui"),
    )
)

Scope = ChainMap[Poly, SSAValue]
"""The values that are there already, by what they are."""


@dataclass(frozen=True)
class NormalizeIndices(Pass):
    """Simplify index arithmetic, decide conditions, drop stores of what is there."""

    name = "normalize-indices"

    rounds: int = 4
    """Number of rounds."""
    budget: int = BUDGET
    """Ops of a function that the analysis looks at."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        for _ in range(self.rounds):
            rewriter.changed = False
            for op in list(module.ops):
                if isinstance(op, FuncOp) and op.body.blocks:
                    _Round(IndexRanges(op, self.budget), rewriter).run(op)
            if not rewriter.changed:
                return
            canonicalize(module)
            Cse().run(module, engine)


def _constant(value: int) -> ConstantOp:
    return ConstantOp.of(value, IndexType())


# -- one round ---------------------------------------------------------------------------------


@dataclass
class _Round:
    """Looks at every op once, with an analysis made just before."""

    ranges: IndexRanges
    rewriter: Rewriter
    replaced: set[SSAValue] = field(default_factory=set[SSAValue])

    def run(self, function: FuncOp) -> None:
        scope: Scope = ChainMap()
        for block in function.body.blocks:
            self._block(block, scope.new_child())

    def _block(self, block: Block, scope: Scope) -> None:
        for argument in block.args:
            self._offer(argument, scope)
        for op in list(block.ops):
            if op not in self.ranges.scopes:
                return  # the budget ended here
            if op.regions:
                for region in op.regions:
                    for inner in region.blocks:
                        self._block(inner, scope.new_child())
            elif isinstance(op, StoreOp):
                self._drop_if_idle(op)
            elif len(op.results) == 1 and not isinstance(op, ConstantOp):
                self._simplify(op, scope)
            for result in op.results:
                self._offer(result, scope)

    def _offer(self, value: SSAValue, scope: Scope) -> None:
        if isinstance(value.type, IndexType) and value not in self.replaced:
            scope.setdefault(self.ranges.poly(value), value)

    def _simplify(self, op: Operation, scope: Scope) -> None:
        (result,) = op.results
        ctx = self.ranges.context(op)
        if ctx.unreachable or result.first_use is None or not always_removable(type(op)):
            return
        if is_truth(result.type):
            self._decide(op, ctx)
        elif is_integer(result.type):
            self._replace(op, ctx, scope)

    def _decide(self, op: Operation, ctx: Context) -> None:
        truth = ctx.decide(self.ranges.formula(op.results[0]))
        if truth is not None:
            self.rewriter.replace_op(op, ConstantOp.of(truth, i1))

    def _replace(self, op: Operation, ctx: Context, scope: Scope) -> None:
        (result,) = op.results
        poly = self.ranges.poly(result)
        value = poly.constant
        if value is None:
            value = ctx.range(poly).constant
        if value is not None:
            constant = ConstantOp.of(value, result.type)
            self.ranges.learn(constant.result, self.ranges.space.const(value))
            self._put(op, [constant])
            return
        if not isinstance(result.type, IndexType):
            return
        same = scope.get(poly)
        if same is not None and same is not result:
            self.replaced.add(result)
            self.rewriter.replace_op(op, [], [same])
        elif op.name in _COSTLY:
            made = list(self._sum(poly, scope))
            if made:
                self._put(op, made)
                self.ranges.learn(made[-1].results[0], poly)
                scope[poly] = made[-1].results[0]

    def _put(self, op: Operation, made: list[Operation]) -> None:
        self.replaced.add(op.results[0])
        self.rewriter.replace_op(op, made)

    def _sum(self, poly: Poly, scope: Scope) -> Iterator[Operation]:
        """Ops that compute a short sum of values that are there; none if there is no such sum."""
        terms = sorted(poly.terms.items(), reverse=True)
        if len(terms) > MAX_TERMS:
            return
        space = self.ranges.space
        factors: list[tuple[list[SSAValue], int]] = []
        for monomial, coefficient in terms:
            values = [scope.get(space.of_atom(space.atoms[id])) for id in monomial]
            found = [value for value in values if value is not None]
            if len(found) < len(values) or len(values) > 2:
                return
            factors.append((found, coefficient))
        total: SSAValue | None = None
        for values, coefficient in factors:
            for made in _multiplied(values, coefficient):
                yield made
                values = [made.results[0]]
            if total is None:
                total = values[0]
                continue
            added = AddiOp(total, values[0])
            yield added
            total = added.results[0]

    # -- stores of what is there --------------------------------------------------------------

    def _drop_if_idle(self, store: StoreOp) -> None:
        load = store.value.owner
        if not isinstance(load, LoadOp) or load.parent is not store.parent:
            return
        if load.memref is not store.memref or len(load.indices) != len(store.indices):
            return
        if any(
            one is not other and self.ranges.poly(one) != self.ranges.poly(other)
            for one, other in zip(load.indices, store.indices, strict=True)
        ):
            return
        between = load.next_op
        while between is not None and between is not store:
            if not isinstance(between, LoadOp) and not always_removable(type(between)):
                return
            between = between.next_op
        self.rewriter.erase(store)


def _multiplied(values: list[SSAValue], coefficient: int) -> Iterator[Operation]:
    """Ops that multiply `values` and a coefficient, if there is anything to multiply."""
    factors = list(values)
    if coefficient != 1 or not factors:
        constant = _constant(coefficient)
        yield constant
        factors.append(constant.result)
    total = factors[0]
    for factor in factors[1:]:
        made = MuliOp(total, factor)
        yield made
        total = made.results[0]
