"""Contiguity, divisibility and constancy of every value, per dimension: what vector loads need.

Three numbers describe a tensor of integers or pointers along one dimension::

    contiguity    length of aligned groups of consecutive lanes whose values rise by one
    divisibility  a power of two that divides the first value of each such group
    constancy     length of aligned groups of consecutive lanes whose values are equal

    [16 17 18 19 24 25 26 27]    contiguity 4, divisibility 8, constancy 1
    [ 8  8  8  8  0  0  0  0]    contiguity 1, divisibility 8, constancy 4

Pointers rise by one *element* and are divisible in *bytes*. A scalar has one dimension of one
lane. The meaning is that of Triton's AxisInfo, and each rule here concludes at least as much as
Triton's; Triton's silent assumptions about signs are recorded: ``assumes`` names the divisions
whose dividend has to be non-negative for the facts to hold.

``solve_axis_info`` needs nothing but the IR. An analysis with more precise facts about a value (the
address analysis, from its polynomial) passes a ``refine`` function; the result follows from both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd
from typing import TypeAlias

from typing_extensions import override
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.analysis.axis_info.facts import (
    MAX_DIVISOR,
    UNKNOWN,
    UNREACHED,
    AxisInfo,
    better_of,
    dimensions,
    expanded,
    join,
    largest_power_of_two,
    normalised,
    pessimistic,
)
from tilewright.analysis.axis_info.rules import RULES, Infos, Rule, lane_by_lane
from tilewright.analysis.axis_info.shape_rules import SHAPE_RULES
from tilewright.dialects.arith.constant import integers_in
from tilewright.dialects.elementwise import Elementwise
from tilewright.dialects.tt import FuncOp
from tilewright.ir.dataflow import Analysis, Lattice, Solution, solve
from tilewright.ir.interfaces import CallLike
from tilewright.ir.symbols import SymbolTables
from tilewright.ir.traversal import walk

Refine: TypeAlias = Callable[[SSAValue], AxisInfo | None]
"""What is known of a value from elsewhere."""

_RULES: Mapping[str, Rule] = {**RULES, **SHAPE_RULES}
_HINTS = ("tt.contiguity", "tt.divisibility", "tt.constancy")


class AxisFacts:
    """The solution: ``facts[value]``; nothing is known of a value in unreachable code."""

    def __init__(self, solution: Solution[AxisInfo]) -> None:
        self._solution = solution

    def __getitem__(self, value: SSAValue) -> AxisInfo:
        info = self._solution[value]
        extents = dimensions(value.type)
        if info is UNREACHED:
            return AxisInfo(extents, (MAX_DIVISOR,) * len(extents), extents)
        return expanded(info, value.type)


def solve_axis_info(root: Operation, refine: Refine | None = None) -> AxisFacts:
    """Facts about every value of a module or function."""
    return AxisFacts(solve(root, _AxisAnalysis(root, refine)))


def has_hints(op: Operation) -> bool:
    """Whether `op` has hints about its results."""
    return any(name in op.attributes for name in _HINTS)


def with_hints(info: AxisInfo, attributes: Mapping[str, Attribute]) -> AxisInfo:
    """`info`, in which hints replace inferred facts."""
    found = [_hint(attributes.get(name), info.rank) for name in _HINTS]
    if not any(found):
        return info
    contiguity, divisibility, constancy = found
    # Rules count in powers of two; a hint may be any integer.
    divisibility = None if divisibility is None else tuple(map(largest_power_of_two, divisibility))
    return normalised(
        AxisInfo(
            contiguity or info.contiguity,
            divisibility or info.divisibility,
            constancy or info.constancy,
            info.constant,
            info.assumes,
        )
    )


def _hint(attribute: Attribute | None, rank: int) -> tuple[int, ...] | None:
    """One value per dimension; a hint of another rank is ignored."""
    values = integers_in(attribute)
    if values is None or len(values) != rank or any(value < 1 for value in values):
        return None
    return tuple(values)


class _AxisLattice(Lattice[AxisInfo]):
    bottom = UNREACHED
    top = UNKNOWN

    @override
    def join(self, a: AxisInfo, b: AxisInfo) -> AxisInfo:
        return join(a, b)


class _AxisAnalysis(Analysis[AxisInfo]):
    lattice = _AxisLattice()

    def __init__(self, root: Operation, refine: Refine | None) -> None:
        self._refine = refine
        self._called = _called_functions(root)

    @override
    def visit(self, op: Operation, states: Sequence[AxisInfo]) -> Sequence[AxisInfo] | None:
        if not op.results:
            return None
        if op.name == "ub.poison" or UNREACHED in states:
            return [UNREACHED] * len(op.results)
        infos = [
            expanded(state, operand.type)
            for state, operand in zip(states, op.operands, strict=True)
        ]
        found = self._apply(op, infos)
        results: list[AxisInfo] = []
        for result in op.results:
            info = expanded(found, result.type)
            known = None if self._refine is None else self._refine(result)
            info = info if known is None else better_of(info, known)
            results.append(with_hints(info, op.attributes))
        return results

    def _apply(self, op: Operation, infos: Infos) -> AxisInfo:
        rule = _RULES.get(op.name)
        if rule is None and infos and op.get_trait(Elementwise) is not None:
            rule = lane_by_lane
        return UNKNOWN if rule is None else rule(op, infos)

    @override
    def entry(self, argument: BlockArgument) -> AxisInfo:
        function = argument.owner.parent_op()
        if not isinstance(function, FuncOp):
            return UNKNOWN
        hints = function.argument_attributes(argument.index)
        info = with_hints(pessimistic(len(dimensions(argument.type))), hints)
        if function in self._called and not any(name in hints for name in _HINTS):
            # As in Triton, the arguments of a called function have the facts that all callers
            # share.
            return UNREACHED
        return info

    @override
    def argument(
        self, op: Operation, argument: BlockArgument, states: Sequence[AxisInfo]
    ) -> AxisInfo:
        if op.name != "scf.for" or argument.index != 0 or UNREACHED in states[:3]:
            return UNKNOWN
        lower = expanded(states[0], argument.type)
        step = expanded(states[2], argument.type)
        divisor = gcd(lower.divisibility[0], step.divisibility[0])
        found = AxisInfo((1,), (divisor,), (1,), None, lower.assumes | step.assumes)
        known = None if self._refine is None else self._refine(argument)
        return found if known is None else better_of(found, known)


def _called_functions(root: Operation) -> frozenset[Operation]:
    symbols = SymbolTables()
    called: set[Operation] = set()
    for op in walk(root):
        call = op.get_trait(CallLike)
        symbol = None if call is None else call.callee(op)
        function = None if symbol is None else symbols.lookup(op, symbol)
        if function is not None:
            called.add(function)
    return frozenset(called)


__all__ = [
    "AxisFacts",
    "AxisInfo",
    "Refine",
    "has_hints",
    "solve_axis_info",
    "with_hints",
]
