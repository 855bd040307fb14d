"""Integer intervals: an analysis that needs widening, as the solver's tests use it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation

from tests.ir.flow_ops import (
    ForOp,
    named,
    parse,
)
from tilewright.ir.dataflow import Analysis, Lattice, solve
from tilewright.ir.interfaces import Edge


def value_of(op: arith.ConstantOp) -> int:
    assert isinstance(op.value, IntegerAttr)
    return op.value.value.data


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


EMPTY, ALL = Interval(inf, -inf), Interval(-inf, inf)


class IntervalLattice(Lattice[Interval]):
    bottom, top = EMPTY, ALL

    def join(self, a: Interval, b: Interval) -> Interval:
        return Interval(min(a.low, b.low), max(a.high, b.high))

    def widen(self, old: Interval, new: Interval) -> Interval:
        return Interval(
            old.low if new.low >= old.low else -inf, old.high if new.high <= old.high else inf
        )


class Intervals(Analysis[Interval]):
    lattice = IntervalLattice()

    def visit(self, op: Operation, states: Sequence[Interval]) -> Sequence[Interval] | None:
        match op:
            case arith.ConstantOp():
                return [Interval(value_of(op), value_of(op))]
            case arith.AddiOp():
                return [Interval(states[0].low + states[1].low, states[0].high + states[1].high)]
            case arith.MinSIOp():
                low, high = (min(x) for x in zip(*map(bounds, states), strict=True))
                return [Interval(low, high)]
        return None

    def argument(
        self, op: Operation, argument: BlockArgument, states: Sequence[Interval]
    ) -> Interval:
        if not isinstance(op, ForOp):
            return self.lattice.top
        lower, upper, _ = states[:3]
        return Interval(lower.low, upper.high - 1)

    def feasible(
        self, op: Operation, edges: Sequence[Edge], states: Sequence[Interval]
    ) -> Sequence[Edge]:
        if not edges or not states or op.name not in ("scf.if", "cf.cond_br", "scf.condition"):
            return edges
        condition = states[0]
        if condition.low != condition.high:
            return edges
        return edges[:1] if condition.low else edges[1:]


def bounds(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def intervals(text: str, *names: str) -> list[tuple[float, float]]:
    module = parse(text)
    solution = solve(module, Intervals())
    return [bounds(solution[named(module, name)]) for name in names]


NOTHING, ANYTHING = bounds(EMPTY), bounds(ALL)
